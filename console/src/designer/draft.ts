/** A notification being edited, and its conversion from and to the API. */
import type { Notification, NotificationChanges, PreviewRequest } from '../api-types.ts';
import { isSame } from '../editor/merge.ts';
import { format, parseObject } from '../events/sample.ts';
import { texts } from '../texts/designer.ts';
import type { Canary } from './canary.tsx';
import type { Digest, Throttle } from './explain-sending.ts';
import type { DraftVariants } from './variants.tsx';

export type MessageText = { subject?: string; body?: string };
export type LocalizedMessageText = MessageText & { locales?: Record<string, MessageText> };
export type Priority = 'urgent' | 'normal' | 'bulk';

/** A step being edited; every field has a value. */
export interface DraftStep {
  /** Empty: immediately. */
  after: string;
  /** A keyword or an expression; undefined: always. */
  unless?: string;
  channels: string[];
  /** The step's own list or schedule; undefined: the notification's recipients. */
  list?: string;
  schedule?: string;
  offset?: number;
  repeat: number;
  /** Whether each run notifies only the recipient whose turn it is. */
  roundRobin: boolean;
}

export interface Draft {
  name: string;
  active: boolean;
  recipients: Notification['recipients'];
  channels: string[];
  /** Null: all recipients at once, through `channels`. */
  steps: DraftStep[] | null;
  /** Empty: the default, 24h. */
  giveUpAfter: string;
  /** Empty: never. */
  acknowledgementExpires: string;
  /** Whether each recipient has to acknowledge. */
  ackEach: boolean;
  notifyResolved: boolean;
  priority: Priority | null;
  throttle: Throttle | null;
  digest: Digest | null;
  /** Null: to all at once. */
  canary: Canary | null;
  /** Empty: always send. */
  filter: string;
  environs: string[];
  /** Unparsed text of the editor. */
  extraContext: string;
  message: Notification['message'];
  overrides: Record<string, LocalizedMessageText>;
}

export function toDraft(stored: Notification): Draft {
  return {
    name: stored.name,
    active: stored.active,
    recipients: stored.recipients,
    channels: stored.channels,
    steps: stored.steps?.map(toDraftStep) ?? null,
    giveUpAfter: stored.give_up_after ?? '',
    acknowledgementExpires: stored.acknowledgement_expires ?? '',
    ackEach: stored.ack === 'each',
    notifyResolved: stored.notify_resolved,
    priority: stored.priority as Priority | null,
    throttle: stored.throttle && { key: '', overflow: 'drop', ...stored.throttle },
    digest: stored.digest && {
      every: stored.digest.every,
      key: stored.digest.key ?? '',
      sendsFirst: stored.digest.first === 'send',
      max: stored.digest.max ?? '',
    },
    canary: stored.canary && {
      first: stored.canary.first ?? '',
      wait: stored.canary.wait ?? '',
      failed: stored.canary.stop_at?.failed ?? '',
      bounced: stored.canary.stop_at?.bounced ?? '',
      complained: stored.canary.stop_at?.complained ?? '',
      variants: toDraftVariants(stored.canary.variants),
    },
    filter: stored.filter ?? '',
    environs: stored.environs ?? [],
    extraContext: Object.keys(stored.extra_context).length > 0 ? format(stored.extra_context) : '',
    message: stored.message,
    overrides: stored.overrides,
  };
}

export function newDraft(): Draft {
  return {
    name: '',
    active: true,
    recipients: {},
    channels: [],
    steps: null,
    giveUpAfter: '',
    acknowledgementExpires: '',
    ackEach: false,
    notifyResolved: false,
    priority: null,
    throttle: null,
    digest: null,
    canary: null,
    filter: '',
    environs: [],
    extraContext: '',
    message: { subject: '', body: texts.newMessageBody },
    overrides: {},
  };
}

type Variants = NonNullable<NonNullable<Notification['canary']>['variants']>;

function toDraftVariants(stored: Variants | undefined): DraftVariants | null {
  return stored ? { winnerBy: stored.winner_by, message: stored.b.message, overrides: stored.b.overrides ?? {} } : null;
}

type Step = NonNullable<Notification['steps']>[number];

function toDraftStep({ after = '', unless, channels, recipients, repeat = 1, round_robin = false }: Step): DraftStep {
  return { after, unless, channels, ...recipients, repeat, roundRobin: round_robin };
}

