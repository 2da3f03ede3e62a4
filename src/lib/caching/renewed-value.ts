/**
 * A value that expires, such as an access token. Concurrent callers share one renewal, which happens before the value expires. A
 * failed renewal is not cached; until the value expires, it is used nevertheless.
 */
import { withHandoverCheck } from '../network/handover.ts';

export interface Renewal<T> {
  value: T;
  lifetimeMs: number;
}

interface Current<T> extends Renewal<T> {
  renewAt: number;
  expiresAt: number;
}

/** Values are renewed this long before they expire, so that none expires on the way; short-lived ones after half their life. */
const marginMs = 5 * 60_000;
const retryAfterMs = 30_000;

export class RenewedValue<T, Failure> {
  readonly #renew: () => Promise<Renewal<T> | { failure: Failure }>;
  #current: Current<T> | undefined;
  #renewing: Promise<{ value: T } | { failure: Failure }> | undefined;

  constructor(renew: () => Promise<Renewal<T> | { failure: Failure }>) {
    this.#renew = renew;
  }

  /** Returns the value, and whether it was renewed for this call. */
  async get(): Promise<{ value: T; isNew: boolean } | { failure: Failure }> {
    const current = this.#current;
    if (current && performance.now() < current.renewAt) return { value: current.value, isNew: false };
    this.#renewing ??= this.#startRenewal().finally(() => {
      this.#renewing = undefined;
    });
    const result = await this.#renewing;
    if ('value' in result) return { ...result, isNew: true };
    if (!current || current !== this.#current || performance.now() >= current.expiresAt) return result;
    current.renewAt = Math.min(performance.now() + retryAfterMs, current.expiresAt);
    return { value: current.value, isNew: false };
  }

  /** Drops a value that was rejected, unless it has been renewed already. */
  forget(value: T): void {
    if (this.#current?.value === value) this.#current = undefined;
  }

  async #startRenewal(): Promise<{ value: T } | { failure: Failure }> {
    // Shared by many messages: one that is withdrawn must not fail the others.
    const renewed = await withHandoverCheck(() => true, this.#renew);
    if ('failure' in renewed) return renewed;
    const { value, lifetimeMs } = renewed;
    const now = performance.now();
    const renewAt = now + Math.max(lifetimeMs - marginMs, lifetimeMs / 2);
    this.#current = { value, lifetimeMs, renewAt, expiresAt: now + lifetimeMs };
    return { value };
  }
}
