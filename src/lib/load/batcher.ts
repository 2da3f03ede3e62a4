/**
 * Items that arrive while a batch is being written form the next batch: no timer, no delay when idle, and larger batches
 * under load. A batch that fails because of an item in it is retried item by item, so that a bad item fails alone.
 */
interface QueuedItem<Item, Result> {
  item: Item;
  size: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface BatcherOptions<Item> {
  maxPerBatch: number;
  /** With more items waiting, `add` rejects with the error of `full`, so that memory stays bounded. Default: any number. */
  maxWaiting?: number;
  full?: () => Error;
  /** Returns whether an error is caused by an item, not by the store. Default: none is. */
  isItemError?: (error: unknown) => boolean;
  /** Delays a batch until `ms` after the previous one, unless `enough` items wait. There is no delay when idle. */
  linger?: { ms: number; enough: number };
  /** Shares batches between groups by size. Default: one group, and items have no size. */
  share?: Share<Item>;
}

/**
 * Groups take turns, so that a group with few items is in the next batch however many items of others wait. Items of one
 * group keep their order. A group may have as many items waiting as there is room left for the others.
 */
export interface Share<Item> {
  groupOf: (item: Item) => number;
  sizeOf: (item: Item) => number;
  /** A batch ends before the item that would exceed this; a single item may be larger. */
  maxSizePerBatch: number;
  /** A group's turn ends once it has added this much to the batch. */
  sizePerTurn: number;
}

const tooMany = () => new Error('too many items are waiting');

export class Batcher<Item, Result> {
  /** Queues in the order of their turns; groups without items have none. */
  readonly #queues = new Map<number, QueuedItem<Item, Result>[]>();
  #waiting = 0;
  #running: Promise<void> | undefined;
  readonly #write: (items: Item[]) => Promise<Result[]>;
  readonly #options: BatcherOptions<Item>;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #endLinger: (() => void) | undefined;
  #isUrgent = false;

  constructor(write: (items: Item[]) => Promise<Result[]>, options: BatcherOptions<Item>) {
    this.#write = write;
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** An urgent item makes the batch start at once. */
  add(item: Item, isUrgent = false): Promise<Result> {
    const { maxWaiting = Number.POSITIVE_INFINITY, full = tooMany, share } = this.#options;
    const group = share?.groupOf(item) ?? 0;
    const queue = this.#queues.get(group) ?? [];
    const room = maxWaiting - this.#waiting;
    if (room <= (share ? queue.length : 0)) return Promise.reject(full());
    return new Promise((resolve, reject) => {
      queue.push({ item, size: share?.sizeOf(item) ?? 0, resolve, reject });
      if (queue.length === 1) this.#queues.set(group, queue);
      this.#waiting++;
      this.#running ??= this.#run();
      if (isUrgent) this.#isUrgent = true;
      if (isUrgent || this.#waiting === this.#options.linger?.enough) this.#endLinger?.();
    });
  }

  /** Resolves when everything added so far has been written or rejected. */
  async drain(): Promise<void> {
    this.#isUrgent = true;
    this.#endLinger?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of the event loop lets every request that has already arrived join the first batch.
    await new Promise(setImmediate);
    while (this.#waiting > 0) {
      await this.#linger();
      const batch = this.#takeBatch();
      // An urgent item may not have fit into this batch.
      if (this.#waiting === 0) this.#isUrgent = false;
      try {
        const results = await this.#write(batch.map(entry => entry.item));
        batch.forEach((entry, i) => {
          entry.resolve(results[i]!);
        });
      } catch (error) {
        if (batch.length > 1 && this.#options.isItemError?.(error)) await this.#writeOneByOne(batch);
        else for (const entry of batch) entry.reject(error);
      }
    }
    this.#running = undefined;
  }

  #takeBatch(): QueuedItem<Item, Result>[] {
    const { maxPerBatch, share = { maxSizePerBatch: 0, sizePerTurn: 1 } } = this.#options;
    const batch: QueuedItem<Item, Result>[] = [];
    let size = 0;
    const fits = (next: QueuedItem<Item, Result> | undefined, count: number) =>
      next && count < maxPerBatch && (count === 0 || size + next.size <= share.maxSizePerBatch);
    // A group that is set again during the iteration is visited again after the others.
    for (const [group, queue] of this.#queues) {
      const turnEndsAt = size + share.sizePerTurn;
      let count = 0;
      for (; fits(queue[count], batch.length + count) && size < turnEndsAt; count++) size += queue[count]!.size;
      if (count === 0) break;
      batch.push(...queue.splice(0, count));
      this.#queues.delete(group);
      if (queue.length > 0) this.#queues.set(group, queue);
    }
    this.#waiting -= batch.length;
    return batch;
  }

  async #linger(): Promise<void> {
    const { ms, enough } = this.#options.linger ?? { ms: 0, enough: 0 };
    const wait = this.#wroteAt + ms - performance.now();
    if (wait > 0 && !this.#isUrgent && this.#waiting < enough) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, wait);
        this.#endLinger = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#endLinger = undefined;
    }
    this.#wroteAt = performance.now();
  }

  async #writeOneByOne(batch: QueuedItem<Item, Result>[]): Promise<void> {
    for (const entry of batch) {
      try {
        const [result] = await this.#write([entry.item]);
        entry.resolve(result!);
      } catch (error) {
        entry.reject(error);
      }
    }
  }
}
