import { findPause } from '../../core/decision/recheck.ts';
import type { Silence } from '../../core/decision/silence-rules.ts';
import { canBeResolved } from '../../core/decision/silences.ts';
import { priorityOf, type TriggerOptions } from '../../core/trigger.ts';
import { isUniqueViolation } from '../../db/connection/pool.ts';
import { inLedgerTransaction } from '../../db/connection/transaction.ts';
import { type Cursor, isStart } from '../../db/ledger/cursor.ts';
import {
  type ClaimedOccurrence,
  claimExpandingAcrossTenants,
  expandByPagesAcrossTenants,
  lockAcceptedAcrossTenants,
  storeFirstPagesAcrossTenants,
  storePageAcrossTenants,
} from '../../db/ledger/expand/expand.ts';
import { unknownCount } from '../../db/ledger/expand/unexpanded-counts.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { beginCanary, decideWithCanary } from '../../pipeline/canary.ts';
import { planDigests } from '../../pipeline/digest.ts';
import { type PlannedDelivery, planPage, reasonOf } from '../../pipeline/page.ts';
import type { RecipientReader } from '../../pipeline/recipients.ts';
import { firstRuns } from '../../pipeline/steps.ts';
import { setEventAttributes, startPage } from '../telemetry/spans.ts';
import { endSample, endWait } from './canaries.ts';
import {
  decideMany,
  decideSafely,
  deferOverflow,
  type ExpandTools,
  type Expansion,
  type ExpansionResult,
  expandQueue,
  logLimit,
  nothing,
  recipientReader,
  type Turn,
} from './frame.ts';
import { markStored, type PlacedPage as OccurrencePage, placePages } from './place.ts';

/** Occurrences per claim. With 100 instead of 500, a message costs PostgreSQL a third more. */
const maxClaimedOccurrences = 500;

/** Expands the first pages of accepted occurrences of one priority class; undefined when nothing was due. */
export function expandAccepted(tools: ExpandTools, turn: Turn): Promise<ExpansionResult | undefined> {
  const { owner, priority, capacity } = turn;
  const claim = { queue: 'accepted', max: maxClaimedOccurrences } as const;
  return expandQueue<ClaimedOccurrence>(tools, claim, turn, async (request, noteClaimed) => {
    let claimed: ClaimedOccurrence[] = [];
    return inLedgerTransaction<Expansion>(tools.claims, async (client, { commit }) => {
      claimed = noteClaimed(await lockAcceptedAcrossTenants(client, request));
      if (claimed.length === 0) return nothing;
      const decided = await decideOccurrences(tools, claimed, capacity.pageSize(priority));
      const pages = deferOverflow(await placePages(client, decided), capacity);
      return { pages, ...(await storeFirstPagesAcrossTenants(client, owner, pages, commit)) };
    }).catch(async error => {
      if (!isUniqueViolation(error)) throw error;
      await expandByPagesAcrossTenants(tools.claims, claimed);
      return nothing;
    });
  });
}

/** Expands one further page of a fan-out of one priority class; undefined when none was due. */
export function expandNextPage(tools: ExpandTools, turn: Turn): Promise<ExpansionResult | undefined> {
  const { owner, priority, capacity } = turn;
  return expandQueue<ClaimedOccurrence>(tools, { queue: 'expanding', max: 1 }, turn, async (request, noteClaimed) => {
    const [occurrence] = noteClaimed(await claimExpandingAcrossTenants(tools.claims, request));
    if (!occurrence) return nothing;
    const limit = capacity.pageSizeFor(priority, occurrence.organization_id);
    const [decided] = deferOverflow(
      [await decideOccurrence(tools, recipientReader(tools), occurrence, limit)],
      capacity,
    );
    return inLedgerTransaction<Expansion>(tools.hot, async (client, { rollback }) => {
      const [page] = await placePages(client, [await markStored(client, decided!)]);
      const stored = await storePageAcrossTenants(client, owner, page!);
      return stored ? { ...stored, pages: [page!] } : rollback({ ...nothing, pages: [page!] });
    });
  });
}

function decideOccurrences(
  tools: ExpandTools,
  occurrences: ClaimedOccurrence[],
  limit: number,
): Promise<OccurrencePage[]> {
  const recipients = recipientReader(tools);
  return decideMany(occurrences, limit, one => decideOccurrence(tools, recipients, one, limit));
}

export function decideOccurrence(
  tools: ExpandTools,
  recipients: RecipientReader,
  occurrence: ClaimedOccurrence,
  limit: number,
): Promise<OccurrencePage> {
  const span = startPage(tools, 'expand', occurrence);
  return decideSafely(
    tools,
    occurrence,
    span,
    () => decideOne(tools, recipients, occurrence, limit, span),
    until => putOff(occurrence, until, null),
  );
}

/** Leaves the occurrence as it was, due again at `retryAt`. */
function putOff(
  { organization_id, id, event_id, priority, cursor }: ClaimedOccurrence,
  retryAt: Date | 'infinity',
  reason: string | null,
): OccurrencePage {
  return { organization_id, id, event_id, priority, cursor, reason, retryAt, deliveries: [] };
}

