/** Where accepted triggers are stored. */
import { largeBytes } from '../../core/configuration/limits.ts';
import { AppError } from '../../core/errors.ts';
import { type Database, isUnavailable, sqlState } from '../../db/connection/pool.ts';
import {
  type EncodedOccurrence,
  type OccurrenceReceiver,
  type StoredOccurrence,
  storeAndHandOverAcrossTenants,
  storeOccurrencesAcrossTenants,
} from '../../db/ledger/accept/accept.ts';
import { type KeyedOccurrence, storeKeyedAcrossTenants } from '../../db/ledger/accept/dedup.ts';
import { Batcher } from '../../lib/load/batcher.ts';

type Lane<Item> = Pick<Batcher<Item, StoredOccurrence>, 'add' | 'waiting' | 'drain'>;

/**
 * Stores occurrences in batches, in two lanes by size. In each lane organizations take turns. Large triggers have their own lane
 * and connection: PostgreSQL needs 30 to 80 ms for 1 MiB, and small ones would wait.
 */
export class TriggerStore {
  readonly #plain: Lane<EncodedOccurrence>;
  readonly #keyed: Lane<KeyedOccurrence>;

  /** `receiver` returns a worker in this process, which gets what is stored right away. */
  constructor({ writer, largeWriter, pool }: Database, receiver?: () => OccurrenceReceiver) {
    const store = (items: EncodedOccurrence[]) =>
      receiver
        ? storeAndHandOverAcrossTenants(writer, items, receiver())
        : storeOccurrencesAcrossTenants(writer, items);
    this.#plain = createLanes(store, items => storeOccurrencesAcrossTenants(largeWriter, items));
    const storeKeyed = (items: KeyedOccurrence[]) => storeKeyedAcrossTenants(pool, items);
    this.#keyed = createLanes(storeKeyed, storeKeyed);
  }

  /** Number of occurrences that are queued but not yet being written. */
  get waiting(): number {
    return this.#plain.waiting + this.#keyed.waiting;
  }

  /** Resolves once the occurrence is committed. */
  add(item: EncodedOccurrence): Promise<StoredOccurrence> {
    return this.#plain.add(item);
  }

  /** The same for an occurrence with a dedup key. */
  addKeyed(item: KeyedOccurrence): Promise<StoredOccurrence> {
    return this.#keyed.add(item);
  }

  async drain(): Promise<void> {
    await Promise.all([this.#plain.drain(), this.#keyed.drain()]);
  }
}

type Store<Item> = (items: Item[]) => Promise<StoredOccurrence[]>;

function createLanes<Item extends EncodedOccurrence>(store: Store<Item>, storeLarge: Store<Item>): Lane<Item> {
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
