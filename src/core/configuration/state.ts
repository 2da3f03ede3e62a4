/**
 * The same organization in one comparable form, whether it was read from a file or from the database: defaults filled
 * in, addresses normalised, secrets apart. A part that is undefined is not managed and left as it is.
 */

import type { Digest } from '../digest.ts';
import type { JsonObject } from '../json.ts';
import { type Category, generalSlug } from '../preferences.ts';
import type { QuietHours } from '../quiet-hours.ts';
import { channelsOf, type Step } from '../steps.ts';
import { fold, normalizeLocale, readAddress } from '../text.ts';
import type { Throttle } from '../throttle.ts';
import type { Priority } from '../trigger.ts';
import { type WebhookEntry, webhookTypes } from '../webhooks.ts';
import type {
  ApplicationEntry,
  CategoryEntry,
  ChannelEntry,
  EventEntry,
  LayoutEntry,
  ListEntry,
  NotificationEntry,
  OrganizationDocument,
  ProjectEntry,
  ProviderEntry,
  UserEntry,
} from './document.ts';

/** `id` is that of the row; what is only in a file has none yet. */
interface Row {
  id?: number;
}

export interface ProviderState {
  use: string;
  settings: JsonObject;
  secrets: JsonObject;
}

export interface ChannelState extends Row {
  slug: string;
  name: string;
  type: string;
  enabled: boolean;
  on_unknown: 'resend' | 'hold';
  rate_per_second: number | null;
  concurrency: number | null;
  providers?: ProviderState[];
}

export interface LayoutState extends Row {
  name: string;
  body: string;
}

export interface CategoryState extends Row, Category {}

export interface WebhookState extends Row {
  slug: string;
  name: string;
  url: string;
  types: string[];
  enabled: boolean;
  /** Undefined where the file leaves it as it is. */
  secret?: string;
}

export interface AddressState {
  name: string;
  value: string;
}

export interface UserState extends Row {
  username: string;
  email: string;
  first_name?: string;
  last_name?: string;
  locked?: boolean;
  /** Empty: none. */
  locale?: string;
  /** The same. */
  timezone?: string;
  custom_fields?: JsonObject;
  /** Without the email itself, which every user has. */
  addresses?: AddressState[];
}

/** What is kept of a message, version by version. */
export interface StoredMessage {
  message: NotificationEntry['message'];
  overrides: NonNullable<NotificationEntry['overrides']>;
}

export interface NotificationState extends Row {
  name: string;
  active: boolean;
  recipients: NotificationEntry['recipients'];
  /** Slugs or types; of all steps, where it has some. */
  channels: string[];
  steps: Step[] | null;
  give_up_after: string | null;
  notify_resolved: boolean;
  filter: string | null;
  environs: string[] | null;
  extra_context: JsonObject;
  priority: Priority | null;
  throttle: Throttle | null;
  digest: Digest | null;
  content: StoredMessage;
}

export interface EventState extends Row {
  slug: string;
  name: string;
  active: boolean;
  /** Slug; null: general. */
  category: string | null;
  /** Null: none. */
  context_schema?: JsonObject | null;
  notifications?: NotificationState[];
}

export interface ApplicationState extends Row {
  slug: string;
  name: string;
  events?: EventState[];
}

export interface ListState extends Row {
  name: string;
  /** Usernames. */
  members?: string[];
}

export interface ProjectState extends Row {
  slug: string;
  name: string;
  channels?: ChannelState[];
  layouts?: LayoutState[];
  lists?: ListState[];
  applications?: ApplicationState[];
}

export interface OrganizationState extends Row {
  slug: string;
  name: string;
  retention_days?: number;
  max_key_lifetime_days?: number | null;
  brand_color?: string | null;
  logo_url?: string | null;
  timezone?: string | null;
  quiet_hours?: QuietHours | null;
  most_per_day?: number | null;
  channels?: ChannelState[];
  layouts?: LayoutState[];
  categories?: CategoryState[];
  webhooks?: WebhookState[];
  users?: UserState[];
  /** Members of lists who are no users yet, where the file leaves users alone: they become users. */
  newcomers?: UserState[];
  /** Username to email, as the members of lists are written in the file. */
  memberEmails?: Map<string, string>;
  projects?: ProjectState[];
}

/** Takes what is secret out of an entry. */
export type ReadProvider = (entry: ProviderEntry) => ProviderState;

/** Of a document without mistakes. */
export function toState(document: OrganizationDocument, readProvider: ReadProvider): OrganizationState {
  const channel = ({ slug, name, type, enabled = true, providers, ...limits }: ChannelEntry): ChannelState => ({
    slug,
    name,
    type,
    enabled,
    on_unknown: limits.on_unknown ?? 'resend',
    rate_per_second: limits.rate_per_second ?? null,
    concurrency: limits.concurrency ?? null,
    providers: providers?.map(readProvider),
  });
  const project = (entry: ProjectEntry): ProjectState => ({
    slug: entry.slug,
    name: entry.name,
    channels: entry.channels?.map(channel),
    layouts: entry.layouts?.map(toLayout),
    lists: entry.distribution_lists?.map(toList),
    applications: entry.applications?.map(toApplication),
  });
  const lists = (document.projects ?? []).flatMap(({ distribution_lists = [] }) => distribution_lists);
  const emails = lists.flatMap(({ members = [] }) => members);
  return {
    slug: document.slug,
    name: document.name,
    retention_days: document.retention_days,
    max_key_lifetime_days: document.max_key_lifetime_days,
    brand_color: document.brand_color,
    logo_url: document.logo_url,
    timezone: document.timezone,
    quiet_hours: document.quiet_hours,
    most_per_day: document.most_per_day,
    channels: document.channels?.map(channel),
    layouts: document.layouts?.map(toLayout),
    categories: document.categories?.map(toCategory),
    webhooks: document.webhooks?.map(toWebhook),
    users: document.users?.map(toUser),
    projects: document.projects?.map(project),
    memberEmails: new Map(emails.map(email => [fold(email), email])),
  };
}

