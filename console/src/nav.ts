/** Pages of the side navigation, in order. The palette and the shortcuts use the same list. */
import type { Icon } from '@tabler/icons-react';
import {
  IconActivityHeartbeat,
  IconAddressBook,
  IconAlarm,
  IconBellRinging,
  IconBolt,
  IconHistory,
  IconKey,
  IconLayout,
  IconListSearch,
  IconMailbox,
  IconMailOff,
  IconSend,
  IconSettings,
  IconTags,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import { to } from './paths.ts';
import { texts } from './texts/common.ts';

export interface NavEntry {
  label: string;
  icon: Icon;
  /** Permission without which the entry is hidden. */
  permission: string;
  /** With a project, returns the project's own page where there is one. */
  path: (org: string, prj?: string) => string;
  /** Second key of the shortcut "g …", unique among the entries. */
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
      { label: texts.escalations, icon: IconAlarm, permission: 'occurrence:read', path: to.escalations, key: 'x' },
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
      { label: texts.users, icon: IconUsers, permission: 'user:read', path: to.users, key: 'p' },
      { label: texts.lists, icon: IconAddressBook, permission: 'distributionlist:read', path: to.lists, key: 'l' },
      {
        label: texts.suppressions,
        icon: IconMailOff,
        permission: 'user:read',
        path: org => to.suppressions(org),
        key: 'u',
      },
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

/** Returns the entry of the current page: the one with the longest path that is a prefix of the URL. */
export function entryAt(pathname: string, org: string): NavEntry | undefined {
  const lengthOf = (entry: NavEntry) => {
    // A project's page belongs to the same entry: /o/acme/p/shop/events is Events, like /o/acme/events. An event's page
    // has its own path, /o/acme/p/shop/a/web/e/paid, and belongs to Events too.
    const plain = pathname.replace(/^(\/o\/[^/]+)\/p\/[^/]+/, '$1').replace(/^(\/o\/[^/]+)\/a\/.*/, '$1/events');
    const own = entry.path(org).split('?')[0]!;
    const root = own === to.overview(org);
    return plain === own || (!root && plain.startsWith(`${own}/`)) ? own.length : 0;
  };
  const found = navEntries.map(entry => ({ entry, length: lengthOf(entry) })).sort((a, b) => b.length - a.length)[0];
  return found && found.length > 0 ? found.entry : undefined;
}
