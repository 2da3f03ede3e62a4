/**
 * Counts messages that were rendered although the context lacked some of their variables. The metric is updated
 * immediately, the database and the log periodically; counts that are not flushed are lost when the process dies.
 */
import type { Logger } from 'pino';
import { addMissingVariablesAcrossTenants } from '../db/configuration/missing-variables.ts';
import type { Db } from '../db/connection/pool.ts';

interface MessageSource {
  organizationId: number;
  notificationId: number;
  version: number;
  /** Fields for the log: slugs and the name of the notification. */
  where: { organization: string; event: string; notification: string };
}

interface PendingCounts extends MessageSource {
  counts: Map<string, number>;
  at: number;
}

/** The maximum between two flushes; further notifications count only in the metric. */
const maxNotifications = 1_000;
const maxNames = 20;
const logAgainMs = 3_600_000;
const maxLogged = 10_000;

export class MissingVariables {
  #pending = new Map<string, PendingCounts>();
  readonly #logged = new Map<string, number>();
  /** Messages since the process started. */
  total = 0;

  record(missing: MessageSource, names: readonly string[], now: number): void {
    this.total++;
    this.#add(
      missing,
      names.map(name => [toStorable(name), 1] as const),
      now,
    );
  }

  #add(missing: MessageSource, counts: Iterable<readonly [string, number]>, at: number): void {
    const key = `${missing.organizationId}/${missing.notificationId}`;
    let pending = this.#pending.get(key);
    if (!pending) {
      if (this.#pending.size >= maxNotifications) return;
      pending = { ...missing, counts: new Map(), at };
      this.#pending.set(key, pending);
    }
    pending.version = missing.version;
    pending.at = at;
    for (const [name, count] of counts) {
      const before = pending.counts.get(name);
      if (before !== undefined || pending.counts.size < maxNames) pending.counts.set(name, (before ?? 0) + count);
    }
  }

  async flush(db: Db, log: Pick<Logger, 'warn'>, now: number): Promise<void> {
    if (this.#pending.size === 0) return;
    const pending = [...this.#pending.values()];
    this.#pending = new Map();
    try {
      await addMissingVariablesAcrossTenants(
        db,
        pending.flatMap(({ organizationId, notificationId, version, counts, at }) =>
          [...counts].map(([name, count]) => ({
            organization_id: organizationId,
            notification_id: notificationId,
            name,
            count,
            version,
            at: new Date(at),
          })),
        ),
      );
    } catch (error) {
      for (const one of pending) this.#add(one, one.counts, one.at);
      throw error;
    }
    for (const one of pending) this.#log(one, log, now);
  }

  /** Logs at most once an hour for each version of a message. */
  #log({ notificationId, version, where, counts }: PendingCounts, log: Pick<Logger, 'warn'>, now: number): void {
    const key = `${notificationId}/${version}`;
    if (now - (this.#logged.get(key) ?? Number.NEGATIVE_INFINITY) < logAgainMs) return;
    if (this.#logged.size >= maxLogged) this.#logged.clear();
    this.#logged.set(key, now);
    log.warn(
      { ...where, variables: [...counts.keys()] },
      'messages were rendered with variables missing from the context',
    );
  }
}

/** Removes what PostgreSQL cannot store: a name may come from the context, through filters. */
function toStorable(name: string): string {
  return name.replaceAll('\0', '').toWellFormed();
}