/** A notification has either steps or channels: setting one removes the other. */
function sendingOf({
  channels,
  steps,
  giveUpAfter,
  acknowledgementExpires,
  ackEach,
  notifyResolved,
}: Draft): NotificationChanges {
  if (steps === null) return { channels, steps: null };
  return {
    steps: steps.map(({ after, unless, channels: own, repeat, roundRobin, ...step }) => ({
      ...(after !== '' && { after }),
      ...(unless !== undefined && { unless }),
      channels: own,
      ...recipientsOf(step),
      ...(repeat > 1 && { repeat }),
      ...(roundRobin && { round_robin: true }),
    })),
    give_up_after: giveUpAfter === '' ? null : giveUpAfter,
    acknowledgement_expires: acknowledgementExpires === '' ? null : acknowledgementExpires,
    ack: ackEach ? 'each' : null,
    notify_resolved: notifyResolved,
  };
}

function recipientsOf({ list, schedule, offset }: Pick<DraftStep, 'list' | 'schedule' | 'offset'>) {
  if (list === undefined && schedule === undefined) return {};
  return {
    recipients: {
      ...(list !== undefined && { list }),
      ...(schedule !== undefined && { schedule, ...(offset && { offset }) }),
    },
  };
}

/** Converts everything but the message to the API's fields. */
function settingsOf(draft: Draft): NotificationChanges {
  const extra = parseObject(draft.extraContext).context ?? {};
  return {
    name: draft.name,
    active: draft.active,
    recipients: draft.recipients,
    ...sendingOf(draft),
    priority: draft.priority,
    throttle: throttleOf(draft.throttle),
    digest: digestOf(draft.digest),
    canary: canaryOf(draft.canary),
    filter: draft.filter.trim() === '' ? null : draft.filter,
    environs: draft.environs.length > 0 ? draft.environs : null,
    extra_context: Object.keys(extra).length > 0 ? extra : null,
  };
}

function throttleOf(throttle: Throttle | null): NotificationChanges['throttle'] {
  if (!throttle) return null;
  const key = throttle.key.trim();
  return {
    max: Number(throttle.max),
    per: throttle.per.trim(),
    ...(key && { key }),
    ...(throttle.overflow !== 'drop' && { overflow: throttle.overflow }),
  };
}

function digestOf(digest: Digest | null): NotificationChanges['digest'] {
  if (!digest) return null;
  const key = digest.key.trim();
  return {
    every: digest.every.trim(),
    ...(key && { key }),
    ...(digest.sendsFirst && { first: 'send' as const }),
    ...(digest.max !== '' && { max: Number(digest.max) }),
  };
}

function canaryOf(canary: Canary | null): NotificationChanges['canary'] {
  if (!canary) return null;
  const { first, wait, variants, ...shares } = canary;
  const stopAt = Object.entries(shares).flatMap(([kind, share]) => (share.trim() ? [[kind, share.trim()]] : []));
  return {
    ...(first !== '' && { first: Number(first) }),
    ...(wait.trim() && { wait: wait.trim() }),
    ...(stopAt.length > 0 && { stop_at: Object.fromEntries(stopAt) as Record<string, string> }),
    ...(variants && {
      variants: {
        winner_by: variants.winnerBy,
        b: {
          message: tidy(variants.message),
          ...(Object.keys(variants.overrides).length > 0 && { overrides: variants.overrides }),
        },
      },
    }),
  };
}

/** Returns only the fields that differ, so that saving does not revert another user's change to another field. */
export function settingsChanges(draft: Draft, base: Draft): NotificationChanges {
  const before = settingsOf(base) as Record<string, unknown>;
  const changes = Object.entries(settingsOf(draft)).filter(([field, value]) => !isSame(value, before[field]));
  return Object.fromEntries(changes);
}

export function messageOf({ message, overrides }: Pick<Draft, 'message' | 'overrides'>) {
  return { message: { ...message, subject: message.subject || undefined }, overrides };
}

/** Body of the request that creates a notification. */
export function creationOf(draft: Draft) {
  const fields = Object.entries(settingsOf(draft)).filter(([, value]) => value !== null);
  return { ...(Object.fromEntries(fields) as object), ...messageOf(draft) };
}

