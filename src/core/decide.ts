/**
 * Who gets what, and why somebody does not: one pure function that real runs, simulation and "why not?" all call.
 * Reasons are a closed list with stable codes.
 */

import { type Choices, describeRuling, ruleOn, type Topic } from './preferences.ts';
import { findQuietEnd, type QuietHours, spreadMs } from './quiet-hours.ts';
import { addressKind, fold } from './text.ts';
import type { TriggerOptions } from './trigger.ts';

export const reasons = {
  'event.missing': 'the event has been deleted',
  'event.paused': 'the event or its application is paused',
  'channel.paused': 'the channel is paused',
  'limit.fan_out': 'the trigger has reached more recipients than the organization may with one',
  'limit.users': 'the organization has as many users as it may, so nobody new could be told',
  no_recipients: 'no notification found anybody to tell',
  'notification.inactive': 'the notification is switched off',
  'notification.environ': 'the notification is for other environments',
  'filter.no_match': "the notification's filter does not match the context",
  'filter.failed': "the notification's filter cannot be evaluated on this context",
  'options.channels': 'the trigger asked for other channels',
  'options.limit_to': 'the trigger was limited to other recipients',
  'channel.missing': 'the notification names a channel that does not exist',
  'channel.disabled': 'the channel is switched off',
  'channel.unusable': 'the channel has no provider that can be used',
  'user.unknown': 'there is no such user',
  'list.not_member': 'the user is not a member of the list',
  'recipient.not_selected': "the notification's expression over users does not pick the user",
  'recipient.not_named': 'the notification goes to those whom the trigger names, and it did not name the user',
  'recipient.since': 'the user is a recipient now, but was none, or could not be reached, when it was triggered',
  'recipient.not_yet': 'recipients are still being found',
  'occurrence.waiting': 'the occurrence is not due yet',
  'user.locked': 'the user is locked',
  'user.missing': 'the user has been deleted',
  'member.inactive': 'the membership in the list is inactive',
  'preference.off': 'the user has switched this off, or never switched it on',
  quiet_hours: 'it is quiet for the user, and it waits until the quiet hours end',
  digest: 'it gathers with others, and they go out as one message',
  throttled: 'the user has got as much of this as they may for now',
  'address.missing': 'the user has no address for this channel',
  'address.disabled': 'the address was disabled because it no longer works',
  'address.removed': 'the user no longer has this address',
  duplicate: 'the same address gets this message by this channel already',
  expired: 'it was not sent before it expired',
  cancelled: 'it was cancelled before it was sent',
  dry_run: 'it was a dry run',
  acknowledged: 'somebody acknowledged it before',
  resolved: 'it was resolved before',
  gave_up: 'its steps had taken as long as they may',
  'unless.sent': 'it had been sent already, and the step is for when it has not',
  'unless.read': 'it had been read already, and the step is for when it has not',
  'unless.expression': "the step's condition left it out",
  'notification.missing': 'the notification has been deleted',
  'notification.changed': 'the notification was changed, and has no such step any more',
  'step.waiting': 'a later step may still tell the user',
  'occurrence.not_open': 'there was no open occurrence of this dedup_key to resolve',
  crashed: 'processing it ended the worker three times, so it was set aside',
  unknown: 'the answer was lost after it was sent',
  'template.failed': 'the message could not be written',
  'provider.failed': 'the provider refused it, or could not be reached in all attempts',
} as const;

export type Reason = keyof typeof reasons;

export interface Recipient {
  user_id: number;
  username: string;
  email: string;
  locked: boolean;
  addresses: { name: string; value: string; disabled: boolean }[];
  /** Where the recipient comes from a list: the address it was entered with. */
  member?: { active: boolean; name: string; value: string };
  /** Null where nobody has chosen anything. */
  choices: Choices | null;
  /** Their own; null: the organization's. */
  timezone: string | null;
  quiet_hours: QuietHours | null;
}

/** How a channel reaches people: by an address of its own kind, all in one room, or everybody whatever they have. */
export type Reach = 'address' | 'room' | 'recipient';

export interface DecidingChannel {
  id: number;
  slug: string;
  type: string;
  enabled: boolean;
  reach: Reach;
  usable: boolean;
}

export interface DecidingNotification {
  active: boolean;
  environs: readonly string[] | null;
  /** Slugs or types. */
  channels: readonly string[];
  /** Whether the filter matches; undefined without one. */
  matches: ((context: unknown) => boolean) | undefined;
}

