/**
 * Turns due runs of steps into deliveries, a page of recipients at a time, as for occurrences: see db/ledger/steps/steps.ts
 * for the states of a run. Whether the escalation has ended is checked before anything is decided, and again under a
 * lock when the page is stored.
 */
import { decide, type Reason } from '../../core/decision/decide.ts';
import { priorityOf, type TriggerOptions } from '../../core/trigger.ts';
import { findRecipientsAcrossTenants } from '../../db/audience/recipients.ts';
import { inLedgerTransaction } from '../../db/connection/transaction.ts';
import { listNotifiedRecipients } from '../../db/ledger/deliver/notified.ts';
import type { StoredDelivery } from '../../db/ledger/expand/expand.ts';
import { claimProgress } from '../../db/ledger/round-robin.ts';
import {
  type ClaimedStep,
  claimStepsAcrossTenants,
  lockRunsAcrossTenants,
  releaseRunsAcrossTenants,
  resolutionRun,
  type StepOccurrence,
  type StepPage,
  storeStepPagesAcrossTenants,
} from '../../db/ledger/steps/steps.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { circumstancesOf, decidePage } from '../../pipeline/decide.ts';
import type { EventPlan, PlannedNotification } from '../../pipeline/event-plan.ts';
import { RecipientReader } from '../../pipeline/recipients.ts';
import { applyUnless, refuseStep } from '../../pipeline/steps.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import { groupThrottledMessages, type ThrottledMessage, throttle } from '../../pipeline/throttle.ts';
import type { Engine } from '../engine.ts';
import { endPages, setEventAttributes, startPage } from '../telemetry/spans.ts';
import {
  type Capacity,
  decideSafely,
  deferOverflow,
  type ExpansionResult,
  type PlannedDelivery,
  planDelivery,
  planPage,
  readConnections,
  reasonForNoDeliveries,
  retryPageMs,
  toExpansionResult,
} from './page.ts';

/** Runs per claim: few, because each may have a full page of recipients. */
const maxClaimedSteps = 50;

interface RunPage extends StepPage<PlannedDelivery> {
  throttled: ThrottledMessage[];
  span?: Span | undefined;
}

/** Executes due runs of one priority class; undefined when there were none. */
export async function runSteps(
  engine: Engine,
  owner: number,
  priority: number,
  capacity: Capacity,
): Promise<ExpansionResult | undefined> {
  const after = engine.lastServed.steps[priority] ?? 0;
  const request = { priority, after, max: maxClaimedSteps, owner, shares: capacity.shares(priority) };
  const readAt = engine.stops.generation;
  const claimed = await claimStepsAcrossTenants(engine.claims, request);
  engine.lastServed.steps[priority] = claimProgress(request, claimed).after;
  if (claimed.length === 0) return after === 0 ? undefined : toExpansionResult([], [], { isDrained: false, readAt });
  const pages = await decideMany(engine, claimed, capacity.pageSize(priority));
  deferOverflow(pages, capacity);
  const { stored, kept } = await storePages(engine, owner, pages);
  endPages(kept);
  engine.meters.batch('expand', kept.length);
  engine.meters.expanded(kept);
  // Hints for further pages are not needed: runs that are due now are claimed in the next round, later ones when they
  // are due.
  return { ...toExpansionResult(kept, stored, { isDrained: false, readAt }), next: new Set() };
}

/** Decides runs until they have about a page of recipients together; the others are due again immediately. */
async function decideMany(engine: Engine, claimed: ClaimedStep[], limit: number): Promise<RunPage[]> {
  const recipients = new RecipientReader(readConnections(engine), { usage: engine.usage });
  const pages: RunPage[] = [];
  let decided = 0;
  for (const step of claimed) {
    const page =
      decided < limit
        ? await decideClaimed(engine, recipients, step, limit)
        : putOff(step, new Date(currentTime()), null);
    decided += page.deliveries.length;
    pages.push(page);
  }
  return pages;
}

interface StoreResult {
  stored: StoredDelivery<PlannedDelivery>[];
  lost: Set<RunPage>;
}

