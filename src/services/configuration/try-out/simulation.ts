/** Simulates a trigger: decides and renders what would be sent, and why not. Nothing is stored or sent. */
import { isLarge } from '../../../core/decision/guards/canary.ts';
import { canBeResolved } from '../../../core/decision/silences.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Content } from '../../../core/render/render.ts';
import { planTrigger, type TriggerOptions } from '../../../core/trigger.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import type { Cursor } from '../../../db/ledger/cursor.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { hasCanary } from '../../../pipeline/canary.ts';
import { countRecipients, decidePage, type RecipientDecision } from '../../../pipeline/decide.ts';
import { type Placement, planDigests, simulateDigests } from '../../../pipeline/digest.ts';
import type { EventPlan, PlannedNotification } from '../../../pipeline/event-plan.ts';
import { renderDelivery } from '../../../pipeline/messages.ts';
import { filterVisible, RecipientReader } from '../../../pipeline/recipients.ts';
import type { Deps } from '../../deps.ts';
import { type SimulatedRun, type StepDecision, simulateSteps } from './step-simulation.ts';

/** The schema of the response describes it (http/configuration/events.ts). */
export type Simulation = Awaited<ReturnType<typeof simulate>>;
export type SimulatedDelivery = Awaited<ReturnType<typeof renderDecision>>;

const maxRecipients = 10_000;
const recipientsAtOnce = 1_000;
const maxShown = 50;

interface SimulationRequest {
  context?: JsonObject | undefined;
  options?: TriggerOptions | undefined;
  /** As if triggered then; undefined: now. */
  at?: Date | string | undefined;
}

const maxAheadMs = 400 * 86_400_000;
/** A time that was just taken from a clock is still accepted. */
const toleranceMs = 60_000;

/** Overrides and silences that are over are no longer known to the plans. */
function requireFuture(at: number): number {
  const now = currentTime();
  if (at < now - toleranceMs) throw invalid({ at: ['must not be in the past: `belfry why` explains what was sent'] });
  if (at > now + maxAheadMs) throw invalid({ at: ['must be within 400 days'] });
  return at;
}

export async function simulate(
  deps: Deps,
  path: Required<ResolvedPath>,
  { context = {}, options = {}, at }: SimulationRequest,
  visible: VisibleUsers,
) {
  const { plans, tenantCache, contextSchemas } = deps;
  const { organization, project, event } = path;
  const now = at === undefined ? currentTime() : requireFuture(new Date(at).getTime());
  if (visible === 'none' && options.limit_to) throw limitedToNamed();
  planTrigger(options, await tenantCache.listUsableChannels(organization.id, project.id), now);
  if (!options.resolve) await contextSchemas.check(path, context);
  const plan = await plans.findEvent(organization.id, event.id);
  if (!plan) throw new AppError('event.not_found', 'the event has been deleted in the meantime');

  const found = (await plans.findSilences(organization.id)).find(plan, context, now);
  const silence = found && {
    id: found.silence.id,
    reason: found.silence.reason,
    created_by: found.silence.created_by,
    until: found.until.toISOString(),
    effect: canBeResolved(options) ? ('held' as const) : ('suppressed' as const),
  };
  const summaries = plan.notifications.map(({ name }) => ({
    name,
    reason: null as string | null,
    deliveries: 0,
    suppressed: {} as Record<string, number>,
    held: {} as Record<string, number>,
    steps: null as SimulatedRun[] | null,
  }));
  const recipientCounts = new Map<PlannedNotification, number>();
  const shown: StepDecision[] = [];
  const stepped = new Set<PlannedNotification>();
  const recipients = new RecipientReader(deps, { visibility: { projectId: project.id, visible } });
  let cursor: Cursor | null = null;
  let examined = 0;
  do {
    const page = await decidePage({ plans, recipients }, plan, {
      context,
      options: { ...options, dry_run: false },
      cursor,
      limit: recipientsAtOnce,
      now,
    });
    const placements = await simulateDigests(
      deps.pool,
      planDigests(plan, { context, options, decisions: page.decisions, now }),
      now,
    );
    const decisions = page.decisions.map((decision, position) => place(decision, placements.get(position)));
    for (const notification of page.stepped) stepped.add(notification);
    for (const { notification, reason } of page.refused) {
      summaries[plan.notifications.indexOf(notification)]!.reason = reason;
    }
    for (const [notification, own] of Map.groupBy(decisions, one => one.notification)) {
      recipientCounts.set(notification, (recipientCounts.get(notification) ?? 0) + countRecipients(own));
    }
    for (const decision of decisions) {
      const summary = summaries[plan.notifications.indexOf(decision.notification)]!;
      const { reason, dueAt } = decision;
      // A held message is sent later and counts as a delivery.
      if (!reason || dueAt) summary.deliveries++;
      const counts = dueAt ? summary.held : summary.suppressed;
      if (reason) counts[reason] = (counts[reason] ?? 0) + 1;
    }
    if (visible !== 'none') keepFirst(shown, await keepVisible(deps, path, decisions, visible));
    cursor = page.cursor;
    examined += recipientsAtOnce;
  } while (cursor && examined < maxRecipients);

  for (const [notification, recipients] of recipientCounts) {
    const { canary } = notification;
    if (!canary || !hasCanary(notification, { ...options, dry_run: false }) || !isLarge(canary, recipients)) continue;
    const { deliveries, held } = summaries[plan.notifications.indexOf(notification)]!;
    held['canary.waiting'] = Math.round(deliveries * (1 - canary.first / recipients));
  }

  // A caller who does not see all users learns nothing about the others that an expression selects.
  const leavesOut = visible === 'project' && plan.notifications.some(({ picks }) => picks !== undefined);
  let complete = cursor === null && !leavesOut;
  const request = { context, options: { ...options, dry_run: false }, now, limit: recipientsAtOnce };
  for (const notification of stepped) {
    const { runs, decisions, ...rest } = await simulateSteps(
      { db: deps.db, plans, recipients },
      plan,
      notification,
      request,
    );
    const deliveries = runs.reduce((sum, run) => sum + run.deliveries, 0);
    Object.assign(summaries[plan.notifications.indexOf(notification)]!, { steps: runs, deliveries });
    complete &&= rest.complete;
    if (visible !== 'none') keepFirst(shown, await keepVisible(deps, path, decisions, visible));
  }

  const occurrence = sampleOccurrence(context, now);
  const deliveries = await Promise.all(shown.map(decision => renderDecision(deps, plan, occurrence, decision)));
  return {
    at: new Date(now).toISOString(),
    complete,
    notifications: summaries,
    recipients_shown: visible !== 'none',
    silence: silence ?? null,
    deliveries,
  };
}

