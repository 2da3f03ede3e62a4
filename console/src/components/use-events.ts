/** Loads all projects, events and channels of an organization and caches them for a minute. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { useOrg } from '../paths.ts';
import { combine } from '../queries.ts';
import { useCan } from '../session.tsx';
import { useProjects } from './switchers.tsx';

/** Organizations with more projects find the rest on their pages. */
const maxProjects = 20;

export function useEvents() {
  const org = useOrg();
  const can = useCan();
  const { data: projects } = useProjects();
  return useQuery({
    ...combine(
      'projects, events and channels',
      '/api/o/{org}/p/',
      { org, projects: projects?.map(({ slug }) => slug) },
      async signal => {
        const slugs = (projects ?? []).slice(0, maxProjects).map(project => project.slug);
        const [channels, ...inProjects] = await Promise.all([
          take(api.GET('/api/o/{org}/c/', { params: { path: { org } }, signal })),
          ...slugs.map(prj => readProject(org, prj, can('event:list'), signal)),
        ]);
        return {
          projects: inProjects.map(({ slug, applications }) => ({ slug, applications })),
          events: inProjects.flatMap(project => project.events),
          channels: [
            ...channels.map(channel => ({ ...channel, prj: undefined as string | undefined })),
            ...inProjects.flatMap(project => project.channels),
          ],
        };
      },
    ),
    enabled: projects !== undefined,
    staleTime: 60_000,
  });
}

/** Returns the paths of all events; or of the events below a path such as `shop/`, without it. */
export function useEventPaths(above = ''): string[] {
  const events = useEvents().data?.events ?? [];
  return events.flatMap(({ path }) => (path.startsWith(above) ? path.slice(above.length) : []));
}

async function readProject(org: string, prj: string, withEvents: boolean, signal: AbortSignal) {
  const path = { org, prj };
  const [channels, applications] = await Promise.all([
    take(api.GET('/api/o/{org}/p/{prj}/c/', { params: { path }, signal })),
    take(api.GET('/api/o/{org}/p/{prj}/a/', { params: { path }, signal })),
  ]);
  const events = await Promise.all(
    (withEvents ? applications : []).map(async ({ slug: app }) => {
      const rows = await take(
        api.GET('/api/o/{org}/p/{prj}/a/{app}/e/', { params: { path: { ...path, app } }, signal }),
      );
      return rows.map(event => ({ ...event, prj, app, path: `${prj}/${app}/${event.slug}` }));
    }),
  );
  return {
    slug: prj,
    applications: applications.map(({ slug }) => slug),
    channels: channels.map(channel => ({ ...channel, prj })),
    events: events.flat(),
  };
}
