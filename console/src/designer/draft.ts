/** A notification while it is being written, and what of it is sent to the service. */
import type { Notification, NotificationChanges, PreviewRequest } from '../api-types.ts';
import { isSame } from '../editor/use-tagged-draft.ts';
import { format, parseObject } from '../events/sample.ts';
import { texts } from '../texts/designer.ts';
import type { Digest, Throttle } from './explain-sending.ts';

export type Words = { subject?: string; body?: string };
export type LocalizedWords = Words & { locales?: Record<string, Words> };
export type Priority = 'urgent' | 'normal' | 'bulk';

/** A step as it is edited: every field is there. */
export interface DraftStep {
  /** Empty: at once. */
  after: string;
  /** A word, or an expression; absent: always. */
  unless?: string;
  channels: string[];
  /** A list of its own; absent: the notification's recipients. */
  list?: string;
  repeat: number;
}

export interface Draft {
  name: string;
  active: boolean;
  recipients: Notification['recipients'];
  channels: string[];
  /** Null: everybody at once, by the channels. */
  steps: DraftStep[] | null;
  /** Empty: 24h. */
  giveUpAfter: string;
  notifyResolved: boolean;
  priority: Priority | null;
  throttle: Throttle | null;
  digest: Digest | null;
  /** Empty: always. */
  filter: string;
  environs: string[];
  /** As it is typed. */
  extraContext: string;
  message: Notification['message'];
  overrides: Record<string, LocalizedWords>;
}

export function toDraft(stored: Notification): Draft {
  return {
    name: stored.name,
    active: stored.active,
    recipients: stored.recipients,
    channels: stored.channels,
    steps: stored.steps?.map(toDraftStep) ?? null,
    giveUpAfter: stored.give_up_after ?? '',
    notifyResolved: stored.notify_resolved,
    priority: stored.priority as Priority | null,
    throttle: stored.throttle && { key: '', overflow: 'drop', ...stored.throttle },
    digest: stored.digest && {
      every: stored.digest.every,
      key: stored.digest.key ?? '',
      sendsFirst: stored.digest.first === 'send',
      most: stored.digest.most ?? '',
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
    notifyResolved: false,
    priority: null,
    throttle: null,
    digest: null,
    filter: '',
    environs: [],
    extraContext: '',
    message: { subject: '', body: texts.helloUserFirstName },
    overrides: {},
  };
}

type Step = NonNullable<Notification['steps']>[number];

function toDraftStep({ after = '', unless, channels, recipients, repeat = 1 }: Step): DraftStep {
  return { after, unless, channels, list: recipients?.list, repeat };
}

/** Steps, or channels: whoever gives one of them takes the other away. */
function sendingOf({ channels, steps, giveUpAfter, notifyResolved }: Draft): NotificationChanges {
  if (steps === null) return { channels, steps: null };
  return {
    steps: steps.map(({ after, unless, channels: own, list, repeat }) => ({
      ...(after !== '' && { after }),
      ...(unless !== undefined && { unless }),
      channels: own,
      ...(list !== undefined && { recipients: { list } }),
      ...(repeat > 1 && { repeat }),
    })),
    give_up_after: giveUpAfter === '' ? null : giveUpAfter,
    notify_resolved: notifyResolved,
  };
}

/** Everything but the words, as the service takes it. */
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
    filter: draft.filter.trim() === '' ? null : draft.filter,
    environs: draft.environs.length > 0 ? draft.environs : null,
    extra_context: Object.keys(extra).length > 0 ? extra : null,
  };
}

function throttleOf(throttle: Throttle | null): NotificationChanges['throttle'] {
  if (!throttle) return null;
  const key = throttle.key.trim();
  return {
    most: Number(throttle.most),
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
    ...(digest.most !== '' && { most: Number(digest.most) }),
  };
}

/** Only what differs: a change of one field takes nothing back that somebody else did to another. */
export function settingsChanges(draft: Draft, base: Draft): NotificationChanges {
  const before = settingsOf(base) as Record<string, unknown>;
  const changes = Object.entries(settingsOf(draft)).filter(([field, value]) => !isSame(value, before[field]));
  return Object.fromEntries(changes);
}

export function wordsOf({ message, overrides }: Pick<Draft, 'message' | 'overrides'>) {
  return { message: { ...message, subject: message.subject || undefined }, overrides };
}

