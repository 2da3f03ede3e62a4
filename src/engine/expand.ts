/**
 * Expanding: accepted → a page of deliveries → accepted again with a cursor, or sending when that was the last page, or
 * completed when there is nothing to send. Each claim takes one page of each occurrence, so that a list of any length
 * neither fills the memory nor keeps others waiting. Small occurrences are stored already claimed by this worker, which
 * goes on to send them in the same breath.
 */
import { priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { Delivery, NewDelivery } from '../db/deliveries.ts';
import {
  type ClaimedOccurrence,
  claimOccurrencesAcrossTenants,
  type ExpansionPage,
  holdOccurrences,
  returnOccurrencesAcrossTenants,
  storeExpansionAcrossTenants,
} from '../db/expansion.ts';
import { type Decided, decidePage } from '../services/deciding.ts';
import type { Engine } from './engine.ts';

const occurrencesAtOnce = 100;
const recipientsAtOnce = 500;
/** Planned together; after each such group it is seen whether the rest of a claim goes back into the queue. */
const plannedAtOnce = 10;
/** Up to so many deliveries are sent in the same breath; more go through the queue, where turns are taken. */
const smallest = 50;
/** What cannot be expanded now is tried again so much later: nothing accepted is given up. */
const laterSeconds = 30;

/** One turn of one class; returns what is to be sent at once, or undefined when nothing was due. */
export async function expandSome(
  engine: Engine,
  owner: number,
  priority: number,
  busy: number[],
): Promise<Delivery[] | undefined> {
  const { db, pool, claims, turns } = engine;
  const after = turns.occurrences[priority] ?? 0;
  const claimed = await claimOccurrencesAcrossTenants(claims, {
    priority,
    after,
    most: occurrencesAtOnce,
    owner,
    busy,
  });
  turns.occurrences[priority] = Math.max(0, ...claimed.map(occurrence => occurrence.organization_id));
  if (claimed.length === 0) return after === 0 ? undefined : [];
  // Pages of many long lists at once would fill the memory and make the urgent wait.
  const pages: ExpansionPage[] = [];
  let planned = 0;
  while (claimed.length > 0 && planned < recipientsAtOnce) {
    const group = claimed.splice(0, plannedAtOnce);
    for (const page of await Promise.all(group.map(occurrence => planSafely(engine, owner, occurrence)))) {
      if (page) pages.push(page);
      planned += page?.deliveries.length ?? 0;
    }
  }
  if (claimed.length > 0) await returnOccurrencesAcrossTenants(db, owner, idsOf(claimed));
  return storeExpansionAcrossTenants(pool, owner, pages);
}

/** One occurrence that cannot be expanded harms none that was claimed with it. */
async function planSafely(
  engine: Engine,
  owner: number,
  occurrence: ClaimedOccurrence,
): Promise<ExpansionPage | undefined> {
  try {
    return await planPage(engine, occurrence);
  } catch (error) {
    engine.log.error({ err: error, occurrence: occurrence.id }, 'could not expand an occurrence; trying again later');
    await returnOccurrencesAcrossTenants(engine.db, owner, [occurrence.id], laterSeconds);
    return undefined;
  }
}

function idsOf(occurrences: ClaimedOccurrence[]): string[] {
  return occurrences.map(({ id }) => id);
}

async function planPage(engine: Engine, occurrence: ClaimedOccurrence): Promise<ExpansionPage | undefined> {
  const { organization_id, id, priority } = occurrence;
  const page: ExpansionPage = { organization_id, id, priority, cursor: null, reason: null, deliveries: [] };
  const plan = await engine.plans.findEvent(organization_id, occurrence.event_id);
  if (!plan) return { ...page, reason: 'event.missing' };
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= Date.now()) return { ...page, reason: 'expired' };
  if (plan.paused) {
    await holdOccurrences(engine.db, organization_id, [id], 'event.paused');
    return undefined;
  }
  const options = occurrence.options as TriggerOptions;
  const { context, cursor: from } = occurrence;
  const decided = await decidePage(engine, plan, {
    context,
    options,
    cursor: from,
    limit: recipientsAtOnce,
    makeUsers: true,
  });
  const { decisions, cursor, refused } = decided;
  const wait = cursor !== null || decisions.length > smallest;
  const fansOut = from !== null || cursor !== null;
  const next = cursor && plan.notifications[cursor.notification];
  return {
    ...page,
    priority: next ? priorityOf(options, next.priority, fansOut) : priority,
    cursor,
    reason: refused[0]?.reason ?? 'no_recipients',
    deliveries: decisions.map(decision =>
      toDelivery(decision, priorityOf(options, decision.notification.priority, fansOut), wait),
    ),
  };
}

function toDelivery(
  { notification, channel, person, address, reason }: Decided,
  priority: number,
  wait: boolean,
): NewDelivery {
  return {
    notification_id: notification.id,
    version: notification.version,
    channel_id: channel.id,
    user_id: person.user_id,
    address,
    status: reason ? 'suppressed' : wait ? 'pending' : 'sending',
    reason: reason ?? null,
    priority,
  };
}
