/** Waits for a database that restarts: what the worker is about to write exists nowhere else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable, sqlState } from '../db/connection/pool.ts';
import type { Log } from './log.ts';

const giveUpAfterMs = 60_000;
const pauseMs = 200;
const deadlock = '40P01';

/** Repeats idempotent work while the database is unavailable. `what` names the work in the log. */
export async function retryWhileUnavailable<T>(log: Log, what: string, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((!isUnavailable(error) && sqlState(error) !== deadlock) || performance.now() > deadline) throw error;
      log.warn({ err: error }, `${what} failed; trying again`);
      await sleep(pauseMs);
    }
  }
}