/** Stores the pages, all or none. Pages whose occurrence ended meanwhile are released, and the rest is stored again. */
async function storePages(engine: Engine, owner: number, pages: RunPage[]) {
  let kept = pages;
  while (kept.length > 0) {
    const throttled = kept.flatMap(page => page.throttled);
    const { stored, lost } = await inLedgerTransaction<StoreResult>(engine.hot, async (client, { rollback }) => {
      await throttle(client, throttled, currentTime());
      for (const page of kept) settleRun(page);
      const lost = await lockRunsAcrossTenants(client, owner, kept);
      if (lost.size > 0) return rollback({ stored: [], lost });
      return { stored: await storeStepPagesAcrossTenants(client, owner, kept), lost };
    });
    if (lost.size === 0) return { stored, kept };
    await releaseRunsAcrossTenants(engine.hot, owner, [...lost]);
    kept = kept.filter(page => !lost.has(page));
  }
  return { stored: [], kept };
}

/** After the last page, marks a run that notified no one as skipped, with the reason. */
function settleRun(page: RunPage): void {
  if (page.status !== 'done') return;
  const notified = page.step.messages + page.deliveries.filter(one => one.status !== 'suppressed').length;
  if (notified > 0) return;
  page.status = 'skipped';
  page.reason = page.deliveries[0]?.reason ?? page.reason ?? 'no_recipients';
}

function decideClaimed(
  engine: Engine,
  recipients: RecipientReader,
  step: ClaimedStep,
  limit: number,
): Promise<RunPage> {
  const span = startPage(engine, 'step', step.occurrence);
  span?.set({ 'belfry.step': step.number });
  return decideSafely(
    engine,
    step.occurrence,
    span,
    () => decideRun(engine, recipients, step, limit, span),
    until => putOff(step, until, null),
  );
}

function pageOf(step: ClaimedStep, change: Partial<RunPage> & Pick<RunPage, 'status'>): RunPage {
  const { organization_id, occurrence_id: id, priority, occurrence } = step;
  const event_id = occurrence?.event_id ?? 0;
  const base = { organization_id, id, event_id, priority, step, reason: null, cursor: null, due_at: null, next: null };
  return { ...base, deliveries: [], throttled: [], ...change };
}

/** Leaves the run as it was, due again at `due_at`. */
function putOff(step: ClaimedStep, due_at: Date, reason: Reason | null): RunPage {
  return pageOf(step, { status: 'waiting', cursor: step.cursor, due_at, reason });
}

async function decideRun(
  engine: Engine,
  recipients: RecipientReader,
  step: ClaimedStep,
  limit: number,
  span: Span | undefined,
): Promise<RunPage> {
  const end = (reason: Reason) => pageOf(step, { status: 'ended', reason });
  const { occurrence, number } = step;
  if (!occurrence) return end('event.missing');
  const isResolution = number === resolutionRun;
  if (occurrence.cancelled_at) return end('cancelled');
  if (!isResolution && occurrence.resolved_at) return end('resolved');
  if (!isResolution && occurrence.acknowledged_at) return end('acknowledged');
  const now = currentTime();
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= now) return end('expired');
  const plan = await engine.plans.findEvent(step.organization_id, occurrence.event_id);
  if (!plan) return end('event.missing');
  if (!plan.active) return end('event.inactive');
  setEventAttributes(span, plan);
  const notification = plan.notifications.find(({ id }) => id === step.notification_id);
  if (!notification) return end('notification.missing');
  if (!notification.steps) return end('notification.changed');
  if (step.began_at.getTime() + notification.steps.giveUpMs <= now) return end('gave_up');
  if (plan.paused) return putOff(step, new Date(now + retryPageMs), 'event.paused');
  const context = { plan, notification, occurrence, limit, now };
  return isResolution ? decideResolution(engine, step, context) : decideStep(engine, recipients, step, context);
}

interface RunContext {
  plan: EventPlan;
  notification: PlannedNotification;
  occurrence: StepOccurrence;
  limit: number;
  now: number;
}

