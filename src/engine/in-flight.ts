/**
 * Tracks the deliveries a worker has in flight, and how many more it may take on. This bounds memory and the number of
 * deliveries whose outcome a crash leaves unknown. Priority classes do not share capacity, and an organization gets at
 * most half of what the others leave free in a class. Even when nothing is left, an organization without deliveries in
 * flight gets a few: receivers that hang delay only their own tenants, however many there are. Deliveries that wait for a limit of their channel do not count: see channel-limits.ts.
 *
 * The faster messages are sent, the more may be in flight, so that a crash leaves at most half a second of work.
 */
import { bulk, priorities } from '../core/trigger.ts';
import type { Delivery } from '../db/ledger/deliver/deliveries.ts';
import type { Shares } from '../db/ledger/round-robin.ts';

/**
 * Deliveries that may be in flight in each priority class (urgent, normal, bulk): at least, and at high rates at most.
 */
const minInFlight = [400, 1_000, 1_000];
const maxInFlight = [400, 4_000, 4_000];
const windowMs = 500;
/** Recipients of a fan-out that are decided together. At high rates, 1,000 instead of 500 is a sixth faster. */
const pageSizes = { min: 500, max: 1_000 };
/**
 * How long a page of a fan-out waits for capacity before its deliveries go through the queue, and the part of a page
 * that must fit for it to be decided. Waiting for a full page timed out too often: the queue costs a third more of
 * PostgreSQL's time per message.
 */
const capacityTimeoutMs = 400;
const minPageShare = 0.5;
const minClaim = 64;
/**
 * What an organization without deliveries in flight gets at least, and how many times the limit may be exceeded by that. The
 * latter bounds memory, and is more than enough: receivers that hang are given up after ten failures.
 */
const newcomerShare = 16;
const maxOverdraft = 4;

interface Counts {
  total: number;
  byOrganization: Map<number, number>;
}

export class InFlight {
  readonly #waiting: ReadonlySet<number>;
  readonly #deliveries = new Map<number, Delivery>();
  readonly #counts: Counts[] = priorities.map(() => ({ total: 0, byOrganization: new Map() }));
  /** When each priority class last had enough capacity for a page. */
  readonly #hadCapacityAt = priorities.map(() => 0);
  readonly #rates = priorities.map(() => new RateMeter());

  /** `waiting` holds the ids of deliveries that wait for a limit of their channel. */
  constructor(waiting: ReadonlySet<number>) {
    this.#waiting = waiting;
  }

  get size(): number {
    return this.#deliveries.size;
  }

  /** Returns the number in flight for each priority class. */
  counts(): number[] {
    return this.#counts.map(({ total }) => total);
  }

  ids(): number[] {
    return [...this.#deliveries.keys()];
  }

  /** A delivery may be claimed for its next provider before the outcome of its last attempt has been handled here. */
  add(delivery: Delivery): void {
    const isKnown = this.#deliveries.has(delivery.id);
    this.#deliveries.set(delivery.id, delivery);
    if (!isKnown) count(this.#counts[delivery.priority]!, delivery.organization_id, 1);
  }

  /** Does nothing if it has been claimed again: otherwise, that claim would be taken for a lost one and sent twice. */
  delete(delivery: Delivery): void {
    if (this.#deliveries.get(delivery.id) !== delivery) return;
    this.#deliveries.delete(delivery.id);
    count(this.#counts[delivery.priority]!, delivery.organization_id, -1);
    this.#rates[delivery.priority]!.count(performance.now());
  }

  /** Returns how many more deliveries of a priority class may be claimed. */
  capacity(priority: number): number {
    return Math.max(this.#free(priority), this.#newcomerShare(priority));
  }

  /** Returns how many more deliveries of an organization fit: at most half of what the others leave. */
  capacityFor(priority: number, organization: number): number {
    const own = this.#active(priority).byOrganization.get(organization) ?? 0;
    return own === 0 ? this.#defaultShare(priority) : Math.ceil((this.#free(priority) - own) / 2);
  }

  /**
   * Returns the shares for a claim. An organization with deliveries in flight gets none until a claim for it is worth
   * its cost.
   */
  shares(priority: number): Shares {
    const free = this.#free(priority);
    const minShare = Math.min(minClaim, this.#limit(priority) / 8);
    const own = [...this.#active(priority).byOrganization].map(([organization, count]): [number, number] => {
      const share = Math.ceil((free - count) / 2);
      return [organization, share < minShare ? 0 : share];
    });
    return { defaultShare: this.#defaultShare(priority), byOrganization: new Map(own) };
  }

  /** Returns how many recipients to decide together: as many as one organization has capacity for. */
  pageSize(priority: number): number {
    return Math.min(pageSizes.max, Math.max(pageSizes.min, Math.floor(this.#limit(priority) / 2)));
  }

  /**
   * Returns the same for a further page of an organization: what can be sent right away, but never less than
   * `minClaim`.
   */
  pageSizeFor(priority: number, organization: number): number {
    return Math.min(this.pageSize(priority), Math.max(minClaim, this.capacityFor(priority, organization)));
  }

  /**
   * Returns whether the next page of a fan-out should wait for capacity, and records when there last was some.
   * Deliveries that go through the queue are written and read twice as often.
   */
  updateCapacityWait(priority: number, now: number): boolean {
    if (priority !== bulk) return false;
    const { total, byOrganization } = this.#active(priority);
    const share = this.#limit(priority) / 2;
    if (total === 0 || Math.max(...byOrganization.values()) + minPageShare * this.pageSize(priority) <= share) {
      this.#hadCapacityAt[priority] = now;
      return false;
    }
    return now - this.#hadCapacityAt[priority]! < capacityTimeoutMs;
  }

  #free(priority: number): number {
    return this.#limit(priority) - this.#active(priority).total;
  }

  /** Returns the share of an organization without deliveries in flight. */
  #defaultShare(priority: number): number {
    return Math.max(Math.ceil(this.#free(priority) / 2), this.#newcomerShare(priority));
  }

  #newcomerShare(priority: number): number {
    const left = maxOverdraft * this.#limit(priority) - this.#active(priority).total;
    return Math.max(0, Math.min(newcomerShare, left));
  }

  #limit(priority: number): number {
    const work = (this.#rates[priority]!.perSecond(performance.now()) * windowMs) / 1_000;
    return Math.round(Math.min(maxInFlight[priority]!, Math.max(minInFlight[priority]!, 2 * work)));
  }

  /** Returns the counts without deliveries that wait for a limit of their channel. */
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

/** Measures a rate over the previous and the current window, whichever is higher. */
class RateMeter {
  #windowStart = 0;
  #current = 0;
  #previous = 0;

  count(now: number): void {
    this.#roll(now);
    this.#current++;
  }

  perSecond(now: number): number {
    this.#roll(now);
    return (Math.max(this.#previous, this.#current) * 1_000) / windowMs;
  }

  #roll(now: number): void {
    if (now - this.#windowStart < windowMs) return;
    this.#previous = now - this.#windowStart < 2 * windowMs ? this.#current : 0;
    this.#windowStart = now;
    this.#current = 0;
  }
}
