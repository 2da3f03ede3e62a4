/**
 * Whatever arrives while the last batch is being written is the next batch: no timer, no waiting when idle, and the
 * busier it is the larger the batches. A batch that fails because of an item in it is tried again item by item, so that
 * one bad item does not take its neighbours along.
 */
interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface BatcherOptions {
  mostPerBatch: number;
  /** Above this many waiting, `add` throws what `full` makes: better a clear no than memory without end. */
  mostWaiting: number;
  full: () => Error;
  /** Whether an item, not the store, is to blame for a failure. */
  isItemsFault: (error: unknown) => boolean;
  /** In a steady stream a batch gathers for so long after the last one, unless there are enough. Nobody waits when idle. */
  gather?: { ms: number; enough: number };
}

export class Batcher<Item, Result> {
  #waiting: Waiting<Item, Result>[] = [];
  #running: Promise<void> | undefined;
  readonly #write: (items: Item[]) => Promise<Result[]>;
  readonly #options: BatcherOptions;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #gathered: (() => void) | undefined;
  #inHurry = false;

  constructor(write: (items: Item[]) => Promise<Result[]>, options: BatcherOptions) {
    this.#write = write;
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** In a hurry, nothing more is gathered. */
  add(item: Item, inHurry = false): Promise<Result> {
    if (this.#waiting.length >= this.#options.mostWaiting) return Promise.reject(this.#options.full());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#running ??= this.#run();
      if (inHurry) this.#inHurry = true;
      if (inHurry || this.#waiting.length === this.#options.gather?.enough) this.#gathered?.();
    });
  }

  /** Resolves when everything added so far has been written or refused. */
  async drain(): Promise<void> {
    this.#inHurry = true;
    this.#gathered?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of the event loop lets every request that has already arrived join the first batch.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#waiting.splice(0, this.#options.mostPerBatch);
      // Whoever is in a hurry may be among those who did not fit.
      if (this.#waiting.length === 0) this.#inHurry = false;
      try {
        const results = await this.#write(batch.map(entry => entry.item));
        batch.forEach((entry, i) => {
          entry.resolve(results[i]!);
        });
      } catch (error) {
        if (batch.length > 1 && this.#options.isItemsFault(error)) await this.#writeOneByOne(batch);
        else for (const entry of batch) entry.reject(error);
      }
    }
    this.#running = undefined;
  }

  async #gather(): Promise<void> {
    const { ms, enough } = this.#options.gather ?? { ms: 0, enough: 0 };
    const wait = this.#wroteAt + ms - performance.now();
    if (wait > 0 && !this.#inHurry && this.#waiting.length < enough) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, wait);
        this.#gathered = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#gathered = undefined;
    }
    this.#wroteAt = performance.now();
  }

  async #writeOneByOne(batch: Waiting<Item, Result>[]): Promise<void> {
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
