/**
 * Decides who gets what, and why not. The engine, simulation and "why not?" all call the same pure functions.
 * Reasons are a closed list with stable codes.
 */

import { describeSuppression, type Suppression, stopsChannel } from '../audience/suppressions.ts';
import type { Reach as ReachRules } from '../oncall/reach.ts';
import { addressKind, fold } from '../text/text.ts';
import type { TriggerOptions } from '../trigger.ts';
import { type Choices, describePreferenceDecision, isPersonal, resolvePreference, type Topic } from './preferences.ts';
import { findQuietEnd, type QuietHours, spreadMs } from './quiet-hours.ts';

export const reasons = {
  'event.missing': 'the event has been deleted',
  'event.inactive': 'the event has been switched off',
  'event.paused': 'the event, its application, project, organization or API key is paused',
  silenced: 'a silence matches it',
  dropped: 'it was held by a pause, and dropped when the pause ended',
  'channel.paused': 'the channel is paused',
  'channel.bulk_paused': 'bulk messages of the channel are paused, because too many bounced or were reported as spam',
  'guard.audience': 'it has more recipients than the event may have without an approval',
  'guard.rate': 'its key, event or application triggered far more often than ever, and the rate guard paused it',
  'guard.canary':
    'too many messages to a sample of its recipients did not go well, and the others wait for an approval',
  'guard.rejected': 'it waited for an approval, and was rejected',
  'guard.expired': 'it waited for an approval, and was not approved in time',
  'canary.waiting': 'a sample of the recipients got it first, and the others wait for what becomes of that',
  'limit.fan_out': 'the trigger reached the limit of recipients per trigger',
  'limit.users': 'the organization reached its user limit, so new recipients were not created',
  no_recipients: 'no notification found any recipients',
  'notification.inactive': 'the notification is switched off',
  'notification.channel': 'the notification no longer uses the channel',
  'notification.environ': 'the notification is for other environments',
  'filter.no_match': "the notification's filter does not match the context",
  'filter.failed': "the notification's filter cannot be evaluated on this context",
  'options.channels': 'the trigger was limited to other channels',
  'options.limit_to': 'the trigger was limited to other recipients',
  'channel.missing': 'the notification uses a channel that does not exist',
  'channel.disabled': 'the channel is switched off',
  'channel.unusable': 'the channel has no usable provider',
  'channel.unreadable': "the channel's secrets cannot be decrypted until the operator restores their key",
  'user.unknown': 'the user does not exist',
  'list.not_member': 'the user is not a member of the list',
  'recipient.not_selected': "the notification's user expression does not select the user",
  'recipient.not_named':
    'the notification goes to the recipients named by the trigger, and the user was not one of them',
  'schedule.no_one': 'no one was on call',
  'schedule.fallback': 'no one was on call, so that it went to the fallback list of the schedule',
  'schedule.not_on_call': 'the user was not on call',
  'recipient.since': 'the user is a recipient now, but was not, or could not be reached, when it was triggered',
  'recipient.not_yet': 'recipients are still being looked up',
  'occurrence.waiting': 'the occurrence is not due yet',
  'user.locked': 'the user is locked',
  'user.missing': 'the user has been deleted',
  'member.inactive': 'the membership in the list is inactive',
  'preference.off': 'the user has opted out, or has never opted in',
  quiet_hours: 'the quiet hours of the user have not ended',
  'reach.later': "the user's own rules send it later, unless someone acknowledges or resolves it before",
  digest: 'its digest has not been sent yet',
  throttled: 'rate limit reached',
  'address.missing': 'the user has no address for this channel',
  'address.disabled': 'the address was disabled because it no longer works',
  'address.suppressed': 'the address is on the suppression list',
  'address.removed': 'the user no longer has this address',
  'address.unverified': 'the address is not verified, and the user can be reached at one that is',
  duplicate: 'the same address already gets this message via this channel',
  expired: 'it was not sent before it expired',
  cancelled: 'it was cancelled before it was sent',
  dry_run: 'it was a dry run',
  acknowledged: 'it was acknowledged before it was sent',
  resolved: 'it was resolved before it was sent',
  gave_up: 'gave up: time limit reached',
  'unless.sent': 'the step is skipped once the message has been sent, and it had been',
  'unless.read': 'the step is skipped once the message has been read, and it had been',
  'unless.expression': "the step's condition skipped it",
  'notification.missing': 'the notification has been deleted',
  'notification.changed': 'the notification was changed and no longer has this step',
  'step.waiting': 'a later step may still notify the user',
  'occurrence.not_open': 'there was no open occurrence with this dedup_key to resolve',
  crashed: 'processing it crashed the worker three times, so it was set aside',
  unknown: "the provider's response was lost; it may have been delivered",
  'unknown.earlier': "the provider's response to an earlier attempt was lost; it may have been delivered",
  'template.failed': 'the message could not be rendered',
  'attachment.failed': 'an attachment could not be fetched, or must not be sent',
  'provider.day_limit': 'the provider has reached its limit of messages for this day',
  'provider.paused': 'the provider fails, and sending continues when it is back',
  'mailbox.full': 'the mailbox of the recipient is full',
  'provider.failed': 'the provider refused it, or could not be reached in any attempt',
  bounced: 'it bounced after the provider had accepted it',
} as const;

