/**
 * The same organization in one comparable form, whether it was read from a file or from the database: defaults filled
 * in, addresses normalised, secrets apart. A part that is undefined is not managed and left as it is.
 */
import type {
  ApplicationEntry,
  ChannelEntry,
  EventEntry,
  ListEntry,
  NotificationEntry,
  OrganizationDocument,
  ProjectEntry,
  ProviderEntry,
  UserEntry,
} from './declarative.ts';
import type { JsonObject } from './json.ts';
import { addressKind, fold, isEmail, limits, normalizePhone } from './text.ts';

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
  providers?: ProviderState[];
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
  custom_fields?: JsonObject;
  /** Without the email itself, which every user has. */
  addresses?: AddressState[];
}

/** What is kept of a message, version by version. */
export interface MessageContent {
  message: NotificationEntry['message'];
  overrides: NonNullable<NotificationEntry['overrides']>;
}

export interface NotificationState extends Row {
  name: string;
  active: boolean;
  recipients: NotificationEntry['recipients'];
  channels: string[];
  filter: string | null;
  environs: string[] | null;
  extra_context: JsonObject;
  content: MessageContent;
}

export interface EventState extends Row {
  slug: string;
  name: string;
  active: boolean;
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
  lists?: ListState[];
  applications?: ApplicationState[];
}

export interface OrganizationState extends Row {
  slug: string;
  name: string;
  channels?: ChannelState[];
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
  const channel = ({ slug, name, type, enabled = true, providers }: ChannelEntry): ChannelState => ({
    slug,
    name,
    type,
    enabled,
    providers: providers?.map(readProvider),
  });
  const project = ({ slug, name, channels, distribution_lists, applications }: ProjectEntry): ProjectState => ({
    slug,
    name,
    channels: channels?.map(channel),
    lists: distribution_lists?.map(toList),
    applications: applications?.map(toApplication),
  });
  const lists = (document.projects ?? []).flatMap(({ distribution_lists = [] }) => distribution_lists);
  const emails = lists.flatMap(({ members = [] }) => members);
  return {
    slug: document.slug,
    name: document.name,
    channels: document.channels?.map(channel),
    users: document.users?.map(toUser),
    projects: document.projects?.map(project),
    memberEmails: new Map(emails.map(email => [fold(email), email])),
  };
}

function toUser({ addresses, custom_fields, ...user }: UserEntry): UserState {
  return {
    username: fold(user.email),
    ...user,
    custom_fields: custom_fields as JsonObject | undefined,
    addresses: addresses
      ?.map(({ name, value }) => ({ name, value: normalizeAddress(name, value) ?? value }))
      .filter(address => !isOwnEmail(user, address)),
  };
}

function toList({ name, members }: ListEntry): ListState {
  return { name, members: members?.map(fold) };
}

function toApplication({ slug, name, events }: ApplicationEntry): ApplicationState {
  return { slug, name, events: events?.map(toEvent) };
}

function toEvent({ slug, name, active = true, notifications }: EventEntry): EventState {
  return { slug, name, active, notifications: notifications?.map(toNotification) };
}

function toNotification(entry: NotificationEntry): NotificationState {
  return {
    name: entry.name,
    active: entry.active ?? true,
    recipients: entry.recipients,
    channels: entry.channels,
    filter: entry.filter ?? null,
    environs: entry.environs ?? null,
    extra_context: (entry.extra_context ?? {}) as JsonObject,
    content: { message: entry.message, overrides: entry.overrides ?? {} },
  };
}

/** The address that comes with every user, and is not written down a second time. */
export function isOwnEmail(user: { email: string }, { name, value }: AddressState): boolean {
  return name === 'email' && fold(value) === fold(user.email);
}

/** The value as it is kept, or undefined when it cannot be an address of its kind. */
export function normalizeAddress(name: string, value: string): string | undefined {
  switch (addressKind(name)) {
    case 'email':
      return isEmail(value) ? value : undefined;
    case 'sms':
      return normalizePhone(value);
    default:
      return value.length <= limits.address ? value : undefined;
  }
}
