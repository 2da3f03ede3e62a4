/** What has ended an escalation by the time that one of its messages is sent. */
import type { Reason } from '../core/decide.ts';
import { giveUpMs } from '../core/steps.ts';
import type { Delivery } from '../db/deliveries.ts';
import { findOccurrencesAcrossTenants, type OccurrenceFacts } from '../db/occurrences.ts';
import type { EventPlan } from '../services/plans.ts';
import type { Engine } from './engine.ts';

/** How long a step's occurrence is taken for open without asking again. */
const openForMs = 200;

/** A cancellation ends everything, an answer the messages of steps. */
export function answerOf({ step }: Delivery, occurrence: OccurrenceFacts): Reason | undefined {
  if (occurrence.cancelled_at) return 'cancelled';
  if (step > 0 && occurrence.resolved_at) return 'resolved';
  return step > 0 && occurrence.acknowledged_at ? 'acknowledged' : undefined;
}

/** The same right before it is sent, where it has waited for its provider since it was looked at. */
export async function findAnswer(engine: Engine, delivery: Delivery, readAt: number): Promise<Reason | undefined> {
  if (delivery.step <= 0 || Date.now() - readAt < openForMs) return undefined;
  const { organization_id: organizationId, occurrence_id: id } = delivery;
  const [occurrence] = await findOccurrencesAcrossTenants(engine.hot, [{ organizationId, id }]);
  return occurrence ? answerOf(delivery, occurrence) : 'cancelled';
}

/** No message of a step is sent later than its steps go on, also after months without a worker. */
export function isGivenUp(
  { step, notification_id }: Delivery,
  { due_at }: OccurrenceFacts,
  plan: EventPlan,
  now: number,
): boolean {
  if (step <= 0) return false;
  const steps = plan.notifications.find(({ id }) => id === notification_id)?.steps;
  return due_at.getTime() + (steps?.giveUpMs ?? giveUpMs(null)) <= now;
}
