/** A database that restarts is waited for: what the worker knows at that moment is known here and nowhere else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable, sqlState } from '../db/pool.ts';
import type { Log } from './log.ts';

const giveUpAfterMs = 60_000;
const pauseMs = 200;
const deadlock = '40P01';

/** Repeats work that is harmless to repeat while the database is away; `what` is for the log. */
export async function retryWhileUnavailable<T>(log: Log, what: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + giveUpAfterMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((!isUnavailable(error) && sqlState(error) !== deadlock) || Date.now() > deadline) throw error;
      log.warn({ err: error }, `${what} failed; trying again`);
      await sleep(pauseMs);
    }
  }
}
