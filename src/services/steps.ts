/** Whom a step leaves out: its condition, asked of each person when the step is due, with what was sent so far. */
import type pg from 'pg';
import type { Reason } from '../core/decide.ts';
import type { JsonObject } from '../core/json.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import { priorityOf } from '../core/trigger.ts';
import type { NewStep } from '../db/new-steps.ts';
import { findAnyTold, listTold, type Told } from '../db/told.ts';
import type { Decided } from './deciding.ts';
import type { PlannedNotification, PlannedStep } from './plans.ts';
import { describeUser } from './recipients.ts';

/** Of what is told about a person to an expression; a person has one row for each run and channel. */
const mostDescribed = 200;

export interface Escalation {
  organizationId: number;
  occurrenceId: string;
  notificationId: number;
  context: JsonObject;
}

/** The first run of each notification; nothing of it happens later than `give_up_after` from when the occurrence was due. */
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
    };
  });
}

/** Why nobody at all gets this step: it is for other people, and those who were told before have it in hand. */
export async function refuseStep(
  pool: pg.Pool,
  { notification, unless }: PlannedStep,
  { organizationId, occurrenceId, notificationId }: Escalation,
): Promise<Reason | undefined> {
  if (!notification.hasOwnRecipients || (unless !== 'sent' && unless !== 'read')) return undefined;
  const any = await findAnyTold(pool, organizationId, occurrenceId, notificationId);
  return any[unless] ? `unless.${unless}` : undefined;
}

/** Gives those whom the condition leaves out the reason; the others stay as they were decided. */
export async function leaveOut(
  pool: pg.Pool,
  step: PlannedStep,
  escalation: Escalation,
  decisions: Decided[],
  mark: () => void,
): Promise<void> {
  const { unless, isLeftOut, notification } = step;
  const isAsked = isLeftOut !== undefined || unless === 'sent' || unless === 'read';
  if (!isAsked || (notification.hasOwnRecipients && !isLeftOut)) return;
  const open = decisions.filter(({ reason, dueAt }) => !reason || dueAt);
  if (open.length === 0) return;
  const { organizationId, occurrenceId, notificationId, context } = escalation;
  const users = [...new Set(open.map(({ person }) => person.user_id))];
  const told = Map.groupBy(
    await listTold(pool, organizationId, occurrenceId, notificationId, users),
    row => row.user_id,
  );
  const any = notification.hasOwnRecipients
    ? await findAnyTold(pool, organizationId, occurrenceId, notificationId)
    : undefined;
  const reasons = new Map<number, Reason | undefined>();
  for (const decision of open) {
    const { user_id } = decision.person;
    if (!reasons.has(user_id)) {
      const own = told.get(user_id) ?? [];
      const facts = any ?? { sent: own.some(isSent), read: own.some(one => one.read_at !== null) };
      mark();
      reasons.set(user_id, askOf(step, { context, user: describeUser(decision.person), ...facts, deliveries: own }));
    }
    const reason = reasons.get(user_id);
    if (reason) Object.assign(decision, { reason, detail: undefined, dueAt: undefined });
  }
}

const isSent = ({ status }: Told) => status === 'sent';

interface Asked {
  context: JsonObject;
  user: ReturnType<typeof describeUser>;
  sent: boolean;
  read: boolean;
  deliveries: Told[];
}

function askOf({ unless, isLeftOut }: PlannedStep, asked: Asked): Reason | undefined {
  if (unless === 'sent' || unless === 'read') return asked[unless] ? `unless.${unless}` : undefined;
  const deliveries = asked.deliveries.slice(0, mostDescribed).map(({ step, status, sent_at, read_at }) => ({
    step,
    status,
    sent_at: sent_at?.toISOString() ?? null,
    read: read_at !== null,
  }));
  try {
    return isLeftOut!({ ...asked, deliveries }) ? 'unless.expression' : undefined;
  } catch {
    // What cannot be evaluated silences nobody: an alarm too many is better than none.
    return undefined;
  }
}
