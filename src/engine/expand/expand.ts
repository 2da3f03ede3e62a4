import { priorityOf, type TriggerOptions } from '../../core/trigger.ts';
import { isUniqueViolation } from '../../db/connection/pool.ts';
import { inLedgerTransaction } from '../../db/connection/transaction.ts';
import type { Cursor } from '../../db/ledger/cursor.ts';
import {
  type ClaimedOccurrence,
  claimExpandingAcrossTenants,
  type ExpansionPage,
  expandByPagesAcrossTenants,
  lockAcceptedAcrossTenants,
  type StoredPages,
  storeFirstPagesAcrossTenants,
  storeHandedPagesAcrossTenants,
  storePageAcrossTenants,
} from '../../db/ledger/expand/expand.ts';
import { markStored } from '../../db/ledger/expand/new-deliveries.ts';
import { unknownCount } from '../../db/ledger/expand/unexpanded-counts.ts';
import { claimProgress, type Queue } from '../../db/ledger/round-robin.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { decidePage } from '../../pipeline/decide.ts';
import { applyDigests, type DigestPlan, planDigests } from '../../pipeline/digest.ts';
import { RecipientReader } from '../../pipeline/recipients.ts';
import { firstRuns } from '../../pipeline/steps.ts';
import type { Engine } from '../engine.ts';
import { endPages, setEventAttributes, startPage } from '../telemetry/spans.ts';
import {
  type Capacity,
  decideSafely,
  deferOverflow,
  type ExpansionResult,
  type PlannedDelivery,
  planPage,
  readConnections,
  reasonForNoDeliveries,
  toExpansionResult,
} from './page.ts';

/** Occurrences per claim. With 100 instead of 500, a message costs PostgreSQL a third more. */
const maxClaimedOccurrences = 500;
/** Occurrences of a claim that are decided together: few at first, because each may have a full page of recipients. */
const firstGroupSize = 8;
const groupGrowth = 8;
/** An expansion page with the digests and throttles that are decided in the transaction that stores it. */
interface DecidedExpansion extends ExpansionPage<PlannedDelivery> {
  digestPlan: DigestPlan;
  span?: Span | undefined;
}

const nothingStored: StoredPages<PlannedDelivery> = { stored: [], ended: [] };
const noDigests: DigestPlan = { throttled: [], items: [], overflow: [] };

/** Expands the first pages of accepted occurrences of one priority class; undefined when nothing was due. */
export async function expandAccepted(
  engine: Engine,
  owner: number,
  priority: number,
  capacity: Capacity,
): Promise<ExpansionResult | undefined> {
  const shares = capacity.shares(priority);
  const request = {
    priority,
    after: lastServedOf(engine, 'accepted', priority),
    max: maxClaimedOccurrences,
    owner,
    shares,
  };
  const readAt = engine.stops.generation;
  let claimed: ClaimedOccurrence[] = [];
  let pages: DecidedExpansion[] = [];
  const { stored, ended } = await inLedgerTransaction<StoredPages<PlannedDelivery>>(
    engine.claims,
    async (client, { commit }) => {
      claimed = await lockAcceptedAcrossTenants(client, request);
      if (claimed.length === 0) return nothingStored;
      pages = await decideMany(engine, claimed, capacity.pageSize(priority));
      await applyDigests(
        client,
        pages.map(page => page.digestPlan),
        currentTime(),
      );
      deferOverflow(pages, capacity);
      return storeFirstPagesAcrossTenants(client, owner, pages, commit);
    },
  ).catch(async error => {
    if (!isUniqueViolation(error)) throw error;
    pages = [];
    await expandByPagesAcrossTenants(engine.claims, claimed);
    return nothingStored;
  });
  const { after, isDrained } = claimProgress(request, claimed);
  engine.lastServed.accepted[priority] = after;
  endPages(pages);
  engine.meters.batch('expand', pages.length);
  engine.meters.expanded(pages);
  engine.meters.ended(ended);
  if (claimed.length === 0 && request.after === 0) return undefined;
  return toExpansionResult(pages, stored, { isDrained: isDrained && pages.length === claimed.length, readAt });
}

/**
 * Expands occurrences of one priority class that were handed over in memory. Those whose messages are throttled or collected,
 * and those that have changed since, are left to the queue.
 */
