/**
 * Restore-safe start: recognizes the database that Belfry works on. A restored or cloned database does not send until an
 * operator runs `belfry resume`. core/operations/instance.ts has the rules, db/operations/instance.ts the stored identity.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/errors.ts';
import {
  type ConnectionFacts,
  findDifference,
  type PauseReason,
  pauseReasons,
} from '../../core/operations/instance.ts';
import type { Db } from '../../db/connection/pool.ts';
import { listLiveWorkersAcrossTenants } from '../../db/ledger/workers.ts';
import {
  createInstance,
  findInstance,
  findServedUrl,
  type InstancePause,
  type InstanceRow,
  pauseInstance,
  readDatabaseFacts,
  recordInstance,
} from '../../db/operations/instance.ts';
import { currentMoment, elapsedMs, type Moment } from '../../lib/time/elapsed.ts';

/** Processes may reach one database at several addresses. */
const maxAddresses = 20;
/** How often any process records that it works on this database. */
const seenEveryMs = 20_000;
const checkEveryMs = 30_000;
const checkPausedEveryMs = 2_000;

interface GuardLog {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** Decides whether a process may send. It is checked before the first message, and regularly afterwards. */
export class InstanceGuard {
  readonly #db: Db;
  readonly #surroundings: ConnectionFacts;
  readonly #log: GuardLog;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #recognizedAt: Moment | undefined;
  #seenXid: number | undefined;
  #isPaused = false;

  constructor(db: Db, surroundings: ConnectionFacts, log: GuardLog) {
    this.#db = db;
    this.#surroundings = surroundings;
    this.#log = log;
  }

  /** Result of the last check. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Returns whether this process may send. */
  async check(): Promise<boolean> {
    const awayMs = this.#recognizedAt === undefined ? 0 : elapsedMs(this.#recognizedAt);
    const { pause, xid } = await recognize(this.#db, this.#surroundings, awayMs, this.#seenXid);
    this.#seenXid = xid;
    const wasPaused = this.#isPaused;
    this.#isPaused = pause !== undefined;
    if (!pause) this.#recognizedAt = currentMoment();
    if (pause && !wasPaused) this.#log.warn({}, `${describePause(pause)} Triggers are still accepted. ${howToResume}`);
    if (!pause && wasPaused) this.#log.info({}, 'sending is resumed');
    return !pause;
  }

  /** Checks regularly until `stop`. */
  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await sleep(this.#isPaused ? checkPausedEveryMs : checkEveryMs, undefined, { signal, ref: false }).catch(
        () => {},
      );
      if (signal.aborted) return;
      await this.check().catch(error =>
        this.#log.warn({ err: error }, 'checking the identity of the database failed; trying again later'),
      );
    }
  }
}

/** `awayMs`: how long this process itself has not reached the database. That time does not count as silence of the others. */
async function recognize(
  db: Db,
  surroundings: ConnectionFacts,
  awayMs: number,
  seenXid: number | undefined,
): Promise<Pick<InstanceRow, 'pause' | 'xid'>> {
  const facts = await readDatabaseFacts(db);
  const isInUse = (await listLiveWorkersAcrossTenants(db)).length > 0;
  return db.transaction().execute(async trx => {
    const row = await findInstance(trx, { lock: true });
    if (!row) {
      await createInstance(trx, facts, mergeIdentity(undefined, surroundings));
      return (await findInstance(trx))!;
    }
    if (row.pause) return row;
    const silentMs = row.silentMs - awayMs;
    const difference = findDifference(row, facts, surroundings, { silentMs, isInUse, seenXid });
    if (difference === 'name' && isInUse) throw otherInstallation(row.name!, surroundings.name!);
    if (difference) {
      await pauseInstance(trx, difference);
      return (await findInstance(trx))!;
    }
    const external = mergeIdentity(row, surroundings);
    const isSame =
      (['relation', 'database', 'system', 'server_major', 'timeline'] as const).every(key => row[key] === facts[key]) &&
      external.addresses.length === row.addresses.length &&
      external.name === row.name &&
      external.filesMadeAt === row.filesMadeAt;
    if (isSame && row.silentMs <= seenEveryMs) return row;
    await recordInstance(trx, facts, external);
    return (await findInstance(trx))!;
  });
}

/** Adds what this process knows to the stored identity; a stored name and creation time win. */
function mergeIdentity(row: InstanceRow | undefined, { name, addresses: present = [], filesMadeAt }: ConnectionFacts) {
  return {
    addresses: [...new Set([...(row?.addresses ?? []), ...present])].slice(-maxAddresses),
    name: row?.name ?? name ?? null,
    filesMadeAt: row?.filesMadeAt ?? filesMadeAt ?? null,
  };
}

function otherInstallation(name: string, configured: string): AppError {
  return new AppError(
    'instance.other',
    `BELFRY_INSTANCE is ${configured}, but workers of ${name} are running on this database: set DATABASE_URL to the ` +
      `database of ${configured}, or BELFRY_INSTANCE to ${name}`,
  );
}

/**
 * Returns where the links of a command lead to: to BASE_URL, or to the server, whose PORT the environment of the command may
 * not have. `local` is used if no server has run yet.
 */
export async function findLinkUrl(
  db: Db,
  local: string | undefined,
  { baseUrl }: { baseUrl: string | undefined },
): Promise<string | undefined> {
  return baseUrl ?? (((await findServedUrl(db)) ?? local) || undefined);
}

/** Pauses sending after a restore, even if the backup predates the `instance` table's row. */
export async function pauseRestored({ db }: { db: Db }): Promise<void> {
  const facts = await readDatabaseFacts(db);
  await db.transaction().execute(async trx => {
    await createInstance(trx, facts, mergeIdentity(undefined, {}));
    if (!(await findInstance(trx, { lock: true }))?.pause) await pauseInstance(trx, 'restored');
  });
}

export const howToResume =
  'Run `belfry resume --as-original` if this database replaces the original, or `belfry resume --as-copy` if the original ' +
  'stays in use. Nothing is sent until then.';

export function describePause({ since, reason }: Pick<InstancePause, 'since' | 'reason'>): string {
  return `Sending has been paused since ${since.toISOString()} because ${pauseReasons[reason as PauseReason] ?? reason}.`;
}
