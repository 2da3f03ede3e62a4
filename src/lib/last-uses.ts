/** When each of many was last used, kept in memory until it is written: a write that fails loses nothing. */
export class LastUses {
  readonly #used = new Map<string, number>();

  note(id: string, at: number): void {
    this.#used.set(id, at);
  }

  /** 0 where nothing waits to be written. */
  lastUse(id: string): number {
    return this.#used.get(id) ?? 0;
  }

  async flush(write: (used: [id: string, at: number][]) => Promise<void>): Promise<void> {
    if (this.#used.size === 0) return;
    const used = [...this.#used];
    await write(used);
    // Who was used again meanwhile waits for the next time.
    for (const [id, at] of used) if (this.#used.get(id) === at) this.#used.delete(id);
  }
}
