/**
 * What a worker has under way, and how much more it takes on: bounds memory, and what a crash can leave unknown. No class
 * takes the room of another, and no organization more than half of one: a provider that hangs keeps its own tenant
 * waiting and nobody else. What waits for a limit of its channel does not count: see limits.ts.
 *
 * The faster messages go, the more may be under way, so that a crash leaves no more than half a second's work.
 */
import { priorities } from '../core/trigger.ts';
import type { Delivery } from '../db/deliveries.ts';

/** For each class (urgent, normal, bulk), however slow it is. */
const least = [400, 1_000, 1_000];
const most = [400, 1_000, 4_000];
const workMs = 500;
/** Recipients of a fan-out that are decided together. With 1,000 instead of 500 where it is fast, it is faster by a sixth. */
const page = { least: 500, most: 1_000 };
/**
 * How long a page of a fan-out waits for room, so that it need not go through the queue; and which part of it is room
 * enough. With less of both, half of 20,000 mails went through the queue, and connections were idle a third of the time.
 */
const patienceMs = 400;
const enough = 0.9;
const bulk = priorities.indexOf('bulk');

export class UnderWay {
  readonly #waiting: ReadonlySet<number>;
  readonly #deliveries = new Map<number, Delivery>();
  /** For each class, when there was last enough room for a page. */
  readonly #roomyAt = priorities.map(() => 0);
  readonly #paces = priorities.map(() => new Pace());

  constructor(waiting: ReadonlySet<number>) {
    this.#waiting = waiting;
  }

  get size(): number {
    return this.#deliveries.size;
  }

  ids(): number[] {
    return [...this.#deliveries.keys()];
  }

  add(delivery: Delivery): void {
    this.#deliveries.set(delivery.id, delivery);
  }

  delete(delivery: Delivery): void {
    if (this.#deliveries.delete(delivery.id)) this.#paces[delivery.priority]!.count(Date.now());
  }

  /** For how many more of a class. */
  room(priority: number): number {
    return this.#most(priority) - this.#count(priority).total;
  }

  /** Organizations that have had their share of a class. */
  busy(priority: number): number[] {
    const share = this.#most(priority) / 2;
    const { byOrganization } = this.#count(priority);
    return [...byOrganization].filter(([, count]) => count >= share).map(([organization]) => organization);
  }

  /** For how many more of a class and an organization. */
  of(priority: number, organization: number): number {
    const all = this.#most(priority);
    const { total, byOrganization } = this.#count(priority);
    return Math.min(all - total, Math.floor(all / 2) - (byOrganization.get(organization) ?? 0));
  }

  /** How many recipients of a class to decide together: what an organization has room for. */
  page(priority: number): number {
    return Math.min(page.most, Math.max(page.least, Math.floor(this.#most(priority) / 2)));
  }

  /**
   * Whether it is worth waiting a moment before the next page of a fan-out, because there will be room: what must go
   * through the queue is written, and read, twice as often.
   */
  soon(priority: number, now: number): boolean {
    if (priority !== bulk) return false;
    const { total, byOrganization } = this.#count(priority);
    const share = this.#most(priority) / 2;
    if (total === 0 || Math.max(...byOrganization.values()) + enough * this.page(priority) <= share) {
      this.#roomyAt[priority] = now;
      return false;
    }
    return now - this.#roomyAt[priority]! < patienceMs;
  }

  #most(priority: number): number {
    const work = (this.#paces[priority]!.perSecond(Date.now()) * workMs) / 1_000;
    return Math.round(Math.min(most[priority]!, Math.max(least[priority]!, 2 * work)));
  }

  #count(priority: number): { total: number; byOrganization: Map<number, number> } {
    const byOrganization = new Map<number, number>();
    let total = 0;
    for (const { id, priority: theirs, organization_id } of this.#deliveries.values()) {
      if (theirs !== priority || this.#waiting.has(id)) continue;
      total++;
      byOrganization.set(organization_id, (byOrganization.get(organization_id) ?? 0) + 1);
    }
    return { total, byOrganization };
  }
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
