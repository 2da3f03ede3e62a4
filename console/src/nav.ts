/** The pages of the side navigation, in its order: one line each. The palette and the shortcuts read the same list. */
import type { Icon } from '@tabler/icons-react';
import {
  IconActivityHeartbeat,
  IconAddressBook,
  IconBellRinging,
  IconBolt,
  IconHistory,
  IconKey,
  IconLayout,
  IconListSearch,
  IconMailbox,
  IconSend,
  IconSettings,
  IconTags,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import { to } from './places.ts';
import { texts } from './texts/common.ts';

export interface NavEntry {
  label: string;
  icon: Icon;
  /** Whose absence hides the entry. */
  permission: string;
  /** With a project chosen, the page of that project where there is one. */
  path: (org: string, prj?: string) => string;
  /** The second key of "g …"; each its own. */
  key: string;
}

export const navigation: { title?: string; entries: NavEntry[] }[] = [
  {
    entries: [
      {
        label: texts.overview,
        icon: IconActivityHeartbeat,
        permission: 'occurrence:read',
        path: to.overview,
        key: 'o',
      },
      {
        label: texts.occurrences,
        icon: IconBellRinging,
        permission: 'occurrence:read',
        path: to.occurrences,
        key: 'c',
      },
      { label: texts.activity, icon: IconListSearch, permission: 'occurrence:read', path: to.activity, key: 'v' },
    ],
  },
  {
    title: texts.sending,
    entries: [
      { label: texts.events, icon: IconBolt, permission: 'event:list', path: to.events, key: 'e' },
      { label: texts.layouts, icon: IconLayout, permission: 'template:read', path: to.layouts, key: 'y' },
      { label: texts.channels, icon: IconSend, permission: 'channel:read', path: to.channels, key: 'h' },
      { label: texts.sandboxMailbox, icon: IconMailbox, permission: 'occurrence:read', path: to.sandbox, key: 'm' },
    ],
  },
  {
    title: texts.audience,
    entries: [
      { label: texts.people, icon: IconUsers, permission: 'user:read', path: to.people, key: 'p' },
      { label: texts.lists, icon: IconAddressBook, permission: 'distributionlist:read', path: to.lists, key: 'l' },
      { label: texts.categories, icon: IconTags, permission: 'category:read', path: to.categories, key: 'r' },
    ],
  },
  {
    title: texts.organization,
    entries: [
      { label: texts.keys, icon: IconKey, permission: 'key:read', path: to.keys, key: 'k' },
      { label: texts.webhooks, icon: IconWebhook, permission: 'webhook:read', path: to.webhooks, key: 'w' },
      { label: texts.auditLog, icon: IconHistory, permission: 'audit:read', path: to.audit, key: 'a' },
      { label: texts.team, icon: IconUsersGroup, permission: 'account:read', path: to.team, key: 't' },
      { label: texts.settings, icon: IconSettings, permission: 'organization:read', path: to.settings, key: 's' },
    ],
  },
];

export const navEntries = navigation.flatMap(group => group.entries);

/** The entry of the page one is on: the one with the longest path that the address begins with. */
export function entryAt(pathname: string, org: string): NavEntry | undefined {
  const lengthOf = (entry: NavEntry) => {
    // With and without a project: /o/acme/p/shop/events belongs to Events as /o/acme/events does.
    // An event's own page is at its path in the project, /o/acme/p/shop/a/web/e/paid.
    const plain = pathname.replace(/^(\/o\/[^/]+)\/p\/[^/]+/, '$1').replace(/^(\/o\/[^/]+)\/a\/.*/, '$1/events');
    const own = entry.path(org).split('?')[0]!;
    const root = own === to.overview(org);
    return plain === own || (!root && plain.startsWith(`${own}/`)) ? own.length : 0;
  };
  const found = navEntries.map(entry => ({ entry, length: lengthOf(entry) })).sort((a, b) => b.length - a.length)[0];
  return found && found.length > 0 ? found.entry : undefined;
}
