/** Who would get what, written out, and why the others would not: everything decided, nothing stored or sent. */
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Content } from '../core/render/render.ts';
import { planTrigger, type TriggerOptions } from '../core/trigger.ts';
import type { Cursor } from '../db/expansion.ts';
import type { Place } from '../db/organizations.ts';
import { type Decided, decidePage } from './deciding.ts';
import type { Deps } from './deps.ts';
import { planGathering, simulateGathering } from './gathering.ts';
import { writeMessage } from './messages.ts';
import type { EventPlan, PlannedNotification } from './plans.ts';
import { RecipientReader } from './recipients.ts';
import { type SimulatedRun, type SteppedDecision, simulateSteps } from './step-simulation.ts';

export interface Simulated {
  notification: string;
  channel: string;
  user: string;
  address: string | null;
  reason: string | null;
  /** What exactly decided, where there is more to say. */
  detail: string | null;
  /** When it would be sent, where it would wait. */
  due_at: string | null;
  /** The run of a step; null: its notification has no steps. */
  step: number | null;
  message: Content | null;
  /** Why the message cannot be written. */
  problem: string | null;
}

export interface Simulation {
  /** Whether everybody was looked at. */
  complete: boolean;
  notifications: {
    name: string;
    reason: string | null;
    deliveries: number;
    suppressed: Record<string, number>;
    held: Record<string, number>;
    /** What would happen step by step if nobody answered; null where it has no steps. */
    steps: SimulatedRun[] | null;
  }[];
  /** Whether the caller may know who the recipients are; else `deliveries` is empty. */
  recipients_shown: boolean;
  /** The first ones, those that would be sent before the others. */
  deliveries: Simulated[];
}

const mostRecipients = 10_000;
const recipientsAtOnce = 1_000;
const mostShown = 50;

export async function simulate(
  deps: Deps,
  place: Required<Place>,
  { context = {}, options = {} }: { context?: JsonObject; options?: TriggerOptions },
  mayReadUsers: boolean,
): Promise<Simulation> {
  const { plans, tenantCache, contextSchemas } = deps;
  const { organization, project, event } = place;
  const now = Date.now();
  planTrigger(options, await tenantCache.listUsableChannels(organization.id, project.id), now);
  if (!options.resolve) await contextSchemas.check(place, context);
  const plan = await plans.findEvent(organization.id, event.id);
  if (!plan) throw new AppError('event.not_found', 'the event has been deleted meanwhile');

  const found = plan.notifications.map(({ name }) => ({
    name,
    reason: null as string | null,
    deliveries: 0,
    suppressed: {} as Record<string, number>,
    held: {} as Record<string, number>,
    steps: null as SimulatedRun[] | null,
  }));
  const shown: SteppedDecision[] = [];
  const stepped = new Set<PlannedNotification>();
  const recipients = new RecipientReader(deps);
  let cursor: Cursor | null = null;
  let looked = 0;
  do {
    const page = await decidePage({ plans, recipients }, plan, {
      context,
      options: { ...options, dry_run: false },
      cursor,
      limit: recipientsAtOnce,
      now,
    });
    await simulateGathering(deps.pool, planGathering(plan, context, page.decisions, gatheringHandlers), now);
    for (const notification of page.stepped) stepped.add(notification);
    for (const { notification, reason } of page.refused) {
      found[plan.notifications.indexOf(notification)]!.reason = reason;
    }
    for (const decision of page.decisions) {
      const summary = found[plan.notifications.indexOf(decision.notification)]!;
      const { reason, dueAt } = decision;
      // What waits is sent too, only later.
      if (!reason || dueAt) summary.deliveries++;
      const counts = dueAt ? summary.held : summary.suppressed;
      if (reason) counts[reason] = (counts[reason] ?? 0) + 1;
    }
    if (mayReadUsers) keepFirst(shown, page.decisions);
    cursor = page.cursor;
    looked += recipientsAtOnce;
  } while (cursor && looked < mostRecipients);

  let complete = cursor === null;
  const question = { context, options: { ...options, dry_run: false }, now, limit: recipientsAtOnce };
  for (const notification of stepped) {
    const { runs, decisions, ...seen } = await simulateSteps({ plans, recipients }, plan, notification, question);
    const deliveries = runs.reduce((sum, run) => sum + run.deliveries, 0);
    Object.assign(found[plan.notifications.indexOf(notification)]!, { steps: runs, deliveries });
    complete &&= seen.complete;
    if (mayReadUsers) keepFirst(shown, decisions);
  }

  const occurrence = sampleOccurrence(context, now);
  const deliveries = await Promise.all(shown.map(decision => show(deps, plan, occurrence, decision)));
  return { complete, notifications: found, recipients_shown: mayReadUsers, deliveries };
}

const gatheringHandlers = {
  refuse: (decision: Decided) => Object.assign(decision, { reason: 'throttled', dueAt: undefined }),
  join: (decision: Decided, { items, closesAt }: { items: number; closesAt: Date }) => {
    const others = items === 0 ? undefined : `${items} gathered so far`;
    Object.assign(decision, { reason: 'digest', dueAt: closesAt, detail: others });
  },
  send: (decision: Decided) => Object.assign(decision, { reason: undefined, dueAt: undefined }),
};

/** What would be sent is more telling than what would not. */
function keepFirst(shown: SteppedDecision[], decisions: SteppedDecision[]): void {
  for (const decision of decisions) shown.push(decision);
  shown.sort((a, b) => Number(isRefused(a)) - Number(isRefused(b)));
  shown.splice(mostShown);
}

const isRefused = ({ reason, dueAt }: Decided) => reason !== undefined && dueAt === undefined;

/** One that was never stored. */
export function sampleOccurrence(context: JsonObject, now: number) {
  return {
    id: '00000000-0000-7000-8000-000000000000',
    context,
    correlation_id: null,
    created_at: new Date(now),
  };
}

type Imagined = { id: string; context: JsonObject; correlation_id: null; created_at: Date };

async function show(deps: Deps, plan: EventPlan, occurrence: Imagined, decision: SteppedDecision): Promise<Simulated> {
  const { step = null } = decision;
  const { notification, channel, person, address, reason, detail, dueAt } = decision;
  const shown: Simulated = {
    notification: notification.name,
    channel: channel.slug,
    user: person.username,
    address,
    reason: reason ?? null,
    detail: detail ?? null,
    due_at: dueAt?.toISOString() ?? null,
    step,
    message: null,
    problem: null,
  };
  if (reason && !dueAt) return shown;
  try {
    const delivery = {
      address,
      notification_id: notification.id,
      version: notification.version,
      step: step ?? 0,
    };
    const { content } = await writeMessage(deps.plans, { delivery, occurrence, person, channel, plan });
    return { ...shown, message: content };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...shown, problem: error.message };
  }
}
