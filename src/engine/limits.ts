/**
 * What a channel may do at the most, over all workers: so many messages a second, and so many under way at once. Whoever
 * may not be sent now goes back into the queue for a time when it may, and that attempt does not count. Channels without
 * limits never come here.
 *
 * Those that go back form a line for each channel and class, spaced as the channel can send them: put back for "soon",
 * a large fan-out would be claimed and put back over and over. A line reaches so far and no farther, so that a limit
 * that is raised is felt within that time. Every worker has lines of its own; what comes due too early goes back again.
 */
import { type Slots, takeTokensAcrossTenants } from '../db/limits.ts';
import { isUnavailable, sqlState } from '../db/pool.ts';
import { Batcher } from '../lib/batcher.ts';
import type { PlannedChannel } from '../services/plans.ts';
import type { Engine } from './engine.ts';

/** A message that may be sent, and must say when it is done; or when to try again. */
export type Pass = { leave(): void } | { dueAt: Date; why: string };

/** How far a line reaches, for urgent, normal and bulk. */
const reachMs = [1_000, 60_000, 600_000];
/** What a send is taken to last before one has been seen. */
const usualSendMs = 200;
/** Workers look for what is due every second: so much work may wait for a slot here, so that none is ever idle. */
const waitMs = 1_500;

/** An object, so that one lost with its connection is not taken for another of the same number. */
interface Slot {
  number: number;
}

interface Waiter {
  enter: (slot: Slot | undefined) => void;
  fail: (error: unknown) => void;
}

interface Lane {
  channel: PlannedChannel;
  held: Set<Slot>;
  waiting: Waiter[];
  asking: boolean;
  averageMs: number;
  /** For each class, the time of the last in the line. */
  lines: number[];
}

export class Limits {
  readonly #slots: Slots;
  readonly #tokens: Batcher<{ channel: PlannedChannel; priority: number }, boolean>;
  readonly #lanes = new Map<string, Lane>();

