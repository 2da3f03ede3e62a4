/** Simulates the steps of a notification if no one acknowledges: when each run starts and how many messages it sends. */
import type { JsonObject } from '../../../core/json.ts';
import type { TriggerOptions } from '../../../core/trigger.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { listNextTurns } from '../../../db/ledger/steps/rotations.ts';
import { type DecisionPage, decidePage, type RecipientDecision } from '../../../pipeline/decide.ts';
import { describeOwnRecipients, type EventPlan, type PlannedNotification } from '../../../pipeline/event-plan.ts';
import type { Plans } from '../../../pipeline/plans.ts';
import type { RecipientReader } from '../../../pipeline/recipients.ts';
import { selectTurn } from '../../../pipeline/steps.ts';

export interface SimulatedRun {
  number: number;
  step: number;
  /** Earliest time, if no one acknowledges. */
  at: string;
  channels: string[];
  /** The step's own recipients; null: those of the notification. */
  recipients: string | null;
  /** Set if no one would be on call. */
  reason: 'schedule.no_one' | 'schedule.fallback' | null;
  unless: string | null;
  /** Whether it would notify only the recipient whose turn it is. */
  round_robin: boolean;
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
  deps: { db: Db; plans: Plans; recipients: RecipientReader },
  plan: EventPlan,
  { id, steps }: PlannedNotification,
  { context, options, now, limit }: StepSimulationRequest,
): Promise<{ runs: SimulatedRun[]; decisions: StepDecision[]; complete: boolean }> {
  const decide = (only: PlannedNotification, at: number) =>
    decidePage(deps, plan, { context, options, cursor: null, limit, now: at, only });
  const decided = new Map<PlannedNotification, DecisionPage>();
  const isRotating = steps!.steps.some(({ rotates }) => rotates);
  const turns = isRotating ? await listNextTurns(deps.db, plan.organization.id, id) : new Map<number, number>();
  let at = now;
  let complete = true;
  let isUncovered = false;
  const decisions: StepDecision[] = [];
  const runs: SimulatedRun[] = [];
  for (const { number, step, afterMs } of steps!.runs) {
    at += isUncovered ? 0 : afterMs;
    const { notification, unless, rotates } = steps!.steps[step - 1]!;
    // Others are on call at another time.
    const isFixed = notification.recipients.schedule === undefined;
    const decidedAt = isFixed ? now : at;
    const page = (isFixed && decided.get(notification)) || (await decide(notification, decidedAt));
    decided.set(notification, page);
    complete &&= page.cursor === null || rotates;
    isUncovered = page.refused.some(({ reason }) => reason === 'schedule.no_one');
    const turn = turns.get(step) ?? 0;
    turns.set(step, turn + 1);
    const own = rotates ? selectTurn(page.decisions, turn) : page.decisions;
    const sent = own.filter(({ reason, dueAt }) => !reason || dueAt);
    const suppressed: Record<string, number> = {};
    for (const { reason, dueAt } of own) {
      if (reason && !dueAt) suppressed[reason] = (suppressed[reason] ?? 0) + 1;
    }
    const dueAt = number === 1 && afterMs === 0 ? undefined : new Date(at);
    const shift = ({ reason, dueAt: own }: RecipientDecision) =>
      reason === 'reach.later' ? new Date(own!.getTime() + at - decidedAt) : own;
    decisions.push(...sent.map(one => ({ ...one, dueAt: shift(one) ?? dueAt, step: number })));
    runs.push({
      number,
      step,
      at: new Date(at).toISOString(),
      channels: [...notification.channels],
      recipients: describeOwnRecipients(notification),
      reason: isUncovered ? 'schedule.no_one' : page.usesFallback ? 'schedule.fallback' : null,
      unless: unless ?? null,
      round_robin: rotates,
      deliveries: sent.length,
      suppressed,
    });
  }
  return { runs, decisions, complete };
}
