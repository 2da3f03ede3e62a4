/**
 * Recognises the database that Belfry works on. One that was restored or cloned does not send until an operator has said
 * what it is (`belfry resume`): core/instance.ts has the rules, db/instance.ts what is remembered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { findDifference, type PauseReason, pauseReasons, type Surroundings } from '../core/instance.ts';
import {
  createInstance,
  findInstance,
  findInstancePause,
  type InstancePause,
  type InstanceRow,
  pauseInstance,
  readDatabaseFacts,
  recordInstance,
} from '../db/instance.ts';
import type { Db } from '../db/pool.ts';
import { listLiveWorkersAcrossTenants } from '../db/workers.ts';

/** Processes may reach one database by several addresses. */
const mostAddresses = 20;
/** How often the fleet says that it works on this database. */
const seenEveryMs = 20_000;
const checkEveryMs = 30_000;
const checkPausedEveryMs = 2_000;

interface GuardLog {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** What every process asks before it sends anything, and now and then. */
export class InstanceGuard {
  readonly #db: Db;
  readonly #surroundings: Surroundings;
  readonly #log: GuardLog;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #recognisedAt: number | undefined;
  #isPaused = false;

  constructor(db: Db, surroundings: Surroundings, log: GuardLog) {
    this.#db = db;
    this.#surroundings = surroundings;
    this.#log = log;
  }

  /** As of the last check. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Returns whether this process may send. */
  async check(): Promise<boolean> {
    const awayMs = this.#recognisedAt === undefined ? 0 : Date.now() - this.#recognisedAt;
    const pause = await recognise(this.#db, this.#surroundings, awayMs);
    const wasPaused = this.#isPaused;
    this.#isPaused = pause !== undefined;
    if (!pause) this.#recognisedAt = Date.now();
    if (pause && !wasPaused) this.#log.warn({}, `${describePause(pause)} Triggers are accepted. ${howToResume}`);
    if (!pause && wasPaused) this.#log.info({}, 'sending was resumed');
    return !pause;
  }

  /** Goes on checking until `stop`. */
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
      await this.check().catch(error => this.#log.warn({ err: error }, 'could not ask which database this is'));
    }
  }
}

/** `awayMs`: for how long this process itself has not worked on the database, which is no silence of the others. */
async function recognise(db: Db, surroundings: Surroundings, awayMs: number): Promise<InstancePause | undefined> {
  const facts = await readDatabaseFacts(db);
  const isInUse = (await listLiveWorkersAcrossTenants(db)).length > 0;
  return db.transaction().execute(async trx => {
    const row = await findInstance(trx, { lock: true });
    if (!row) {
      await createInstance(trx, facts, knownAs(undefined, surroundings));
      return undefined;
    }
    if (row.pause) return row.pause;
    const silentMs = row.silentMs - awayMs;
    const difference = findDifference(row, facts, surroundings, { silentMs, isInUse });
    if (difference === 'name' && isInUse) throw otherInstallation(row.name!, surroundings.name!);
    if (difference) {
      await pauseInstance(trx, difference);
      return (await findInstance(trx))?.pause;
    }
    const known = knownAs(row, surroundings);
    const isSame =
      (['relation', 'database', 'system', 'server_major', 'timeline'] as const).every(key => row[key] === facts[key]) &&
      known.addresses.length === row.addresses.length &&
      known.name === row.name &&
      known.filesMadeAt === row.filesMadeAt;
    if (!isSame || row.silentMs > seenEveryMs) await recordInstance(trx, facts, known);
    return undefined;
  });
}

function knownAs(row: InstanceRow | undefined, { name, address, filesMadeAt }: Surroundings) {
  const before = row?.addresses ?? [];
  const addresses = address === undefined || before.includes(address) ? before : [...before, address];
  return {
    addresses: addresses.slice(-mostAddresses),
    name: row?.name ?? name ?? null,
    filesMadeAt: row?.filesMadeAt ?? filesMadeAt ?? null,
  };
}

function otherInstallation(name: string, given: string): AppError {
  return new AppError(
    'instance.other',
    `BELFRY_INSTANCE is ${given}, and workers of ${name} are at work on this database: set DATABASE_URL to the database ` +
      `of ${given}, or BELFRY_INSTANCE to ${name}`,
  );
}

/** After a backup was restored: also where it is older than the rows that tell. */
export async function pauseRestored({ db }: { db: Db }): Promise<void> {
  const facts = await readDatabaseFacts(db);
  await db.transaction().execute(async trx => {
    await createInstance(trx, facts, knownAs(undefined, {}));
    if (!(await findInstance(trx, { lock: true }))?.pause) await pauseInstance(trx, 'restored');
  });
}

export const howToResume =
  'Say what it is: `belfry resume --as-original` if it takes the place of the original, `belfry resume --as-copy` if the ' +
  'original goes on. Nothing is sent until then.';

export function describePause({ since, reason }: Pick<InstancePause, 'since' | 'reason'>): string {
  return `Sending is paused since ${since.toISOString()} because ${pauseReasons[reason as PauseReason] ?? reason}.`;
}

/** Undefined: sending is not paused. */
export function readInstancePause({ db }: { db: Db }): Promise<InstancePause | undefined> {
  return findInstancePause(db);
}