  constructor({ pool }: Pick<Engine, 'pool'>, slots: Slots) {
    this.#slots = slots;
    this.#tokens = new Batcher(wanted => takeTokens(pool, wanted), {
      mostPerBatch: 5_000,
      mostWaiting: Number.POSITIVE_INFINITY,
      full: () => new Error('never'),
      // A channel that has been deleted meanwhile.
      isItemsFault: error => sqlState(error) !== undefined && !isUnavailable(error),
    });
  }

  async enter(channel: PlannedChannel, priority: number): Promise<Pass> {
    const lane = this.#lane(channel);
    const { concurrency, ratePerSecond } = channel;
    const slot = concurrency === null ? undefined : await this.#takeSlot(lane, concurrency);
    if (concurrency !== null && !slot) {
      const perSecond = (concurrency * 1_000) / lane.averageMs;
      return { dueAt: lineUp(lane, priority, perSecond), why: `the channel sends ${concurrency} at a time` };
    }
    try {
      if (ratePerSecond !== null && !(await this.#tokens.add({ channel, priority }))) {
        this.#leave(lane, slot);
        return { dueAt: lineUp(lane, priority, ratePerSecond), why: `the channel sends ${ratePerSecond} a second` };
      }
    } catch (error) {
      this.#leave(lane, slot);
      throw error;
    }
    const began = Date.now();
    const leave = () => {
      lane.averageMs += (Math.max(1, Date.now() - began) - lane.averageMs) / 10;
      this.#leave(lane, slot);
    };
    return { leave };
  }

  /** The connection is gone and every slot with it; what is being sent is sent, and asks again next time. */
  lost(): void {
    for (const lane of this.#lanes.values()) {
      lane.held = new Set();
      if (lane.waiting.length > 0) this.#ask(lane);
    }
  }

  #lane(channel: PlannedChannel): Lane {
    const name = `${channel.organizationId}/${channel.id}`;
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = { channel, held: new Set(), waiting: [], asking: false, averageMs: usualSendMs, lines: [] };
      this.#lanes.set(name, lane);
    }
    lane.channel = channel;
    return lane;
  }

  /** Undefined when there is none, and more wait for one than would have it soon. */
  #takeSlot(lane: Lane, concurrency: number): Promise<Slot | undefined> {
    if (lane.waiting.length >= concurrency * Math.max(1, waitMs / lane.averageMs)) return Promise.resolve(undefined);
    return new Promise((enter, fail) => {
      lane.waiting.push({ enter, fail });
      this.#ask(lane);
    });
  }

  async #ask(lane: Lane): Promise<void> {
    if (lane.asking) return;
    lane.asking = true;
    // Whoever comes in the same breath is asked for together.
    await new Promise(setImmediate);
    try {
      for (;;) {
        const { held, waiting, channel } = lane;
        const concurrency = channel.concurrency ?? 0;
        const wanted = Math.min(waiting.length, concurrency - held.size);
        if (wanted <= 0) break;
        const numbers = [...held].map(slot => slot.number);
        const taken = await this.#slots.take(nameOf(channel), concurrency, numbers, wanted);
        for (const number of taken) {
          const slot = { number };
          lane.held.add(slot);
          this.#pass(lane, slot);
        }
        if (taken.length < wanted) break;
      }
      // With all of them in other workers, nobody here would ever say that one is free.
      if (lane.held.size === 0) for (const { enter } of lane.waiting.splice(0)) enter(undefined);
    } catch (error) {
      for (const { fail } of lane.waiting.splice(0)) fail(error);
    } finally {
      lane.asking = false;
    }
  }

  /** To the next who waits, or back to everybody. */
  #pass(lane: Lane, slot: Slot): void {
    const next = slot.number <= (lane.channel.concurrency ?? 0) ? lane.waiting.shift() : undefined;
    if (next) {
      next.enter(slot);
      return;
    }
    lane.held.delete(slot);
    this.#slots.free(nameOf(lane.channel), slot.number).catch(() => {});
    if (lane.waiting.length > 0) this.#ask(lane);
  }

  #leave(lane: Lane, slot: Slot | undefined): void {
    if (slot && lane.held.has(slot)) this.#pass(lane, slot);
    else if (lane.waiting.length > 0) this.#ask(lane);
  }
}

function nameOf({ organizationId, id }: PlannedChannel): string {
  return `${organizationId}/${id}`;
}

/** The next place in the line; those who would stand beyond its end come again when about half of it is gone. */
function lineUp(lane: Lane, priority: number, perSecond: number): Date {
  const now = Date.now();
  const reach = reachMs[priority] ?? reachMs.at(-1)!;
  const at = Math.max(lane.lines[priority] ?? 0, now) + 1_000 / perSecond;
  if (at - now > reach) return new Date(now + reach * (0.5 + Math.random() / 2));
  lane.lines[priority] = at;
  return new Date(at);
}

/** The more urgent first. */
async function takeTokens(
  pool: Engine['pool'],
  wanted: { channel: PlannedChannel; priority: number }[],
): Promise<boolean[]> {
  const byChannel = [...Map.groupBy(wanted.keys(), i => nameOf(wanted[i]!.channel)).values()];
  const rows = byChannel.map(places => {
    const { channel } = wanted[places.at(-1)!]!;
    return {
      organization_id: channel.organizationId,
      channel_id: channel.id,
      rate_per_second: channel.ratePerSecond!,
      wanted: places.length,
    };
  });
  const granted = await takeTokensAcrossTenants(pool, rows);
  const answers = wanted.map(() => false);
  for (const [n, places] of byChannel.entries()) {
    const { organization_id, channel_id } = rows[n]!;
    const grant = granted.find(one => one.organization_id === organization_id && one.channel_id === channel_id);
    places.sort((a, b) => wanted[a]!.priority - wanted[b]!.priority);
    for (const i of places.slice(0, grant?.granted ?? 0)) answers[i] = true;
  }
  return answers;
}