export type Reason = keyof typeof reasons;

export interface RecipientAddress {
  name: string;
  value: string;
  disabled: boolean;
  /** Whether someone has proved to read what is sent to it. Absent: no. */
  verified?: boolean;
  /** The entry of the suppression list that it matches. */
  suppression?: Suppression;
}

export interface Recipient {
  user_id: number;
  username: string;
  email: string;
  locked: boolean;
  addresses: RecipientAddress[];
  /** For a recipient from a list: the address stored in the list. */
  member?: { active: boolean; name: string; value: string };
  /** Null when the recipient has made no choices. */
  choices: Choices | null;
  /** The recipient's own; null means the organization's. */
  timezone: string | null;
  quiet_hours: QuietHours | null;
  /** Null or absent: none. */
  rules?: ReachRules | null;
}

/**
 * How a channel reaches recipients: `address` needs an address of the channel's type, `room` posts one message for all
 * recipients to a shared room, `recipient` reaches every recipient without an address.
 */
export type Reach = 'address' | 'room' | 'recipient';

export interface DecisionChannel {
  id: number;
  slug: string;
  type: string;
  /** The project that it belongs to; null or absent: the organization's. */
  projectId?: number | null;
  enabled: boolean;
  reach: Reach;
  usable: boolean;
  /** Whether one of its providers can send to an address of its type. Absent: to all. */
  accepts?: ((address: string) => boolean) | undefined;
}

export interface DecisionNotification {
  active: boolean;
  environs: readonly string[] | null;
  /** Slugs or types. */
  channels: readonly string[];
  /** The compiled filter; undefined without one. */
  matches: ((context: unknown) => boolean) | undefined;
}

/** Returns why the notification is sent to no one, or undefined. */
export function decideNotification(
  notification: DecisionNotification,
  context: unknown,
  options: TriggerOptions,
): Reason | undefined {
  if (!notification.active) return 'notification.inactive';
  const { environs } = notification;
  if (environs && options.environs && !options.environs.some(name => environs.includes(name))) {
    return 'notification.environ';
  }
  if (!notification.matches) return undefined;
  try {
    return notification.matches(context) ? undefined : 'filter.no_match';
  } catch {
    return 'filter.failed';
  }
}

/** Stands among channels for the ways in which each recipient wants to be reached: see personal.ts. */
export const personal = 'personal';

/**
 * Returns the channels of these slugs or types; a project's own channel comes before the organization's of the same slug. `personal` stands
 * for all that people read alone.
 */
