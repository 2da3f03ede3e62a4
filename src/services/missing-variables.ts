/**
 * Counts the messages that were written although the context lacked variables of theirs: for the metrics at once, in the
 * database and in the log now and then. What a process has not written down yet is lost when it dies.
 */
import type { Logger } from 'pino';
import { addMissingVariablesAcrossTenants } from '../db/missing-variables.ts';
import type { Db } from '../db/pool.ts';

export interface MissingIn {
  organizationId: number;
  notificationId: number;
  version: number;
  /** As the log names it: slugs and the name of the notification. */
  where: { organization: string; event: string; notification: string };
}

interface Gathered extends MissingIn {
  counts: Map<string, number>;
  at: number;
}

/** Between two writings; what is beyond counts in the metric alone. */
const mostNotifications = 1_000;
const mostNames = 20;
const logAgainMs = 3_600_000;
const mostLogged = 10_000;

export class MissingVariables {
  #gathered = new Map<string, Gathered>();
  readonly #logged = new Map<string, number>();
  /** Messages since the process began. */
  total = 0;

  note(missing: MissingIn, names: readonly string[], now: number): void {
    this.total++;
    this.#gather(
      missing,
      names.map(name => [storable(name), 1] as const),
      now,
    );
  }

  #gather(missing: MissingIn, counts: Iterable<readonly [string, number]>, at: number): void {
    const key = `${missing.organizationId}/${missing.notificationId}`;
    let gathered = this.#gathered.get(key);
    if (!gathered) {
      if (this.#gathered.size >= mostNotifications) return;
      gathered = { ...missing, counts: new Map(), at };
      this.#gathered.set(key, gathered);
    }
    gathered.version = missing.version;
    gathered.at = at;
    for (const [name, count] of counts) {
      const known = gathered.counts.get(name);
      if (known !== undefined || gathered.counts.size < mostNames) gathered.counts.set(name, (known ?? 0) + count);
    }
  }

  async flush(db: Db, log: Pick<Logger, 'warn'>, now: number): Promise<void> {
    if (this.#gathered.size === 0) return;
    const gathered = [...this.#gathered.values()];
    this.#gathered = new Map();
    try {
      await addMissingVariablesAcrossTenants(
        db,
        gathered.flatMap(({ organizationId, notificationId, version, counts, at }) =>
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
      for (const one of gathered) this.#gather(one, one.counts, one.at);
      throw error;
    }
    for (const one of gathered) this.#tell(one, log, now);
  }

  /** Once an hour for each version of a message. */
  #tell({ notificationId, version, where, counts }: Gathered, log: Pick<Logger, 'warn'>, now: number): void {
    const key = `${notificationId}/${version}`;
    if (now - (this.#logged.get(key) ?? Number.NEGATIVE_INFINITY) < logAgainMs) return;
    if (this.#logged.size >= mostLogged) this.#logged.clear();
    this.#logged.set(key, now);
    log.warn({ ...where, variables: [...counts.keys()] }, 'messages were written without variables the context lacked');
  }
}

/** A name may come from the context, through filters. */
function storable(name: string): string {
  return name.replaceAll('\0', '').toWellFormed();
}
