/**
 * What a channel may do at the most, over all workers: so many messages a second, and so many under way at once. A few
 * wait here for their turn, so that the channel is never idle. The others go back into the queue, and that attempt does
 * not count; the worker remembers them and fetches them as soon as there is room. Channels without limits never come here.
 *
 * In the queue they form a line for each channel and class, due when the channel should come to them: put back for
 * "soon", a large fan-out would be claimed and put back over and over. A line reaches so far and no farther, so that a
 * limit that is raised is felt within that time. Every worker has lines of its own; what comes due too early goes back.
 */
import type pg from 'pg';
import type { Delivery } from '../db/deliveries.ts';
import type { Slots } from '../db/limits.ts';
import type { PlannedChannel } from '../services/plans.ts';
import { ChannelPace } from './pace.ts';
import { ChannelSlots } from './slots.ts';

/** A message that may be sent, and must say when it is done; or when to try again. */
export type Pass = { leave(): void } | { dueAt: Date; why: string };

/** One that was put back, as it stands in the queue unless somebody has touched it since. */
export interface PutBack {
  organization_id: number;
  occurrence_id: string;
  id: number;
  due_at: Date;
}

/** How far a line reaches, for urgent, normal and bulk. */
const reachMs = [1_000, 60_000, 600_000];
/** So many of a channel are remembered; the others come by their due time. */
const mostRemembered = 2_000;
/** What waits here counts for no class and no organization, so there is a bound of its own. */
const mostWaitingOfOrganization = 500;

interface Lane {
  channel: PlannedChannel;
  slots: ChannelSlots;
  pace: ChannelPace;
  /** For each class, the time of the last in the line. */
  lines: number[];
  /** For each class, who was put back, in that order. */
  back: PutBack[][];
  remembered: number;
}

export class Limits {
  /** Of deliveries that wait here for their turn. */
  readonly waiting = new Set<number>();
  /** Called when somebody who was put back may come. */
  onRoom: () => void = () => {};
  readonly #pool: pg.Pool;
  readonly #slots: Slots;
  readonly #lanes = new Map<string, Lane>();
  readonly #ofOrganizations = new Map<number, number>();

  constructor({ pool }: { pool: pg.Pool }, slots: Slots) {
    this.#pool = pool;
    this.#slots = slots;
  }

  async enter(channel: PlannedChannel, delivery: Delivery): Promise<Pass> {
    const lane = this.#lane(channel);
    const { organization_id: organization, priority } = delivery;
    const waiting = this.#ofOrganizations.get(organization) ?? 0;
    if (waiting >= mostWaitingOfOrganization) return this.#refuse(lane, priority);
    this.#ofOrganizations.set(organization, waiting + 1);
    this.waiting.add(delivery.id);
    try {
      return await this.#wait(lane, priority);
    } finally {
      this.waiting.delete(delivery.id);
      const others = this.#ofOrganizations.get(organization)! - 1;
      if (others > 0) this.#ofOrganizations.set(organization, others);
      else this.#ofOrganizations.delete(organization);
    }
  }

  /** It stands in the queue again: it will be fetched from there when there is room. */
  remember(channel: PlannedChannel, { organization_id, occurrence_id, id, priority }: Delivery, due_at: Date): void {
    const lane = this.#lane(channel);
    if (lane.remembered >= mostRemembered) return;
    lane.back[priority]!.push({ organization_id, occurrence_id, id, due_at });
    lane.remembered++;
    if (roomOf(lane, Date.now()) > 0) this.onRoom();
  }

  /** Those for whom there is room now, the most urgent first; they are not remembered any longer. */
  recall(now: number): PutBack[] {
    const recalled: PutBack[] = [];
    for (const lane of this.#lanes.values()) {
      let room = lane.remembered > 0 ? roomOf(lane, now) : 0;
      for (const back of lane.back) {
        if (room <= 0) break;
        const some = back.splice(0, room);
        recalled.push(...some);
        lane.remembered -= some.length;
        room -= some.length;
      }
    }
    return recalled;
  }

  /** When `recall` may find somebody without `onRoom` being called before. */
  roomAt(now: number): number {
    let at = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes.values()) if (lane.remembered > 0) at = Math.min(at, roomAtOf(lane, now));
    return at;
  }

  /** The connection is gone and every slot with it. */
  lost(): void {
    for (const { slots } of this.#lanes.values()) slots.lost();
  }

  #lane(channel: PlannedChannel): Lane {
    const name = `${channel.organizationId}/${channel.id}`;
    let lane = this.#lanes.get(name);
    if (!lane) {
      const slots = new ChannelSlots(this.#slots, channel);
      const pace = new ChannelPace(this.#pool, channel);
      lane = { channel, slots, pace, lines: [], back: reachMs.map(() => []), remembered: 0 };
      this.#lanes.set(name, lane);
    }
    lane.channel = channel;
    lane.slots.channel = channel;
    lane.pace.channel = channel;
    return lane;
  }

  async #wait(lane: Lane, priority: number): Promise<Pass> {
    const { slots, pace } = lane;
    const { concurrency, ratePerSecond } = lane.channel;
    const slot = concurrency === null ? undefined : await slots.take(priority);
    if (concurrency !== null && !slot) return this.#refuse(lane, priority);
    const leave = (tookMs?: number) => {
      if (slot) slots.leave(slot, tookMs);
      if (lane.remembered > 0 && roomOf(lane, Date.now()) > 0) this.onRoom();
    };
    try {
      if (ratePerSecond !== null && !(await pace.take(priority))) {
        leave();
        return this.#refuse(lane, priority);
      }
    } catch (error) {
      leave();
      throw error;
    }
    const began = Date.now();
    return { leave: () => leave(Math.max(1, Date.now() - began)) };
  }

  #refuse(lane: Lane, priority: number): Pass {
    const { concurrency, ratePerSecond } = lane.channel;
    const paces = [
      ...(concurrency === null ? [] : [{ perSecond: lane.slots.perSecond, why: `${concurrency} at a time` }]),
      ...(ratePerSecond === null ? [] : [{ perSecond: ratePerSecond, why: `${ratePerSecond} a second` }]),
    ];
    const { perSecond, why } = paces.toSorted((a, b) => a.perSecond - b.perSecond)[0]!;
    return { dueAt: lineUp(lane, priority, perSecond), why: `the channel sends ${why}` };
  }
}

function roomOf({ channel, slots, pace }: Lane, now: number): number {
  const { concurrency, ratePerSecond } = channel;
  return Math.min(
    concurrency === null ? Number.POSITIVE_INFINITY : slots.room(now),
    ratePerSecond === null ? Number.POSITIVE_INFINITY : pace.room(now),
    mostRemembered,
  );
}

/** The time that those of its limits name which leave no room now; never, where a message that leaves will tell. */
function roomAtOf({ channel, slots, pace }: Lane, now: number): number {
  const { concurrency, ratePerSecond } = channel;
  return Math.max(
    concurrency === null || slots.room(now) > 0 ? 0 : slots.roomAt,
    ratePerSecond === null || pace.room(now) > 0 ? 0 : pace.roomAt,
  );
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