async function decideStep(
  engine: Engine,
  recipients: RecipientReader,
  step: ClaimedStep,
  { plan, notification, occurrence, limit, now }: RunContext,
): Promise<RunPage> {
  const { runs, steps, giveUpMs } = notification.steps!;
  const run = runs[step.number - 1];
  const planned = run && steps[run.step - 1];
  if (!planned) return pageOf(step, { status: 'ended', reason: 'notification.changed' });
  const following = runs[step.number];
  const options = occurrence.options as TriggerOptions;
  const { began_at, notification_id, cursor: from } = step;
  // A run that would be due after the escalation's end is due at its end, and gives up then.
  const due_at = new Date(Math.min(now + (following?.afterMs ?? 0), began_at.getTime() + giveUpMs));
  const priority = priorityOf(options, notification.priority, false);
  const next = following
    ? { notification_id, number: following.number, step: following.step, priority, due_at, began_at }
    : null;
  const escalation = {
    organizationId: step.organization_id,
    occurrenceId: step.occurrence_id,
    notificationId: notification.id,
    context: occurrence.context,
  };
  const mark = () => engine.marker.set(step.organization_id, step.occurrence_id);
  const refused = from ? undefined : await refuseStep(engine.hot, planned, escalation);
  if (refused) return pageOf(step, { status: 'skipped', reason: refused, next });
  const decided = await decidePage({ plans: engine.plans, recipients }, plan, {
    context: occurrence.context,
    options,
    cursor: from,
    limit,
    now,
    mark,
    only: planned.notification,
  });
  await applyUnless(engine.hot, planned, escalation, decided.decisions, mark);
  engine.marker.clear();
  const { deliveries, cursor, limit: overLimit } = planPage(engine, plan, occurrence, from, decided);
  for (const { delivery } of deliveries) delivery.step = step.number;
  return pageOf(step, {
    status: cursor ? 'waiting' : 'done',
    cursor,
    due_at: cursor ? new Date(now) : null,
    next: cursor ? null : next,
    reason: cursor ? null : (overLimit ?? (deliveries.length > 0 ? null : reasonForNoDeliveries(decided))),
    deliveries: deliveries.map(({ delivery }) => delivery),
    throttled: groupThrottledMessages(plan, occurrence.context, deliveries, {
      refuse: ({ delivery }) => Object.assign(delivery, { status: 'suppressed', reason: 'throttled', due_at: null }),
    }),
  });
}

/**
 * Notifies the recipients of earlier steps that the occurrence is resolved, on the same channels, unless they may no
 * longer be notified.
 */
async function decideResolution(
  engine: Engine,
  step: ClaimedStep,
  { plan, notification, occurrence, limit, now }: RunContext,
): Promise<RunPage> {
  const { organization_id: organizationId, occurrence_id, cursor: from } = step;
  const options = occurrence.options as TriggerOptions;
  const page = { after: from?.after ?? 0, limit };
  const notified = await listNotifiedRecipients(engine.hot, organizationId, occurrence_id, notification.id, page);
  const users = [...new Set(notified.map(one => one.user_id))];
  const people = await findRecipientsAcrossTenants(
    engine.hot,
    users.map(userId => ({ organizationId, userId })),
  );
  await markSuppressed(readConnections(engine), people);
  const channels = await engine.plans.listChannels(organizationId);
  const circumstances = circumstancesOf(plan, notification, options, now);
  const deliveries = notified.flatMap(({ user_id, channel_id, address }): PlannedDelivery[] => {
    const person = people.find(one => one.user_id === user_id);
    const channel = channels.find(one => one.id === channel_id);
    if (!person || !channel) return [];
    const [first] = decide(channel, person, {}, circumstances);
    const { reason, detail, dueAt } = first!;
    const decision = {
      notification,
      channel,
      person,
      address,
      reason,
      detail,
      dueAt,
      isUrgent: circumstances.isUrgent,
    };
    const priority = priorityOf(options, notification.priority, from !== null);
    return [{ ...planDelivery(decision, occurrence, priority), step: step.number }];
  });
  const isFull = users.length === limit;
  const cursor = isFull ? { notification: notification.id, source: 'notified', after: Math.max(...users) } : null;
  return pageOf(step, {
    status: cursor ? 'waiting' : 'done',
    cursor,
    due_at: cursor ? new Date(now) : null,
    deliveries,
  });
}
