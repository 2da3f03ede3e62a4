/**
 * An organization in a comparable form, whether read from a file or from the database: with defaults filled in,
 * addresses normalized and secrets separated. An undefined part is not managed and stays unchanged.
 */

import type { Digest } from '../decision/digest.ts';
import { type Category, generalSlug } from '../decision/preferences.ts';
import type { QuietHours } from '../decision/quiet-hours.ts';
import { channelsOf, type Step } from '../decision/steps.ts';
import type { Throttle } from '../decision/throttle.ts';
import { reputationDefaults } from '../feedback/reputation.ts';
import type { Retry } from '../history/retries.ts';
import type { JsonObject } from '../json.ts';
import { fold, normalizeLocale, readAddress } from '../text/text.ts';
import type { Priority } from '../trigger.ts';
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
import { type WebhookEntry, webhookTypes } from './webhooks.ts';

/** `id` is the row's id; objects that are only in a file have none yet. */
interface Row {
  id?: number;
}

export interface ProviderState {
  use: string;
  settings: JsonObject;
  secrets: JsonObject;
}

/** A channel without its providers, as the database and the API have it too. */
export interface ChannelFields extends GuardFields {
  slug: string;
  name: string;
  type: string;
  enabled: boolean;
  on_unknown: 'resend' | 'hold';
  rate_per_second: number | null;
  concurrency: number | null;
  retry: Retry | null;
}

/** The reputation guard of an email channel; see core/feedback/reputation.ts. */
export interface GuardFields {
  reputation_guard: boolean;
  max_bounce_percent: number;
  max_complaint_percent: number;
}

export interface ChannelState extends Row, ChannelFields {
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
  /** Undefined: the stored secret is kept. */
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
  /** Empty: none. */
  timezone?: string;
  custom_fields?: JsonObject;
  /** Without the user's own email address, which is implied. */
  addresses?: AddressState[];
}

/** Content of a message version. */
export interface StoredMessage {
  message: NotificationEntry['message'];
  overrides: NonNullable<NotificationEntry['overrides']>;
}

/** A notification without its message, as the database and the API have it too. */
export interface NotificationFields {
  name: string;
  active: boolean;
  recipients: NotificationEntry['recipients'];
  /** Slugs or types. With steps: the channels of all steps. */
  channels: string[];
  steps: Step[] | null;
  give_up_after: string | null;
  notify_resolved: boolean;
  filter: string | null;
  environs: string[] | null;
  extra_context: JsonObject;
  /** Null: not set. */
  priority: Priority | null;
  throttle: Throttle | null;
  digest: Digest | null;
}

export interface NotificationState extends Row, NotificationFields {
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
  max_per_day?: number | null;
  channels?: ChannelState[];
  layouts?: LayoutState[];
  categories?: CategoryState[];
  webhooks?: WebhookState[];
  users?: UserState[];
  /** List members who are not users yet and will be created, if the file does not manage users. */
  newUsers?: UserState[];
  /** Maps the usernames of list members to their emails as spelled in the file. */
  memberEmails?: Map<string, string>;
  projects?: ProjectState[];
}

/** Separates the secrets of a provider entry from its settings. */
type ReadProvider = (entry: ProviderEntry) => ProviderState;

/** Expects a valid document. */
export function toState(document: OrganizationDocument, readProvider: ReadProvider): OrganizationState {
  const channel = ({ slug, name, type, enabled = true, providers, ...limits }: ChannelEntry): ChannelState => ({
    slug,
    name,
    type,
    enabled,
    on_unknown: limits.on_unknown ?? 'resend',
    rate_per_second: limits.rate_per_second ?? null,
    concurrency: limits.concurrency ?? null,
    retry: limits.retry ?? null,
    reputation_guard: limits.reputation_guard ?? true,
    max_bounce_percent: limits.max_bounce_percent ?? reputationDefaults.max_bounce_percent,
    max_complaint_percent: limits.max_complaint_percent ?? reputationDefaults.max_complaint_percent,
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
    max_per_day: document.max_per_day,
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
  const translated = Object.entries(entry.locales ?? {}).map(([locale, text]) => [
    normalizeLocale(locale) ?? locale,
    text,
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
    track: entry.track ?? false,
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

/** Trims the list name, as stored names are. */
function toRecipients(recipients: NotificationEntry['recipients']): NotificationEntry['recipients'] {
  return 'list' in recipients && recipients.list !== undefined
    ? { ...recipients, list: recipients.list.trim() }
    : recipients;
}

/** Leaves out default values and normalizes language tags. */
function toContent({ message, overrides = {} }: NotificationEntry): StoredMessage {
  const { layout, strict, avatar, actions = [], attachments = [] } = message;
  const { body = '', ...text } = toVariants(message);
  return {
    message: {
      ...text,
      body,
      ...(layout !== undefined && { layout }),
      ...(strict && { strict }),
      ...(avatar !== undefined && { avatar }),
      ...(actions.length > 0 && { actions }),
      ...(attachments.length > 0 && { attachments }),
    },
    overrides: Object.fromEntries(Object.entries(overrides).map(([name, text]) => [name, toVariants(text)])),
  };
}

type Variants = StoredMessage['overrides'][string];

function toVariants({ subject, body, locales = {} }: Variants): Variants {
  const translated = Object.entries(locales).map(([locale, text]) => [normalizeLocale(locale) ?? locale, text]);
  return {
    ...(subject !== undefined && { subject }),
    ...(body !== undefined && { body }),
    ...(translated.length > 0 && { locales: Object.fromEntries(translated) }),
  };
}

/** Returns whether the address is the user's own email, which is implied and not listed. */
export function isOwnEmail(user: { email: string }, { name, value }: AddressState): boolean {
  return name === 'email' && fold(value) === fold(user.email);
}
