/** What has ended an escalation by the time that one of its messages is sent. */
import type { Reason } from '../core/decide.ts';
import { answerOf } from '../core/recheck.ts';
import type { Delivery } from '../db/deliveries.ts';
import { findOccurrencesAcrossTenants } from '../db/occurrences.ts';
import type { Engine } from './engine.ts';

/** How long a step's occurrence is taken for open without asking again. */
const openForMs = 200;

/** Asked again right before it is sent, where it has waited for its provider since it was looked at. */
export async function findAnswer(engine: Engine, delivery: Delivery, readAt: number): Promise<Reason | undefined> {
  if (delivery.step <= 0 || Date.now() - readAt < openForMs) return undefined;
  const { organization_id: organizationId, occurrence_id: id } = delivery;
  const [occurrence] = await findOccurrencesAcrossTenants(engine.hot, [{ organizationId, id }]);
  return occurrence ? answerOf(delivery, occurrence) : 'cancelled';
}
