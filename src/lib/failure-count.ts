/** How often each of many failed lately, in this process. Bounded: when it is full, the oldest are forgotten. */
export class FailureCount {
  readonly #most: number;
  readonly #windowMs: number;
  readonly #failures = new Map<string, { count: number; since: number }>();

  constructor(most: number, windowMs: number) {
    this.#most = most;
    this.#windowMs = windowMs;
  }

  /** Milliseconds until it may try again; 0 when it may now. */
  waitMs(who: string, now: number): number {
    const failures = this.#failures.get(who);
    if (!failures || failures.count < this.#most) return 0;
    return Math.max(0, failures.since + this.#windowMs - now);
  }

  note(who: string, now: number): void {
    const failures = this.#failures.get(who);
    if (failures && now - failures.since < this.#windowMs) {
      failures.count++;
      return;
    }
    if (this.#failures.size >= 100_000) this.#failures.delete(this.#failures.keys().next().value!);
    this.#failures.delete(who);
    this.#failures.set(who, { count: 1, since: now });
  }
}