export async function expandHanded(
  engine: Engine,
  owner: number,
  priority: number,
  capacity: Capacity,
  handed: ClaimedOccurrence[],
): Promise<ExpansionResult> {
  const readAt = engine.stops.generation;
  const planned = await Promise.all(handed.map(one => engine.plans.findEvent(one.organization_id, one.event_id)));
  const simple = handed.filter((_, i) => !planned[i]?.notifications.some(one => one.throttle || one.digest));
  const pages = await decideMany(engine, simple, capacity.pageSize(priority));
  deferOverflow(pages, capacity);
  const { stored, ended, advanced } = await storeHandedPagesAcrossTenants(engine.claims, owner, pages).catch(error => {
    if (!isUniqueViolation(error)) throw error;
    return { ...nothingStored, advanced: new Set<string>() };
  });
  const storedPages = pages.filter(({ id }) => advanced.has(id));
  // Others are expanded from the queue, with their own spans.
  endPages(storedPages);
  engine.meters.batch('expand', storedPages.length);
  engine.meters.expanded(storedPages);
  engine.meters.ended(ended);
  return toExpansionResult(storedPages, stored, { isDrained: storedPages.length === handed.length, readAt });
}

/** Expands one further page of a fan-out of one priority class; undefined when none was due. */
export async function expandNextPage(
  engine: Engine,
  owner: number,
  priority: number,
  capacity: Capacity,
): Promise<ExpansionResult | undefined> {
  const shares = capacity.shares(priority);
  const request = { priority, after: lastServedOf(engine, 'expanding', priority), max: 1, owner, shares };
  const readAt = engine.stops.generation;
  const claimed = await claimExpandingAcrossTenants(engine.claims, request);
  engine.lastServed.expanding[priority] = claimProgress(request, claimed).after;
  const [occurrence] = claimed;
  if (!occurrence) return request.after === 0 ? undefined : toExpansionResult([], [], { isDrained: false, readAt });
  const page = await decideOccurrence(
    engine,
    new RecipientReader(readConnections(engine), { usage: engine.usage }),
    occurrence,
    capacity.pageSizeFor(priority, occurrence.organization_id),
  );
  deferOverflow([page], capacity);
  const { stored, ended } = await inLedgerTransaction<StoredPages<PlannedDelivery>>(
    engine.hot,
    async (client, { rollback }) => {
      const { organization_id, id, deliveries } = page;
      if (deliveries.some(one => one.reason === 'digest')) await markStored(client, organization_id, id, deliveries);
      await applyDigests(client, [page.digestPlan], currentTime());
      return (await storePageAcrossTenants(client, owner, page)) ?? rollback(nothingStored);
    },
  );
  endPages([page]);
  engine.meters.batch('expand', 1);
  engine.meters.expanded([page]);
  engine.meters.ended(ended);
  return toExpansionResult([page], stored, { isDrained: false, readAt });
}

function lastServedOf({ lastServed }: Engine, queue: Queue, priority: number): number {
  return lastServed[queue][priority] ?? 0;
}

/**
 * Decides occurrences until they have about a page of recipients together: more would take too much memory and delay
 * urgent work.
 */
async function decideMany(
  engine: Engine,
  occurrences: ClaimedOccurrence[],
  limit: number,
): Promise<DecidedExpansion[]> {
  const recipients = new RecipientReader(readConnections(engine), { usage: engine.usage });
  const pages: DecidedExpansion[] = [];
  let decided = 0;
  let size = firstGroupSize;
  for (let from = 0; from < occurrences.length && decided < limit; ) {
    const group = occurrences.slice(from, from + size);
    from += size;
    size *= groupGrowth;
    for (const page of await Promise.all(group.map(one => decideOccurrence(engine, recipients, one, limit)))) {
      // Pages decided beyond the limit are dropped, and decided again after the next claim.
      if (decided >= limit) break;
      decided += page.deliveries.length;
      pages.push(page);
    }
  }
  return pages;
}

function decideOccurrence(
  engine: Engine,
  recipients: RecipientReader,
  occurrence: ClaimedOccurrence,
  limit: number,
): Promise<DecidedExpansion> {
  const span = startPage(engine, 'expand', occurrence);
  return decideSafely(
    engine,
    occurrence,
    span,
    () => decideOne(engine, recipients, occurrence, limit, span),
    until => putOff(occurrence, until, null),
  );
}

