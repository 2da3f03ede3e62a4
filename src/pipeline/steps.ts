/** Evaluates the `unless` condition of a step for each recipient when the step is due, on what was sent so far. */
import type pg from 'pg';
import type { Reason } from '../core/decision/decide.ts';
import type { JsonObject } from '../core/json.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import { priorityOf } from '../core/trigger.ts';
import {
  findStepProgress,
  listStepDeliveries,
  type StepDelivery,
  type StepRound,
} from '../db/ledger/deliver/notified.ts';
import type { NewStep } from '../db/ledger/steps/new-steps.ts';
import { slices } from '../lib/load/slices.ts';
import type { RecipientDecision } from './decide.ts';
import type { PlannedNotification, PlannedStep } from './event-plan.ts';
import { describeUser } from './recipients.ts';

/** The maximum number of deliveries passed to an expression; a recipient has one for each run and channel. */
const maxDeliveries = 200;

/** Only what was sent in the same round counts. */
interface Escalation extends StepRound {
  organizationId: number;
  context: JsonObject;
}

/** Returns the first run of each notification with steps. `give_up_after` counts from when the occurrence was due. */
export function firstRuns(
  stepped: readonly PlannedNotification[],
  occurrence: { due_at: Date },
  options: TriggerOptions,
  now: number,
): NewStep[] {
  return stepped.map(({ id, priority, steps }) => {
    const { number, step, afterMs } = steps!.runs[0]!;
    return {
      notification_id: id,
      number,
      step,
      priority: priorityOf(options, priority, false),
      due_at: new Date(now + afterMs),
      began_at: occurrence.due_at,
      base: 0,
    };
  });
}

/** Returns why a step with its own recipients is skipped entirely: an earlier recipient has got or read the message. */
export async function refuseStep(
  pool: pg.Pool,
  { notification, unless }: PlannedStep,
  escalation: Escalation,
): Promise<Reason | undefined> {
  if (!notification.hasOwnRecipients || (unless !== 'sent' && unless !== 'read')) return undefined;
  const any = await findStepProgress(pool, escalation.organizationId, escalation);
  return any[unless] ? `unless.${unless}` : undefined;
}

/** Returns the decisions, with the reason of those that the condition skips. */
export async function applyUnless(
  pool: pg.Pool,
  step: PlannedStep,
  escalation: Escalation,
  decisions: RecipientDecision[],
  mark: () => void,
): Promise<RecipientDecision[]> {
  const { unless, isSkipped, notification } = step;
  const isEvaluated = isSkipped !== undefined || unless === 'sent' || unless === 'read';
  if (!isEvaluated || (notification.hasOwnRecipients && !isSkipped)) return decisions;
  const open = decisions.filter(({ reason, dueAt }) => !reason || dueAt);
  if (open.length === 0) return decisions;
  const { context } = escalation;
  const users = [...new Set(open.map(({ recipient }) => recipient.user_id))];
  const notified = Map.groupBy(
    await listStepDeliveries(pool, escalation.organizationId, escalation, users),
    row => row.user_id,
  );
  const any = notification.hasOwnRecipients
    ? await findStepProgress(pool, escalation.organizationId, escalation)
    : undefined;
  const reasons = new Map<number, Reason | undefined>();
  const pause = slices();
  for (const decision of open) {
    const paused = pause();
    if (paused) await paused;
    const { user_id } = decision.recipient;
    if (!reasons.has(user_id)) {
      const own = notified.get(user_id) ?? [];
      const facts = any ?? { sent: own.some(isSent), read: own.some(one => one.read_at !== null) };
      mark();
      const scope = { context, user: describeUser(decision.recipient), ...facts, deliveries: own };
      reasons.set(user_id, evaluateUnless(step, scope));
    }
  }
  return decisions.map(decision => {
    const reason = !decision.reason || decision.dueAt ? reasons.get(decision.recipient.user_id) : undefined;
    return reason ? { ...decision, reason, detail: undefined, dueAt: undefined } : decision;
  });
}

/** Returns the decisions, with a reason for those about users who have acknowledged on their own. */
export function withoutAcknowledged(decisions: RecipientDecision[], users: readonly number[]): RecipientDecision[] {
  if (users.length === 0) return decisions;
  return decisions.map(one =>
    users.includes(one.recipient.user_id)
      ? { ...one, reason: 'acknowledged' as const, detail: undefined, dueAt: undefined }
      : one,
  );
}

/**
 * Returns the decisions about the recipient whose turn it is: among recipients who can be notified now, or else later, in the order of the
 * audience. If there are none, all decisions, which say why.
 */
export function selectTurn(decisions: RecipientDecision[], turn: number): RecipientDecision[] {
  const now = decisions.filter(({ reason }) => !reason || reason === 'reach.later');
  const some = now.length > 0 ? now : decisions.filter(({ dueAt }) => dueAt !== undefined);
  const users = [...new Set(some.map(({ recipient }) => recipient.user_id))];
  if (users.length === 0) return decisions;
  const chosen = users[turn % users.length];
  return decisions.filter(({ recipient }) => recipient.user_id === chosen);
}

const isSent = ({ status }: StepDelivery) => status === 'sent';

interface UnlessScope {
  context: JsonObject;
  user: ReturnType<typeof describeUser>;
  sent: boolean;
  read: boolean;
  deliveries: StepDelivery[];
}

function evaluateUnless({ unless, isSkipped }: PlannedStep, scope: UnlessScope): Reason | undefined {
  if (unless === 'sent' || unless === 'read') return scope[unless] ? `unless.${unless}` : undefined;
  const deliveries = scope.deliveries.slice(0, maxDeliveries).map(({ step, status, sent_at, read_at }) => ({
    step,
    status,
    sent_at: sent_at?.toISOString() ?? null,
    read: read_at !== null,
  }));
  try {
    return isSkipped!({ ...scope, deliveries }) ? 'unless.expression' : undefined;
  } catch {
    // A condition that cannot be evaluated skips no one: an unnecessary alarm is better than a missing one.
    return undefined;
  }
}
