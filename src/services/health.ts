/** Whether this process can do its work, checked for real. */
import { describeServerAcrossTenants } from '../db/health.ts';
import { migrationState } from '../db/migrate.ts';
import { isUnavailable } from '../db/pool.ts';
import type { Deps } from './deps.ts';
import { describePause, howToResume, readInstancePause } from './instance.ts';
import { readQueue, type WorkerRounds } from './queue.ts';

/** Whether the database is away, shutting down or out of connections: worth trying again later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isUnavailable(error);
}

/** The names of the migrations that have run. */
export async function listAppliedMigrations({ db }: Deps): Promise<string[]> {
  return (await migrationState(db)).applied;
}

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** `rounds` are those of the worker of this process, if it has one. */
export async function checkHealth(deps: Deps, rounds: WorkerRounds | undefined, now: number): Promise<Check[]> {
  const { db, tenantCache, occurrences } = deps;
  const database = await check('database', async () => {
    await describeServerAcrossTenants(db);
    return 'answers';
  });
  if (!database.ok) return [database];
  const sending = await checkSending(deps);
  const queue = await check('queue', async () => {
    if (!tenantCache.isConnected) {
      throw new Error('the connection that hears of changes is down; it reconnects by itself');
    }
    // What is paused may wait for as long as it takes.
    const state = sending.ok ? await readQueue(db, rounds, now) : 'sending is paused';
    return `${occurrences.waiting} triggers waiting to be stored; ${state}`;
  });
  return [database, await checkMigrations(deps), sending, queue];
}

/** The name of the check that tells whether sending is paused: triggers are accepted all the same. */
export const sendingCheck = 'sending';

export function checkSending({ db }: Pick<Deps, 'db'>): Promise<Check> {
  return check(sendingCheck, async () => {
    const pause = await readInstancePause({ db });
    if (pause) throw new Error(`${describePause(pause)} ${howToResume}`);
    return 'not paused';
  });
}

export function checkMigrations({ db }: Deps): Promise<Check> {
  return check('migrations', async () => {
    const { known, applied } = await migrationState(db);
    const missing = known.filter(name => !applied.includes(name));
    if (missing.length > 0) throw new Error(`not applied yet: ${missing.join(', ')}; run \`belfry migrate\``);
    return `${applied.length} applied`;
  });
}

export async function check(name: string, run: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await run() };
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message || String(error) };
  }
}
