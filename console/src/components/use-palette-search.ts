/** Search results of the palette. Small collections are loaded once; users and occurrences are searched by the API. */
import { useDebouncedValue } from '@mantine/hooks';
import { useQueries, useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { areas } from '../areas.ts';
import { useLayouts } from '../layouts/use-layouts.ts';
import { useOrg, useProject } from '../paths.ts';
import { combine, read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { useProjects } from './switchers.tsx';
import { useEvents } from './use-events.ts';

const searchDelayMs = 180;
const maxResults = 6;
/** Organizations with more projects find the rest of their lists on the pages. */
const maxProjects = 20;

export function usePaletteSearch(query: string) {
  const org = useOrg();
  const can = useCan();
  const [project] = useProject();
  const [search] = useDebouncedValue(query, searchDelayMs);
  // Identifiers start with a timestamp and so with a digit; names do not.
  const isIdentifier = /^[0-9][0-9a-f-]{3,35}$/i.test(search);
  const isName = search.length > 1 && !isIdentifier;
  const projects = useProjects();
  const configured = useEvents();
  const layouts = useLayouts(org, project);
  const slugs = (projects.data ?? []).slice(0, maxProjects).map(({ slug }) => slug);
  const lists = useQuery({
    ...combine('lists of projects', '/api/o/{org}/p/{prj}/d/', { org, slugs }, async signal => {
      const found = slugs.map(async prj => {
        const rows = await take(api.GET('/api/o/{org}/p/{prj}/d/', { params: { path: { org, prj } }, signal }));
        return rows.map(list => ({ ...list, prj }));
      });
      return (await Promise.all(found)).flat();
    }),
    enabled: can('distributionlist:read'),
    staleTime: 60_000,
  });
  const searchable = areas.flatMap(area => (area.find && can(area.permission) ? [{ area, find: area.find }] : []));
  const loaded = useQueries({ queries: searchable.map(({ find }) => ({ ...find.query(org), staleTime: 60_000 })) });
  const users = useQuery({
    ...read('/api/o/{org}/u/', { path: { org }, query: { search, limit: maxResults } }),
    enabled: isName && can('user:read'),
  });
  const occurrences = useQuery({
    ...read('/api/o/{org}/occurrence/', { path: { org }, query: { search, limit: maxResults } }),
    enabled: isIdentifier && can('occurrence:read'),
  });
  return {
    projects: projects.data ?? [],
    events: configured.data?.events ?? [],
    channels: configured.data?.channels ?? [],
    layouts: layouts.data ?? [],
    lists: lists.data ?? [],
    collections: searchable.map(({ area, find }, i) => ({ area, rows: find.show(org, loaded[i]?.data ?? []) })),
    users: isName ? (users.data ?? []) : [],
    occurrences: isIdentifier ? (occurrences.data ?? []) : [],
    searching: users.isFetching || occurrences.isFetching || search !== query,
  };
}
