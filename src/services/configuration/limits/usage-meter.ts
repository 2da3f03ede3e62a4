/**
 * Enforces the limits of organizations. Triggers are checked against the memory of this process (a token bucket, and a
 * count of stored messages that is refreshed in the background), so that the hot path makes no queries. A count can be a
 * minute old, and a limit can be exceeded by what happens in that time.
 */

import { requestCost } from '../../../core/configuration/limits.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import * as limits from '../../../db/configuration/organization-limits.ts';
import type { OrganizationSummary } from '../../../db/configuration/organizations.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { countOf } from '../../../lib/count-of.ts';
import { TokenBucket } from '../../../lib/load/token-bucket.ts';

const countMaxAgeMs = 60_000;
/** Retry-After of a full organization: only retention or a person frees space, so retrying sooner is useless. */
const fullRetryAfterSeconds = 60;
/** A full organization is counted more often, to accept triggers soon after space is freed. */
const fullCountMaxAgeMs = 5_000;

interface Count {
  count: number;
  /** When the count was started. */
  readAt: number;
}

export class UsageMeter {
  readonly #db: Db;
  readonly #buckets = new Map<number, TokenBucket>();
  readonly #stored = new Map<number, Count>();
  readonly #users = new Map<number, Count>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Throws if the organization may not trigger now. Synchronous. */
  admitTrigger({ id, limits }: OrganizationSummary, recipients: number, now: number, bytes = 0): void {
    const { triggers_per_second: rate, deliveries_per_trigger: max, stored_messages: maxStored } = limits;
    if (max !== null && recipients > max) {
      throw invalid(
        { 'options/recipients': [`must have at most ${max} items: the limit of deliveries per trigger`] },
        'limit.fan_out',
      );
    }
    if (maxStored !== null) this.#admitStored(id, maxStored, now);
    if (rate === null) return;
    let bucket = this.#buckets.get(id);
    if (!bucket) {
      bucket = new TokenBucket(rate, now);
      this.#buckets.set(id, bucket);
    }
    bucket.setRate(rate, now);
    const { taken, resetSeconds } = bucket.take(now, requestCost(bytes));
    if (taken) return;
    throw new AppError(
      'limit.triggers',
      `the organization is limited to ${rate} triggers per second, and each started 16 KiB counts as one: retry later`,
      { retryAfterSeconds: resetSeconds },
    );
  }

  #admitStored(id: number, max: number, now: number): void {
    const cached = this.#stored.get(id);
    const isFull = cached !== undefined && cached.count >= max;
    if (!cached || now - cached.readAt > (isFull ? fullCountMaxAgeMs : countMaxAgeMs)) {
      this.#stored.set(id, { count: cached?.count ?? 0, readAt: now });
      // A failed count is retried by a later trigger.
      this.countStored(this.#db, id, now).catch(() => {});
    }
    if (!isFull) return;
    throw new AppError(
      'limit.stored_messages',
      `the organization stores ${countOf(cached.count, 'message')} and its limit is ${max}: reduce retention_days, or ask the operator ` +
        'of this installation for a higher limit',
      { retryAfterSeconds: fullRetryAfterSeconds },
    );
  }

  async countStored(db: Db, id: number, now: number): Promise<number> {
    const count = await limits.countStoredMessages(db, id);
    this.#stored.set(id, { count, readAt: now });
    return count;
  }

  /**
   * Throws if the users created in this transaction exceed the limit. Uses the cached count while it is below the limit,
   * and always counts before refusing.
   */
  async admitUsers(trx: Db, id: number, created: number, now: number): Promise<void> {
    if (created === 0) return;
    const max = (await limits.findLimits(trx, id))?.users ?? null;
    if (max === null) return;
    const cached = this.#users.get(id);
    if (cached && now - cached.readAt < countMaxAgeMs && cached.count + created <= max) {
      cached.count += created;
      return;
    }
    const count = await this.#countUsers(trx, id, now);
    if (count <= max) return;
    const remaining = Math.max(0, max - (count - created));
    throw new AppError(
      'limit.users',
      `user limit reached: the organization can have ${countOf(max, 'user')}, ${remaining} more can be created. Delete users, or ask the ` +
        'operator of this installation for a higher limit',
      { retryAfterSeconds: fullRetryAfterSeconds },
    );
  }

  /** Reserves up to `requested` new users and returns how many may be created; they count as created. */
  async reserveUsers(trx: Db, id: number, requested: number, now: number): Promise<number> {
    const max = (await limits.findLimits(trx, id))?.users ?? null;
    if (max === null) return requested;
    let cached = this.#users.get(id);
    if (!cached || now - cached.readAt >= countMaxAgeMs || cached.count + requested > max) {
      await this.#countUsers(trx, id, now);
      cached = this.#users.get(id)!;
    }
    const taken = Math.max(0, Math.min(requested, max - cached.count));
    cached.count += taken;
    return taken;
  }

  async #countUsers(trx: Db, id: number, now: number): Promise<number> {
    const count = await limits.countUsers(trx, id);
    this.#users.set(id, { count, readAt: now });
    return count;
  }
}