export function selectChannels<Channel extends DecisionChannel>(
  names: readonly string[],
  usable: readonly Channel[],
): Channel[] {
  const chosen = names.flatMap(name => {
    if (name === personal) return usable.filter(reachesPeople);
    const bySlug = usable.find(channel => channel.slug === name);
    return bySlug ? [bySlug] : usable.filter(channel => channel.type === name);
  });
  return [...new Set(chosen)];
}

/** Returns whether individual people read the channel. */
export function reachesPeople({ reach, type }: Pick<DecisionChannel, 'reach' | 'type'>): boolean {
  return reach !== 'room' && isPersonal(type);
}

export type Decision =
  | { address: string; reason?: undefined; detail?: undefined; dueAt?: undefined }
  /** The delivery waits until `dueAt` and is then decided again. */
  | { address: string; reason: 'quiet_hours' | 'digest' | 'reach.later'; detail?: undefined; dueAt: Date }
  | (Refusal & { address: string | null });

interface Refusal {
  reason: Reason;
  /** Human-readable explanation of what decided. */
  detail?: string;
  dueAt?: undefined;
}

/** Inputs of a decision besides channel, recipient and trigger. */
export interface Circumstances {
  topic: Topic;
  /** The organization's settings, for recipients without their own. */
  defaults: { timezone: string | null; quiet_hours: QuietHours | null };
  isUrgent: boolean;
  now: number;
  /** Whether only verified addresses are used. Absent: all are. */
  verifiedOnly?: boolean;
  /** Returns when a digest that opens now closes for a recipient in this time zone; undefined without a digest. */
  digestEnd?: (timezone: string) => number;
}

/**
 * Returns whether the options of the trigger excluded the recipient. Such decisions are not stored: a trigger limited to
 * one of 5,000 recipients does not leave 4,999 rows, and "why not?" finds the reason in the options.
 */
export function isExcludedByTrigger(reason: Reason | undefined): boolean {
  return reason === 'options.channels' || reason === 'options.limit_to';
}

/** Decides for one recipient and channel: the addresses to send to, or why not. Only push and web push, where each address is a device, have several. */
export function decide(
  channel: DecisionChannel,
  recipient: Recipient,
  options: TriggerOptions,
  circumstances: Circumstances,
): Decision[] {
  const all = findAddresses(channel, recipient, circumstances.verifiedOnly);
  const [first] = all;
  const refused = refuse(channel, recipient, options, circumstances.topic, first);
  if (refused) return [{ address: first?.value ?? null, ...refused }];
  const working = all.filter(address => !address.disabled);
  if (working.length === 0) return [{ address: first!.value, reason: 'address.disabled' }];
  const reachable = working.filter(({ suppression }) => !suppression || !stopsChannel(suppression, channel));
  if (reachable.length === 0) return [{ address: working[0]!.value, ...refuseSuppressed(working[0]!.suppression!) }];
  if (circumstances.verifiedOnly && !first!.verified) return [{ address: first!.value, reason: 'address.unverified' }];
  const closesAt = findDigestEnd(channel, recipient, circumstances);
  // Quiet hours are checked when the digest closes.
  if (closesAt) return reachable.map(({ value }) => ({ address: value, reason: 'digest', dueAt: closesAt }));
  const dueAt = findQuietWait(channel, recipient, circumstances);
  if (dueAt) return reachable.map(({ value }) => ({ address: value, reason: 'quiet_hours', dueAt }));
  return reachable.map(({ value }) => ({ address: value }));
}

export function refuseSuppressed(suppression: Suppression) {
  return { reason: 'address.suppressed', detail: describeSuppression(suppression) } as const;
}