/** Why nobody at all gets this notification, or undefined. */
export function decideNotification(
  notification: DecidingNotification,
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

/** The channels that a notification means: the project's own before the organization's of the same slug. */
export function selectChannels<Channel extends DecidingChannel>(
  names: readonly string[],
  usable: readonly Channel[],
): Channel[] {
  const chosen = names.flatMap(name => {
    const bySlug = usable.find(channel => channel.slug === name);
    return bySlug ? [bySlug] : usable.filter(channel => channel.type === name);
  });
  return [...new Set(chosen)];
}

export type Decision =
  | { address: string; reason?: undefined; detail?: undefined; dueAt?: undefined }
  /** It waits until then, and is decided again. */
  | { address: string; reason: 'quiet_hours' | 'digest'; detail?: undefined; dueAt: Date }
  | (Refusal & { address: string | null });

interface Refusal {
  reason: Reason;
  /** What exactly decided, for people. */
  detail?: string;
  dueAt?: undefined;
}

/** What besides channel, recipient and trigger decides. */
export interface Circumstances {
  topic: Topic;
  /** What holds for people who have said nothing themselves. */
  usual: { timezone: string | null; quiet_hours: QuietHours | null };
  isUrgent: boolean;
  now: number;
  /** When a digest closes that opens now, for somebody in that zone; undefined: nothing gathers. */
  digestEnd?: (timezone: string) => number;
}

/**
 * Whether the trigger itself asked for less. That is no event of anybody's: a trigger that is limited to one of 5,000
 * people leaves no 4,999 rows behind, and “why not?” finds the reason in its options.
 */
export function isLeftOutByTrigger(reason: Reason | undefined): boolean {
  return reason === 'options.channels' || reason === 'options.limit_to';
}

/** For one recipient by one channel: where to, or why not. Several addresses only where each is a device of its own. */
export function decide(
  channel: DecidingChannel,
  recipient: Recipient,
  options: TriggerOptions,
  circumstances: Circumstances,
): Decision[] {
  const all = findAddresses(channel, recipient);
  const [first] = all;
  const refused = refuse(channel, recipient, options, circumstances.topic, first);
  if (refused) return [{ address: first?.value ?? null, ...refused }];
  const working = all.filter(address => !address.disabled);
  if (working.length === 0) return [{ address: first!.value, reason: 'address.disabled' }];
  const closesAt = findDigestEnd(channel, recipient, circumstances);
  // Whether it is quiet is asked when the digest closes.
  if (closesAt) return working.map(({ value }) => ({ address: value, reason: 'digest', dueAt: closesAt }));
  const dueAt = findQuietWait(channel, recipient, circumstances);
  if (dueAt) return working.map(({ value }) => ({ address: value, reason: 'quiet_hours', dueAt }));
  return working.map(({ value }) => ({ address: value }));
}

function refuse(
  channel: DecidingChannel,
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
  const unwanted = refuseUnwanted(channel, recipient, topic);
  if (unwanted) return unwanted;
  if (!channel.enabled) return { reason: 'channel.disabled' };
  if (!channel.usable) return { reason: 'channel.unusable' };
  if (!address) return { reason: 'address.missing' };
  if (options.dry_run) return { reason: 'dry_run' };
  return undefined;
}

/** What the recipient does not want. A room is nobody's own: one of its readers does not decide for the others. */
export function refuseUnwanted(
  channel: Pick<DecidingChannel, 'type' | 'reach'>,
  { choices }: Pick<Recipient, 'choices'>,
  topic: Topic,
): Refusal | undefined {
  if (channel.reach === 'room') return undefined;
  const ruling = ruleOn(topic, channel.type, choices);
  return ruling.enabled ? undefined : { reason: 'preference.off', detail: describeRuling(ruling, topic) };
}

/** Until when a message waits because it is quiet for its recipient; undefined: it does not. */
export function findQuietWait(
  channel: Pick<DecidingChannel, 'type' | 'reach'>,
  recipient: Pick<Recipient, 'user_id' | 'timezone' | 'quiet_hours'>,
  { topic, usual, isUrgent, now }: Circumstances,
): Date | undefined {
  const hours = recipient.quiet_hours ?? usual.quiet_hours;
  if (!hours || isUrgent || channel.type === 'inbox' || channel.reach === 'room') return undefined;
  if (topic.category.kind === 'required' && topic.category.quiet_hours === 'ignore') return undefined;
  const end = findQuietEnd(hours, recipient.timezone ?? usual.timezone ?? 'UTC', now);
  return end === undefined ? undefined : new Date(end + spreadMs(recipient.user_id));
}

/** When a digest with this in it closes, if one opens now; undefined: it does not gather. What is urgent does not wait. */
function findDigestEnd(
  channel: DecidingChannel,
  { timezone }: Recipient,
  { usual, isUrgent, digestEnd }: Circumstances,
): Date | undefined {
  if (!digestEnd || isUrgent) return undefined;
  const own = channel.reach === 'room' ? null : timezone;
  return new Date(digestEnd(own ?? usual.timezone ?? 'UTC'));
}

interface FoundAddress {
  value: string;
  disabled: boolean;
}

function findAddresses(channel: DecidingChannel, recipient: Recipient): FoundAddress[] {
  if (channel.reach === 'room') return [{ value: `room ${channel.slug}`, disabled: false }];
  const { member } = recipient;
  const own = recipient.addresses.filter(({ name }) => addressKind(name) === channel.type);
  const entered =
    member && addressKind(member.name) === channel.type && own.find(({ value }) => value === member.value);
  if (entered) return [entered];
  // The plain name is the main one: `email` before `email-work`.
  own.sort((a, b) => a.name.length - b.name.length);
  if (channel.type === 'webpush') return own;
  if (own[0]) return [own[0]];
  return channel.reach === 'recipient' ? [{ value: recipient.username, disabled: false }] : [];
}
