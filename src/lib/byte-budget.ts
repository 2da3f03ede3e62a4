/**
 * Limits the bytes that groups hold at once. A group may hold as many as are left for the others: half of the total when
 * alone, a third with another group, and so on. There is always room for a group that holds nothing yet.
 */
export class ByteBudget {
  readonly #held = new Map<number, number>();
  #free: number;

  constructor(total: number) {
    this.#free = total;
  }

  has(group: number): boolean {
    return this.#held.has(group);
  }

  /** Takes the bytes if they fit, and returns whether they did. The caller must give them back. */
  take(group: number, bytes: number): boolean {
    const held = this.#held.get(group) ?? 0;
    if (held + bytes > this.#free) return false;
    this.#held.set(group, held + bytes);
    this.#free -= bytes;
    return true;
  }

  release(group: number, bytes: number): void {
    const held = this.#held.get(group)! - bytes;
    if (held > 0) this.#held.set(group, held);
    else this.#held.delete(group);
    this.#free += bytes;
  }
}
