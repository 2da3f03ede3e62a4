/** Stores occurrences in batches, in two lanes by size. In each lane organizations take turns. */

import { largeBytes } from '../../core/configuration/limits.ts';
import { AppError } from '../../core/errors.ts';
import { isUnavailable, sqlState } from '../../db/connection/pool.ts';
import type { EncodedOccurrence, StoredOccurrence } from '../../db/ledger/accept/accept.ts';
import { Batcher } from '../../lib/load/batcher.ts';

export interface OccurrenceStore<Item> {
  /** Number of occurrences that are queued but not yet being written. */
  readonly waiting: number;
  /** Resolves once the occurrence is committed. */
  add(item: Item): Promise<StoredOccurrence>;
  drain(): Promise<void>;
}

type Store<Item> = (items: Item[]) => Promise<StoredOccurrence[]>;

/**
 * Large triggers have their own lane and connection: PostgreSQL needs 30 to 80 ms for 1 MiB, and small ones would wait.
 */
export function createOccurrenceStore<Item extends EncodedOccurrence>(
  store: Store<Item>,
  storeLarge: Store<Item>,
): OccurrenceStore<Item> {
  const small = createLane(store, { maxSizePerBatch: 256 * 1024, sizePerTurn: largeBytes });
  const large = createLane(storeLarge, { maxSizePerBatch: 1024 * 1024, sizePerTurn: 256 * 1024 });
  return {
    get waiting() {
      return small.waiting + large.waiting;
    },
    add: item => (item.size > largeBytes ? large : small).add(item),
    drain: async () => {
      await Promise.all([small.drain(), large.drain()]);
    },
  };
}

function createLane<Item extends EncodedOccurrence>(
  store: Store<Item>,
  sizes: { maxSizePerBatch: number; sizePerTurn: number },
): Batcher<Item, StoredOccurrence> {
  return new Batcher(store, {
    maxPerBatch: 500,
    maxWaiting: 40_000,
    full: () =>
      new AppError('service.unavailable', 'too many triggers are waiting to be stored: try again', {
        retryAfterSeconds: 1,
      }),
    isItemError: error => sqlState(error) !== undefined && !isUnavailable(error),
    share: { groupOf: item => item.organization_id, sizeOf: item => item.size, ...sizes },
  });
}
