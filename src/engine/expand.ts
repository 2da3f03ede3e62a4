/**
 * Expanding: accepted → a page of deliveries → accepted again with a cursor, or sending when that was the last page, or
 * completed when there is nothing to send. Each claim takes one page of each occurrence, so that a list of any length
 * neither fills the memory nor keeps others waiting. As far as this worker has room for them, deliveries are stored
 * already claimed by it, and it goes on to send them in the same breath: of a fan-out, too, nothing is claimed or read
 * twice. Measured with 100,000 recipients and a provider that does nothing: see bench/fan-out.ts.
 */
import { roomForDeliveries } from '../core/limits.ts';
import { priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { NewDelivery } from '../db/deliveries.ts';
import {
  type ClaimedOccurrence,
  claimOccurrencesAcrossTenants,
  type ExpansionPage,
  holdOccurrences,
  returnOccurrencesAcrossTenants,
  storeExpansionAcrossTenants,
} from '../db/expansion.ts';
import type { Person } from '../db/recipients.ts';
import { goOn } from '../db/turns.ts';
import { type Decided, decidePage } from '../services/deciding.ts';
import type { Ready } from './deliver.ts';
import type { Engine } from './engine.ts';

const occurrencesAtOnce = 100;
/** Planned together; after each such group it is seen whether the rest of a claim goes back into the queue. */
const plannedAtOnce = 10;
/** Up to so many at once are sent in the same breath also by a channel with limits. */
const fewForLimited = 50;
/** What cannot be expanded now is tried again so much later: nothing accepted is given up. */
const laterSeconds = 30;

/** How many more messages of a class and an organization this worker takes on. */
export interface Room {
  of(priority: number, organization: number): number;
  /** How many recipients to decide together. */
  page(priority: number): number;
}

interface Given extends NewDelivery {
  occurrence: ClaimedOccurrence;
  person: Person;
}

export interface Expanded {
  /** To be sent at once. */
  ready: Ready[];
  /** The classes of those that are in the queue. */
  queued: Set<number>;
  /** The classes of the next pages. */
  next: Set<number>;
  /** Nothing else was due. */
  isAll: boolean;
}

/** One turn of one class; undefined when nothing was due. */
export async function expandSome(
  engine: Engine,
  owner: number,
  priority: number,
  busy: number[],
  room: Room,
): Promise<Expanded | undefined> {
  const { db, hot, claims, turns } = engine;
  const turn = { priority, after: turns.occurrences[priority] ?? 0, most: occurrencesAtOnce, owner, busy };
  const claimed = await claimOccurrencesAcrossTenants(claims, turn);
  const { after, isAll } = goOn(turn, claimed);
  turns.occurrences[priority] = after;
  if (claimed.length === 0) {
    return turn.after === 0 ? undefined : { ready: [], queued: new Set(), next: new Set(), isAll };
  }
  // Pages of many long lists at once would fill the memory and make the urgent wait.
  const pages: ExpansionPage<Given>[] = [];
  const limit = room.page(priority);
  let planned = 0;
  while (claimed.length > 0 && planned < limit) {
    const group = claimed.splice(0, plannedAtOnce);
    for (const page of await Promise.all(group.map(occurrence => planSafely(engine, owner, occurrence, limit)))) {
      if (page) pages.push(page);
      planned += page?.deliveries.length ?? 0;
    }
  }
  if (claimed.length > 0) await returnOccurrencesAcrossTenants(db, owner, idsOf(claimed));
  makeWait(pages, room);
  const queued = new Set<number>();
  for (const { deliveries } of pages)
    for (const one of deliveries) if (one.status === 'pending') queued.add(one.priority);
  const stored = await storeExpansionAcrossTenants(hot, owner, pages);
  // Storing has found that it is not cancelled.
  const ready = stored.map(({ delivery, given: { occurrence, person } }) => ({
    delivery,
    occurrence: Object.assign(occurrence, { cancelled_at: null }),
    person,
  }));
  const next = new Set(pages.filter(page => page.cursor).map(page => page.priority));
  return { ready, queued, next, isAll };
}

/** What there is no room for goes through the queue, where turns are taken. */
function makeWait(pages: ExpansionPage<Given>[], room: Room): void {
  const taken = new Map<number, number>();
  for (const { deliveries, organization_id } of pages) {
    for (const [priority, some] of Map.groupBy(deliveries, delivery => delivery.priority)) {
      let left = room.of(priority, organization_id) - (taken.get(priority) ?? 0);
      for (const delivery of some) {
        if (delivery.status !== 'sending') continue;
        if (left-- > 0) taken.set(priority, (taken.get(priority) ?? 0) + 1);
        else delivery.status = 'pending';
      }
    }
  }
}

/** One occurrence that cannot be expanded harms none that was claimed with it. */
async function planSafely(
  engine: Engine,
  owner: number,
  occurrence: ClaimedOccurrence,
  limit: number,
): Promise<ExpansionPage<Given> | undefined> {
  try {
    return await planPage(engine, occurrence, limit);
  } catch (error) {
    engine.log.error({ err: error, occurrence: occurrence.id }, 'could not expand an occurrence; trying again later');
    await returnOccurrencesAcrossTenants(engine.db, owner, [occurrence.id], laterSeconds);
    return undefined;
  }
}

function idsOf(occurrences: ClaimedOccurrence[]): string[] {
  return occurrences.map(({ id }) => id);
}

async function planPage(
  engine: Engine,
  occurrence: ClaimedOccurrence,
  limit: number,
): Promise<ExpansionPage<Given> | undefined> {
  const { organization_id, id, priority } = occurrence;
  const page: ExpansionPage<Given> = { organization_id, id, priority, cursor: null, reason: null, deliveries: [] };
  const plan = await engine.plans.findEvent(organization_id, occurrence.event_id);
  if (!plan) return { ...page, reason: 'event.missing' };
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= Date.now()) return { ...page, reason: 'expired' };
  if (plan.paused) {
    await holdOccurrences(engine.db, organization_id, [id], 'event.paused');
    return undefined;
  }
  const options = occurrence.options as TriggerOptions;
  const { context, cursor: from } = occurrence;
  const decided = await decidePage(engine, plan, { context, options, cursor: from, limit, makeUsers: true });
  const room = roomForDeliveries(
    plan.organization.deliveries_per_trigger,
    occurrence.deliveries,
    decided.decisions.length,
  );
  const isOver = room < decided.decisions.length;
  if (isOver)
    engine.log.warn({ occurrence: id }, 'stopped an occurrence at the limit of deliveries a trigger may have');
  const decisions = isOver ? decided.decisions.slice(0, room) : decided.decisions;
  const cursor = isOver ? null : decided.cursor;
  const fansOut = from !== null || decided.cursor !== null;
  const next = cursor && plan.notifications[cursor.notification];
  return {
    ...page,
    priority: next ? priorityOf(options, next.priority, fansOut) : priority,
    cursor,
    reason: isOver ? 'limit.fan_out' : (decided.refused[0]?.reason ?? 'no_recipients'),
    deliveries: decisions.map(decision => ({
      ...toDelivery(decision, decisions.length),
      priority: priorityOf(options, decision.notification.priority, fansOut),
      occurrence,
    })),
  };
}

/** A channel with limits takes its messages from the queue as it can: of a fan-out, most would only have to go back. */
function toDelivery(
  { notification, channel, person, address, reason }: Decided,
  size: number,
): Omit<Given, 'priority' | 'occurrence'> {
  const limited = channel.ratePerSecond !== null || channel.concurrency !== null;
  return {
    notification_id: notification.id,
    version: notification.version,
    channel_id: channel.id,
    user_id: person.user_id,
    address,
    status: reason ? 'suppressed' : limited && size > fewForLimited ? 'pending' : 'sending',
    reason: reason ?? null,
    user_version: person.version,
    person,
  };
}
