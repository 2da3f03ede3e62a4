/**
 * Disables addresses that a provider reported as gone, many at once and on their own connection. Its announcements do not
 * count for this worker: to check every message of a campaign again for each dead device was a third of its cost, and a
 * message that is already on its way to such an address is refused by the provider too.
 */
import type pg from 'pg';
import { disableAddresses, type GoneAddress } from '../db/audience/addresses.ts';
import { Batcher } from '../lib/batcher.ts';

interface GoneAddressOf extends GoneAddress {
  organizationId: number;
}

export class GoneAddresses {
  readonly #batcher: Batcher<GoneAddressOf, undefined>;
  #processId: number | undefined;

  /** The pool has one connection that does nothing else. */
  constructor(pool: pg.Pool) {
    pool.on('connect', client => {
      this.#processId = (client as unknown as { processID: number }).processID;
    });
    this.#batcher = new Batcher(
      async addresses => {
        for (const [organizationId, own] of Map.groupBy(addresses, one => one.organizationId)) {
          await disableAddresses(pool, organizationId, own);
        }
        return addresses.map(() => undefined);
      },
      {
        maxPerBatch: 1_000,
        // More than a worker can have in flight.
        maxWaiting: 100_000,
        full: () => new Error('too many addresses are gone'),
        isItemError: () => false,
      },
    );
  }

  /** Resolves when the address is disabled. */
  async disable(address: GoneAddressOf): Promise<void> {
    await this.#batcher.add(address);
  }

  /** Returns whether an announcement is about addresses that were disabled here. */
  isOwn(processId: number): boolean {
    return processId === this.#processId;
  }
}
