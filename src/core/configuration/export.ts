/** Turns the stored state back into a document, in the style of a hand-written file. Applying it changes nothing. */

import { Digest } from '../decision/digest.ts';
import { QuietHours } from '../decision/quiet-hours.ts';
import { Step } from '../decision/steps.ts';
import { Throttle } from '../decision/throttle.ts';
import { reputationDefaults } from '../feedback/reputation.ts';
import { AttachmentEntry } from '../message/attachments.ts';
import { ActionEntry } from '../message/inbox-actions.ts';
import type {
  CategoryEntry,
  ChannelEntry,
  EventEntry,
  LayoutEntry,
  NotificationEntry,
  OrganizationDocument,
  ProjectEntry,
  UserEntry,
} from './document.ts';
import { toProviderEntry } from './fields.ts';
import type {
  CategoryState,
  ChannelState,
  EventState,
  LayoutState,
  NotificationState,
  OrganizationState,
  ProjectState,
  ProviderState,
  UserState,
  WebhookState,
} from './state.ts';
import type { WebhookEntry } from './webhooks.ts';

/** Default retention of history, in days. */
const defaultRetention = 90;

/** Returns everything but secrets, which `hideSecrets` removes from a provider. */
export function toDocument(
  organization: OrganizationState,
  hideSecrets: (provider: ProviderState) => ProviderState,
): OrganizationDocument {
  const channel = (state: ChannelState): ChannelEntry => {
    const { slug, name, type, enabled, on_unknown, rate_per_second, concurrency, retry, providers = [] } = state;
    const { reputation_guard, max_bounce_percent, max_complaint_percent } = state;
    return {
      slug,
      name,
      type: type as ChannelEntry['type'],
      enabled,
      ...(on_unknown !== 'resend' && { on_unknown }),
      ...(rate_per_second !== null && { rate_per_second }),
      ...(concurrency !== null && { concurrency }),
      ...(retry && { retry }),
      ...(!reputation_guard && { reputation_guard }),
      ...(max_bounce_percent !== reputationDefaults.max_bounce_percent && { max_bounce_percent }),
      ...(max_complaint_percent !== reputationDefaults.max_complaint_percent && { max_complaint_percent }),
      providers: providers.map(provider => toProviderEntry(hideSecrets(provider))),
    };
  };
  const project = (state: ProjectState): ProjectEntry => {
    const { slug, name, channels = [], layouts, lists = [], applications = [] } = state;
    return {
      slug,
      name,
      channels: channels.map(channel),
      ...toLayouts(layouts),
      distribution_lists: lists.map(({ name, members = [] }) => ({ name, members })),
      applications: applications.map(({ slug, name, events = [] }) => ({
        slug,
        name,
        events: events.map(toEventEntry),
      })),
    };
  };
  const { retention_days = defaultRetention, max_key_lifetime_days = null, brand_color, logo_url } = organization;
  const { timezone, quiet_hours, max_per_day } = organization;
  const {
    slug,
    name,
    channels = [],
    layouts,
    categories = [],
    webhooks = [],
    users = [],
    projects = [],
  } = organization;
  return {
    slug,
    name,
    ...(retention_days !== defaultRetention && { retention_days }),
    ...(max_key_lifetime_days !== null && { max_key_lifetime_days }),
    ...(brand_color && { brand_color }),
    ...(logo_url && { logo_url }),
    ...(timezone && { timezone }),
    ...(quiet_hours && { quiet_hours: inSchemaOrder(quiet_hours, QuietHours) }),
    ...(max_per_day && { max_per_day }),
    channels: channels.map(channel),
    ...toLayouts(layouts),
    ...(categories.length > 0 && { categories: categories.map(toCategoryEntry) }),
    ...(webhooks.length > 0 && { webhooks: webhooks.map(toWebhookEntry) }),
    users: users.map(toUserEntry),
    projects: projects.map(project),
  };
}

function toLayouts(layouts: LayoutState[] = []): { layouts?: LayoutEntry[] } {
  return layouts.length > 0 ? { layouts: layouts.map(({ name, body }) => ({ name, body })) } : {};
}

