/**
 * Limits how many tasks run at once, in all and for each group. Groups take turns, so that one with many or slow tasks does
 * not delay those of others.
 */
export class FairSlots {
  readonly #max: number;
  readonly #maxPerGroup: number;
  readonly #running = new Map<number, number>();
  /** Waiting tasks by group, in the order of their turns. */
  readonly #waiting = new Map<number, (() => void)[]>();
  #total = 0;

  /** `maxPerGroup` is less than `max`, so that there is always a slot for another group soon. */
  constructor(max: number, maxPerGroup: number) {
    this.#max = max;
    this.#maxPerGroup = maxPerGroup;
  }

  async run<T>(group: number, task: () => Promise<T>): Promise<T> {
    if (!this.#canStart(group)) {
      await new Promise<void>(resolve => {
        const queue = this.#waiting.get(group);
        if (queue) queue.push(resolve);
        else this.#waiting.set(group, [resolve]);
      });
    } else {
      this.#enter(group);
    }
    try {
      return await task();
    } finally {
      this.#leave(group);
    }
  }

  #canStart(group: number): boolean {
    return this.#total < this.#max && (this.#running.get(group) ?? 0) < this.#maxPerGroup;
  }

  #enter(group: number): void {
    this.#total++;
    this.#running.set(group, (this.#running.get(group) ?? 0) + 1);
  }

  #leave(group: number): void {
    this.#total--;
    const others = this.#running.get(group)! - 1;
    if (others > 0) this.#running.set(group, others);
    else this.#running.delete(group);
    for (const [next, queue] of this.#waiting) {
      if (this.#total >= this.#max) return;
      if (!this.#canStart(next)) continue;
      this.#waiting.delete(next);
      const start = queue.shift()!;
      // Behind the others: its next turn comes after theirs.
      if (queue.length > 0) this.#waiting.set(next, queue);
      this.#enter(next);
      start();
    }
  }
}
