/** Keeps the time of the last use by id in memory until it is written. A failed write loses nothing. */
export class LastUsedTimes {
  readonly #usedAt = new Map<string, number>();

  record(id: string, at: number): void {
    this.#usedAt.set(id, at);
  }

  /** Returns the time of a use that is not written yet, or 0. */
  lastUse(id: string): number {
    return this.#usedAt.get(id) ?? 0;
  }

  async flush(write: (used: [id: string, at: number][]) => Promise<void>): Promise<void> {
    if (this.#usedAt.size === 0) return;
    const used = [...this.#usedAt];
    await write(used);
    // Ids that were used again during the write wait for the next one.
    for (const [id, at] of used) if (this.#usedAt.get(id) === at) this.#usedAt.delete(id);
  }
}
