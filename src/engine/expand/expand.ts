import type pg from 'pg';
import { isPaused } from '../../core/decision/recheck.ts';
import { priorityOf, type TriggerOptions } from '../../core/trigger.ts';
import { isUniqueViolation } from '../../db/connection/pool.ts';
import { inLedgerTransaction } from '../../db/connection/transaction.ts';
import type { Cursor } from '../../db/ledger/cursor.ts';
import {
  type ClaimedOccurrence,
  claimExpandingAcrossTenants,
  expandByPagesAcrossTenants,
  lockAcceptedAcrossTenants,
  storeFirstPagesAcrossTenants,
  storePageAcrossTenants,
} from '../../db/ledger/expand/expand.ts';
import { listStored } from '../../db/ledger/expand/new-deliveries.ts';
import { unknownCount } from '../../db/ledger/expand/unexpanded-counts.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { decidePage } from '../../pipeline/decide.ts';
import { applyDigests, type DigestPlan, planDigests } from '../../pipeline/digest.ts';
import { placeDeliveries, planPage, reasonForNoDeliveries } from '../../pipeline/page.ts';
import type { RecipientReader } from '../../pipeline/recipients.ts';
import { firstRuns } from '../../pipeline/steps.ts';
import { setEventAttributes, startPage } from '../telemetry/spans.ts';
import {
  type DecidedPage,
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

/** Occurrences per claim. With 100 instead of 500, a message costs PostgreSQL a third more. */
const maxClaimedOccurrences = 500;

/** An expansion page with the digests and throttles that are decided in the transaction that stores it. */
interface OccurrencePage extends DecidedPage {
  digestPlan?: DigestPlan | undefined;
}

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
      const [page] = await placePages(client, [await findStored(client, decided!)]);
      const stored = await storePageAcrossTenants(client, owner, page!);
      return stored ? { ...stored, pages: [page!] } : rollback({ ...nothing, pages: [page!] });
    });
  });
}

/** Finds the deliveries of a further page that an earlier page has already put into a digest. */
async function findStored(client: pg.PoolClient, page: OccurrencePage): Promise<OccurrencePage> {
  const { organization_id, id, deliveries, digestPlan } = page;
  if (!digestPlan || digestPlan.items.size === 0) return page;
  const stored = await listStored(client, organization_id, id, deliveries);
  return { ...page, digestPlan: { ...digestPlan, stored } };
}

/** Applies digests and throttles. */
async function placePages(client: pg.PoolClient, pages: OccurrencePage[]): Promise<OccurrencePage[]> {
  const plans = pages.flatMap(page => page.digestPlan ?? []);
  if (plans.length === 0) return pages;
  const placements = await applyDigests(client, plans, currentTime());
  return pages.map(page => {
    const own = page.digestPlan && placements.get(page.digestPlan);
    return own ? { ...page, deliveries: placeDeliveries(page.deliveries, own) } : page;
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
  const { organization_id, id, event_id, priority, context, cursor: from } = occurrence;
  const page = { organization_id, id, event_id, priority, cursor: null, deliveries: [] };
  const plan = await tools.plans.findEvent(organization_id, event_id);
  if (!plan) return { ...page, reason: 'event.missing', ...stopDeletedAt(from) };
  setEventAttributes(span, plan);
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= currentTime())
    return { ...page, reason: 'expired', ...stopAt(from) };
  // A pause ended, and what it held is dropped.
  if (occurrence.cancelled_at) return { ...page, reason: 'cancelled', ...stopAt(from) };
  if (!plan.active) return { ...page, reason: 'event.inactive', ...stopAt(from) };
  if (isPaused(plan, occurrence)) return putOff(occurrence, 'infinity', 'event.paused');
  const options = occurrence.options as TriggerOptions;
  if (options.resolve) return { ...page, reason: 'occurrence.not_open' };
  const { plans } = tools;
  const request = { context, options, cursor: from, limit, now: currentTime() };
  const decided = await tools.marker.during({ organizationId: organization_id, occurrenceId: id }, mark =>
    decidePage({ plans, recipients }, plan, { ...request, mark }),
  );
  const {
    decisions,
    deliveries,
    cursor,
    fansOut,
    limit: overLimit,
    leftOut,
  } = planPage(plan, occurrence, from, decided);
  logLimit(tools, overLimit, occurrence);
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
    deliveries,
    digestPlan: planDigests(plan, context, decisions),
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
