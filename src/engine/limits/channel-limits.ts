/**
 * Enforces the limits of channels over all workers: messages per second, and messages in flight. A few deliveries wait
 * here, so that the channel is never idle. The others go back to the queue without costing an attempt; this worker
 * remembers them and claims them as soon as there is capacity. Channels without limits are not handled here.
 *
 * Requeued deliveries get increasing due times per channel and priority class, at the rate of the channel: if all were
 * due "soon", a large fan-out would be claimed and requeued over and over. Due times are at most `maxDeferralMs` ahead,
 * so that a raised limit takes effect within that time. Each worker assigns due times on its own; a delivery that is
 * due too early is requeued again.
 */
import type pg from 'pg';
import type { Slots } from '../../db/ledger/deliver/channel-limits.ts';
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { isLimited, type PlannedChannel } from '../../pipeline/plans.ts';
import { ChannelRateLimiter } from './channel-rate.ts';
import type { Admission, Limit, Refusal } from './limits.ts';
import { ChannelSlots } from './slots.ts';

/** A requeued delivery. Another due time means that it was changed since. */
interface RequeuedDelivery {
  organization_id: number;
  occurrence_id: string;
  id: number;
  due_at: Date;
}

/** The maximum time a delivery is deferred, for urgent, normal and bulk. */
const maxDeferralMs = [1_000, 60_000, 600_000];
/** Requeued deliveries remembered per channel; others are claimed when they are due. */
const maxRequeued = 2_000;
/** Waiting deliveries do not count as in flight, so they have their own bound. */
const maxWaitingPerOrganization = 500;

interface ChannelLimiter {
  channel: PlannedChannel;
  slots: ChannelSlots;
  pace: ChannelRateLimiter;
  /** The latest due time assigned, for each priority class. */
  lastDueAt: number[];
  /** Requeued deliveries of each priority class, in order of their due times. */
  requeued: RequeuedDelivery[][];
  requeuedCount: number;
}

export class ChannelLimits implements Limit {
  /** Ids of deliveries that wait here for a limit. */
  readonly waiting = new Set<number>();
  /** Called when a requeued delivery may be sent. */
  onCapacity: () => void = () => {};
  readonly #pool: pg.Pool;
  readonly #slots: Slots;
  readonly #limiters = new Map<string, ChannelLimiter>();
  readonly #waitingByOrganization = new Map<number, number>();

  constructor({ pool }: { pool: pg.Pool }, slots: Slots) {
    this.#pool = pool;
    this.#slots = slots;
  }

  enter(
    channel: PlannedChannel,
    message: Pick<Delivery, 'organization_id' | 'priority' | 'id'>,
  ): Promise<Admission> | undefined {
    return isLimited(channel) ? this.#enter(channel, message) : undefined;
  }

