/**
 * Limits how many messages of a channel are sent per second, over all workers. Send times are reserved in the database,
 * evenly spaced and a short time ahead, and each message waits for its own. A process that was suspended would send all
 * overdue messages at once: therefore it also keeps the times of its last sends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { reserveSendTimes, type SendTimeRequest } from '../../db/ledger/deliver/channel-limits.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';

/**
 * How far ahead to reserve: the longest that a more urgent message waits behind reserved times, and the work that is
 * kept ready here.
 */
const maxAheadMs = 500;
const maxAhead = 100;

interface SendRequest {
  priority: number;
}

export class ChannelRateLimiter {
  readonly #pool: pg.Pool;
  #channel: PlannedChannel;
  readonly #reservations: Batcher<SendRequest, number | undefined>;
  /** Times of the last sends, at least as many as the rate allows per second. */
  readonly #sentAt: number[] = [];
  #reservedUntil = 0;

  constructor(pool: pg.Pool, channel: PlannedChannel) {
    this.#pool = pool;
    this.#channel = channel;
    this.#reservations = new Batcher(requests => this.#reserve(requests), {
      maxPerBatch: 5_000,
    });
  }

  set channel(channel: PlannedChannel) {
    this.#channel = channel;
  }

  get perSecond(): number {
    return this.#channel.ratePerSecond ?? 1;
  }

  capacity(now: number): number {
    return now < this.capacityAt ? 0 : Math.ceil((this.#aheadMs / 1_000) * this.perSecond);
  }

  /** When half of the reserved times are used up. */
  get capacityAt(): number {
    return this.#reservedUntil - this.#aheadMs / 2;
  }

  /** Resolves with true at the reserved time, or at once with false when no time is available soon. */
  async acquire(priority: number): Promise<boolean> {
    const at = await this.#reservations.add({ priority });
    if (at === undefined) return false;
    const wait = at - performance.now();
    if (wait > 0) await sleep(wait);
    for (;;) {
      const waitMs = this.#recordSendOrWait(performance.now());
      if (waitMs <= 0) return true;
      await sleep(Math.ceil(waitMs));
    }
  }

  /** Far enough ahead for at least one send time, however low the rate is. */
  get #aheadMs(): number {
    return Math.max(1_000 / this.perSecond, Math.min(maxAheadMs, (maxAhead * 1_000) / this.perSecond));
  }

  /** Reserves send times; more urgent messages get the earlier ones. */
  async #reserve(requests: SendRequest[]): Promise<(number | undefined)[]> {
    const { organizationId, id: channelId } = this.#channel;
    const { perSecond } = this;
    const request: SendTimeRequest = { channelId, perSecond, requested: requests.length, aheadMs: this.#aheadMs };
    const { granted, waitMs } = await reserveSendTimes(this.#pool, organizationId, request);
    const first = performance.now() + waitMs;
    this.#reservedUntil = first + (granted * 1_000) / perSecond;
    const sendTimes: (number | undefined)[] = requests.map(() => undefined);
    const order = [...requests.keys()].sort((a, b) => requests[a]!.priority - requests[b]!.priority);
    for (const [n, i] of order.slice(0, granted).entries()) sendTimes[i] = first + (n * 1_000) / perSecond;
    return sendTimes;
  }

  /** Records a send, or returns how many milliseconds to wait before the rate allows one. */
  #recordSendOrWait(now: number): number {
    const rate = this.perSecond;
    const before = this.#sentAt.at(-rate);
    const wait = before === undefined ? 0 : before + 1_000 - now;
    if (wait > 0) return wait;
    this.#sentAt.push(now);
    if (this.#sentAt.length > 2 * rate) this.#sentAt.splice(0, this.#sentAt.length - rate);
    return 0;
  }
}
