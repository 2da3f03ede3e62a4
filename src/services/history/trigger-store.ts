/** Where accepted triggers are stored. */
import { largeBytes } from '../../core/configuration/limits.ts';
import { AppError } from '../../core/errors.ts';
import { type Database, isUnavailable, sqlState } from '../../db/connection/pool.ts';
import {
  type EncodedOccurrence,
  type NewOccurrence,
  type StoredOccurrence,
  storeOccurrencesAcrossTenants,
} from '../../db/ledger/accept/accept.ts';
import { type KeyedOccurrence, storeKeyedAcrossTenants } from '../../db/ledger/accept/dedup.ts';
import { Batcher } from '../../lib/load/batcher.ts';

/** The engine of this process, which can decide triggers before they are stored. */
export interface Decider {
  /** Whether it has nothing else to do. */
  readonly isReady: boolean;
  /** Returns the ids of those that it has stored, with their deliveries. Others may be stored without it, at any time. */
  accept(triggers: NewOccurrence[]): Promise<ReadonlySet<string>>;
}

/** With more at a time, storing them alone and deciding them from the queue is cheaper. */
const maxOffered = 100;

type Lane<Item> = Pick<Batcher<Item, StoredOccurrence>, 'add' | 'waiting' | 'drain'>;

/**
 * Stores occurrences in batches, in two lanes by size. In each lane organizations take turns. Large triggers have their own lane
 * and connection: PostgreSQL needs 30 to 80 ms for 1 MiB, and small ones would wait.
 */
export class TriggerStore {
  readonly #plain: Lane<EncodedOccurrence>;
  readonly #keyed: Lane<KeyedOccurrence>;

  constructor({ writer, largeWriter, pool }: Database, decider?: () => Decider) {
    const store = async (items: EncodedOccurrence[]): Promise<StoredOccurrence[]> => {
      const accepted = decider ? await offer(decider(), items) : nothing;
      const left = accepted.size > 0 ? items.filter(({ id }) => !accepted.has(id)) : items;
      const results = left.length > 0 ? await storeOccurrencesAcrossTenants(writer, left) : [];
      if (left.length === items.length) return results;
      const others = new Map(left.map(({ id }, i) => [id, results[i]!]));
      return items.map(({ id }) => others.get(id) ?? { id });
    };
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

const nothing: ReadonlySet<string> = new Set();

/** Offers the triggers that are due now, and small, to the engine. */
async function offer(decider: Decider, items: EncodedOccurrence[]): Promise<ReadonlySet<string>> {
  if (!decider.isReady || items.length > maxOffered) return nothing;
  const triggers = items.flatMap(({ value }) => (typeof value === 'string' || value.due_at ? [] : [value]));
  return triggers.length > 0 ? decider.accept(triggers) : nothing;
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
