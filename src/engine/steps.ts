/**
 * Runs of steps that are due become deliveries, a page of recipients at a time, as occurrences do: see db/steps.ts for the
 * states of a run. Whatever ends an escalation is looked at here before anything is decided, and once more, under a lock, when
 * it is stored.
 */
import { decide, isLeftOutByTrigger, type Reason } from '../core/decide.ts';
import { roomForDeliveries } from '../core/limits.ts';
import { priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { StoredDelivery } from '../db/expansion.ts';
import { findRecipientsAcrossTenants } from '../db/recipients.ts';
import {
  type ClaimedStep,
  claimStepsAcrossTenants,
  resolutionRun,
  type StepOccurrence,
  type StepPage,
  storeStepPagesAcrossTenants,
} from '../db/steps.ts';
import { listSentTo } from '../db/told.ts';
import { nextTurn } from '../db/turns.ts';
import type { Span } from '../lib/traces.ts';
import { circumstancesOf, type Decided, decidePage } from '../services/deciding.ts';
import type { EventPlan, PlannedNotification } from '../services/plans.ts';
import { RecipientReader } from '../services/recipients.ts';
import { leaveOut, refuseStep } from '../services/steps.ts';
import { groupThrottled, type Throttled, throttle } from '../services/throttling.ts';
import type { Engine } from './engine.ts';
import {
  deferOverflow,
  type Expanded,
  type Given,
  limitOf,
  type Room,
  readersOf,
  toExpanded,
  toGiven,
  whyNobody,
} from './expand.ts';
import { endPages, startPage, tellEvent, traceIn } from './spans.ts';

/** Claimed together: each may have a whole page of recipients. */
const stepsAtOnce = 50;
/** What cannot be decided now, or is paused, is looked at again so much later. */
const laterMs = 30_000;

interface Page extends StepPage<Given> {
  throttled: Throttled[];
  span?: Span | undefined;
}

/** Runs of one class that are due; undefined when there were none. */
export async function runSteps(
  engine: Engine,
  owner: number,
  priority: number,
  room: Room,
): Promise<Expanded | undefined> {
  const after = engine.turns.steps[priority] ?? 0;
  const turn = { priority, after, most: stepsAtOnce, owner, shares: room.shares(priority) };
  const claimed = await claimStepsAcrossTenants(engine.claims, turn);
  engine.turns.steps[priority] = nextTurn(turn, claimed).after;
  if (claimed.length === 0) return after === 0 ? undefined : toExpanded([], [], false);
  const pages = await decideMany(engine, claimed, room.page(priority));
  deferOverflow(pages, room);
  const { stored, kept } = await store(engine, owner, pages);
  endPages(kept);
  engine.meters.batch('expand', kept.length);
  engine.meters.expanded(kept);
  // Further pages and runs that are due at once are looked for right away; those for later are found when they are due.
  return { ...toExpanded(kept, stored, false), next: new Set() };
}

/** As many as have about a page of recipients together; the others are due again at once. */
async function decideMany(engine: Engine, claimed: ClaimedStep[], limit: number): Promise<Page[]> {
  const recipients = new RecipientReader(readersOf(engine), engine.usage);
  const pages: Page[] = [];
  let decided = 0;
  for (const step of claimed) {
    const page = decided < limit ? await decideSafely(engine, recipients, step, limit) : putOff(step, new Date(), null);
    decided += page.deliveries.length;
    pages.push(page);
  }
  return pages;
}

/** Without those that somebody has ended meanwhile. */
async function store(engine: Engine, owner: number, pages: Page[]) {
  let kept = pages;
  for (;;) {
    const wanted = kept.flatMap(page => page.throttled);
    const { stored, lost }: { stored: StoredDelivery<Given>[]; lost: Set<StepPage<Given>> } =
      await storeStepPagesAcrossTenants<Given>(engine.hot, owner, kept, async client => {
        await throttle(client, wanted, Date.now());
        for (const page of kept) settleRun(page);
      });
    if (lost.size === 0) return { stored, kept };
    kept = kept.filter(page => !lost.has(page));
    if (kept.length === 0) return { stored: [], kept };
  }
}

/** After its last page: whether it has told anybody, and if not, why. */
function settleRun(page: Page): void {
  if (page.status !== 'done') return;
  const told = page.step.told + page.deliveries.filter(one => one.status !== 'suppressed').length;
  if (told > 0) return;
  page.status = 'skipped';
  page.reason = page.deliveries[0]?.reason ?? page.reason ?? 'no_recipients';
}

async function decideSafely(
  engine: Engine,
  recipients: RecipientReader,
  step: ClaimedStep,
  limit: number,
): Promise<Page> {
  const span = startPage(engine, 'step', step.occurrence);
  span?.set({ 'belfry.step': step.number });
  try {
    return { ...(await decideRun(engine, recipients, step, limit, span)), span };
  } catch (error) {
    const where = { occurrence: step.occurrence_id, ...traceIn(step.occurrence) };
    engine.log.error({ err: error, ...where }, 'could not run a step; trying again later');
    span?.end('service.internal');
    return putOff(step, new Date(Date.now() + laterMs), null);
  }
}

function pageOf(step: ClaimedStep, change: Partial<Page> & Pick<Page, 'status'>): Page {
  const { organization_id, occurrence_id: id, priority, occurrence } = step;
  const event_id = occurrence?.event_id ?? 0;
  const base = { organization_id, id, event_id, priority, step, reason: null, cursor: null, due_at: null, next: null };
  return { ...base, deliveries: [], throttled: [], ...change };
}

/** As it was, and due again then. */
function putOff(step: ClaimedStep, due_at: Date, reason: Reason | null): Page {
  return pageOf(step, { status: 'waiting', cursor: step.cursor, due_at, reason });
}

async function decideRun(
  engine: Engine,
  recipients: RecipientReader,
  step: ClaimedStep,
  limit: number,
  span: Span | undefined,
): Promise<Page> {
  const end = (reason: Reason) => pageOf(step, { status: 'ended', reason });
  const { occurrence, number } = step;
  if (!occurrence) return end('event.missing');
  const isResolution = number === resolutionRun;
  if (occurrence.cancelled_at) return end('cancelled');
  if (!isResolution && occurrence.resolved_at) return end('resolved');
  if (!isResolution && occurrence.acknowledged_at) return end('acknowledged');
  const now = Date.now();
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= now) return end('expired');
  const plan = await engine.plans.findEvent(step.organization_id, occurrence.event_id);
  if (!plan) return end('event.missing');
  tellEvent(span, plan);
  const notification = plan.notifications.find(({ id }) => id === step.notification_id);
  if (!notification) return end('notification.missing');
  if (!notification.steps) return end('notification.changed');
  if (step.began_at.getTime() + notification.steps.giveUpMs <= now) return end('gave_up');
  if (plan.paused) return putOff(step, new Date(now + laterMs), 'event.paused');
  const known = { plan, notification, occurrence, limit, now };
  return isResolution ? decideResolution(engine, step, known) : decideStep(engine, recipients, step, known);
}