const sampleItems = 3;
const sampleMore = 2;

/** Body of the preview request. The API requires a body and at least one channel; missing fields are left out. */
export function previewOf(draft: Draft, context: Record<string, unknown>): PreviewRequest {
  return {
    ...messageOf(draft),
    extra_context: parseObject(draft.extraContext).context ?? {},
    context,
    filter: draft.filter,
    ...(draft.recipients.users && { users: draft.recipients.users }),
    ...(draft.recipients.list && { list: draft.recipients.list }),
    ...(draft.recipients.schedule && { schedule: draft.recipients.schedule, offset: draft.recipients.offset }),
    ...(draft.steps && {
      steps: draft.steps.map(({ after, channels, repeat, ...step }) => ({
        ...(after && { after }),
        channels,
        ...recipientsOf(step),
        repeat,
      })),
    }),
    // Previews a digest with a few sample items.
    ...((draft.digest || draft.throttle?.overflow === 'digest') && {
      digest: { items: Array.from({ length: sampleItems }, () => context), more: sampleMore },
    }),
  };
}

/** Returns the whole message as one text, for comparing two versions. */
export function toText({ message, overrides }: Pick<Draft, 'message' | 'overrides'>): string {
  const { subject, body, layout, strict, locales } = message;
  const parts = [
    ...(layout ? [`Layout: ${layout}`] : []),
    ...(strict ? [texts.strictSummary] : []),
    ...textLines({ subject, body, locales }, ''),
    ...Object.entries(overrides).flatMap(([channel, override]) => textLines(override, channel)),
  ];
  return `${parts.join('\n')}\n`;
}

function textLines({ subject, body, locales = {} }: LocalizedMessageText, title: string): string[] {
  return [
    ...(title ? [`\n--- ${title} ---`] : []),
    ...(subject ? [`Subject: ${subject}`] : []),
    ...(body === undefined ? [] : ['', body]),
    ...Object.entries(locales).flatMap(([locale, translated]) =>
      textLines(translated, title ? `${title}, ${locale}` : locale),
    ),
  ];
}

/** Identifies the message or one of its overrides, in one language or in the default one. */
export interface Variant {
  /** Empty for all channels. */
  channel: string;
  /** Empty for the default language. */
  locale: string;
}

export function textAt(draft: Draft, { channel, locale }: Variant): MessageText {
  const text: LocalizedMessageText = channel ? (draft.overrides[channel] ?? {}) : draft.message;
  return locale ? (text.locales?.[locale] ?? {}) : text;
}

export function withText(draft: Draft, { channel, locale }: Variant, change: MessageText): Draft {
  const edit = <T extends LocalizedMessageText>(text: T): T =>
    locale
      ? { ...text, locales: { ...text.locales, [locale]: tidy({ ...text.locales?.[locale], ...change }) } }
      : { ...text, ...change };
  if (!channel) {
    const message = edit(draft.message);
    return { ...draft, message: { ...message, body: message.body ?? '' } };
  }
  return { ...draft, overrides: { ...draft.overrides, [channel]: tidy(edit(draft.overrides[channel] ?? {})) } };
}

/** Removes empty fields of an override, which then inherits them. */
function tidy<T extends MessageText>(text: T): T {
  return Object.fromEntries(Object.entries(text).filter(([, value]) => value !== '' && value !== undefined)) as T;
}

export function withoutVariant(draft: Draft, { channel, locale }: Variant): Draft {
  if (!locale) {
    const { [channel]: _, ...overrides } = draft.overrides;
    return { ...draft, overrides };
  }
  const without = <T extends LocalizedMessageText>({ locales, ...text }: T) => {
    const { [locale]: _, ...others } = locales ?? {};
    return { ...text, ...(Object.keys(others).length > 0 && { locales: others }) };
  };
  if (!channel) return { ...draft, message: without(draft.message) as Draft['message'] };
  return { ...draft, overrides: { ...draft.overrides, [channel]: without(draft.overrides[channel] ?? {}) } };
}

/** Name of the field in the API's validation errors. */
export function fieldOf({ channel, locale }: Variant, field: keyof MessageText): string {
  return [channel ? `overrides/${channel}` : 'message', ...(locale ? [`locales/${locale}`] : []), field].join('/');
}
