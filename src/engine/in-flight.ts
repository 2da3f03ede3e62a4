/**
 * What a worker has in flight, and how much more it takes on: bounds memory, and what a crash can leave unknown. No class
 * takes the room of another, and no organization more than half of what the others leave of one: receivers that hang
 * keep their own tenants waiting and nobody else, however many tenants they are. What waits for a limit of its channel
 * does not count: see limits.ts.
 *
 * The faster messages go, the more may be in flight, so that a crash leaves no more than half a second's work.
 */
import { priorities } from '../core/trigger.ts';
import type { Delivery } from '../db/deliveries.ts';
import type { Shares } from '../db/turns.ts';

/** For each class (urgent, normal, bulk), however slow it is. */
const least = [400, 1_000, 1_000];
const most = [400, 4_000, 4_000];
const workMs = 500;
/** Recipients of a fan-out that are decided together. With 1,000 instead of 500 where it is fast, it is faster by a sixth. */
const page = { least: 500, most: 1_000 };
/**
 * How long a page of a fan-out waits for room, so that it need not go through the queue; and which part of it is worth
 * being decided by itself. Where whole pages were waited for, time was up first, and most of 20,000 mails went through the
 * queue: that cost a third more of PostgreSQL's time and a quarter more of the worker's.
 */
const timeoutMs = 400;
const enough = 0.5;
const worthClaiming = 64;
const bulk = priorities.indexOf('bulk');

interface Counts {
  total: number;
  byOrganization: Map<number, number>;
}

export class InFlight {
  readonly #waiting: ReadonlySet<number>;
  readonly #deliveries = new Map<number, Delivery>();
  readonly #counts: Counts[] = priorities.map(() => ({ total: 0, byOrganization: new Map() }));
  /** For each class, when there was last enough room for a page. */
  readonly #roomyAt = priorities.map(() => 0);
  readonly #paces = priorities.map(() => new Pace());

  /** `waiting`: ids of those that wait for a limit of their channel. */
  constructor(waiting: ReadonlySet<number>) {
    this.#waiting = waiting;
  }

  get size(): number {
    return this.#deliveries.size;
  }

  /** By class. */
  counts(): number[] {
    return this.#counts.map(({ total }) => total);
  }

  ids(): number[] {
    return [...this.#deliveries.keys()];
  }

  add(delivery: Delivery): void {
    if (this.#deliveries.has(delivery.id)) return;
    this.#deliveries.set(delivery.id, delivery);
    count(this.#counts[delivery.priority]!, delivery.organization_id, 1);
  }

  delete(delivery: Delivery): void {
    if (!this.#deliveries.delete(delivery.id)) return;
    count(this.#counts[delivery.priority]!, delivery.organization_id, -1);
    this.#paces[delivery.priority]!.count(Date.now());
  }

  /** For how many more of a class. */
  room(priority: number): number {
    return this.#most(priority) - this.#active(priority).total;
  }

  /** For how many more of a class and an organization: half of what the others leave, in all. */
  roomFor(priority: number, organization: number): number {
    const own = this.#active(priority).byOrganization.get(organization) ?? 0;
    return Math.ceil((this.room(priority) - own) / 2);
  }

  /** The same for a claim. Whoever has some in flight and room for a few more waits until it is worth a claim. */
  shares(priority: number): Shares {
    const free = this.room(priority);
    const worth = Math.min(worthClaiming, this.#most(priority) / 8);
    const own = [...this.#active(priority).byOrganization].map(([organization, count]): [number, number] => {
      const share = Math.ceil((free - count) / 2);
      return [organization, share < worth ? 0 : share];
    });
    return { usual: Math.ceil(free / 2), byOrganization: new Map(own) };
  }

  /** How many recipients of a class to decide together: what an organization has room for. */
  page(priority: number): number {
    return Math.min(page.most, Math.max(page.least, Math.floor(this.#most(priority) / 2)));
  }

  /** The same for a further page of an organization: no more than goes out at once, unless that is hardly any. */
  pageFor(priority: number, organization: number): number {
    return Math.min(this.page(priority), Math.max(worthClaiming, this.roomFor(priority, organization)));
  }

  /**
   * Whether it is worth waiting a moment before the next page of a fan-out, because there will be room: what must go
   * through the queue is written, and read, twice as often.
   */
  shouldWaitForRoom(priority: number, now: number): boolean {
    if (priority !== bulk) return false;
    const { total, byOrganization } = this.#active(priority);
    const share = this.#most(priority) / 2;
    if (total === 0 || Math.max(...byOrganization.values()) + enough * this.page(priority) <= share) {
      this.#roomyAt[priority] = now;
      return false;
    }
    return now - this.#roomyAt[priority]! < timeoutMs;
  }

  #most(priority: number): number {
    const work = (this.#paces[priority]!.perSecond(Date.now()) * workMs) / 1_000;
    return Math.round(Math.min(most[priority]!, Math.max(least[priority]!, 2 * work)));
  }

  /** Without those that wait for a limit of their channel. */
  #active(priority: number): Counts {
    const all = this.#counts[priority]!;
    if (this.#waiting.size === 0) return all;
    const active = { total: all.total, byOrganization: new Map(all.byOrganization) };
    for (const id of this.#waiting) {
      const delivery = this.#deliveries.get(id);
      if (delivery?.priority === priority) count(active, delivery.organization_id, -1);
    }
    return active;
  }
}

function count(counts: Counts, organization: number, change: number): void {
  counts.total += change;
  const own = (counts.byOrganization.get(organization) ?? 0) + change;
  if (own > 0) counts.byOrganization.set(organization, own);
  else counts.byOrganization.delete(organization);
}

/** How many a second, by the last whole stretch and the present one. */
class Pace {
  #from = 0;
  #now = 0;
  #before = 0;

  count(now: number): void {
    this.#turn(now);
    this.#now++;
  }

  perSecond(now: number): number {
    this.#turn(now);
    return (Math.max(this.#before, this.#now) * 1_000) / workMs;
  }

  #turn(now: number): void {
    if (now - this.#from < workMs) return;
    this.#before = now - this.#from < 2 * workMs ? this.#now : 0;
    this.#from = now;
    this.#now = 0;
  }
}
