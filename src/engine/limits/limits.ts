/**
 * Everything that limits how many messages are sent has the same door: a message enters all of them before it is rendered, and
 * leaves all of them when it was sent or given up. In order: the slots and the rate of its channel, the slots of its provider,
 * and the provider's limit of the day.
 */
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';

export type Entrant = Pick<Delivery, 'organization_id' | 'occurrence_id' | 'id' | 'priority' | 'provider_index'>;

export interface Entry {
  /** `isSent`: whether the message was sent, or may have been. */
  leave(isSent: boolean): void;
}

/** The limit that is reached, and until when the message waits. */
export interface Refusal {
  by: 'channel' | 'day';
  dueAt: Date;
  detail: string;
}

/** The wait was interrupted: the occurrence may have ended, or the worker stops. */
export const interrupted = { by: 'stop' } as const;

export type Admission = Entry | Refusal | typeof interrupted;

export interface Limit {
  /** Returns a promise only if the message has to wait; undefined: there is no such limit. */
  enter(channel: PlannedChannel, message: Entrant): Admission | Promise<Admission> | undefined;
}

/** Enters all limits, or none. */
export async function enter(limits: readonly Limit[], channel: PlannedChannel, message: Entrant): Promise<Admission> {
  const entered: Entry[] = [];
  const leave = (isSent: boolean) => {
    for (const one of entered.reverse()) one.leave(isSent);
  };
  try {
    for (const limit of limits) {
      const answer = limit.enter(channel, message);
      if (!answer) continue;
      const admission = answer instanceof Promise ? await answer : answer;
      if ('by' in admission) {
        leave(false);
        return admission;
      }
      entered.push(admission);
    }
  } catch (error) {
    leave(false);
    throw error;
  }
  return { leave };
}
