/** So many a second, with a burst of as many: what has not been used in the last second is gone. */
export class TokenBucket {
  #tokens: number;
  #at: number;
  readonly perSecond: number;

  constructor(perSecond: number, now: number) {
    this.perSecond = perSecond;
    this.#tokens = perSecond;
    this.#at = now;
  }

  /** Whether one could be taken, how many are left, and how many seconds until the next or until it is full. */
  take(now: number): { taken: boolean; left: number; resetSeconds: number } {
    // Callers may come with their time out of order, and a clock may be set back: neither takes anything away.
    const elapsed = Math.max(0, now - this.#at);
    this.#tokens = Math.min(this.perSecond, this.#tokens + (elapsed / 1_000) * this.perSecond);
    this.#at = Math.max(this.#at, now);
    const taken = this.#tokens >= 1;
    if (taken) this.#tokens -= 1;
    const missing = taken ? this.perSecond - this.#tokens : 1 - this.#tokens;
    return { taken, left: Math.floor(this.#tokens), resetSeconds: Math.ceil(missing / this.perSecond) };
  }
}