function toLayout({ name, body }: LayoutEntry): LayoutState {
  return { name, body };
}

function toCategory(entry: CategoryEntry): CategoryState {
  const translated = Object.entries(entry.locales ?? {}).map(([locale, words]) => [
    normalizeLocale(locale) ?? locale,
    words,
  ]);
  return {
    slug: entry.slug,
    name: entry.name,
    description: entry.description ?? '',
    kind: entry.kind ?? 'transactional',
    default: entry.default ?? true,
    channel_defaults: entry.channel_defaults ?? {},
    channels: entry.channels ?? null,
    quiet_hours: entry.quiet_hours ?? 'respect',
    locales: Object.fromEntries(translated),
  };
}

function toWebhook({ slug, name, url, types, enabled = true, secret }: WebhookEntry): WebhookState {
  return { slug, name, url, types: webhookTypes.filter(type => types.includes(type)), enabled, secret };
}

function toUser({ addresses, custom_fields, locale, ...user }: UserEntry): UserState {
  return {
    username: fold(user.email),
    ...user,
    locale: locale === undefined ? undefined : (normalizeLocale(locale) ?? ''),
    custom_fields: custom_fields as JsonObject | undefined,
    addresses: addresses
      ?.map(({ name, value }) => ({ name, value, ...readAddress(name, value) }))
      .map(({ name, value }) => ({ name, value }))
      .filter(address => !isOwnEmail(user, address)),
  };
}

function toList({ name, members }: ListEntry): ListState {
  return { name: name.trim(), members: members?.map(fold) };
}

function toApplication({ slug, name, events }: ApplicationEntry): ApplicationState {
  return { slug, name, events: events?.map(toEvent) };
}

function toEvent({ category = generalSlug, notifications, ...own }: EventEntry): EventState {
  const { slug, name, active = true, context_schema } = own;
  const named = category === generalSlug ? null : category;
  return { slug, name, active, category: named, context_schema, notifications: notifications?.map(toNotification) };
}

function toNotification(entry: NotificationEntry): NotificationState {
  return {
    name: entry.name,
    active: entry.active ?? true,
    recipients: toRecipients(entry.recipients),
    channels: entry.steps ? channelsOf(entry.steps) : (entry.channels ?? []),
    steps: entry.steps?.map(toStep) ?? null,
    give_up_after: entry.give_up_after ?? null,
    notify_resolved: entry.notify_resolved ?? false,
    filter: entry.filter ?? null,
    environs: entry.environs ?? null,
    extra_context: (entry.extra_context ?? {}) as JsonObject,
    priority: entry.priority ?? null,
    throttle: entry.throttle ?? null,
    digest: entry.digest ?? null,
    content: toContent(entry),
  };
}

function toStep({ recipients, ...step }: Step): Step {
  return recipients ? { ...step, recipients: { list: recipients.list.trim() } } : step;
}

/** A list is named as it is kept: without spaces around it. */
function toRecipients(recipients: NotificationEntry['recipients']): NotificationEntry['recipients'] {
  return 'list' in recipients && recipients.list !== undefined
    ? { ...recipients, list: recipients.list.trim() }
    : recipients;
}

/** Whatever is at its default is left out, and languages are written as a recipient's is. */
function toContent({ message, overrides = {} }: NotificationEntry): StoredMessage {
  const { layout, strict, avatar, actions = [] } = message;
  const { body = '', ...words } = toVariants(message);
  return {
    message: {
      ...words,
      body,
      ...(layout !== undefined && { layout }),
      ...(strict && { strict }),
      ...(avatar !== undefined && { avatar }),
      ...(actions.length > 0 && { actions }),
    },
    overrides: Object.fromEntries(Object.entries(overrides).map(([name, words]) => [name, toVariants(words)])),
  };
}

type Variants = StoredMessage['overrides'][string];

function toVariants({ subject, body, locales = {} }: Variants): Variants {
  const translated = Object.entries(locales).map(([locale, words]) => [normalizeLocale(locale) ?? locale, words]);
  return {
    ...(subject !== undefined && { subject }),
    ...(body !== undefined && { body }),
    ...(translated.length > 0 && { locales: Object.fromEntries(translated) }),
  };
}

/** The address that comes with every user, and is not written down a second time. */
export function isOwnEmail(user: { email: string }, { name, value }: AddressState): boolean {
  return name === 'email' && fold(value) === fold(user.email);
}