async function decideOne(
  tools: ExpandTools,
  recipients: RecipientReader,
  occurrence: ClaimedOccurrence,
  limit: number,
  span: Span | undefined,
): Promise<OccurrencePage> {
  const { organization_id, id, event_id, priority, context, cursor: stored } = occurrence;
  const page = { organization_id, id, event_id, priority, cursor: null, deliveries: [] };
  const plan = await tools.plans.findEvent(organization_id, event_id);
  if (!plan) return { ...page, reason: 'event.missing', ...stopDeletedAt(stored) };
  setEventAttributes(span, plan);
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= currentTime())
    return { ...page, reason: 'expired', ...stopAt(stored) };
  // A pause ended, and what it held is dropped.
  if (occurrence.cancelled_at) return { ...page, reason: 'cancelled', ...stopAt(stored) };
  if (!plan.active) return { ...page, reason: 'event.inactive', ...stopAt(stored) };
  const paused = findPause(plan, occurrence);
  if (paused) return putOff(occurrence, 'infinity', paused);
  const options = occurrence.options as TriggerOptions;
  if (options.resolve) return { ...page, reason: 'occurrence.not_open' };
  const { acknowledged_at, acknowledged_until: until, resolved_at } = occurrence;
  const isAnswered = resolved_at !== null || (acknowledged_at !== null && until === null);
  // What was held by a silence, and is over before its end, is not sent.
  if (occurrence.reason === 'silenced' && isAnswered) return { ...page, reason: 'silenced', ...stopAt(stored) };
  if (!options.dry_run) {
    const found = (await tools.plans.findSilences(organization_id)).find(plan, context, currentTime());
    if (found) return silence(occurrence, found);
  }
  if (stored?.canary?.stage === 'waiting') return { ...page, ...(await endWait(tools, plan, occurrence, stored)) };
  const from = beginCanary(plan, stored, options);
  const { plans } = tools;
  const request = { context, options, cursor: from, limit, now: currentTime() };
  const decided = await tools.marker.during({ organizationId: organization_id, occurrenceId: id }, mark =>
    decideWithCanary({ plans, recipients }, plan, { ...request, mark }, id),
  );
  const recipientCount = (from?.recipients ?? 0) + decided.counted;
  if (!options.dry_run && isStart(stored) && !stored?.isApproved && !stored?.canary) {
    const hold = await tools.audiences.check(plan, occurrence, {
      recipients: recipientCount,
      isComplete: decided.isCounted,
    });
    if (hold) return { ...putOff(occurrence, 'infinity', 'guard.audience'), hold };
  }
  if (!options.dry_run && decided.isCounted) tools.audiences.note(plan, recipientCount);
  const {
    decisions,
    deliveries: planned,
    cursor,
    fansOut,
    limit: overLimit,
    leftOut,
  } = planPage(plan, occurrence, from, decided);
  logLimit(tools, overLimit, occurrence);
  const { deliveries, pace } = from?.pace ? spread(planned, from.pace, currentTime()) : { deliveries: planned };
  // A dry run starts no steps, nor does an occurrence that is already acknowledged or resolved. One that is snoozed starts them then.
  const stepped = isAnswered || options.dry_run ? [] : decided.stepped;
  const following = cursor && plan.notifications.find(one => one.id === cursor.notification);
  const next = cursor && { ...cursor, recipients: recipientCount, ...(pace && { pace }) };
  return {
    ...page,
    priority: following ? priorityOf(options, following.priority, fansOut) : priority,
    cursor: next,
    reason: overLimit ?? (stepped.length > 0 ? null : isAnswered ? 'acknowledged' : reasonOf(decided)),
    steps: firstRuns(stepped, occurrence, options, until?.getTime() ?? currentTime()),
    isDryRun: options.dry_run === true,
    awaitsAcknowledgement: stepped.some(one => one.steps!.asksForAcknowledgement),
    deliveries,
    digestPlan: planDigests(plan, { context, options, decisions, now: request.now }),
    ...(leftOut > 0 && {
      unexpanded: { count: leftOut, ...(decided.cursor && { rest: { cursor: decided.cursor } }) },
    }),
    ...(next?.canary?.stage === 'waiting' && endSample(next, pace?.next ?? 0)),
  };
}

/** Holds an occurrence that can be resolved until the silence ends. Any other ends. */
function silence(occurrence: ClaimedOccurrence, found: { silence: Silence; until: Date }): OccurrencePage {
  const { expires_at, cursor } = occurrence;
  if (!canBeResolved(occurrence.options as TriggerOptions)) {
    const { organization_id, id, event_id, priority } = occurrence;
    const page = { organization_id, id, event_id, priority, cursor: null, deliveries: [], reason: 'silenced' };
    return { ...page, ...stopAt(cursor), silenced: { ...found, effect: 'suppressed' } };
  }
  const until = expires_at && expires_at < found.until ? expires_at : found.until;
  return { ...putOff(occurrence, until, 'silenced'), silenced: { ...found, until, effect: 'held' } };
}

/** Spreads messages over time: so many are due in each second, after those of earlier pages. */
function spread(deliveries: PlannedDelivery[], { perSecond, next }: NonNullable<Cursor['pace']>, now: number) {
  let due = Math.max(next, now);
  const spread = deliveries.map(one => {
    if (one.status !== 'sending') return one;
    const due_at = new Date(due);
    due += 1_000 / perSecond;
    return { ...one, status: 'pending' as const, due_at };
  });
  return { deliveries: spread, pace: { perSecond, next: due } };
}

/** Ends an expansion early: the recipients from the cursor on are counted. */
const stopAt = (cursor: Cursor | null) => ({ unexpanded: { count: 0, rest: { cursor } } });
/** The same without an event: only the cursor says who its recipients were. */
const stopDeletedAt = (cursor: Cursor | null) =>
  cursor?.definition ? stopAt(cursor) : { unexpanded: { count: unknownCount } };
