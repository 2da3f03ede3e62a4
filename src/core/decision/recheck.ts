/**
 * Checks a delivery that was decided earlier against the current state. The engine does so before it sends anything, and
 * the preview of a replay does the same.
 */

import { stopsChannel } from '../audience/suppressions.ts';
import { isBulk } from '../feedback/reputation.ts';
import { addressKind } from '../text/text.ts';
import { urgent } from '../trigger.ts';
import { isBundleId } from './bundle.ts';
import {
  type DecisionChannel,
  findQuietWait,
  personal,
  type Reason,
  type Recipient,
  reachesPeople,
  refuseByPreference,
  refuseSuppressed,
} from './decide.ts';
import type { PauseCause } from './guards/rate-guard.ts';
import type { Topic } from './preferences.ts';
import type { QuietHours } from './quiet-hours.ts';
import { describeSilence, type SilenceHit, type Silences } from './silences.ts';
import { giveUpMs } from './steps.ts';

interface OccurrenceEnd {
  cancelled_at: Date | null;
  acknowledged_at: Date | null;
  acknowledged_users?: readonly number[] | null;
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
    user_id?: number;
    step: number;
    /** The digest that it carries. */
    digest_id?: string | null;
    is_dropped: boolean;
  };
  occurrence:
    | (OccurrenceEnd & {
        expires_at: Date | null;
        due_at: Date;
        round_began_at: Date | null;
        key_id: string | null;
        priority: number;
        context: object;
        is_keyed: boolean;
      })
    | undefined;
  recipient: Recipient | undefined;
  channel:
    | (DecisionChannel & { paused: boolean; bulkPaused: boolean; readonly providers: readonly unknown[] })
    | undefined;
  plan:
    | ({
        id: number;
        project: { id: number };
        application: { id: number };
        active: boolean;
        topic: Topic;
        notifications: readonly RecheckNotification[];
        organization: { timezone: string | null; quiet_hours: QuietHours | null };
      } & Pauses)
    | undefined;
  /** Absent: none apply. */
  silences?: Silences | undefined;
}

export type RecheckResult =
  /** The delivery ends without being sent. */
  | { status: 'cancelled' | 'expired' | 'suppressed'; reason: Reason; detail: string | null; silenced?: SilenceHit }
  /** It waits until the channel or event is resumed. */
  | { status: 'held'; reason: 'channel.paused' | 'channel.bulk_paused' | PauseReason }
  /** It waits until `dueAt`. */
  | { status: 'quiet'; reason: 'quiet_hours'; dueAt: Date }
  | { status: 'silenced'; reason: 'silenced'; dueAt: Date; detail: string; silenced: SilenceHit };

/**
 * Returns why the delivery is not sent now, or undefined when it may be sent. Since the decision the user may have been
 * locked, opted out or lost the address; the address may be on the suppression list; quiet hours, a pause, a cancellation or
 * the expiry may have begun.
 */
export function recheck(
  { delivery, occurrence, recipient, channel, plan, silences }: RecheckInput,
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
  const paused = findPause(plan, occurrence);
  if (paused) return { status: 'held', reason: paused };
  // A digest that is already open contains messages of other occurrences too.
  const found = delivery.digest_id === null && silences?.find(plan, occurrence.context, now);
  if (found) {
    const detail = describeSilence(found.silence, found.until);
    // Steps belong to an escalation, which is open until someone acknowledges it.
    if (!occurrence.is_keyed && delivery.step === 0)
      return {
        ...end('suppressed', 'silenced', detail),
        silenced: { ...found, effect: 'suppressed' },
      } as RecheckResult;
    return {
      status: 'silenced',
      reason: 'silenced',
      dueAt: found.until,
      detail,
      silenced: { ...found, effect: 'held' },
    };
  }
  const { topic, organization } = plan;
  const circumstances = { topic, defaults: organization, isUrgent: delivery.priority === urgent, now };
  const dueAt = findQuietWait(channel, recipient, circumstances);
  return dueAt && { status: 'quiet', reason: 'quiet_hours', dueAt };
}

/** What is paused. `person`: by a person, as opposed to a guard. */
export interface Pauses {
  /** Of the event and what it belongs to. */
  paused: PauseCause | 'person' | null;
  /** By the id of the key. */
  paused_keys: Readonly<Record<string, PauseCause | 'person'>>;
}

export type PauseReason = 'event.paused' | 'guard.rate';

/** Returns why an occurrence is held: the event, or the key that triggered it, is paused. */
export function findPause(
  { paused, paused_keys }: Pauses,
  { key_id, priority }: { key_id: string | null; priority: number },
): PauseReason | undefined {
  const causes = [paused, key_id === null ? undefined : paused_keys[key_id]].filter(
    cause => cause && (cause !== 'guard.rate' || priority !== urgent),
  );
  if (causes.length === 0) return undefined;
  return causes.includes('person') ? 'event.paused' : 'guard.rate';
}

/** Returns whether the notification, or one of its steps, uses the channel. */
function usesChannel({ channels, steps }: RecheckNotification, channel: DecisionChannel): boolean {
  const names = steps ? steps.steps.flatMap(({ notification }) => notification.channels) : channels;
  const { slug, type } = channel;
  return names.includes(slug) || names.includes(type) || (names.includes(personal) && reachesPeople(channel));
}

/**
 * Returns why a delivery is cancelled: a cancellation ends all deliveries, an acknowledgement or resolution only those of steps and
 * in bundles.
 */
export function cancelReasonOf(
  { step, user_id, digest_id = null }: { step: number; user_id?: number; digest_id?: string | null },
  occurrence: OccurrenceEnd,
): Reason | undefined {
  if (occurrence.cancelled_at) return 'cancelled';
  const isAlert = step > 0 || (step === 0 && isBundleId(digest_id));
  if (isAlert && occurrence.resolved_at) return 'resolved';
  const isOwn = user_id !== undefined && occurrence.acknowledged_users?.includes(user_id);
  return isAlert && (occurrence.acknowledged_at || isOwn) ? 'acknowledged' : undefined;
}

/** Returns whether the time limit of the steps has passed, for example after a long time without a worker. */
function isGivenUp(
  { step }: { step: number },
  { due_at, round_began_at }: { due_at: Date; round_began_at: Date | null },
  { steps }: { steps?: { giveUpMs: number } | undefined },
  now: number,
): boolean {
  return step > 0 && (round_began_at ?? due_at).getTime() + (steps?.giveUpMs ?? giveUpMs(null)) <= now;
}