interface Known {
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
  { plan, notification, occurrence, limit, now }: Known,
): Promise<Page> {
  const { runs, steps, giveUpMs } = notification.steps!;
  const run = runs[step.number - 1];
  const planned = run && steps[run.step - 1];
  if (!planned) return pageOf(step, { status: 'ended', reason: 'notification.changed' });
  const following = runs[step.number];
  const options = occurrence.options as TriggerOptions;
  const { began_at, notification_id, cursor: from } = step;
  // What would come after the end gives up at the end.
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
  await leaveOut(engine.hot, planned, escalation, decided.decisions, mark);
  engine.marker.clear();
  const wanted = decided.decisions.filter(({ reason }) => !isLeftOutByTrigger(reason));
  const room = roomForDeliveries(plan.organization.deliveries_per_trigger, occurrence.deliveries, wanted.length);
  const isOver = room < wanted.length;
  const fansOut = from !== null || decided.cursor !== null;
  const deliveries = wanted.slice(0, room).map(decision => ({
    ...decision,
    delivery: give(decision, step, occurrence, priorityOf(options, notification.priority, fansOut)),
  }));
  const cursor = isOver ? null : decided.cursor;
  return pageOf(step, {
    status: cursor ? 'waiting' : 'done',
    cursor,
    due_at: cursor ? new Date(now) : null,
    next: cursor ? null : next,
    reason: cursor
      ? null
      : (limitOf(isOver, decided.isOverUserLimit) ?? (wanted.length > 0 ? null : whyNobody(decided))),
    deliveries: deliveries.map(({ delivery }) => delivery),
    throttled: groupThrottled(plan, occurrence.context, deliveries, {
      refuse: ({ delivery }) => Object.assign(delivery, { status: 'suppressed', reason: 'throttled', due_at: null }),
    }),
  });
}

function give(decision: Decided, step: ClaimedStep, occurrence: StepOccurrence, priority: number): Given {
  return { ...toGiven(decision), priority, occurrence, step: step.number };
}

/** Those who were told hear that it is over, where they were told: but for whoever may no longer be told. */
async function decideResolution(
  engine: Engine,
  step: ClaimedStep,
  { plan, notification, occurrence, limit, now }: Known,
): Promise<Page> {
  const { organization_id: organizationId, occurrence_id, cursor: from } = step;
  const options = occurrence.options as TriggerOptions;
  const page = { after: from?.after ?? 0, limit };
  const told = await listSentTo(engine.hot, organizationId, occurrence_id, notification.id, page);
  const users = [...new Set(told.map(one => one.user_id))];
  const people = await findRecipientsAcrossTenants(
    engine.hot,
    users.map(userId => ({ organizationId, userId })),
  );
  const channels = await engine.plans.listChannels(organizationId);
  const circumstances = circumstancesOf(plan, notification, options, now);
  const deliveries = told.flatMap(({ user_id, channel_id, address }): Given[] => {
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
    return [give(decision, step, occurrence, priorityOf(options, notification.priority, from !== null))];
  });
  const isFull = users.length === limit;
  const cursor = isFull ? { notification: notification.id, source: 'told', after: Math.max(...users) } : null;
  return pageOf(step, {
    status: cursor ? 'waiting' : 'done',
    cursor,
    due_at: cursor ? new Date(now) : null,
    deliveries,
  });
}
