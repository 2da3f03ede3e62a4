/**
 * What organizations take, against their limits. A trigger is measured against what this process has in memory: a bucket of tokens, and a count
 * of stored messages that is read again in the background, so that the hot path asks the database nothing. What is counted
 * may therefore be a minute old, and a limit be passed by as much as happens meanwhile.
 */
import { AppError, invalid } from '../core/errors.ts';
import * as limits from '../db/organization-limits.ts';
import type { PlacedOrganization } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import { TokenBucket } from '../lib/token-bucket.ts';

const countedForMs = 60_000;
/** Room is made by retention or by a person: no use in asking more often. */
const roomSeconds = 60;
/** Whoever is refused is let in soon after there is room again. */
const refusedForMs = 5_000;

interface Count {
  count: number;
  /** When reading it began. */
  readAt: number;
}

/** What organizations take, as far as this process knows. */
export class UsageMeter {
  readonly #db: Db;
  readonly #buckets = new Map<number, TokenBucket>();
  readonly #stored = new Map<number, Count>();
  readonly #users = new Map<number, Count>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Throws when the organization may not trigger now. Awaits nothing. */
  admitTrigger({ id, limits }: PlacedOrganization, recipients: number, now: number): void {
    const { triggers_per_second: rate, deliveries_per_trigger: most, stored_messages: kept } = limits;
    if (most !== null && recipients > most) {
      throw invalid(
        { 'options/recipients': [`must be ${most} at most: so many a trigger may have here`] },
        'limit.fan_out',
      );
    }
    if (kept !== null) this.#admitStored(id, kept, now);
    if (rate === null) return;
    let bucket = this.#buckets.get(id);
    if (bucket?.perSecond !== rate) {
      bucket = new TokenBucket(rate, now);
      this.#buckets.set(id, bucket);
    }
    const { taken, resetSeconds } = bucket.take(now);
    if (taken) return;
    throw new AppError('limit.triggers', `the organization may trigger ${rate} times a second: send the rest later`, {
      retryAfterSeconds: resetSeconds,
    });
  }

  #admitStored(id: number, most: number, now: number): void {
    const known = this.#stored.get(id);
    const isFull = known !== undefined && known.count >= most;
    if (!known || now - known.readAt > (isFull ? refusedForMs : countedForMs)) {
      this.#stored.set(id, { count: known?.count ?? 0, readAt: now });
      // What could not be counted now is counted next time.
      this.countStored(this.#db, id, now).catch(() => {});
    }
    if (!isFull) return;
    throw new AppError(
      'limit.stored_messages',
      `the organization keeps ${known.count} messages and may keep ${most}: keep them for fewer days (retention_days), or ` +
        'ask whoever runs this installation for more',
      { retryAfterSeconds: roomSeconds },
    );
  }

  async countStored(db: Db, id: number, now: number): Promise<number> {
    const count = await limits.countStoredMessages(db, id);
    this.#stored.set(id, { count, readAt: now });
    return count;
  }

  /**
   * Throws when there are more users than may be, now that so many were created in this transaction. They are counted
   * only now and then while there is room, and always before anybody is refused.
   */
  async admitUsers(trx: Db, id: number, created: number, now: number): Promise<void> {
    if (created === 0) return;
    const most = (await limits.findLimits(trx, id))?.users ?? null;
    if (most === null) return;
    const known = this.#users.get(id);
    if (known && now - known.readAt < countedForMs && known.count + created <= most) {
      known.count += created;
      return;
    }
    const count = await this.#countUsers(trx, id, now);
    if (count <= most) return;
    const room = Math.max(0, most - (count - created));
    throw new AppError(
      'limit.users',
      `the organization may have ${most} users and there is room for ${room} more: delete some that are not needed, or ask ` +
        'whoever runs this installation for more',
      { retryAfterSeconds: roomSeconds },
    );
  }

  /** How many of the wanted users may be created now; they count as created. */
  async takeRoomForUsers(trx: Db, id: number, wanted: number, now: number): Promise<number> {
    const most = (await limits.findLimits(trx, id))?.users ?? null;
    if (most === null) return wanted;
    let known = this.#users.get(id);
    if (!known || now - known.readAt >= countedForMs || known.count + wanted > most) {
      await this.#countUsers(trx, id, now);
      known = this.#users.get(id)!;
    }
    const taken = Math.max(0, Math.min(wanted, most - known.count));
    known.count += taken;
    return taken;
  }

  async #countUsers(trx: Db, id: number, now: number): Promise<number> {
    const count = await limits.countUsers(trx, id);
    this.#users.set(id, { count, readAt: now });
    return count;
  }
}
