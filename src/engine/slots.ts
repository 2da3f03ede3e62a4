/**
 * How many messages of one channel are under way at once, over all workers. Slots are held by this worker while somebody
 * here waits for one, and handed on without asking the database again; the more urgent go first.
 */
import type { Slots } from '../db/limits.ts';
import type { PlannedChannel } from '../services/plans.ts';

/** An object, so that one lost with its connection is not taken for another of the same number. */
export interface Slot {
  number: number;
}

interface Waiter {
  priority: number;
  enter: (slot: Slot | undefined) => void;
  fail: (error: unknown) => void;
}

/** What a send is taken to last before one has been seen: rather too short, or slots would be idle. */
const firstGuessMs = 20;
/** The same where other workers hold all slots, and none will be seen here. */
const elsewhereMs = 200;
/** So much work waits here, so that none is idle while more is fetched: that takes 5 to 20 ms. */
const roomMs = 200;
const mostWaiting = 100;
/** How long after none could be had it is worth asking again. */
const askAgainMs = 250;

export class ChannelSlots {
  readonly #slots: Slots;
  #channel: PlannedChannel;
  #held = new Set<Slot>();
  readonly #waiting: Waiter[] = [];
  #asking = false;
  #averageMs: number | undefined;
  #askAgainAt = 0;

  constructor(slots: Slots, channel: PlannedChannel) {
    this.#slots = slots;
    this.#channel = channel;
  }

  set channel(channel: PlannedChannel) {
    this.#channel = channel;
  }

  get perSecond(): number {
    const usual = this.#held.size > 0 ? firstGuessMs : elsewhereMs;
    return (this.#concurrency * 1_000) / (this.#averageMs ?? usual);
  }

  /** How many more would have a slot soon; 0 while more than half of those who may wait are there. */
  room(now: number): number {
    if (this.#held.size === 0 && now < this.#askAgainAt) return 0;
    const most = this.#mostWaiting;
    return this.#waiting.length > most / 2 ? 0 : most - this.#waiting.length;
  }

  /** When to look again for room that nobody here would tell of. */
  get roomAt(): number {
    return this.#held.size === 0 ? this.#askAgainAt : Number.POSITIVE_INFINITY;
  }

  /** Undefined when there is none, and as many wait for one as would have it soon. */
  take(priority: number): Promise<Slot | undefined> {
    const before = this.#waiting.findLastIndex(other => other.priority <= priority) + 1;
    if (before >= this.#mostWaiting) return Promise.resolve(undefined);
    return new Promise((enter, fail) => {
      this.#waiting.splice(before, 0, { priority, enter, fail });
      this.#ask();
    });
  }

  /** After a send that lasted so long, or that came to nothing. */
  leave(slot: Slot, tookMs?: number): void {
    if (tookMs !== undefined) this.#averageMs = this.#averageMs ? this.#averageMs * 0.9 + tookMs * 0.1 : tookMs;
    if (this.#held.has(slot)) this.#pass(slot);
    else if (this.#waiting.length > 0) this.#ask();
  }

  /** The connection is gone and every slot with it; what is being sent is sent, and asks again next time. */
  lost(): void {
    this.#held = new Set();
    if (this.#waiting.length > 0) this.#ask();
  }

  get #concurrency(): number {
    return this.#channel.concurrency ?? 0;
  }

  get #mostWaiting(): number {
    const worth = this.#concurrency * Math.max(1, roomMs / (this.#averageMs ?? firstGuessMs));
    return Math.max(this.#concurrency, Math.min(worth, mostWaiting));
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    // Whoever comes in the same breath is asked for together.
    await new Promise(setImmediate);
    try {
      for (;;) {
        const wanted = Math.min(this.#waiting.length, this.#concurrency - this.#held.size);
        if (wanted <= 0) break;
        const numbers = [...this.#held].map(slot => slot.number);
        const taken = await this.#slots.take(this.#name, this.#concurrency, numbers, wanted);
        for (const number of taken) {
          const slot = { number };
          this.#held.add(slot);
          this.#pass(slot);
        }
        if (taken.length < wanted) break;
      }
      // With all of them in other workers, nobody here would ever say that one is free.
      if (this.#held.size === 0) {
        this.#askAgainAt = Date.now() + askAgainMs;
        for (const { enter } of this.#waiting.splice(0)) enter(undefined);
      }
    } catch (error) {
      for (const { fail } of this.#waiting.splice(0)) fail(error);
    } finally {
      this.#asking = false;
    }
  }

  /** To the next who waits, or back to everybody. */
  #pass(slot: Slot): void {
    const next = slot.number <= this.#concurrency ? this.#waiting.shift() : undefined;
    if (next) {
      next.enter(slot);
      return;
    }
    this.#held.delete(slot);
    this.#slots.free(this.#name, slot.number).catch(() => {});
    if (this.#waiting.length > 0) this.#ask();
  }

  get #name(): string {
    return `${this.#channel.organizationId}/${this.#channel.id}`;
  }
}
