/**
 * The check right before a message is sent: nothing is sent after it was cancelled, paused, disabled, deleted or opted out
 * of, however long it waited for its provider, nor by a worker that no longer owns it. Announcements keep it cheap: without one
 * since the message was read, there is nothing to read. While the listener is disconnected, everything is read again.
 */
import { recheck } from '../../core/decision/recheck.ts';
import type { OccurrenceFacts } from '../../db/history/occurrences.ts';
import type { Delivery, Settlement } from '../../db/ledger/deliver/deliveries.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { MessageContext } from '../../pipeline/messages.ts';
import type { Engine } from '../engine.ts';
import { postpone, settleVerdict } from './settlements.ts';

export interface CheckedContext extends MessageContext {
  delivery: Delivery;
  occurrence: OccurrenceFacts;
  /** The generation of `engine.stops` before its state was read. */
  readAt: number;
}

/** Returns whether the message may be sent now: this worker owns it, and nothing has changed since its state was read. */
export function maySend(engine: Engine, context: CheckedContext): boolean {
  return engine.fence.isFresh(context.delivery) && !engine.outcomes.isBehind && isUnchanged(engine, context);
}

function isUnchanged({ stops }: Engine, { delivery, readAt }: CheckedContext): boolean {
  return stops.isCurrent(delivery.organization_id, readAt);
}

/** Waits for the worker's lease, and reads the state again. Returns how to settle the delivery if it may no longer be sent. */
export async function checkAgain(engine: Engine, context: CheckedContext): Promise<Settlement | undefined> {
  const { delivery } = context;
  const { organization_id: organizationId } = delivery;
  await engine.outcomes.catchUp();
  if (!(await engine.fence.hold(delivery))) return withdraw(delivery);
  if (isUnchanged(engine, context)) return undefined;
  context.readAt = engine.stops.generation;
  const { occurrence, person } = await engine.states.add(delivery);
  const channel = (await engine.plans.listChannels(organizationId)).find(one => one.id === delivery.channel_id);
  const plan = occurrence && (await engine.plans.findEvent(organizationId, occurrence.event_id));
  const verdict = recheck({ delivery, occurrence, person, channel, plan }, currentTime());
  if (verdict) return settleVerdict(delivery, verdict);
  Object.assign(context, { occurrence, person, channel, plan });
  return undefined;
}

/** Settles a delivery that was not handed over. This has no effect if another worker has taken it over. */
export function withdraw(delivery: Delivery): Settlement {
  return postpone(delivery, { due_at: new Date(currentTime()) });
}
