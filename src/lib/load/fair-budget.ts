/**
 * Limits what groups hold at once of something that they share: bytes, requests. A group may hold as much as is left for the
 * others: half of the total when alone, a third with another group, and so on. There is always room for a group that holds
 * nothing yet.
 */
export class FairBudget<Group = number> {
  readonly #held = new Map<Group, number>();
  #free: number;

  constructor(total: number) {
    this.#free = total;
  }

  has(group: Group): boolean {
    return this.#held.has(group);
  }

  /** Returns how much the group may still take. */
  room(group: Group): number {
    return Math.max(0, this.#free - (this.#held.get(group) ?? 0));
  }

  /** Takes the amount if it fits, and returns whether it did. The caller must give it back. */
  take(group: Group, amount: number): boolean {
    if (amount > this.room(group)) return false;
    this.#held.set(group, (this.#held.get(group) ?? 0) + amount);
    this.#free -= amount;
    return true;
  }

  release(group: Group, amount: number): void {
    const held = this.#held.get(group)! - amount;
    if (held > 0) this.#held.set(group, held);
    else this.#held.delete(group);
    this.#free += amount;
  }
}
