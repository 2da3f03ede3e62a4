/**
 * An organization in a comparable form, whether read from a file or from the database: with defaults filled in,
 * addresses normalized and secrets separated. An undefined part is not managed and stays unchanged.
 */

import type { JsonObject } from '../json.ts';
import { normalizeReach, type Reach } from '../oncall/reach.ts';
import { fold, normalizeLocale, readAddress } from '../text/text.ts';
import {
  type EntryOf,
  type ListEntry,
  type NounFields,
  type NounName,
  nouns,
  type OrganizationDocument,
  type SectionsOf,
  sectionsOf,
  type UserEntry,
} from './document.ts';
import type { ProviderEntry } from './nouns/channel.ts';
import { type StoredMessage, toContent } from './nouns/notification.ts';
import { toFields } from './nouns/noun.ts';

/** `id` is the row's id; objects that are only in a file have none yet. */
interface Row {
  id?: number;
}

export interface ProviderState {
  use: string;
  settings: JsonObject;
  secrets: JsonObject;
}

export interface AddressState {
  name: string;
  value: string;
  /** Undefined: it is not managed and stays unchanged. */
  verified?: boolean;
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
  /** Empty: none. */
  reach?: Reach;
  custom_fields?: JsonObject;
  /** The user's own email address is implied, and only listed if this says whether it is verified. */
  addresses?: AddressState[];
}

export interface ListState extends Row {
  name: string;
  /** Usernames. */
  members?: string[];
}

/** What nouns have besides their fields and sections. */
interface MoreState {
  organization: {
    /** List members who are not users yet and will be created, if the file does not manage users. */
    newUsers?: UserState[];
    /** Maps the usernames of list members to their emails as spelled in the file. */
    memberEmails?: Map<string, string>;
  };
  channel: { providers?: ProviderState[] };
  /** Undefined: the stored secret is kept. */
  webhook: { secret?: string };
  notification: { content: StoredMessage };
  /** Undefined: the stored one is kept. An empty secret: there is none. */
  source: { token?: string; secret?: string; update_secret?: string };
  /** Undefined: the stored one is kept. */
  heartbeat: { token?: string };
  /** Undefined: the stored one is kept. Empty: there is none. */
  watch: { url?: string };
}

/** The states of what belongs to the audience, and is not declared. */
interface AudienceStates {
  user: UserState;
  address: AddressState & { username: string };
  list: ListState;
  member: { username: string };
}

type StateOf<N> = N extends NounName
  ? Row &
      NounFields<N> &
      (N extends keyof MoreState ? MoreState[N] : unknown) & {
        -readonly [S in keyof SectionsOf<N>]?: StateOf<SectionsOf<N>[S]>[];
      }
  : N extends keyof AudienceStates
    ? AudienceStates[N]
    : never;

export type StateByNoun = { [N in NounName | keyof AudienceStates]: StateOf<N> };
export type ChannelState = StateOf<'channel'>;
export type NotificationState = StateOf<'notification'>;
export type ProjectState = StateOf<'project'>;
export type OrganizationState = StateOf<'organization'>;

/** Separates the secrets of a provider entry from its settings. */
type ReadProvider = (entry: ProviderEntry) => ProviderState;

/** Expects a valid document. */
export function toState(document: OrganizationDocument, readProvider: ReadProvider): OrganizationState {
  const readMore: { [noun in NounName]?: (entry: never) => object } = {
    channel: ({ providers }: EntryOf<'channel'>) => ({ providers: providers?.map(readProvider) }),
    webhook: ({ secret }: EntryOf<'webhook'>) => ({ secret }),
    notification: (entry: EntryOf<'notification'>) => ({ content: toContent(entry) }),
    source: ({ token, secret, update_secret }: EntryOf<'source'>) => ({ token, secret, update_secret }),
    heartbeat: ({ token }: EntryOf<'heartbeat'>) => ({ token }),
    watch: ({ url }: EntryOf<'watch'>) => ({ url }),
  };
  const read = (noun: NounName | 'user' | 'list', entry: object): object => {
    if (noun === 'user') return toUser(entry as UserEntry);
    if (noun === 'list') return toList(entry as ListEntry);
    const below = sectionsOf(noun).map(([section, child]) => {
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

function toUser({ addresses, custom_fields, locale, reach, ...user }: UserEntry): UserState {
  return {
    username: fold(user.email),
    ...user,
    locale: locale === undefined ? undefined : (normalizeLocale(locale) ?? ''),
    reach: reach && normalizeReach(reach),
    custom_fields: custom_fields as JsonObject | undefined,
    addresses: addresses
      ?.map(({ name, value, verified }) => ({ name, value, verified, ...readAddress(name, value) }))
      .map(({ name, value, verified }) => ({ name, value, ...(verified !== undefined && { verified }) }))
      .filter(address => isListed(user, address)),
  };
}

function toList({ name, members }: ListEntry): ListState {
  return { name: name.trim(), members: members?.map(fold) };
}

/** Returns whether the state of the user lists the address. */
export function isListed(user: { email: string }, address: AddressState): boolean {
  return address.verified !== undefined || !isOwnEmail(user, address);
}

/** Returns whether the address is the user's own email, which every user has. */
export function isOwnEmail(user: { email: string }, { name, value }: AddressState): boolean {
  return name === 'email' && fold(value) === fold(user.email);
}
