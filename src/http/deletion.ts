import type { Permission } from '../core/permissions.ts';
import { getChannel } from '../services/channels.ts';
import { type Doomed, remove } from '../services/deletion.ts';
import type { Deps } from '../services/deps.ts';
import { findLayout } from '../services/layouts.ts';
import { getNotification } from '../services/notifications.ts';
import { getSettings } from '../services/organizations.ts';
import { getPlace } from '../services/places.ts';
import { ownOf } from './channels.ts';
import { ifMatch } from './etag.ts';
import { unchanging } from './notifications.ts';
import { showProject } from './organizations.ts';
import { type Call, type Found, type PlainRoute, pathOf, type Route, slugsOf } from './route.ts';
import { CascadeQuery, Deleted } from './schemas.ts';

type Noun = Doomed<unknown>['noun'];

interface Definition {
  path: string;
  /** As its id and summary have it: OrganizationChannel. */
  title: string;
  noun: Noun;
  permission: Permission;
  tag: string;
  id?: (found: Found) => number;
  /** What its GET answers, and the ETag is of. */
  read: (deps: Deps, call: Call & Found) => Promise<unknown>;
}

function deletion({ path, title, noun, permission, tag, id, read }: Definition): PlainRoute {
  const named = noun === 'channel' || noun === 'layout';
  return {
    method: 'DELETE',
    path,
    permission,
    id: `delete${title}`,
    summary: `Delete ${title.replaceAll(/\B[A-Z]/g, letter => ` ${letter.toLowerCase()}`).toLowerCase()}`,
    description: named
      ? 'Refused while a notification names it. History stays.'
      : 'What has something below it is refused, unless `cascade` is given. History stays.',
    tag,
    status: 200,
    problems: [409],
    query: CascadeQuery,
    answer: Deleted,
    handle: (call: Call & Found & { query: { cascade?: boolean; dry_run?: boolean } }) => {
      const doomed: Doomed<unknown> = {
        noun,
        slugs: slugsOf(call),
        id: id?.(call),
        path: nameOf(noun, call),
        read: deps => read(deps, call),
        check: ifMatch(call),
      };
      const { cascade = false, dry_run = false } = call.query;
      return remove(call.deps, doomed, { cascade, dryRun: dry_run });
    },
  };
}

/** For the audit log. */
function nameOf(noun: Noun, call: Found): string {
  if (noun === 'organization') return call.organization.slug;
  const own = noun === 'notification' ? [call.notification.name] : noun === 'layout' ? [call.layout.name] : [];
  return [pathOf(call), ...own].filter(Boolean).join('/');
}

const channel: Pick<Definition, 'noun' | 'permission' | 'tag' | 'id' | 'read'> = {
  noun: 'channel',
  permission: 'channel:write',
  tag: 'Channels',
  id: found => found.channel.id,
  read: async (deps, call) => ownOf(await getChannel(deps, call.organization.id, call.channel.id)),
};
const layout: typeof channel = {
  noun: 'layout',
  permission: 'template:write',
  tag: 'Layouts',
  id: found => found.layout.id,
  read: (deps, call) => findLayout(deps, call.organization.id, call.project?.id ?? null, call.layout.id),
};

export const deletionRoutes: Route[] = [
  deletion({
    path: '/api/o/:org/',
    title: 'Organization',
    noun: 'organization',
    permission: 'organization:delete',
    tag: 'Organizations',
    read: (deps, call) => getSettings(deps, call.organization.id),
  }),
  deletion({
    path: '/api/o/:org/p/:prj/',
    title: 'Project',
    noun: 'project',
    permission: 'organization:write',
    tag: 'Organizations',
    read: async (deps, call) => showProject(call, await getPlace(deps, 'project', slugsOf(call))),
  }),
  deletion({
    path: '/api/o/:org/p/:prj/a/:app/',
    title: 'Application',
    noun: 'application',
    permission: 'organization:write',
    tag: 'Organizations',
    read: (deps, call) => getPlace(deps, 'application', slugsOf(call)),
  }),
  deletion({
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/',
    title: 'Event',
    noun: 'event',
    permission: 'event:write',
    tag: 'Events',
    read: (deps, call) => getPlace(deps, 'event', slugsOf(call)),
  }),
  deletion({
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/n/:notification/',
    title: 'Notification',
    noun: 'notification',
    permission: 'notification:write',
    tag: 'Notifications',
    id: found => found.notification.id,
    read: async (deps, call) =>
      unchanging(await getNotification(deps, call.organization.id, call.event.id, call.notification.id)),
  }),
  deletion({ path: '/api/o/:org/c/:channel/', title: 'OrganizationChannel', ...channel }),
  deletion({ path: '/api/o/:org/p/:prj/c/:channel/', title: 'ProjectChannel', ...channel }),
  deletion({ path: '/api/o/:org/l/:layout/', title: 'OrganizationLayout', ...layout }),
  deletion({ path: '/api/o/:org/p/:prj/l/:layout/', title: 'ProjectLayout', ...layout }),
];
