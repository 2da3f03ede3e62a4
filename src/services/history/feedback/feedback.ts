/**
 * Stores what services and mail servers report about messages: matches each event to its delivery, corrects the outcome of
 * messages that bounced, and adds addresses that cannot or do not want to be reached to the suppression list.
 */

import type { SuppressionReason } from '../../../core/audience/suppressions.ts';
import type { FeedbackEvent } from '../../../core/feedback/event.ts';
import { type DeliveryReference, feedbackKey, findReference } from '../../../core/feedback/identify.ts';
import { stoppedProjects } from '../../../core/feedback/scope.ts';
import { uuidv7 } from '../../../core/ids.ts';
import { withoutTokens } from '../../../core/text/live-text.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { lockLedger } from '../../../db/connection/transaction.ts';
import * as feedback from '../../../db/history/feedback/feedback.ts';
import type { Report } from '../../../db/history/feedback/reputation.ts';
import { announceComplaints, markBounced } from '../../../db/ledger/deliver/bounces.ts';
import { suppress } from '../../audience/suppressions.ts';
import type { Deps } from '../../deps.ts';
import { guardReputation } from './reputation.ts';

/** Temporary bounces of an address after which it counts as unreachable: so many, over at least so many days. */
const repeatedBounces = { min: 5, days: 7 };

export const feedbackLimits = {
  /** Days for which unmatched events are kept. */
  unmatchedDays: 30,
  /** Unmatched events per organization. */
  unmatched: 100_000,
} as const;

/** How long an unmatched event is looked up again, and how many of an organization at a time. */
const rematch = { ms: 3_600_000, max: 1_000 };

type FeedbackDeps = Pick<Deps, 'db' | 'actor' | 'feedbackCounts'>;

/**
 * Stores the events of one request or mail, and counts those that were not stored before. An event that is stored already changes nothing. `channels` are those whose
 * deliveries the events may be about; null if a signature has named the deliveries.
 */
export async function storeFeedback(
  deps: FeedbackDeps,
  organizationId: number,
  channels: readonly number[] | null,
  source: string,
  events: readonly FeedbackEvent[],
  now: number,
) {
  const read = new Map<string, feedback.UnmatchedFeedback>();
  for (const event of events) {
    const key = feedbackKey(source, event);
    if (!read.has(key)) read.set(key, { ...toRow(key, source, event, now), channels: channels && [...channels] });
  }
  const rows = [...read.values()];
  const stored = await deps.db.transaction().execute(async trx => {
    const { matched, unmatched } = await match(trx, organizationId, rows);
    const [added, kept] = [await addMatched(deps, trx, organizationId, matched), await addUnmatched(trx, unmatched)];
    return { matched: added, unmatched: kept };
  });
  for (const { type } of [...stored.matched, ...stored.unmatched]) countFeedback(deps, source, type);
  return { matched: stored.matched.length, unmatched: stored.unmatched.length };

  async function addUnmatched(trx: Db, events: feedback.UnmatchedFeedback[]) {
    if (events.length === 0) return [];
    const ids = await feedback.addUnmatchedFeedback(trx, organizationId, events);
    return events.filter(({ id }) => ids.has(id));
  }
}

/** For the metric `belfry_feedback_events_total`. */
export function countFeedback({ feedbackCounts }: Pick<Deps, 'feedbackCounts'>, source: string, type: string): void {
  const key = `${source} ${type}`;
  feedbackCounts.set(key, (feedbackCounts.get(key) ?? 0) + 1);
}

/** Matches events again that were received before their message was settled. */
export async function matchLateFeedback(deps: FeedbackDeps, now: number): Promise<void> {
  for (const { id: organizationId } of await feedback.listUnmatchedOwnersAcrossTenants(deps.db)) {
    const recent = { since: now - rematch.ms, max: rematch.max };
    const waiting = await feedback.listRecentUnmatched(deps.db, organizationId, recent);
    if (waiting.length === 0) continue;
    await deps.db.transaction().execute(async trx => {
      const { matched } = await match(trx, organizationId, waiting);
      await addMatched(deps, trx, organizationId, matched);
      const keys = matched.map(({ event }) => event.key);
      if (keys.length > 0) await feedback.deleteUnmatched(trx, organizationId, keys);
    });
  }
}

/** Deletes unmatched events that are too old or too many. */
export async function deleteOldFeedback({ db }: Pick<Deps, 'db'>, now: number): Promise<void> {
  for (const { id, retention_days } of await feedback.listUnmatchedOwnersAcrossTenants(db)) {
    const days = Math.min(retention_days, feedbackLimits.unmatchedDays);
    const before = now - days * 86_400_000;
    await feedback.deleteOldUnmatched(db, id, { before, max: feedbackLimits.unmatched });
  }
}

/** Removes what PostgreSQL cannot store. */
function toStorable(text: string | null): string | null {
  return text?.replaceAll('\0', '').toWellFormed() ?? null;
}

function toRow(
  key: string,
  source: string,
  event: FeedbackEvent,
  now: number,
): Omit<feedback.UnmatchedFeedback, 'channels'> {
  const { type, permanent, reason } = event;
  return {
    key,
    id: uuidv7(now),
    source,
    type,
    permanent,
    reason,
    // A bounce may quote the message.
    detail: event.text === null ? null : toStorable(withoutTokens(event.text)),
    recipient: toStorable(event.recipient),
    message_id: toStorable(event.messageId),
    delivery_ref: toStorable(event.deliveryId),
    at: event.at ? new Date(event.at) : new Date(now),
  };
}

