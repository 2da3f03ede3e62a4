/** Long work on the event loop, in slices: others have their turn in between. */

const sliceMs = 10;

/** To be awaited between two pieces of work: resolves at once until the slice is used up, then after others had a turn. */
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

/** Keeps many who work for a moment each from doing so all in one turn of the event loop. */
export class EventLoopShare {
  #spentMs = 0;
  #next: Promise<void> | undefined;

  get isSpent(): boolean {
    return this.#spentMs > sliceMs;
  }

  /** Resolves in a turn that is not spent. */
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

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