/** Leaves the occurrence as it was, due again at `retryAt`. */
function putOff(
  { organization_id, id, event_id, priority, cursor }: ClaimedOccurrence,
  retryAt: Date | 'infinity',
  reason: string | null,
): DecidedExpansion {
  return { organization_id, id, event_id, priority, cursor, reason, retryAt, deliveries: [], digestPlan: noDigests };
}

async function decideOne(
  engine: Engine,
  recipients: RecipientReader,
  occurrence: ClaimedOccurrence,
  limit: number,
  span: Span | undefined,
): Promise<DecidedExpansion> {
  const { organization_id, id, event_id, priority, context, cursor: from } = occurrence;
  const page = { organization_id, id, event_id, priority, cursor: null, deliveries: [], digestPlan: noDigests };
  const plan = await engine.plans.findEvent(organization_id, event_id);
  if (!plan) return { ...page, reason: 'event.missing', ...stopDeletedAt(from) };
  setEventAttributes(span, plan);
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= currentTime())
    return { ...page, reason: 'expired', ...stopAt(from) };
  if (!plan.active) return { ...page, reason: 'event.inactive', ...stopAt(from) };
  if (plan.paused) return putOff(occurrence, 'infinity', 'event.paused');
  const options = occurrence.options as TriggerOptions;
  if (options.resolve) return { ...page, reason: 'occurrence.not_open' };
  const { plans } = engine;
  const mark = () => engine.marker.set(organization_id, id);
  const decided = await decidePage({ plans, recipients }, plan, {
    context,
    options,
    cursor: from,
    limit,
    mark,
    now: currentTime(),
  });
  engine.marker.clear();
  const planned = planPage(engine, plan, occurrence, from, decided);
  const { deliveries, cursor, fansOut, limit: overLimit, leftOut } = planned;
  const isAnswered = occurrence.acknowledged_at !== null || occurrence.resolved_at !== null;
  // A dry run starts no steps, nor does an occurrence that is already acknowledged or resolved.
  const stepped = isAnswered || options.dry_run ? [] : decided.stepped;
  const next = cursor && plan.notifications.find(one => one.id === cursor.notification);
  return {
    ...page,
    priority: next ? priorityOf(options, next.priority, fansOut) : priority,
    cursor,
    reason: overLimit ?? (stepped.length > 0 ? null : isAnswered ? 'acknowledged' : reasonForNoDeliveries(decided)),
    steps: firstRuns(stepped, occurrence, options, currentTime()),
    isDryRun: options.dry_run === true,
    awaitsAcknowledgement: stepped.some(one => one.steps!.asksForAcknowledgement),
    deliveries: deliveries.map(({ delivery }) => delivery),
    digestPlan: planDigests(plan, context, deliveries, digestHandlers),
    ...(leftOut > 0 && {
      unexpanded: { count: leftOut, ...(decided.cursor && { rest: { cursor: decided.cursor } }) },
    }),
  };
}

/** Ends an expansion early: the recipients from the cursor on are counted. */
const stopAt = (cursor: Cursor | null) => ({ unexpanded: { count: 0, rest: { cursor } } });
/** The same without an event: only the cursor says who its recipients were. */
const stopDeletedAt = (cursor: Cursor | null) =>
  cursor?.definition ? stopAt(cursor) : { unexpanded: { count: unknownCount } };

const digestHandlers = {
  isStored: ({ delivery }: { delivery: PlannedDelivery }) => delivery.isStored === true,
  refuse: ({ delivery }: { delivery: PlannedDelivery }) =>
    Object.assign(delivery, { status: 'suppressed', reason: 'throttled', due_at: null }),
  join: ({ delivery }: { delivery: PlannedDelivery }, { id }: { id: string }, dueAt: Date) =>
    Object.assign(delivery, { status: 'pending', reason: 'digest', due_at: dueAt, digest_id: id }),
  send: ({ delivery }: { delivery: PlannedDelivery }) =>
    Object.assign(delivery, { status: 'sending', reason: null, due_at: null }),
};
