/**
 * The check right before a message is sent: nothing is sent after it was cancelled, paused, disabled, deleted or opted out
 * of, however long it waited for its provider. Announcements keep it cheap: without one since the message was read, there is
 * nothing to check. While the listener is disconnected, everything is read again.
 */
import { recheck } from '../core/decision/recheck.ts';
import type { OccurrenceFacts } from '../db/history/occurrences.ts';
import type { Delivery, Settlement } from '../db/ledger/deliveries.ts';
import type { MessageContext } from '../pipeline/messages.ts';
import type { Engine } from './engine.ts';
import { settleVerdict } from './settlements.ts';

export interface CheckedContext extends MessageContext {
  delivery: Delivery;
  occurrence: OccurrenceFacts;
  /** The generation of `engine.stops` before its state was read. */
  readAt: number;
}

/** Returns whether nothing that could stop the message has changed since its state was read. */
export function isUnchanged({ stops }: Engine, { delivery, readAt }: CheckedContext): boolean {
  return stops.isCurrent(delivery.organization_id, readAt);
}

/** Reads the state again. Returns how to settle the delivery if it may no longer be sent. */
export async function checkAgain(engine: Engine, context: CheckedContext): Promise<Settlement | undefined> {
  const { delivery } = context;
  const { organization_id: organizationId } = delivery;
  context.readAt = engine.stops.generation;
  const { occurrence, person } = await engine.states.add(delivery);
  const channel = (await engine.plans.listChannels(organizationId)).find(one => one.id === delivery.channel_id);
  const plan = occurrence && (await engine.plans.findEvent(organizationId, occurrence.event_id));
  const verdict = recheck({ delivery, occurrence, person, channel, plan }, Date.now());
  if (verdict) return settleVerdict(delivery, verdict);
  Object.assign(context, { occurrence, person, channel, plan });
  return undefined;
}