function refuse(
  channel: DecisionChannel,
  recipient: Recipient,
  options: TriggerOptions,
  topic: Topic,
  address: { value: string } | undefined,
): Refusal | undefined {
  const { channels, limit_to } = options;
  if (channels && !channels.some(name => fold(name) === channel.slug || fold(name) === channel.type)) {
    return { reason: 'options.channels' };
  }
  if (limit_to) {
    const allowed = new Set(limit_to.map(fold));
    const names = [recipient.username, recipient.email, ...recipient.addresses.map(({ value }) => value)];
    if (!names.some(name => allowed.has(fold(name)))) return { reason: 'options.limit_to' };
  }
  if (recipient.locked) return { reason: 'user.locked' };
  if (recipient.member && !recipient.member.active) return { reason: 'member.inactive' };
  const optedOut = refuseByPreference(channel, recipient, topic);
  if (optedOut) return optedOut;
  if (!channel.enabled) return { reason: 'channel.disabled' };
  if (!channel.usable) return { reason: 'channel.unusable' };
  if (!address) return { reason: 'address.missing' };
  if (options.dry_run) return { reason: 'dry_run' };
  return undefined;
}

/** Refuses what the recipient has opted out of. Preferences do not apply to rooms, which are shared by many recipients. */
export function refuseByPreference(
  channel: Pick<DecisionChannel, 'type' | 'reach'>,
  { choices }: Pick<Recipient, 'choices'>,
  topic: Topic,
): Refusal | undefined {
  if (channel.reach === 'room') return undefined;
  const ruling = resolvePreference(topic, channel.type, choices);
  return ruling.enabled ? undefined : { reason: 'preference.off', detail: describePreferenceDecision(ruling, topic) };
}

/** Returns when a message that waits for the end of the recipient's quiet hours is due; undefined when it need not wait. */
export function findQuietWait(
  channel: Pick<DecisionChannel, 'type' | 'reach'>,
  recipient: Pick<Recipient, 'user_id' | 'timezone' | 'quiet_hours'>,
  { topic, defaults, isUrgent, now }: Circumstances,
): Date | undefined {
  const hours = recipient.quiet_hours ?? defaults.quiet_hours;
  if (!hours || isUrgent || channel.type === 'inbox' || channel.reach === 'room') return undefined;
  if (topic.category.kind === 'required' && topic.category.quiet_hours === 'ignore') return undefined;
  const end = findQuietEnd(hours, recipient.timezone ?? defaults.timezone ?? 'UTC', now);
  return end === undefined ? undefined : new Date(end + spreadMs(recipient.user_id));
}

/** Returns when a digest that opens now closes; undefined without a digest, and for urgent messages, which never wait. */
function findDigestEnd(
  channel: DecisionChannel,
  { timezone }: Recipient,
  { defaults, isUrgent, digestEnd }: Circumstances,
): Date | undefined {
  if (!digestEnd || isUrgent) return undefined;
  const own = channel.reach === 'room' ? null : timezone;
  return new Date(digestEnd(own ?? defaults.timezone ?? 'UTC'));
}

type ChannelAddress = Omit<RecipientAddress, 'name'>;

/** Returns verified addresses before others with `verifiedOnly`: either all that are returned are verified, or none. */
function findAddresses(channel: DecisionChannel, recipient: Recipient, verifiedOnly = false): ChannelAddress[] {
  if (channel.reach === 'room') return [{ value: `room ${channel.slug}`, disabled: false, verified: true }];
  const { member } = recipient;
  const { accepts = () => true } = channel;
  const all = recipient.addresses.filter(({ name, value }) => addressKind(name) === channel.type && accepts(value));
  const own = verifiedOnly && all.some(({ verified }) => verified) ? all.filter(({ verified }) => verified) : all;
  const entered =
    member && addressKind(member.name) === channel.type && own.find(({ value }) => value === member.value);
  if (entered) return [entered];
  // The shortest name is the primary address: `email` before `email-work`.
  own.sort((a, b) => a.name.length - b.name.length);
  if (channel.type === 'webpush' || channel.type === 'push') return own;
  if (own[0]) return [own[0]];
  return channel.reach === 'recipient' ? [{ value: recipient.username, disabled: false, verified: true }] : [];
}
