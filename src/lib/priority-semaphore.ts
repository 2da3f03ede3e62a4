/** At most so many at once. The others wait, the lower class first, and within a class whoever came first. */
export class PrioritySemaphore {
  #free: number;
  readonly #waiting: { priority: number; enter: () => void }[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  /** Undefined where nobody has to wait. Whoever has entered must leave. */
  enter(priority: number): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise(enter => {
      const before = this.#waiting.findLastIndex(other => other.priority <= priority) + 1;
      this.#waiting.splice(before, 0, { priority, enter });
    });
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next.enter();
    else this.#free++;
  }
}