interface Match {
  event: feedback.UnmatchedFeedback;
  delivery: feedback.FoundDelivery;
}

/** Finds the deliveries of all events with two statements at most. */
async function match(trx: Db, organizationId: number, events: readonly feedback.UnmatchedFeedback[]) {
  await lockLedger(trx);
  const referenceOf = new Map(
    events.map(event => [event, findReference({ deliveryId: event.delivery_ref, messageId: event.message_id })]),
  );
  const references = [...referenceOf.values()].filter(one => one !== undefined);
  const byReference = new Map<string, feedback.FoundDelivery>();
  if (references.length > 0) {
    const found = await feedback.findDeliveriesByReference(trx, organizationId, references);
    for (const one of found) byReference.set(nameOf({ occurrence: one.occurrence_id, id: one.id }), one);
  }
  const ids = events.flatMap(event => (referenceOf.get(event) ? [] : (event.message_id ?? [])));
  const found = ids.length > 0 ? await feedback.findDeliveriesByProviderId(trx, organizationId, [...new Set(ids)]) : [];
  const byId = Map.groupBy(found, one => one.provider_message_id);
  const matched: Match[] = [];
  const unmatched: feedback.UnmatchedFeedback[] = [];
  for (const event of events) {
    const reference = referenceOf.get(event);
    const named = reference ? [byReference.get(nameOf(reference))] : (byId.get(event.message_id) ?? []);
    const delivery = named.find(one => one && (event.channels?.includes(one.channel_id) ?? true));
    if (delivery) matched.push({ event, delivery });
    else unmatched.push(event);
  }
  return { matched, unmatched };
}

function nameOf({ occurrence, id }: DeliveryReference): string {
  return `${occurrence}.${id}`;
}

/** Stores events about deliveries and applies those that were not stored before. Returns the latter. */
async function addMatched(
  deps: FeedbackDeps,
  trx: Db,
  organizationId: number,
  matches: readonly Match[],
): Promise<feedback.UnmatchedFeedback[]> {
  if (matches.length === 0) return [];
  const rows = matches.map(({ event: { message_id: _, delivery_ref: __, channels: ___, ...event }, delivery }) => ({
    ...event,
    occurrence_id: delivery.occurrence_id,
    delivery_id: delivery.id,
    address: delivery.address,
  }));
  const added = await feedback.addFeedback(trx, organizationId, rows);
  const fresh = matches.filter(({ event }) => added.has(event.id));
  const bounced = fresh.filter(({ event }) => event.type === 'bounced');
  if (bounced.length > 0) {
    const bounces = bounced.map(({ event, delivery }) => ({
      occurrence_id: delivery.occurrence_id,
      id: delivery.id,
      detail: event.detail,
    }));
    await markBounced(trx, organizationId, bounces);
  }
  const complained = fresh.filter(({ event }) => event.type === 'complained').map(({ delivery }) => delivery);
  if (complained.length > 0) await announceComplaints(trx, organizationId, complained);
  await suppressUnreachable(deps, trx, organizationId, fresh);
  const reports = fresh.flatMap(toReputationReport);
  if (reports.length > 0) await guardReputation(deps, trx, organizationId, reports);
  return fresh.map(({ event }) => event);
}

/** Adds the addresses of permanent bounces, complaints and repeated temporary bounces to the suppression list. */
async function suppressUnreachable(deps: FeedbackDeps, trx: Db, organizationId: number, fresh: readonly Match[]) {
  const temporary = new Map<string, Match>();
  const reports = fresh.flatMap(one => {
    const { event, delivery } = one;
    if (event.type === 'bounced' && !event.permanent && delivery.address) temporary.set(delivery.address, one);
    const reason = suppressionReasonOf(event);
    return reason ? toReport(one, reason, event.detail) : [];
  });
  if (temporary.size > 0) {
    const repeated = await feedback.findRepeatedBounces(trx, organizationId, [...temporary.keys()], repeatedBounces);
    for (const { address, count, first_at } of repeated) {
      const detail = `${count} temporary bounces since ${first_at.toISOString()}`;
      reports.push(...toReport(temporary.get(address)!, 'bounced', detail));
    }
  }
  if (reports.length > 0) await suppress(deps, trx, organizationId, reports);
}

function toReputationReport({ event, delivery }: Match): Report[] {
  const { type, permanent } = event;
  if (type !== 'bounced' && type !== 'complained') return [];
  const { occurrence_id, id: delivery_id, channel_id, sent_at } = delivery;
  return [{ id: event.id, type, permanent, occurrence_id, delivery_id, channel_id, sent_at }];
}

function suppressionReasonOf({ type, permanent }: feedback.FeedbackFields): SuppressionReason | undefined {
  if (type === 'complained') return 'complained';
  return type === 'bounced' && permanent ? 'bounced' : undefined;
}

function toReport({ event, delivery }: Match, reason: SuppressionReason, detail: string | null) {
  const { address, channel_type, channel_project_id } = delivery;
  if (!address || !channel_type) return [];
  const projects = stoppedProjects(channel_project_id);
  return [{ channel_type, target: address, reason, source: event.source, detail, feedback_id: event.id, projects }];
}
