/** Simulates the steps of a notification if no one acknowledges: when each run starts and how many messages it sends. */
import type { JsonObject } from '../../../core/json.ts';
import type { TriggerOptions } from '../../../core/trigger.ts';
import type { Cursor } from '../../../db/ledger/cursor.ts';
import { decidePage, type RecipientDecision } from '../../../pipeline/decide.ts';
import type { EventPlan, PlannedNotification } from '../../../pipeline/event-plan.ts';
import type { Plans } from '../../../pipeline/plans.ts';
import type { RecipientReader } from '../../../pipeline/recipients.ts';

export interface SimulatedRun {
  number: number;
  step: number;
  /** Earliest time, if triggered now. */
  at: string;
  channels: string[];
  /** The step's own distribution list; null: the notification's recipients. */
  recipients: string | null;
  unless: string | null;
  deliveries: number;
  suppressed: Record<string, number>;
}

export interface StepDecision extends RecipientDecision {
  /** Number of the run. */
  step?: number;
}

interface StepSimulationRequest {
  context: JsonObject;
  options: TriggerOptions;
  now: number;
  /** How many recipients of a step are examined. */
  limit: number;
}

export async function simulateSteps(
  deps: { plans: Plans; recipients: RecipientReader },
  plan: EventPlan,
  { steps }: PlannedNotification,
  { context, options, now, limit }: StepSimulationRequest,
): Promise<{ runs: SimulatedRun[]; decisions: StepDecision[]; complete: boolean }> {
  const decided: { decisions: RecipientDecision[]; cursor: Cursor | null }[] = [];
  for (const { notification: only } of steps!.steps) {
    decided.push(await decidePage(deps, plan, { context, options, cursor: null, limit, now, only }));
  }
  let at = now;
  const decisions: StepDecision[] = [];
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