/** What a new one is created with. */
export function creationOf(draft: Draft) {
  const given = Object.entries(settingsOf(draft)).filter(([, value]) => value !== null);
  return { ...(Object.fromEntries(given) as object), ...wordsOf(draft) };
}

const sampleItems = 3;
const sampleMore = 2;

/** The service wants a body and at least one channel; what is not there yet is left out. */
export function previewOf(draft: Draft, context: Record<string, unknown>): PreviewRequest {
  return {
    ...wordsOf(draft),
    extra_context: parseObject(draft.extraContext).context ?? {},
    context,
    filter: draft.filter,
    ...(draft.recipients.users && { users: draft.recipients.users }),
    ...(draft.recipients.list && { list: draft.recipients.list }),
    ...(draft.steps && {
      steps: draft.steps.map(({ after, channels, list, repeat }) => ({
        ...(after && { after }),
        channels,
        ...(list && { recipients: { list } }),
        repeat,
      })),
    }),
    // As it would look with a few of them.
    ...((draft.digest || draft.throttle?.overflow === 'digest') && {
      digest: { items: Array.from({ length: sampleItems }, () => context), more: sampleMore },
    }),
  };
}

/** Everything that is written in it, one after the other, as two versions are compared. */
export function toText({ message, overrides }: Pick<Draft, 'message' | 'overrides'>): string {
  const { subject, body, layout, strict, locales } = message;
  const parts = [
    ...(layout ? [`Layout: ${layout}`] : []),
    ...(strict ? [texts.strictAMissingVariableFailsThe] : []),
    ...words({ subject, body, locales }, ''),
    ...Object.entries(overrides).flatMap(([channel, override]) => words(override, channel)),
  ];
  return `${parts.join('\n')}\n`;
}

function words({ subject, body, locales = {} }: LocalizedWords, title: string): string[] {
  return [
    ...(title ? [`\n--- ${title} ---`] : []),
    ...(subject ? [`Subject: ${subject}`] : []),
    ...(body === undefined ? [] : ['', body]),
    ...Object.entries(locales).flatMap(([locale, translated]) =>
      words(translated, title ? `${title}, ${locale}` : locale),
    ),
  ];
}

/** Of the message or of one override, in a language or in none. */
export interface Variant {
  /** '' for every channel. */
  channel: string;
  /** '' for every language. */
  locale: string;
}

export function wordsAt(draft: Draft, { channel, locale }: Variant): Words {
  const words: LocalizedWords = channel ? (draft.overrides[channel] ?? {}) : draft.message;
  return locale ? (words.locales?.[locale] ?? {}) : words;
}

export function withWords(draft: Draft, { channel, locale }: Variant, change: Words): Draft {
  const edit = <T extends LocalizedWords>(words: T): T =>
    locale
      ? { ...words, locales: { ...words.locales, [locale]: tidy({ ...words.locales?.[locale], ...change }) } }
      : { ...words, ...change };
  if (!channel) {
    const message = edit(draft.message);
    return { ...draft, message: { ...message, body: message.body ?? '' } };
  }
  return { ...draft, overrides: { ...draft.overrides, [channel]: tidy(edit(draft.overrides[channel] ?? {})) } };
}

/** Where words differ from others, none are those of the others. */
function tidy<T extends Words>(words: T): T {
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== '' && value !== undefined)) as T;
}

export function withoutVariant(draft: Draft, { channel, locale }: Variant): Draft {
  if (!locale) {
    const { [channel]: _, ...overrides } = draft.overrides;
    return { ...draft, overrides };
  }
  const without = <T extends LocalizedWords>({ locales, ...words }: T) => {
    const { [locale]: _, ...others } = locales ?? {};
    return { ...words, ...(Object.keys(others).length > 0 && { locales: others }) };
  };
  if (!channel) return { ...draft, message: without(draft.message) as Draft['message'] };
  return { ...draft, overrides: { ...draft.overrides, [channel]: without(draft.overrides[channel] ?? {}) } };
}

/** As the service names the place of a mistake. */
export function fieldOf({ channel, locale }: Variant, field: keyof Words): string {
  return [channel ? `overrides/${channel}` : 'message', ...(locale ? [`locales/${locale}`] : []), field].join('/');
}