/** Returns the entry without fields that have their default value. */
export function toCategoryEntry(category: CategoryState): CategoryEntry {
  const { slug, name, description, kind, channel_defaults, channels, quiet_hours, track, locales } = category;
  return {
    slug,
    name,
    ...(description !== '' && { description }),
    kind,
    ...(!category.default && { default: false }),
    ...(Object.keys(channel_defaults).length > 0 && { channel_defaults }),
    ...(channels !== null && { channels: channels as CategoryEntry['channels'] }),
    ...(quiet_hours !== 'respect' && { quiet_hours }),
    ...(track && { track }),
    ...(Object.keys(locales).length > 0 && { locales }),
  };
}

/** Returns the entry without its secret. */
export function toWebhookEntry({ slug, name, url, types, enabled }: WebhookState): WebhookEntry {
  return { slug, name, url, types: types as WebhookEntry['types'], ...(!enabled && { enabled }) };
}

function toUserEntry(user: UserState): UserEntry {
  const { email, first_name = '', last_name = '', locked, locale, timezone, custom_fields = {}, addresses = [] } = user;
  const own = { email, first_name, last_name, ...(locked && { locked }), ...(locale && { locale }) };
  return { ...own, ...(timezone && { timezone }), custom_fields, addresses };
}

function toEventEntry({ slug, name, active, category, context_schema, notifications = [] }: EventState): EventEntry {
  const own = { slug, name, active, ...(category !== null && { category }), ...(context_schema && { context_schema }) };
  return { ...own, notifications: notifications.map(toNotificationEntry) };
}

export function toNotificationEntry(notification: NotificationState): NotificationEntry {
  const { name, active, recipients, channels, filter, environs, extra_context, priority } = notification;
  const { throttle, digest, content, steps, give_up_after, notify_resolved } = notification;
  return {
    name,
    ...(!active && { active }),
    recipients,
    ...(steps === null ? { channels } : { steps: steps.map(step => inSchemaOrder(step, Step)) }),
    ...(give_up_after !== null && { give_up_after }),
    ...(notify_resolved && { notify_resolved }),
    ...(filter !== null && { filter }),
    ...(environs !== null && { environs }),
    ...(Object.keys(extra_context).length > 0 && { extra_context }),
    ...(priority !== null && { priority }),
    ...(throttle !== null && { throttle: inSchemaOrder(throttle, Throttle) }),
    ...(digest !== null && { digest: inSchemaOrder(digest, Digest) }),
    message: toMessage(content.message),
    ...(Object.keys(content.overrides).length > 0 && { overrides: mapValues(content.overrides, toVariants) }),
  };
}

/** Rebuilds the message field by field, because jsonb does not keep the order of keys. */
function toMessage({
  body,
  layout,
  strict,
  avatar,
  actions,
  attachments,
  ...text
}: NotificationEntry['message']): NotificationEntry['message'] {
  const { subject, locales } = toVariants(text);
  return {
    ...(subject !== undefined && { subject }),
    body,
    ...(layout !== undefined && { layout }),
    ...(strict && { strict }),
    ...(avatar !== undefined && { avatar }),
    ...(actions && { actions: actions.map(action => inSchemaOrder(action, ActionEntry)) }),
    ...(attachments && { attachments: attachments.map(one => inSchemaOrder(one, AttachmentEntry)) }),
    ...(locales && { locales }),
  };
}

type Variants = NonNullable<NotificationEntry['overrides']>[string];
type LocalizedText = NonNullable<Variants['locales']>[string];

function toVariants({ locales, ...text }: Variants): Variants {
  return { ...toLocalizedText(text), ...(locales && { locales: mapValues(locales, toLocalizedText) }) };
}

function toLocalizedText({ subject, body }: LocalizedText): LocalizedText {
  return { ...(subject !== undefined && { subject }), ...(body !== undefined && { body }) };
}

function mapValues<T>(values: Record<string, T>, map: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}

/** Returns the fields in the order of the schema, because jsonb does not keep the order of keys. */
function inSchemaOrder<Value extends object>(value: Value, { properties }: { properties: object }): Value {
  const names = Object.keys(properties) as (keyof Value)[];
  return Object.fromEntries(names.filter(name => name in value).map(name => [name, value[name]])) as Value;
}
