/** Counts recent failures by key, in this process. When it is full, the oldest key is dropped. */
export class FailureCount {
  readonly #maxFailures: number;
  readonly #windowMs: number;
  readonly #failures = new Map<string, { count: number; since: number }>();

  constructor(maxFailures: number, windowMs: number) {
    this.#maxFailures = maxFailures;
    this.#windowMs = windowMs;
  }

  /** Returns the milliseconds until the next attempt is allowed; 0 if it is allowed now. */
  waitMs(key: string, now: number): number {
    const failures = this.#failures.get(key);
    if (!failures || failures.count < this.#maxFailures) return 0;
    return Math.max(0, failures.since + this.#windowMs - now);
  }

  /** Takes one failure back. */
  undo(key: string): void {
    const failures = this.#failures.get(key);
    if (failures) failures.count--;
  }

  record(key: string, now: number): void {
    const failures = this.#failures.get(key);
    if (failures && now - failures.since < this.#windowMs) {
      failures.count++;
      return;
    }
    if (this.#failures.size >= 100_000) this.#failures.delete(this.#failures.keys().next().value!);
    this.#failures.delete(key);
    this.#failures.set(key, { count: 1, since: now });
  }
}
