/** Writes outcomes in batches: while one batch is being written, and for up to 100 ms after it, the next one fills. */
import type pg from 'pg';
import { type Settlement, settleDeliveriesAcrossTenants } from '../../db/ledger/deliver/deliveries.ts';
import { settleDigestsAcrossTenants } from '../../db/ledger/digests/digest-outcomes.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import type { Log } from '../log.ts';
import { retryWhileUnavailable } from '../retry-while-unavailable.ts';

/** An outcome is normally stored within 150 ms. A worker that cannot store them sends nothing more after this time. */
const behindMs = 500;

interface Unstored {
  since: number;
  stored: Promise<undefined>;
}

export class Outcomes {
  readonly #batcher: Batcher<Settlement, undefined>;
  /** Oldest first. */
  readonly #unstored = new Set<Unstored>();

  constructor(
    pool: pg.Pool,
    log: Log,
    /** Called with the size of each batch and the outcomes of occurrences that ended with it. */
    onBatch: (size: number, ended: readonly string[]) => void = () => {},
  ) {
    this.#batcher = new Batcher(
      async settlements => {
        const ended = await retryWhileUnavailable(log, 'writing outcomes', async () => {
          const { alone = [], digests = [] } = Object.groupBy(settlements, groupOf);
          const settled = await settleDeliveriesAcrossTenants(pool, alone);
          return [...settled.ended, ...(await settleDigestsAcrossTenants(pool, digests))];
        });
        onBatch(settlements.length, ended);
        return settlements.map(() => undefined);
      },
      {
        maxPerBatch: 1_000,
        // A batch of one costs PostgreSQL as much as ten outcomes in a larger one. A crash can repeat what is not stored yet.
        linger: { ms: 100, enough: 250 },
      },
    );
  }

  /** Resolves when the outcome is stored. If storing fails, recovery settles the delivery. */
  async settle(settlement: Settlement): Promise<void> {
    // The next attempt waits for the outcome, so it does not wait for the batch to fill.
    const stored = this.#batcher.add(settlement, settlement.due_at !== null);
    const unstored = { since: performance.now(), stored };
    this.#unstored.add(unstored);
    try {
      await stored;
    } finally {
      this.#unstored.delete(unstored);
    }
  }

  /**
   * Returns whether an outcome waits unusually long to be stored, as without a database. Everything that is sent meanwhile
   * would be sent again by the worker that takes over.
   */
  get isBehind(): boolean {
    const oldest = this.#oldest;
    return oldest !== undefined && performance.now() - oldest.since > behindMs;
  }

  /** Waits while outcomes are behind. */
  async catchUp(): Promise<void> {
    while (this.isBehind) await this.#oldest!.stored.catch(() => {});
  }

  get #oldest(): Unstored | undefined {
    for (const unstored of this.#unstored) return unstored;
    return undefined;
  }

  drain(): Promise<void> {
    return this.#batcher.drain();
  }
}

/** A failed attempt, or a wait for a limit, changes nothing for the items of a digest. */
function groupOf({ digest_id, status, reason }: Settlement): 'alone' | 'digests' {
  return digest_id === null || status === 'retrying' || (status === 'pending' && reason === null) ? 'alone' : 'digests';
}
