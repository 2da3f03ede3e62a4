/**
 * Expanding: accepted → a page of deliveries → accepted again with a cursor, or sending when that was the last page, or
 * completed when there is nothing to send. Each claim takes one page of each occurrence, so that a list of any length
 * neither fills the memory nor keeps others waiting. Small occurrences are stored already claimed by this worker, which
 * goes on to send them in the same breath.
 */
import { priorities, type TriggerOptions } from '../core/trigger.ts';
import type { Delivery, NewDelivery } from '../db/deliveries.ts';
import {
  type ClaimedOccurrence,
  claimOccurrencesAcrossTenants,
  type ExpansionPage,
  holdOccurrences,
  storeExpansionAcrossTenants,
} from '../db/expansion.ts';
import { type Decided, decidePage } from '../services/deciding.ts';
import type { Engine } from './engine.ts';

const occurrencesAtOnce = 100;
const recipientsAtOnce = 1_000;
/** Up to so many deliveries are sent in the same breath; more go through the queue, where turns are taken. */
const smallest = 50;
const bulk = priorities.indexOf('bulk');

/** One turn of one class; returns what is to be sent at once, or undefined when nothing was due. */
export async function expandSome(engine: Engine, owner: number, priority: number): Promise<Delivery[] | undefined> {
  const { pool, turns } = engine;
  const after = turns.occurrences[priority] ?? 0;
  const claimed = await claimOccurrencesAcrossTenants(pool, { priority, after, most: occurrencesAtOnce, owner });
  turns.occurrences[priority] = Math.max(0, ...claimed.map(occurrence => occurrence.organization_id));
  if (claimed.length === 0) return after === 0 ? undefined : [];
  const pages = await Promise.all(claimed.map(occurrence => planPage(engine, occurrence)));
  return storeExpansionAcrossTenants(
    pool,
    owner,
    pages.filter(page => page !== undefined),
  );
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
  return {
    ...page,
    priority: cursor && !options.priority ? bulk : priority,
    cursor,
    reason: refused[0]?.reason ?? 'no_recipients',
    deliveries: decisions.map(decision => toDelivery(decision, wait)),
  };
}

function toDelivery({ notification, channel, person, address, reason }: Decided, wait: boolean): NewDelivery {
  return {
    notification_id: notification.id,
    version: notification.version,
    channel_id: channel.id,
    user_id: person.user_id,
    address,
    status: reason ? 'suppressed' : wait ? 'pending' : 'sending',
    reason: reason ?? null,
  };
}
