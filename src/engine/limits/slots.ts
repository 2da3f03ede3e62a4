/**
 * Limits how many messages of a channel are in flight, over all workers. This worker holds slots while messages wait
 * for them, and hands them on without asking the database, most urgent first.
 */
import type { Slots } from '../../db/ledger/deliver/channel-limits.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';

/** An object, so that a slot that was lost with its connection is not confused with a new one of the same number. */
interface Slot {
  number: number;
}

interface Waiter {
  priority: number;
  resolve: (slot: Slot | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * The assumed duration of a send before any was measured. Too short is better than too long, which would leave slots
 * idle.
 */
const initialSendMs = 20;
/** The same when other workers hold all slots, so that nothing is measured here. */
const initialSendElsewhereMs = 200;
/** How much work waits here, so that no slot is idle while more is claimed, which takes 5 to 20 ms. */
const waitingWorkMs = 200;
const maxWaiting = 100;
/** How long to wait before asking for slots again when none was free. */
const retryMs = 250;

export class ChannelSlots {
  readonly #slots: Slots;
  #channel: PlannedChannel;
  #held = new Set<Slot>();
  readonly #waiting: Waiter[] = [];
  #isAcquiring = false;
  #averageMs: number | undefined;
  #retryAt = 0;

  constructor(slots: Slots, channel: PlannedChannel) {
    this.#slots = slots;
    this.#channel = channel;
  }

  set channel(channel: PlannedChannel) {
    this.#channel = channel;
  }

  get perSecond(): number {
    const guessMs = this.#held.size > 0 ? initialSendMs : initialSendElsewhereMs;
    return (this.#concurrency * 1_000) / (this.#averageMs ?? guessMs);
  }

  /** Returns how many more messages would get a slot soon; 0 while the queue is more than half full. */
  capacity(now: number): number {
    if (this.#held.size === 0 && now < this.#retryAt) return 0;
    const max = this.#maxWaiting;
    return this.#waiting.length > max / 2 ? 0 : max - this.#waiting.length;
  }

  /** When to check for capacity that no message here will announce. */
  get capacityAt(): number {
    return this.#held.size === 0 ? this.#retryAt : Number.POSITIVE_INFINITY;
  }

  /** Resolves with a slot, or with undefined when too many messages already wait for one. */
  acquire(priority: number): Promise<Slot | undefined> {
    const position = this.#waiting.findLastIndex(other => other.priority <= priority) + 1;
    if (position >= this.#maxWaiting) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.#waiting.splice(position, 0, { priority, resolve, reject });
      this.#acquireMore();
    });
  }

  /** Returns a slot. `tookMs` is how long the send took; undefined: nothing was sent. */
  release(slot: Slot, tookMs?: number): void {
    if (tookMs !== undefined) this.#averageMs = this.#averageMs ? this.#averageMs * 0.9 + tookMs * 0.1 : tookMs;
    if (this.#held.has(slot)) this.#handOver(slot);
    else if (this.#waiting.length > 0) this.#acquireMore();
  }

  /** Drops all slots: they are gone with their connection. Sends in flight finish without one. */
  connectionLost(): void {
    this.#held = new Set();
    if (this.#waiting.length > 0) this.#acquireMore();
  }

  get #concurrency(): number {
    return this.#channel.concurrency ?? 0;
  }

  get #maxWaiting(): number {
    const useful = this.#concurrency * Math.max(1, waitingWorkMs / (this.#averageMs ?? initialSendMs));
    return Math.max(this.#concurrency, Math.min(useful, maxWaiting));
  }

  async #acquireMore(): Promise<void> {
    if (this.#isAcquiring) return;
    this.#isAcquiring = true;
    // Requests of the same tick share one query.
    await new Promise(setImmediate);
    try {
      for (;;) {
        const missing = Math.min(this.#waiting.length, this.#concurrency - this.#held.size);
        if (missing <= 0) break;
        const numbers = [...this.#held].map(slot => slot.number);
        const taken = await this.#slots.take(this.#key, this.#concurrency, numbers, missing);
        for (const number of taken) {
          const slot = { number };
          this.#held.add(slot);
          this.#handOver(slot);
        }
        if (taken.length < missing) break;
      }
      // Other workers hold all slots, so no release here would wake the waiting messages.
      if (this.#held.size === 0) {
        this.#retryAt = performance.now() + retryMs;
        for (const { resolve } of this.#waiting.splice(0)) resolve(undefined);
      }
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    } finally {
      this.#isAcquiring = false;
    }
  }

  /** Gives the slot to the next waiting message, or frees it for all workers. */
  #handOver(slot: Slot): void {
    const next = slot.number <= this.#concurrency ? this.#waiting.shift() : undefined;
    if (next) {
      next.resolve(slot);
      return;
    }
    this.#held.delete(slot);
    this.#slots.free(this.#key, slot.number).catch(() => {});
    if (this.#waiting.length > 0) this.#acquireMore();
  }

  get #key(): string {
    return `${this.#channel.organizationId}/${this.#channel.id}`;
  }
}
