/**
 * How many messages of one channel leave in a second, over all workers. Moments to send at are reserved in the database,
 * a little ahead and evenly spaced; whoever has one waits for it here. A process that was held up for a while would send
 * all that is overdue at once: so each also remembers when its last ones left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { reserveMoments } from '../db/limits.ts';
import { Batcher } from '../lib/batcher.ts';
import type { PlannedChannel } from '../services/plans.ts';

/** How far ahead: no more urgent message waits longer, and work for so long is at hand here. */
const longestAheadMs = 500;
const mostAhead = 100;

interface Wanted {
  priority: number;
}

export class ChannelPace {
  readonly #pool: pg.Pool;
  #channel: PlannedChannel;
  readonly #moments: Batcher<Wanted, number | undefined>;
  /** When the last ones left, as many as may leave in a second. */
  readonly #left: number[] = [];
  #reservedUntil = 0;

  constructor(pool: pg.Pool, channel: PlannedChannel) {
    this.#pool = pool;
    this.#channel = channel;
    this.#moments = new Batcher(wanted => this.#reserve(wanted), {
      mostPerBatch: 5_000,
      mostWaiting: Number.POSITIVE_INFINITY,
      full: () => new Error('never'),
      isItemsFault: () => false,
    });
  }

  set channel(channel: PlannedChannel) {
    this.#channel = channel;
  }

  get perSecond(): number {
    return this.#channel.ratePerSecond ?? 1;
  }

  room(now: number): number {
    return now < this.roomAt ? 0 : Math.ceil((this.#aheadMs / 1_000) * this.perSecond);
  }

  /** When half of what was reserved has been used. */
  get roomAt(): number {
    return this.#reservedUntil - this.#aheadMs / 2;
  }

  /** Resolves at its moment with true, or soon with false when there is none within reach. */
  async take(priority: number): Promise<boolean> {
    const at = await this.#moments.add({ priority });
    if (at === undefined) return false;
    const wait = at - Date.now();
    if (wait > 0) await sleep(wait);
    for (;;) {
      const waitMore = this.#untilFree(performance.now());
      if (waitMore <= 0) return true;
      await sleep(Math.ceil(waitMore));
    }
  }

  /** At least one moment is within reach, however slow the channel is. */
  get #aheadMs(): number {
    return Math.max(1_000 / this.perSecond, Math.min(longestAheadMs, (mostAhead * 1_000) / this.perSecond));
  }

  /** The more urgent have the earlier moments. */
  async #reserve(wanted: Wanted[]): Promise<(number | undefined)[]> {
    const { organizationId, id: channelId } = this.#channel;
    const { perSecond } = this;
    const asked = { channelId, perSecond, wanted: wanted.length, aheadMs: this.#aheadMs };
    const { granted, waitMs } = await reserveMoments(this.#pool, organizationId, asked);
    const first = Date.now() + waitMs;
    this.#reservedUntil = first + (granted * 1_000) / perSecond;
    const answers: (number | undefined)[] = wanted.map(() => undefined);
    const order = [...wanted.keys()].sort((a, b) => wanted[a]!.priority - wanted[b]!.priority);
    for (const [n, i] of order.slice(0, granted).entries()) answers[i] = first + (n * 1_000) / perSecond;
    return answers;
  }

  /** 0 or less: it leaves now, and that is noted. */
  #untilFree(now: number): number {
    const rate = this.perSecond;
    const before = this.#left.at(-rate);
    const wait = before === undefined ? 0 : before + 1_000 - now;
    if (wait > 0) return wait;
    this.#left.push(now);
    if (this.#left.length > 2 * rate) this.#left.splice(0, this.#left.length - rate);
    return 0;
  }
}
