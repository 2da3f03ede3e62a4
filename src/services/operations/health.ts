/** Health checks of this process, which use the database and the queue for real. */

import { migrationState } from '../../db/connection/migrate.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import { explainCause } from '../../db/connection/replicas.ts';
import { describeServerAcrossTenants, isDiskFullAcrossTenants } from '../../db/operations/health.ts';
import { findInstancePause } from '../../db/operations/instance.ts';
import { countOf } from '../../lib/count-of.ts';
import { hostClockAheadMs } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { checkProcessQueue, type WorkerRounds } from './backlog.ts';
import { describePause, howToResume } from './instance.ts';

/** Returns whether the database cannot do its work at the moment, so that a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isUnavailable(error);
}

/** Returns the names of the applied migrations. */
export async function listAppliedMigrations({ db }: Deps): Promise<string[]> {
  return (await migrationState(db)).applied;
}

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** Runs the checks of `/readyz`. `rounds` belongs to the worker of this process, if it has one. */
export async function checkHealth(deps: Deps, rounds: WorkerRounds | undefined, now: number): Promise<Check[]> {
  const { db, tenantCache, triggers } = deps;
  const database = await check('database', async () => {
    await describeServerAcrossTenants(db);
    return 'answers';
  });
  if (!database.ok) return [database];
  const storage = await checkStorage(deps, now);
  const sending = await checkSending(deps);
  const queue = await check('queue', async () => {
    if (!tenantCache.isConnected) {
      throw new Error('the connection that listens for changes is down; it reconnects automatically');
    }
    // While sending is paused, the age of the backlog says nothing.
    const state = sending.ok ? await checkProcessQueue(db, rounds, now) : 'sending is paused';
    return `${countOf(triggers.waiting, 'trigger')} waiting to be stored; ${state}`;
  });
  const clock = await checkClock();
  return [database, storage, await checkMigrations(deps), sending, queue, clock, ...(await checkReplicas(deps))];
}

/** How often the disk is checked; probes in between get the last result. */
const storageEveryMs = 5_000;
const storageChecks = new WeakMap<object, { at: number; result: Promise<Check> }>();

/** Fails while the disk of the database is full: then no trigger can be stored. */
function checkStorage({ db }: Deps, now: number): Promise<Check> {
  const last = storageChecks.get(db);
  if (last && Math.abs(now - last.at) < storageEveryMs) return last.result;
  const result = check('storage', async () => {
    if (await isDiskFullAcrossTenants(db)) throw new Error('the disk of the database is full: free some space');
    return 'has room';
  });
  storageChecks.set(db, { at: now, result });
  return result;
}

/** Name of the check that fails while the clocks differ. It does not affect readiness: the database's clock counts. */
export const clockCheck = 'clock';

const clockToleranceMs = 5_000;

/** Compares the clock of this machine with the database's, as measured every few seconds. */
export function checkClock(aheadMs = hostClockAheadMs()): Promise<Check> {
  return check(clockCheck, async () => {
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    if (Math.abs(aheadMs) <= clockToleranceMs) return 'agrees with the database';
    const side = aheadMs > 0 ? 'ahead of' : 'behind';
    throw new Error(
      `the clock of this machine is ${seconds} s ${side} the database's, which is used instead: synchronize both with NTP`,
    );
  });
}

/** Name of the check that fails while a replica is not used. It does not affect readiness: the primary answers instead. */
export const replicaCheck = 'replica';

function checkReplicas({ replicaReads }: Deps): Promise<Check[]> {
  const statuses = replicaReads?.replicas.listStatuses() ?? [];
  return Promise.all(
    statuses.map(({ address, cause, stalenessMs = 0 }) =>
      check(replicaCheck, async () => {
        if (cause) throw new Error(`${address}: ${explainCause(cause)}; reads go to the primary`);
        return `${address} is used for reads, ${(stalenessMs / 1_000).toFixed(1)} s behind at most`;
      }),
    ),
  );
}

/** Name of the check that fails while sending is paused. It does not affect readiness: triggers are still accepted. */
export const sendingCheck = 'sending';

export function checkSending({ db }: Pick<Deps, 'db'>): Promise<Check> {
  return check(sendingCheck, async () => {
    const pause = await findInstancePause(db);
    if (pause) throw new Error(`${describePause(pause)} ${howToResume}`);
    return 'not paused';
  });
}

export function checkMigrations({ db }: Deps): Promise<Check> {
  return check('migrations', async () => {
    const { available: known, applied } = await migrationState(db);
    const missing = known.filter(name => !applied.includes(name));
    if (missing.length > 0) throw new Error(`not applied: ${missing.join(', ')}; run \`belfry migrate\``);
    return `${applied.length} applied`;
  });
}

/** Turns the result of `run`, or the error it throws, into a check. */
export async function check(name: string, run: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await run() };
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message || String(error) };
  }
}
