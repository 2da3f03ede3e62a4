/**
 * Turns due runs of steps into deliveries, a page of recipients at a time, as for occurrences: see db/ledger/steps/steps.ts
 * for the states of a run. Whether the escalation has ended is checked before anything is decided, and again under a
 * lock when the page is stored.
 */
import type pg from 'pg';
import { decide, type Reason } from '../../core/decision/decide.ts';
import { findPause } from '../../core/decision/recheck.ts';
import { rotationLimit } from '../../core/decision/steps.ts';
import { priorityOf, type TriggerOptions } from '../../core/trigger.ts';
import { findRecipientsAcrossTenants } from '../../db/audience/recipients.ts';
import { inLedgerTransaction } from '../../db/connection/transaction.ts';
import { listNotifiedRecipients } from '../../db/ledger/deliver/notified.ts';
import type { ClaimedOccurrence, StoredDelivery } from '../../db/ledger/expand/expand.ts';
import type { NewStep } from '../../db/ledger/steps/new-steps.ts';
import { takeTurn } from '../../db/ledger/steps/rotations.ts';
import {
  type ClaimedStep,
  claimStepsAcrossTenants,
  lockRunsAcrossTenants,
  releaseRunsAcrossTenants,
  resolutionRun,
  type StepPage,
  storeStepPagesAcrossTenants,
} from '../../db/ledger/steps/steps.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { circumstancesOf, decidePage, type RecipientDecision } from '../../pipeline/decide.ts';
import { planDigests } from '../../pipeline/digest.ts';
import type { EventPlan, PlannedNotification } from '../../pipeline/event-plan.ts';
import { type PlannedDelivery, planDelivery, planPage, reasonOf, toFacts } from '../../pipeline/page.ts';
import type { RecipientReader } from '../../pipeline/recipients.ts';
import { applyUnless, refuseStep, selectTurn, withoutAcknowledged } from '../../pipeline/steps.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import { setEventAttributes, startPage } from '../telemetry/spans.ts';
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
  retryPageMs,
  type Turn,
} from './frame.ts';
import { markStored, type PlacedPage, placePages } from './place.ts';

/** Runs per claim: few, because each may have a full page of recipients. */
const maxClaimedSteps = 50;

interface RunPage extends StepPage<PlannedDelivery>, PlacedPage {}

/** Executes due runs of one priority class; undefined when there were none. */
export async function runSteps(tools: ExpandTools, turn: Turn): Promise<ExpansionResult | undefined> {
  const { owner, priority, capacity } = turn;
  const claim = { queue: 'steps', max: maxClaimedSteps } as const;
  const result = await expandQueue<ClaimedStep>(tools, claim, turn, async (request, noteClaimed) => {
    const claimed = noteClaimed(await claimStepsAcrossTenants(tools.claims, request));
    const recipients = recipientReader(tools);
    const limit = capacity.pageSize(priority);
    const decided = await decideMany(claimed, limit, one => decideClaimed(tools, recipients, one, limit));
    // The others are due again immediately.
    const left = claimed.slice(decided.length).map(one => putOff(one, new Date(currentTime()), null));
    return storePages(tools, owner, deferOverflow([...decided, ...left], capacity));
  });
  // Hints for further pages are not needed: runs that are due now are claimed in the next round, later ones when they
  // are due.
  return result && { ...result, next: new Set() };
}

interface StoreResult {
  stored: StoredDelivery<PlannedDelivery>[];
  lost: Set<RunPage>;
}

/** Stores the pages, all or none. Pages whose occurrence ended meanwhile are released, and the rest is stored again. */
async function storePages(tools: ExpandTools, owner: number, decided: RunPage[]): Promise<Expansion> {
  let kept = decided;
  while (kept.length > 0) {
    let pages = kept;
    const { stored, lost } = await inLedgerTransaction<StoreResult>(tools.hot, async (client, { rollback }) => {
      pages = (await placePages(client, await findStored(client, kept))).map(settleRun);
      const lost = await lockRunsAcrossTenants(client, owner, pages);
      if (lost.size > 0) return rollback({ stored: [], lost });
      return { stored: await storeStepPagesAcrossTenants(client, owner, pages), lost };
    });
    if (lost.size === 0) return { pages, stored, ended: [] };
    await releaseRunsAcrossTenants(tools.hot, owner, [...lost]);
    kept = kept.filter((_, i) => !lost.has(pages[i]!));
  }
  return nothing;
}

/** Finds the deliveries of further pages that an earlier page of the run has already put into a bundle. */
async function findStored(client: pg.PoolClient, pages: RunPage[]): Promise<RunPage[]> {
  const found: RunPage[] = [];
  for (const page of pages) found.push(page.step.cursor ? await markStored(client, page) : page);
  return found;
}

