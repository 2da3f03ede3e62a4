/** What the steps of a notification would do if nobody answered: when each run comes, and how many it would tell. */
import type { JsonObject } from '../core/json.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import type { Cursor } from '../db/expansion.ts';
import { type Decided, decidePage } from './deciding.ts';
import type { EventPlan, PlannedNotification, Plans } from './plans.ts';
import type { RecipientReader } from './recipients.ts';

export interface SimulatedRun {
  number: number;
  step: number;
  /** At the earliest, where it is triggered now. */
  at: string;
  channels: string[];
  /** A list of its own; null: the notification's recipients. */
  recipients: string | null;
  unless: string | null;
  deliveries: number;
  suppressed: Record<string, number>;
}

export interface SteppedDecision extends Decided {
  /** Of the run. */
  step?: number;
}

interface Question {
  context: JsonObject;
  options: TriggerOptions;
  now: number;
  /** How many recipients of a step are looked at. */
  limit: number;
}

export async function simulateSteps(
  deps: { plans: Plans; recipients: RecipientReader },
  plan: EventPlan,
  { steps }: PlannedNotification,
  { context, options, now, limit }: Question,
): Promise<{ runs: SimulatedRun[]; decisions: SteppedDecision[]; complete: boolean }> {
  const decided: { decisions: Decided[]; cursor: Cursor | null }[] = [];
  for (const { notification: only } of steps!.steps) {
    decided.push(await decidePage(deps, plan, { context, options, cursor: null, limit, now, only }));
  }
  let at = now;
  const decisions: SteppedDecision[] = [];
  const runs = steps!.runs.map(({ number, step, afterMs }): SimulatedRun => {
    at += afterMs;
    const { notification, unless } = steps!.steps[step - 1]!;
    const own = decided[step - 1]!.decisions;
    const sent = own.filter(({ reason, dueAt }) => !reason || dueAt);
    const suppressed: Record<string, number> = {};
    for (const { reason, dueAt } of own) {
      if (reason && !dueAt) suppressed[reason] = (suppressed[reason] ?? 0) + 1;
    }
    const dueAt = number === 1 && afterMs === 0 ? undefined : new Date(at);
    decisions.push(...sent.map(one => ({ ...one, dueAt: one.dueAt ?? dueAt, step: number })));
    return {
      number,
      step,
      at: new Date(at).toISOString(),
      channels: [...notification.channels],
      recipients: notification.hasOwnRecipients ? (notification.recipients.list ?? null) : null,
      unless: unless ?? null,
      deliveries: sent.length,
      suppressed,
    };
  });
  return { runs, decisions, complete: decided.every(({ cursor }) => cursor === null) };
}
