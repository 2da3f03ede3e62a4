/** Splits long work on the event loop into slices, so that other work runs in between. */

const sliceMs = 10;

/** Await the returned function between two pieces of work: it yields to the event loop once the slice is used up. */
export function slices(): () => Promise<void> | undefined {
  let until = performance.now() + sliceMs;
  return () => {
    if (performance.now() < until) return undefined;
    return nextTurn().then(() => {
      until = performance.now() + sliceMs;
    });
  };
}

export async function filterInSlices<T>(items: readonly T[], isChosen: (item: T) => boolean): Promise<T[]> {
  const pause = slices();
  const chosen: T[] = [];
  for (const item of items) {
    if (isChosen(item)) chosen.push(item);
    const paused = pause();
    if (paused) await paused;
  }
  return chosen;
}

/** Runs a generator that yields wherever it may be interrupted, and returns its result. */
export async function runInSlices<T>(work: Generator<void, T>): Promise<T> {
  const pause = slices();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const paused = pause();
    if (paused) await paused;
  }
}

/** Spreads many short pieces of work over several turns of the event loop. */
export class EventLoopShare {
  #spentMs = 0;
  #next: Promise<void> | undefined;

  get isSpent(): boolean {
    return this.#spentMs > sliceMs;
  }

  /** Resolves in a turn that has time left. */
  async next(): Promise<void> {
    while (this.isSpent) {
      this.#next ??= nextTurn().then(() => {
        this.#spentMs = 0;
        this.#next = undefined;
      });
      await this.#next;
    }
  }

  spend(ms: number): void {
    this.#spentMs += ms;
  }
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
