/** Turns the stored state back into a document, in the style of a hand-written file. Applying it changes nothing. */

import {
  type NotificationEntry,
  type NounName,
  nouns,
  type OrganizationDocument,
  sectionsOf,
  type UserEntry,
} from './document.ts';
import { toProviderEntry } from './fields.ts';
import { Message, notification } from './nouns/notification.ts';
import { inSchemaOrder, toEntryFields } from './nouns/noun.ts';
import { Overrides } from './nouns/parts/message-texts.ts';
import type {
  ChannelState,
  ListState,
  NotificationState,
  OrganizationState,
  ProviderState,
  UserState,
} from './state.ts';

/** Sections that are written even when empty. For others, absent means the same in a file that creates the organization. */
const shownSections = new Set([
  ...['channels', 'users', 'projects', 'distribution_lists', 'applications', 'events', 'notifications'],
]);

/** Returns everything but secrets, which `hideSecrets` removes from a provider. */
export function toDocument(
  organization: OrganizationState,
  hideSecrets: (provider: ProviderState) => ProviderState,
): OrganizationDocument {
  const write = (noun: NounName | 'user' | 'list', state: object): object => {
    if (noun === 'user') return toUserEntry(state as UserState);
    if (noun === 'list') return { name: (state as ListState).name, members: (state as ListState).members ?? [] };
    if (noun === 'notification') return toNotificationEntry(state as NotificationState);
    const below = sectionsOf(noun).map(([section, child]) => {
      const states = (state as Record<string, object[] | undefined>)[section] ?? [];
      return [section, states.map(one => write(child, one))] as const;
    });
    const { providers = [] } = state as ChannelState;
    return {
      ...toEntryFields(nouns[noun], state),
      ...(noun === 'channel' && { providers: providers.map(one => toProviderEntry(hideSecrets(one))) }),
      ...Object.fromEntries(below.filter(([section, { length }]) => length > 0 || shownSections.has(section))),
    };
  };
  return write('organization', organization) as OrganizationDocument;
}

function toUserEntry(user: UserState): UserEntry {
  const { email, first_name = '', last_name = '', locked, locale, timezone, reach = {} } = user;
  const { custom_fields = {}, addresses = [] } = user;
  const own = { email, first_name, last_name, ...(locked && { locked }), ...(locale && { locale }) };
  const rules = Object.keys(reach).length > 0 && { reach };
  return { ...own, ...(timezone && { timezone }), ...rules, custom_fields, addresses };
}

export function toNotificationEntry({ content, ...state }: NotificationState): NotificationEntry {
  const entry = {
    // The channels of steps are in the steps.
    ...toEntryFields(notification, state.steps ? { ...state, channels: null } : state),
    message: inSchemaOrder(content.message, Message),
    ...(Object.keys(content.overrides).length > 0 && { overrides: inSchemaOrder(content.overrides, Overrides) }),
  };
  return entry as unknown as NotificationEntry;
}
