/**
 * An organization in a comparable form, whether read from a file or from the database: with defaults filled in,
 * addresses normalized and secrets separated. An undefined part is not managed and stays unchanged.
 */

import type { JsonObject } from '../json.ts';
import { fold, normalizeLocale, readAddress } from '../text/text.ts';
import {
  type ChannelEntry,
  type ListEntry,
  type NotificationEntry,
  type NounName,
  nouns,
  type OrganizationDocument,
  sections,
  type UserEntry,
  type WebhookEntry,
} from './document.ts';
import type { Category } from './nouns/category.ts';
import type { ChannelFields, ProviderEntry } from './nouns/channel.ts';
import type { EventFields } from './nouns/event.ts';
import type { LayoutFields } from './nouns/layout.ts';
import { type NotificationFields, type StoredMessage, toContent } from './nouns/notification.ts';
import { toFields } from './nouns/noun.ts';
import type { OrganizationFields } from './nouns/organization.ts';
import type { WebhookFields } from './nouns/webhook.ts';

/** `id` is the row's id; objects that are only in a file have none yet. */
interface Row {
  id?: number;
}

export interface ProviderState {
  use: string;
  settings: JsonObject;
  secrets: JsonObject;
}

export interface ChannelState extends Row, ChannelFields {
  providers?: ProviderState[];
}

export interface LayoutState extends Row, LayoutFields {}

export interface CategoryState extends Row, Category {}

export interface WebhookState extends Row, WebhookFields {
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

export interface NotificationState extends Row, NotificationFields {
  content: StoredMessage;
}

export interface EventState extends Row, EventFields {
  notifications?: NotificationState[];
}

interface NamedState extends Row {
  slug: string;
  name: string;
}

export interface ApplicationState extends NamedState {
  events?: EventState[];
}

export interface ListState extends Row {
  name: string;
  /** Usernames. */
  members?: string[];
}

export interface ProjectState extends NamedState {
  channels?: ChannelState[];
  layouts?: LayoutState[];
  distribution_lists?: ListState[];
  applications?: ApplicationState[];
}

export interface OrganizationState extends Row, OrganizationFields {
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

export interface StateByNoun {
  organization: OrganizationState;
  channel: ChannelState;
  layout: LayoutState;
  category: CategoryState;
  webhook: WebhookState;
  user: UserState;
  address: AddressState & { username: string };
  project: ProjectState;
  list: ListState;
  member: { username: string };
  application: ApplicationState;
  event: EventState;
  notification: NotificationState;
}
/** Separates the secrets of a provider entry from its settings. */
type ReadProvider = (entry: ProviderEntry) => ProviderState;

/** Expects a valid document. */
export function toState(document: OrganizationDocument, readProvider: ReadProvider): OrganizationState {
  const readMore: { [noun in NounName]?: (entry: never) => object } = {
    channel: ({ providers }: ChannelEntry) => ({ providers: providers?.map(readProvider) }),
    webhook: ({ secret }: WebhookEntry) => ({ secret }),
    notification: (entry: NotificationEntry) => ({ content: toContent(entry) }),
  };
  const read = (noun: NounName | 'user' | 'list', entry: object): object => {
    if (noun === 'user') return toUser(entry as UserEntry);
    if (noun === 'list') return toList(entry as ListEntry);
    const below = Object.entries(sections[noun] ?? {}).map(([section, child]) => {
      const entries = (entry as Record<string, object[] | undefined>)[section];
      return [section, entries?.map(one => read(child, one))];
    });
    return { ...toFields(nouns[noun], entry), ...readMore[noun]?.(entry as never), ...Object.fromEntries(below) };
  };
  const lists = (document.projects ?? []).flatMap(({ distribution_lists = [] }) => distribution_lists);
  const emails = lists.flatMap(({ members = [] }) => members);
  return {
    ...(read('organization', document) as OrganizationState),
    memberEmails: new Map(emails.map(email => [fold(email), email])),
  };
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

/** Returns whether the address is the user's own email, which is implied and not listed. */
export function isOwnEmail(user: { email: string }, { name, value }: AddressState): boolean {
  return name === 'email' && fold(value) === fold(user.email);
}