  async #enter(
    channel: PlannedChannel,
    { organization_id: organization, priority, id }: Pick<Delivery, 'organization_id' | 'priority' | 'id'>,
  ): Promise<Admission> {
    const limiter = this.#limiter(channel);
    const waiting = this.#waitingByOrganization.get(organization) ?? 0;
    if (waiting >= maxWaitingPerOrganization) return this.#defer(limiter, priority);
    this.#waitingByOrganization.set(organization, waiting + 1);
    this.waiting.add(id);
    try {
      return await this.#enterBoth(limiter, priority);
    } finally {
      this.waiting.delete(id);
      const others = this.#waitingByOrganization.get(organization)! - 1;
      if (others > 0) this.#waitingByOrganization.set(organization, others);
      else this.#waitingByOrganization.delete(organization);
    }
  }

  /** Remembers a delivery that is back in the queue, to be claimed when there is capacity. */
  addRequeued(channel: PlannedChannel, { organization_id, occurrence_id, id, priority }: Delivery, due_at: Date): void {
    const limiter = this.#limiter(channel);
    if (limiter.requeuedCount >= maxRequeued) return;
    limiter.requeued[priority]!.push({ organization_id, occurrence_id, id, due_at });
    limiter.requeuedCount++;
    if (capacityOf(limiter, performance.now()) > 0) this.onCapacity();
  }

  /** Removes and returns the requeued deliveries that there is capacity for, most urgent first. */
  takeRequeued(now: number): RequeuedDelivery[] {
    const taken: RequeuedDelivery[] = [];
    for (const limiter of this.#limiters.values()) {
      let capacity = limiter.requeuedCount > 0 ? capacityOf(limiter, now) : 0;
      for (const requeued of limiter.requeued) {
        if (capacity <= 0) break;
        const batch = requeued.splice(0, capacity);
        taken.push(...batch);
        limiter.requeuedCount -= batch.length;
        capacity -= batch.length;
      }
    }
    return taken;
  }

  /** Returns when `takeRequeued` may find deliveries without a call of `onCapacity`. */
  capacityAt(now: number): number {
    let at = Number.POSITIVE_INFINITY;
    for (const limiter of this.#limiters.values())
      if (limiter.requeuedCount > 0) at = Math.min(at, capacityAtOf(limiter, now));
    return at;
  }

  /** Drops all slots: they are gone with their connection. */
  connectionLost(): void {
    for (const { slots } of this.#limiters.values()) slots.connectionLost();
  }

  #limiter(channel: PlannedChannel): ChannelLimiter {
    const key = `${channel.organizationId}/${channel.id}`;
    let limiter = this.#limiters.get(key);
    if (!limiter) {
      const slots = new ChannelSlots(this.#slots, channel);
      const pace = new ChannelRateLimiter(this.#pool, channel);
      limiter = { channel, slots, pace, lastDueAt: [], requeued: maxDeferralMs.map(() => []), requeuedCount: 0 };
      this.#limiters.set(key, limiter);
    }
    limiter.channel = channel;
    limiter.slots.channel = channel;
    limiter.pace.channel = channel;
    return limiter;
  }

  async #enterBoth(limiter: ChannelLimiter, priority: number): Promise<Admission> {
    const { slots, pace } = limiter;
    const { concurrency, ratePerSecond } = limiter.channel;
    const slot = concurrency === null ? undefined : await slots.acquire(priority);
    if (concurrency !== null && !slot) return this.#defer(limiter, priority);
    const release = (tookMs?: number) => {
      if (slot) slots.release(slot, tookMs);
      if (limiter.requeuedCount > 0 && capacityOf(limiter, performance.now()) > 0) this.onCapacity();
    };
    try {
      if (ratePerSecond !== null && !(await pace.acquire(priority))) {
        release();
        return this.#defer(limiter, priority);
      }
    } catch (error) {
      release();
      throw error;
    }
    const began = performance.now();
    return { leave: () => release(Math.max(1, performance.now() - began)) };
  }

  #defer(limiter: ChannelLimiter, priority: number): Refusal {
    const { concurrency, ratePerSecond } = limiter.channel;
    const limits = [
      ...(concurrency === null
        ? []
        : [{ perSecond: limiter.slots.perSecond, detail: `${concurrency} messages at a time` }]),
      ...(ratePerSecond === null ? [] : [{ perSecond: ratePerSecond, detail: `${ratePerSecond} messages per second` }]),
    ];
    const { perSecond, detail } = limits.toSorted((a, b) => a.perSecond - b.perSecond)[0]!;
    return {
      by: 'channel',
      dueAt: nextDueAt(limiter, priority, perSecond),
      detail: `the channel is limited to ${detail}`,
    };
  }
}

function capacityOf({ channel, slots, pace }: ChannelLimiter, now: number): number {
  const { concurrency, ratePerSecond } = channel;
  return Math.min(
    concurrency === null ? Number.POSITIVE_INFINITY : slots.capacity(now),
    ratePerSecond === null ? Number.POSITIVE_INFINITY : pace.capacity(now),
    maxRequeued,
  );
}

/** Returns when the exhausted limits have capacity again; infinity: only when a message in flight is done. */
function capacityAtOf({ channel, slots, pace }: ChannelLimiter, now: number): number {
  const { concurrency, ratePerSecond } = channel;
  return Math.max(
    concurrency === null || slots.capacity(now) > 0 ? 0 : slots.capacityAt,
    ratePerSecond === null || pace.capacity(now) > 0 ? 0 : pace.capacityAt,
  );
}

/** Assigns the next due time. Deliveries beyond the maximum are spread over its second half. */
function nextDueAt(limiter: ChannelLimiter, priority: number, perSecond: number): Date {
  const now = currentTime();
  const maxMs = maxDeferralMs[priority] ?? maxDeferralMs.at(-1)!;
  const at = Math.max(limiter.lastDueAt[priority] ?? 0, now) + 1_000 / perSecond;
  if (at - now > maxMs) return new Date(now + maxMs * (0.5 + Math.random() / 2));
  limiter.lastDueAt[priority] = at;
  return new Date(at);
}