/** With `limit_to`, the counts of a simulation would tell facts about a single user. */
function limitedToNamed(): AppError {
  return new AppError(
    'key.permission',
    'options/limit_to: naming users in a simulation requires the permission user:read',
  );
}

function place(decision: RecipientDecision, placement: Placement | undefined): RecipientDecision {
  if (!placement) return decision;
  if (placement === 'refused') return { ...decision, reason: 'throttled', dueAt: undefined };
  if (placement === 'sent') return { ...decision, reason: undefined, dueAt: undefined };
  const { items, closesAt } = placement.digest;
  const detail = items === 0 ? undefined : `${items} collected so far`;
  return { ...decision, reason: 'digest', dueAt: closesAt, detail };
}

/** Leaves out users whom only a schedule names, and the caller may not see. */
async function keepVisible<Decision extends RecipientDecision>(
  { pool }: Deps,
  { project }: Required<ResolvedPath>,
  decisions: Decision[],
  visible: VisibleUsers,
): Promise<Decision[]> {
  const onCall = decisions.filter(({ notification }) => notification.recipients.schedule !== undefined);
  if (visible !== 'project' || onCall.length === 0) return decisions;
  const recipients = [...new Set(onCall.map(({ recipient }) => recipient))];
  const seen = new Set(await filterVisible(pool, recipients, project.id, visible));
  return decisions.filter(decision => !onCall.includes(decision) || seen.has(decision.recipient));
}

/** Keeps the first decisions, preferring messages that would be sent. */
function keepFirst(shown: StepDecision[], decisions: StepDecision[]): void {
  for (const decision of decisions) shown.push(decision);
  shown.sort((a, b) => Number(isRefused(a)) - Number(isRefused(b)));
  shown.splice(maxShown);
}

const isRefused = ({ reason, dueAt }: RecipientDecision) => reason !== undefined && dueAt === undefined;

/** Returns an occurrence for rendering that is not stored. */
export function sampleOccurrence(context: JsonObject, now: number) {
  return {
    id: '00000000-0000-7000-8000-000000000000',
    context,
    correlation_id: null,
    created_at: new Date(now),
  };
}

type SampleOccurrence = Omit<ReturnType<typeof sampleOccurrence>, 'correlation_id'> & { correlation_id: string | null };

/** Renders the message of a decision, unless there is none. */
export async function renderDecision(
  deps: Deps,
  plan: EventPlan,
  occurrence: SampleOccurrence,
  decision: StepDecision,
) {
  const { step = null } = decision;
  const { notification, channel, recipient, address, reason, detail, dueAt } = decision;
  const shown = {
    notification: notification.name,
    channel: channel.slug,
    user: recipient.username,
    address,
    reason: reason ?? null,
    detail: detail ?? null,
    due_at: dueAt?.toISOString() ?? null,
    step,
    message: null as Content | null,
    problem: null as string | null,
  };
  if (reason && !dueAt) return shown;
  try {
    const delivery = {
      address,
      notification_id: notification.id,
      version: notification.version,
      step: step ?? 0,
      variant: decision.variant ?? null,
    };
    // A simulation may be of a time to come.
    const at = Math.max(currentTime(), (dueAt ?? occurrence.created_at).getTime());
    const { content } = await renderDelivery(deps.plans, { delivery, occurrence, recipient, channel, plan, at });
    return { ...shown, message: content };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...shown, problem: error.message };
  }
}
