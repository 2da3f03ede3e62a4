/**
 * Outcomes are written in batches as they come, at the latest after 40 ms: while one batch is being written, and for a
 * moment after it, the next one gathers.
 */
import type pg from 'pg';
import { type Settlement, settleDeliveriesAcrossTenants } from '../db/deliveries.ts';
import { settleDigestsAcrossTenants } from '../db/digest-outcomes.ts';
import { Batcher } from '../lib/batcher.ts';
import type { Log } from './log.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

export class Outcomes {
  readonly #batcher: Batcher<Settlement, undefined>;

  constructor(
    pool: pg.Pool,
    log: Log,
    /** How many were written together, and the outcomes of occurrences that ended with them. */
    onBatch: (size: number, ended: readonly string[]) => void = () => {},
  ) {
    this.#batcher = new Batcher(
      async settlements => {
        const ended = await retryWhileUnavailable(log, 'writing outcomes', async () => {
          const { alone = [], digests = [] } = Object.groupBy(settlements, toWay);
          const settled = await settleDeliveriesAcrossTenants(pool, alone);
          return [...settled.ended, ...(await settleDigestsAcrossTenants(pool, digests))];
        });
        onBatch(settlements.length, ended);
        return settlements.map(() => undefined);
      },
      {
        mostPerBatch: 1_000,
        mostWaiting: Number.POSITIVE_INFINITY,
        full: () => new Error('never'),
        isItemsFault: () => false,
        // Written as they come, ten at a time, outcomes took a quarter of what a mail costs.
        gather: { ms: 40, enough: 250 },
      },
    );
  }

  /** Resolves when it is on record; where that fails, recovery settles what was left. */
  async settle(settlement: Settlement): Promise<void> {
    // Whoever waits for more than its outcome, such as a line that it goes back into, does not wait for others.
    await this.#batcher.add(settlement, settlement.status !== 'sent');
  }

  drain(): Promise<void> {
    return this.#batcher.drain();
  }
}

/** An attempt that failed, and a wait for a limit, change nothing for the items of a digest. */
function toWay({ digest_id, status, reason }: Settlement): 'alone' | 'digests' {
  return digest_id === null || status === 'retrying' || (status === 'pending' && reason === null) ? 'alone' : 'digests';
}
