/** Outcomes are written in batches as they come: while one batch is being written, the next one gathers. */

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type Settlement, settleDeliveriesAcrossTenants } from '../db/deliveries.ts';
import { isUnavailable, sqlState } from '../db/pool.ts';
import { Batcher } from '../lib/batcher.ts';
import type { Log } from './engine.ts';

const patienceMs = 60_000;
const deadlock = '40P01';

export class Outcomes {
  readonly #batcher: Batcher<Settlement, undefined>;

  constructor(pool: pg.Pool, log: Log) {
    this.#batcher = new Batcher(
      async settlements => {
        await writePatiently(pool, settlements, log);
        return settlements.map(() => undefined);
      },
      {
        mostPerBatch: 1_000,
        mostWaiting: Number.POSITIVE_INFINITY,
        full: () => new Error('never'),
        isItemsFault: () => false,
      },
    );
  }

  /** Resolves when it is on record; a failure is logged, and recovery settles what was left. */
  async settle(settlement: Settlement): Promise<void> {
    await this.#batcher.add(settlement);
  }

  drain(): Promise<void> {
    return this.#batcher.drain();
  }
}

/** A database that restarts is waited for: the outcome is known here and nowhere else. */
async function writePatiently(pool: pg.Pool, settlements: Settlement[], log: Log): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      await settleDeliveriesAcrossTenants(pool, settlements);
      return;
    } catch (error) {
      if ((!isUnavailable(error) && sqlState(error) !== deadlock) || Date.now() > deadline) throw error;
      log.warn({ err: error, outcomes: settlements.length }, 'outcomes could not be written; trying again');
      await sleep(200);
    }
  }
}
