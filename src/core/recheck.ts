/**
 * A message that was decided some time ago, judged by how things are now. The engine asks this before it sends anything,
 * and whoever wants to know what a replay would do asks the same.
 */
import { type DecidingChannel, findQuietWait, type Reason, type Recipient, refuseUnwanted } from './decide.ts';
import type { Topic } from './preferences.ts';
import type { QuietHours } from './quiet-hours.ts';
import { giveUpMs } from './steps.ts';
import { priorities } from './trigger.ts';

const urgent = priorities.indexOf('urgent');

export interface Answerable {
  cancelled_at: Date | null;
  acknowledged_at: Date | null;
  resolved_at: Date | null;
}

/** What is gone is undefined. */
export interface Recheck {
  delivery: { address: string | null; priority: number; provider_index: number; notification_id: number; step: number };
  occurrence: (Answerable & { expires_at: Date | null; due_at: Date }) | undefined;
  person: Recipient | undefined;
  channel: (DecidingChannel & { paused: boolean; readonly providers: readonly unknown[] }) | undefined;
  plan:
    | {
        paused: boolean;
        topic: Topic;
        notifications: readonly { id: number; steps?: { giveUpMs: number } | undefined }[];
        organization: { timezone: string | null; quiet_hours: QuietHours | null };
      }
    | undefined;
}

export type Verdict =
  /** It ends here. */
  | { status: 'cancelled' | 'expired' | 'suppressed'; reason: Reason; detail: string | null }
  /** It waits until something is resumed. */
  | { status: 'held'; reason: 'channel.paused' | 'event.paused' }
  /** It waits until then. */
  | { status: 'quiet'; reason: 'quiet_hours'; dueAt: Date };

/**
 * Undefined: it may be sent. What may have changed is a lock, a choice of the recipient, an address, quiet hours, a
 * cancellation, an expiry, a pause, a channel switched off.
 */
export function recheck({ delivery, occurrence, person, channel, plan }: Recheck, now: number): Verdict | undefined {
  const end = (status: 'cancelled' | 'expired' | 'suppressed', reason: Reason, detail?: string): Verdict => ({
    status,
    reason,
    detail: detail ?? null,
  });
  if (!occurrence) return end('cancelled', 'cancelled');
  const answer = answerOf(delivery, occurrence);
  if (answer) return end('cancelled', answer);
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= now) return end('expired', 'expired');
  if (!plan) return end('cancelled', 'event.missing');
  if (isGivenUp({ delivery, occurrence, plan }, now)) return end('expired', 'gave_up');
  if (!person) return end('suppressed', 'user.missing');
  if (person.locked) return end('suppressed', 'user.locked');
  if (!channel) return end('suppressed', 'channel.missing');
  const unwanted = refuseUnwanted(channel, person, plan.topic);
  if (unwanted) return end('suppressed', unwanted.reason, unwanted.detail);
  if (!channel.enabled) return end('suppressed', 'channel.disabled');
  if (!channel.providers[delivery.provider_index]) return end('suppressed', 'channel.unusable');
  if (channel.reach === 'address') {
    const address = person.addresses.filter(({ value }) => value === delivery.address);
    if (address.length === 0) return end('suppressed', 'address.removed');
    if (address.every(one => one.disabled)) return end('suppressed', 'address.disabled');
  }
  if (channel.paused) return { status: 'held', reason: 'channel.paused' };
  if (plan.paused) return { status: 'held', reason: 'event.paused' };
  const { topic, organization } = plan;
  const circumstances = { topic, usual: organization, isUrgent: delivery.priority === urgent, now };
  const dueAt = findQuietWait(channel, person, circumstances);
  return dueAt && { status: 'quiet', reason: 'quiet_hours', dueAt };
}

/** A cancellation ends everything, an answer the messages of steps. */
export function answerOf({ step }: { step: number }, occurrence: Answerable): Reason | undefined {
  if (occurrence.cancelled_at) return 'cancelled';
  if (step > 0 && occurrence.resolved_at) return 'resolved';
  return step > 0 && occurrence.acknowledged_at ? 'acknowledged' : undefined;
}

/** No message of a step is sent later than its steps go on, also after months without a worker. */
function isGivenUp(
  { delivery, occurrence, plan }: Required<Pick<Recheck, 'delivery' | 'occurrence' | 'plan'>>,
  now: number,
) {
  if (delivery.step <= 0) return false;
  const steps = plan!.notifications.find(({ id }) => id === delivery.notification_id)?.steps;
  return occurrence!.due_at.getTime() + (steps?.giveUpMs ?? giveUpMs(null)) <= now;
}
