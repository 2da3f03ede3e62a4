/**
 * The areas of the console, in the order of the side navigation: their pages, what the palette finds in them and what it
 * offers to create. The routes, the navigation, the palette and the shortcuts are made from this list.
 */
import type { Icon } from '@tabler/icons-react';
import {
  IconActivityHeartbeat,
  IconAddressBook,
  IconAlarm,
  IconAntenna,
  IconBellOff,
  IconBellRinging,
  IconBolt,
  IconCalendarUser,
  IconDeviceMobile,
  IconGauge,
  IconHeartbeat,
  IconHistory,
  IconKey,
  IconLayout,
  IconListSearch,
  IconMailbox,
  IconMailOff,
  IconSend,
  IconSettings,
  IconTags,
  IconUserPlus,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import { to } from './paths.ts';
import { type ListPath, type Row, read } from './queries.ts';
import { texts } from './texts/common.ts';

/** Each page is loaded when it is first opened. */
type Load = () => Promise<{ default: React.ComponentType }>;

export interface Area {
  label: string;
  icon: Icon;
  /** Permission without which the area is hidden. */
  permission: string;
  /** Second key of the shortcut "g …", unique among the areas. */
  key: string;
  /** Path below the organization. The pages of some areas are also below a project. */
  path: string;
  isOfProject?: true;
  page: Load;
  /** Further pages, by their paths. */
  pages?: Record<string, Load>;
  /** Path with a project, if it is not the project's own page. */
  pathIn?: (org: string, prj: string | undefined) => string;
  create?: Creation[];
  find?: Collection;
}

/** An action of the palette. */
interface Creation {
  label: string;
  permission: string;
  icon?: Icon;
  path: (org: string, prj: string | undefined) => string;
}

interface Found {
  id: string;
  label: string;
  description: string;
  path: string;
}

/** A small collection that the palette loads once and searches itself. */
interface Collection {
  query: (org: string) => {
    queryKey: readonly unknown[];
    queryFn: (context: { signal: AbortSignal }) => Promise<unknown>;
  };
  show: (org: string, rows: unknown) => Found[];
}

function collection<P extends ListPath>(path: P, show: (org: string, row: Row<P>) => Found): Collection {
  return {
    query: org => read(path, { path: { org } } as never),
    show: (org, rows) => (rows as Row<P>[]).map(row => show(org, row)),
  };
}

/** Opens the dialog of the area's page. */
const dialog = (path: string) => `${path}?new`;

export const navigation: { title?: string; areas: Area[] }[] = [
  {
    areas: [
      {
        label: texts.overview,
        icon: IconActivityHeartbeat,
        permission: 'occurrence:read',
        key: 'o',
        path: '',
        page: () => import('./pages/overview/overview.tsx'),
      },
      {
        label: texts.incidents,
        icon: IconAlarm,
        permission: 'occurrence:read',
        key: 'x',
        path: 'incidents',
        page: () => import('./pages/incidents/incidents.tsx'),
      },
      {
        label: texts.pager,
        icon: IconDeviceMobile,
        permission: 'occurrence:read',
        key: 'n',
        path: 'pager',
        page: () => import('./pages/pager/pager.tsx'),
      },
      {
        label: texts.occurrences,
        icon: IconBellRinging,
        permission: 'occurrence:read',
        key: 'c',
        path: 'occurrences',
        page: () => import('./pages/occurrences/occurrences.tsx'),
        pages: { 'occurrences/:identifier': () => import('./pages/occurrences/occurrence.tsx') },
        pathIn: to.occurrences,
      },
      {
        label: texts.activity,
        icon: IconListSearch,
        permission: 'occurrence:read',
        key: 'v',
        path: 'activity',
        page: () => import('./pages/activity/activity.tsx'),
      },
    ],
  },
  {
    title: texts.sending,
    areas: [
      {
        label: texts.events,
        icon: IconBolt,
        permission: 'event:list',
        key: 'e',
        path: 'events',
        isOfProject: true,
        page: () => import('./pages/events.tsx'),
        create: [
          { label: texts.newProject, permission: 'organization:write', path: org => dialog(to.events(org)) },
          { label: texts.newEvent, permission: 'event:write', path: (org, prj) => `${to.events(org, prj)}?new-event` },
        ],
      },
      {
        label: texts.sources,
        icon: IconAntenna,
        permission: 'source:read',
        key: 'i',
        path: 'sources',
        page: () => import('./pages/sources/sources.tsx'),
        pages: { 'sources/:prj/:app/:source': () => import('./pages/sources/source.tsx') },
        create: [{ label: texts.newSource, permission: 'source:write', path: org => dialog(to.sources(org)) }],
        find: collection('/api/o/{org}/sources/', (org, { project, application, slug, name }) => ({
          id: `source ${project}/${application}/${slug}`,
          label: name,
          description: `${project}/${application}/${slug}`,
          path: to.source(org, project, application, slug),
        })),
      },
      {
        label: texts.heartbeats,
        icon: IconHeartbeat,
        permission: 'source:read',
        key: 'b',
        path: 'heartbeats',
        page: () => import('./pages/heartbeats/heartbeats.tsx'),
        pages: { 'heartbeats/:prj/:app/:heartbeat': () => import('./pages/heartbeats/heartbeat.tsx') },
        create: [{ label: texts.newHeartbeat, permission: 'source:write', path: org => dialog(to.heartbeats(org)) }],
        find: collection('/api/o/{org}/heartbeats/', (org, { project, application, slug, name }) => ({
          id: `heartbeat ${project}/${application}/${slug}`,
          label: name,
          description: `${project}/${application}/${slug}`,
          path: to.heartbeat(org, project, application, slug),
        })),
      },
      {
        label: texts.schedules,
        icon: IconCalendarUser,
        permission: 'schedule:read',
        key: 'd',
        path: 'schedules',
        page: () => import('./pages/schedules/schedules.tsx'),
        pages: {
          'schedules/report': () => import('./pages/schedules/report.tsx'),
          'schedules/:prj/:schedule': () => import('./pages/schedules/schedule.tsx'),
        },
        create: [{ label: texts.newSchedule, permission: 'schedule:write', path: org => dialog(to.schedules(org)) }],
        find: collection('/api/o/{org}/on-call/', (org, { project, schedule, name }) => ({
          id: `schedule ${project}/${schedule}`,
          label: name,
          description: `${project}/${schedule}`,
          path: to.schedule(org, project, schedule),
        })),
      },
      {
        label: texts.silences,
        icon: IconBellOff,
        permission: 'silence:read',
        key: 'q',
        path: 'silences',
        page: () => import('./pages/silences/silences.tsx'),
        pages: { 'silences/:silence': () => import('./pages/silences/silence.tsx') },
        create: [{ label: texts.newSilence, permission: 'silence:write', path: org => dialog(to.silences(org)) }],
      },
      {
        label: texts.layouts,
        icon: IconLayout,
        permission: 'template:read',
        key: 'y',
        path: 'layouts',
        isOfProject: true,
        page: () => import('./pages/layouts.tsx'),
        pages: { 'layouts/:layout': () => import('./pages/layout.tsx') },
        create: [
          { label: texts.newLayout, permission: 'template:write', path: (org, prj) => to.layout(org, 'new', prj) },
        ],
      },
      {
        label: texts.channels,
        icon: IconSend,
        permission: 'channel:read',
        key: 'h',
        path: 'channels',
        isOfProject: true,
        page: () => import('./pages/channels/channels.tsx'),
        pages: {
          'channels/:channel': () => import('./pages/channels/channel.tsx'),
          'new-channel': () => import('./pages/channels/new-channel.tsx'),
        },
        create: [{ label: texts.newChannel, permission: 'channel:write', path: to.newChannel }],
      },
      {
        label: texts.sandboxMailbox,
        icon: IconMailbox,
        permission: 'occurrence:read',
        key: 'm',
        path: 'sandbox',
        page: () => import('./pages/sandbox.tsx'),
      },
    ],
  },
  {
    title: texts.audience,
    areas: [
      {
        label: texts.users,
        icon: IconUsers,
        permission: 'user:read',
        key: 'p',
        path: 'users',
        page: () => import('./pages/users/users.tsx'),
        pages: { 'users/:username': () => import('./pages/users/user.tsx') },
        create: [{ label: texts.newUser, permission: 'user:write', path: org => dialog(to.users(org)) }],
      },
      {
        label: texts.lists,
        icon: IconAddressBook,
        permission: 'distributionlist:read',
        key: 'l',
        path: 'lists',
        isOfProject: true,
        page: () => import('./pages/lists/lists.tsx'),
        create: [
          {
            label: texts.newList,
            permission: 'distributionlist:write',
            path: (org, prj) => dialog(to.lists(org, prj)),
          },
        ],
      },
      {
        label: texts.suppressions,
        icon: IconMailOff,
        permission: 'user:read',
        key: 'u',
        path: 'suppressions',
        page: () => import('./pages/suppressions/suppressions.tsx'),
      },
      {
        label: texts.categories,
        icon: IconTags,
        permission: 'category:read',
        key: 'r',
        path: 'categories',
        page: () => import('./pages/categories/categories.tsx'),
        pages: {
          'categories/:category': () => import('./pages/categories/category.tsx'),
          'new-category': () => import('./pages/categories/new-category.tsx'),
        },
        create: [{ label: texts.newCategory, permission: 'category:write', path: to.newCategory }],
        find: collection('/api/o/{org}/categories/', (org, { slug, name }) => ({
          id: `category ${slug}`,
          label: name,
          description: slug,
          path: to.category(org, slug),
        })),
      },
    ],
  },
  {
    title: texts.organization,
    areas: [
      {
        label: texts.keys,
        icon: IconKey,
        permission: 'key:read',
        key: 'k',
        path: 'keys',
        page: () => import('./pages/keys/keys.tsx'),
        create: [{ label: texts.newKey, permission: 'key:write', path: org => dialog(to.keys(org)) }],
        find: collection('/api/o/{org}/k/', (org, { id, name }) => ({
          id: `key ${id}`,
          label: name,
          description: `bf_${id}_…`,
          path: to.keys(org),
        })),
      },
      {
        label: texts.webhooks,
        icon: IconWebhook,
        permission: 'webhook:read',
        key: 'w',
        path: 'webhooks',
        page: () => import('./pages/webhooks/webhooks.tsx'),
        pages: { 'webhooks/:webhook': () => import('./pages/webhooks/webhook.tsx') },
        create: [{ label: texts.newWebhook, permission: 'webhook:write', path: org => dialog(to.webhooks(org)) }],
        find: collection('/api/o/{org}/webhooks/', (org, { slug, name, url }) => ({
          id: `webhook ${slug}`,
          label: name,
          description: url,
          path: to.webhook(org, slug),
        })),
      },
      {
        label: texts.serviceLevels,
        icon: IconGauge,
        permission: 'occurrence:read',
        key: 'f',
        path: 'service-levels',
        page: () => import('./pages/service-levels/service-levels.tsx'),
        create: [{ label: texts.newWatch, permission: 'source:write', path: org => dialog(to.serviceLevels(org)) }],
      },
      {
        label: texts.auditLog,
        icon: IconHistory,
        permission: 'audit:read',
        key: 'a',
        path: 'audit',
        page: () => import('./pages/audit.tsx'),
      },
      {
        label: texts.team,
        icon: IconUsersGroup,
        permission: 'account:read',
        key: 't',
        path: 'team',
        page: () => import('./pages/team.tsx'),
        create: [
          {
            label: texts.inviteMember,
            permission: 'account:write',
            icon: IconUserPlus,
            path: org => dialog(to.team(org)),
          },
        ],
      },
      {
        label: texts.settings,
        icon: IconSettings,
        permission: 'organization:read',
        key: 's',
        path: 'settings',
        page: () => import('./pages/settings/settings.tsx'),
      },
    ],
  },
];

export const areas = navigation.flatMap(group => group.areas);

/** Returns the path of an area's page; with a project, of the project's own page where there is one. */
export function pathOf({ path, isOfProject, pathIn }: Area, org: string, prj?: string): string {
  return pathIn ? pathIn(org, prj) : to.page(org, path, isOfProject ? prj : undefined);
}

/** Returns the area of the current page: the one with the longest path that is a prefix of the URL. */
export function areaAt(pathname: string, org: string): Area | undefined {
  const lengthOf = (area: Area) => {
    // A project's page belongs to the same area: /o/acme/p/shop/events is Events, like /o/acme/events. An event's page
    // has its own path, /o/acme/p/shop/a/web/e/paid, and belongs to Events too.
    const plain = pathname.replace(/^(\/o\/[^/]+)\/p\/[^/]+/, '$1').replace(/^(\/o\/[^/]+)\/a\/.*/, '$1/events');
    const own = to.page(org, area.path);
    return plain === own || (area.path !== '' && plain.startsWith(`${own}/`)) ? own.length : 0;
  };
  const found = areas.map(area => ({ area, length: lengthOf(area) })).sort((a, b) => b.length - a.length)[0];
  return found && found.length > 0 ? found.area : undefined;
}