/** After the last page, marks a run that notified no one as skipped, with the reason. */
function settleRun(page: RunPage): RunPage {
  if (page.status !== 'done') return page;
  const notified = page.step.messages + page.deliveries.filter(one => one.status !== 'suppressed').length;
  if (notified > 0) return page;
  return { ...page, status: 'skipped', reason: page.deliveries[0]?.reason ?? page.reason ?? 'no_recipients' };
}

function decideClaimed(
  tools: ExpandTools,
  recipients: RecipientReader,
  step: ClaimedStep,
  limit: number,
): Promise<RunPage> {
  const span = startPage(tools, 'step', step.occurrence);
  span?.set({ 'belfry.step': step.number });
  return decideSafely(
    tools,
    step.occurrence,
    span,
    () => decideRun(tools, recipients, step, limit, span),
    until => putOff(step, until, null),
  );
}

function pageOf(step: ClaimedStep, change: Partial<RunPage> & Pick<RunPage, 'status'>): RunPage {
  const { organization_id, occurrence_id: id, priority, occurrence } = step;
  const event_id = occurrence?.event_id ?? 0;
  const base = { organization_id, id, event_id, priority, step, reason: null, cursor: null, due_at: null, next: null };
  return { ...base, deliveries: [], ...change };
}

/** Leaves the run as it was, due again at `due_at`. */
function putOff(step: ClaimedStep, due_at: Date, reason: Reason | null): RunPage {
  return pageOf(step, { status: 'waiting', cursor: step.cursor, due_at, reason });
}

async function decideRun(
  tools: ExpandTools,
  recipients: RecipientReader,
  step: ClaimedStep,
  limit: number,
  span: Span | undefined,
): Promise<RunPage> {
  const { number } = step;
  const reopens = { awaitsAcknowledgement: false };
  const end = (reason: Reason) => pageOf(step, { status: 'ended', reason, ...(isReopened && { reopens }) });
  // Compares times that were stored together, so that no other clock matters.
  const until = number === resolutionRun ? null : (step.occurrence?.acknowledged_until ?? null);
  const isReopened = until !== null && until <= step.due_at;
  const occurrence = isReopened ? reopened(step.occurrence!, until) : step.occurrence;
  if (!occurrence) return end('event.missing');
  const isResolution = number === resolutionRun;
  if (occurrence.cancelled_at) return end('cancelled');
  if (!isResolution && occurrence.resolved_at) return end('resolved');
  if (!isResolution && occurrence.acknowledged_at) {
    // It was acknowledged before its steps were stored: they run when that ends.
    return until ? putOff(step, until, 'acknowledged') : end('acknowledged');
  }
  const now = currentTime();
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= now) return end('expired');
  const plan = await tools.plans.findEvent(step.organization_id, occurrence.event_id);
  if (!plan) return end('event.missing');
  if (!plan.active) return end('event.inactive');
  setEventAttributes(span, plan);
  const notification = plan.notifications.find(({ id }) => id === step.notification_id);
  if (!notification) return end('notification.missing');
  if (!notification.steps) return end('notification.changed');
  const beganAt = isReopened ? until : step.began_at;
  reopens.awaitsAcknowledgement = notification.steps.asksForAcknowledgement;
  if (beganAt.getTime() + notification.steps.giveUpMs <= now) return end('gave_up');
  const paused = findPause(plan, occurrence);
  if (paused) return putOff(step, new Date(now + retryPageMs), paused);
  const found = (await tools.plans.findSilences(step.organization_id)).find(plan, occurrence.context, now);
  if (found) return { ...putOff(step, found.until, 'silenced'), silenced: { ...found, effect: 'held' } };
  const context = { plan, notification, occurrence, beganAt, limit, now };
  if (isResolution) return decideResolution(tools, step, context);
  const page = await decideStep(tools, recipients, step, context);
  return isReopened ? { ...page, reopens } : page;
}

/** Returns the occurrence as it is when the page is stored, which ends its acknowledgement. */
function reopened(occurrence: ClaimedOccurrence, round_began_at: Date): ClaimedOccurrence {
  return { ...occurrence, acknowledged_at: null, acknowledged_until: null, acknowledged_users: null, round_began_at };
}

interface RunContext {
  plan: EventPlan;
  notification: PlannedNotification;
  occurrence: ClaimedOccurrence;
  /** When the round of steps began. */
  beganAt: Date;
  limit: number;
  now: number;
}

