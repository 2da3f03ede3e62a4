/** Limits concurrency. Others wait in order of priority (a lower number first), then of arrival. */
export class PrioritySemaphore {
  #free: number;
  readonly #waiting: { priority: number; tag: string; end: (isAdmitted: boolean) => void }[] = [];

  constructor(max: number) {
    this.#free = max;
  }

  /**
   * Returns undefined if the caller need not wait; otherwise resolves with whether it was admitted, or interrupted. Each
   * admission needs a `leave`. The tag is for `interrupt`.
   */
  enter(priority: number, tag = ''): Promise<boolean> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise(end => {
      const position = this.#waiting.findLastIndex(other => other.priority <= priority) + 1;
      this.#waiting.splice(position, 0, { priority, tag, end });
    });
  }

  /** Ends the wait of everyone with this tag, or of all, without admitting them. */
  interrupt(tag?: string): void {
    const isMeant = (one: { tag: string }) => tag === undefined || one.tag === tag;
    const interrupted = this.#waiting.filter(isMeant);
    if (interrupted.length === 0) return;
    this.#waiting.splice(0, this.#waiting.length, ...this.#waiting.filter(one => !isMeant(one)));
    for (const { end } of interrupted) end(false);
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next.end(true);
    else this.#free++;
  }
}
