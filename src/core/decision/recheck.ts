/**
 * Checks a delivery that was decided earlier against the current state. The engine does so before it sends anything, and
 * the preview of a replay does the same.
 */

import { stopsChannel } from '../audience/suppressions.ts';
import { isBulk } from '../feedback/reputation.ts';
import { addressKind } from '../text/text.ts';
import { priorities } from '../trigger.ts';
import {
  type DecisionChannel,
  findQuietWait,
  type Reason,
  type Recipient,
  refuseByPreference,
  refuseSuppressed,
} from './decide.ts';
import type { Topic } from './preferences.ts';
import type { QuietHours } from './quiet-hours.ts';
import { giveUpMs } from './steps.ts';

const urgent = priorities.indexOf('urgent');

interface OccurrenceEnd {
  cancelled_at: Date | null;
  acknowledged_at: Date | null;
  resolved_at: Date | null;
}

interface RecheckNotification {
  id: number;
  active: boolean;
  /** Slugs or types. */
  channels: readonly string[];
  steps?: { giveUpMs: number; steps: readonly { notification: { channels: readonly string[] } }[] } | undefined;
}

/** The current state; undefined where something has been deleted. */
interface RecheckInput {
  delivery: {
    address: string | null;
    priority: number;
    provider_index: number;
    notification_id: number;
    step: number;
    is_dropped: boolean;
  };
  occurrence: (OccurrenceEnd & { expires_at: Date | null; due_at: Date; key_id: string | null }) | undefined;
  recipient: Recipient | undefined;
  channel:
    | (DecisionChannel & { paused: boolean; bulkPaused: boolean; readonly providers: readonly unknown[] })
    | undefined;
  plan:
    | {
        active: boolean;
        paused: boolean;
        paused_keys: readonly string[];
        topic: Topic;
        notifications: readonly RecheckNotification[];
        organization: { timezone: string | null; quiet_hours: QuietHours | null };
      }
    | undefined;
}

export type RecheckResult =
  /** The delivery ends without being sent. */
  | { status: 'cancelled' | 'expired' | 'suppressed'; reason: Reason; detail: string | null }
  /** It waits until the channel or event is resumed. */
  | { status: 'held'; reason: 'channel.paused' | 'channel.bulk_paused' | 'event.paused' }
  /** It waits until `dueAt`. */
  | { status: 'quiet'; reason: 'quiet_hours'; dueAt: Date };

/**
 * Returns why the delivery is not sent now, or undefined when it may be sent. Since the decision the user may have been
 * locked, opted out or lost the address; the address may be on the suppression list; quiet hours, a pause, a cancellation or
 * the expiry may have begun.
 */
export function recheck(
  { delivery, occurrence, recipient, channel, plan }: RecheckInput,
  now: number,
): RecheckResult | undefined {
  const end = (status: 'cancelled' | 'expired' | 'suppressed', reason: Reason, detail?: string): RecheckResult => ({
    status,
    reason,
    detail: detail ?? null,
  });
  if (!occurrence) return end('cancelled', 'cancelled');
  const endReason = cancelReasonOf(delivery, occurrence);
  if (endReason) return end('cancelled', endReason);
  if (delivery.is_dropped) return end('cancelled', 'dropped');
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= now) return end('expired', 'expired');
  if (!plan) return end('cancelled', 'event.missing');
  if (!plan.active) return end('suppressed', 'event.inactive');
  const notification = plan.notifications.find(({ id }) => id === delivery.notification_id);
  if (!notification) return end('cancelled', 'notification.missing');
  if (isGivenUp(delivery, occurrence, notification, now)) return end('expired', 'gave_up');
  if (!notification.active) return end('suppressed', 'notification.inactive');
  if (!recipient) return end('suppressed', 'user.missing');
  if (recipient.locked) return end('suppressed', 'user.locked');
  if (!channel) return end('suppressed', 'channel.missing');
  if (!usesChannel(notification, channel)) return end('suppressed', 'notification.channel');
  const optedOut = refuseByPreference(channel, recipient, plan.topic);
  if (optedOut) return end('suppressed', optedOut.reason, optedOut.detail);
  if (!channel.enabled) return end('suppressed', 'channel.disabled');
  if (!channel.providers[delivery.provider_index]) return end('suppressed', 'channel.unusable');
  if (channel.reach === 'address') {
    const address = recipient.addresses.filter(({ value }) => value === delivery.address);
    if (address.length === 0) return end('suppressed', 'address.removed');
    if (address.every(one => one.disabled)) return end('suppressed', 'address.disabled');
  }
  const suppression = recipient.addresses.find(
    one => one.suppression && one.value === delivery.address && addressKind(one.name) === channel.type,
  )?.suppression;
  if (suppression && stopsChannel(suppression, channel)) {
    const { reason, detail } = refuseSuppressed(suppression);
    return end('suppressed', reason, detail);
  }
  if (channel.paused) return { status: 'held', reason: 'channel.paused' };
  if (channel.bulkPaused && isBulk(delivery, plan.topic.category))
    return { status: 'held', reason: 'channel.bulk_paused' };
  if (isPaused(plan, occurrence)) return { status: 'held', reason: 'event.paused' };
  const { topic, organization } = plan;
  const circumstances = { topic, defaults: organization, isUrgent: delivery.priority === urgent, now };
  const dueAt = findQuietWait(channel, recipient, circumstances);
  return dueAt && { status: 'quiet', reason: 'quiet_hours', dueAt };
}

/** Returns whether the event, or the key that triggered the occurrence, is paused. */
export function isPaused(
  plan: { paused: boolean; paused_keys: readonly string[] },
  { key_id }: { key_id: string | null },
): boolean {
  return plan.paused || (key_id !== null && plan.paused_keys.includes(key_id));
}

/** Returns whether the notification, or one of its steps, uses the channel. */
function usesChannel({ channels, steps }: RecheckNotification, { slug, type }: DecisionChannel): boolean {
  const names = steps ? steps.steps.flatMap(({ notification }) => notification.channels) : channels;
  return names.includes(slug) || names.includes(type);
}

/** Returns why a delivery is cancelled: a cancellation ends all deliveries, an acknowledgement or resolution only those of steps. */
export function cancelReasonOf({ step }: { step: number }, occurrence: OccurrenceEnd): Reason | undefined {
  if (occurrence.cancelled_at) return 'cancelled';
  if (step > 0 && occurrence.resolved_at) return 'resolved';
  return step > 0 && occurrence.acknowledged_at ? 'acknowledged' : undefined;
}

/** Returns whether the time limit of the steps has passed, for example after a long time without a worker. */
function isGivenUp(
  { step }: { step: number },
  { due_at }: { due_at: Date },
  { steps }: { steps?: { giveUpMs: number } | undefined },
  now: number,
): boolean {
  return step > 0 && due_at.getTime() + (steps?.giveUpMs ?? giveUpMs(null)) <= now;
}