async function decideStep(
  tools: ExpandTools,
  recipients: RecipientReader,
  step: ClaimedStep,
  { plan, notification, occurrence, beganAt: began_at, limit, now }: RunContext,
): Promise<RunPage> {
  const { runs, steps, giveUpMs } = notification.steps!;
  const { base, notification_id, cursor: from } = step;
  const run = runs[step.number - base - 1];
  const planned = run && steps[run.step - 1];
  if (!planned) return pageOf(step, { status: 'ended', reason: 'notification.changed' });
  const following = runs[step.number - base];
  const options = occurrence.options as TriggerOptions;
  // A run that would be due after the escalation's end is due at its end, and gives up then.
  const due_at = new Date(Math.min(now + (following?.afterMs ?? 0), began_at.getTime() + giveUpMs));
  const priority = priorityOf(options, notification.priority, false);
  const next: NewStep | null = following
    ? { notification_id, number: step.number + 1, step: following.step, priority, due_at, began_at, base, turn: null }
    : null;
  const escalation = {
    organizationId: step.organization_id,
    occurrenceId: step.occurrence_id,
    notificationId: notification.id,
    after: base,
    context: occurrence.context,
  };
  const refused = from ? undefined : await refuseStep(tools.hot, planned, escalation);
  if (refused) return pageOf(step, { status: 'skipped', reason: refused, next });
  const only = planned.notification;
  const read = { context: occurrence.context, options, cursor: from, limit, now, only };
  const request = planned.rotates ? { ...read, limit: rotationLimit } : read;
  const decided = await tools.marker.during(escalation, async mark => {
    const page = await decidePage({ plans: tools.plans, recipients }, plan, { ...request, mark });
    const open = withoutAcknowledged(page.decisions, occurrence.acknowledged_users ?? []);
    return { ...page, decisions: await applyUnless(tools.hot, planned, escalation, open, mark) };
  });
  if (planned.rotates) {
    const turn = await takeTurn(tools.hot, step.organization_id, {
      ...escalation,
      number: step.number,
      step: run.step,
    });
    decided.decisions = selectTurn(decided.decisions, turn);
    decided.cursor = null;
    if (next?.step === run.step) next.turn = turn + 1;
  }
  const page = planPage(plan, occurrence, from, decided, step.number);
  const { decisions, deliveries, cursor, limit: overLimit } = page;
  // No one was on call: the next step does not wait.
  const isUncovered = decided.refused.some(({ reason }) => reason === 'schedule.no_one');
  logLimit(tools, overLimit, occurrence);
  return pageOf(step, {
    status: cursor ? 'waiting' : 'done',
    cursor,
    due_at: cursor ? new Date(now) : null,
    next: cursor ? null : next && isUncovered ? { ...next, due_at: new Date(now) } : next,
    reason: cursor ? null : (overLimit ?? (decided.usesFallback || deliveries.length === 0 ? reasonOf(decided) : null)),
    deliveries,
    digestPlan: planDigests(plan, { context: occurrence.context, options, decisions, now, step: step.number }),
  });
}

/**
 * Notifies the recipients of earlier steps that the occurrence is resolved, on the same channels, unless they may no
 * longer be notified.
 */
async function decideResolution(
  tools: ExpandTools,
  step: ClaimedStep,
  { plan, notification, occurrence, limit, now }: RunContext,
): Promise<RunPage> {
  const { organization_id: organizationId, occurrence_id, cursor: from } = step;
  const options = occurrence.options as TriggerOptions;
  const page = { after: from?.after ?? 0, limit };
  const notified = await listNotifiedRecipients(tools.hot, organizationId, occurrence_id, notification.id, page);
  const users = [...new Set(notified.map(one => one.user_id))];
  const recipients = await findRecipientsAcrossTenants(
    tools.hot,
    users.map(userId => ({ organizationId, userId })),
  );
  await markSuppressed({ pool: tools.hot, plans: tools.plans }, recipients);
  const channels = await tools.plans.listChannels(organizationId);
  const circumstances = circumstancesOf(plan, notification, options, now);
  const facts = toFacts(occurrence);
  const decisions = notified.flatMap(({ user_id, channel_id, address }): RecipientDecision[] => {
    const recipient = recipients.find(one => one.user_id === user_id);
    const channel = channels.find(one => one.id === channel_id);
    if (!recipient || !channel) return [];
    const [first] = decide(channel, recipient, {}, circumstances);
    const { reason, detail, dueAt } = first!;
    const { isUrgent } = circumstances;
    return [{ notification, channel, recipient, address, reason, detail, dueAt, isUrgent }];
  });
  const priority = priorityOf(options, notification.priority, from !== null);
  const isFull = users.length === limit;
  const cursor = isFull ? { notification: notification.id, source: 'notified', after: Math.max(...users) } : null;
  return pageOf(step, {
    status: cursor ? 'waiting' : 'done',
    cursor,
    due_at: cursor ? new Date(now) : null,
    deliveries: decisions.map(decision => planDelivery(decision, facts, priority, step.number)),
    digestPlan: planDigests(plan, { context: occurrence.context, options, decisions, now, step: step.number }),
  });
}
