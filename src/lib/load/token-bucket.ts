/** A token bucket that holds one second's worth of tokens. */
export class TokenBucket {
  #tokens: number;
  #at: number;
  #perSecond: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#at = now;
  }

  /**
   * Takes `cost` tokens if there is at least one. The balance may become negative, so that a request that costs more than
   * a second's tokens is possible, and later ones wait for it. Returns how many tokens are left, and the seconds until
   * the bucket is full or, if none were taken, until there is a token again.
   */
  take(now: number, cost = 1): { taken: boolean; left: number; resetSeconds: number } {
    this.#refill(now);
    const taken = this.#tokens >= 1;
    if (taken) this.#tokens -= cost;
    const missing = taken ? this.#perSecond - this.#tokens : 1 - this.#tokens;
    const left = Math.max(0, Math.floor(this.#tokens));
    return { taken, left, resetSeconds: Math.ceil(missing / this.#perSecond) };
  }

  /** Changes the rate and keeps the tokens, so that no one gets a full bucket by changing it. */
  setRate(perSecond: number, now: number): void {
    if (perSecond === this.#perSecond) return;
    this.#refill(now);
    this.#perSecond = perSecond;
    this.#tokens = Math.min(this.#tokens, perSecond);
  }

  #refill(now: number): void {
    // Callers' times may be out of order, and a clock may be set back: neither removes tokens.
    const elapsed = Math.max(0, now - this.#at);
    this.#tokens = Math.min(this.#perSecond, this.#tokens + (elapsed / 1_000) * this.#perSecond);
    this.#at = Math.max(this.#at, now);
  }

  /** Charges a request that turned out to cost more. */
  charge(cost: number): void {
    this.#tokens -= cost;
  }
}
