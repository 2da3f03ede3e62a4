/** Paths of the console's pages, and hooks for the current organization and project. */
import { useLocalStorage } from '@mantine/hooks';
import { useCallback } from 'react';
import { useParams, useSearchParams } from 'react-router';

const at = (org: string, ...rest: (string | number)[]) => `/o/${[org, ...rest].map(encodeURIComponent).join('/')}`;

/** Paths by page. Pages link through these instead of writing paths themselves. */
export const to = {
  /** A page of the registry (areas.ts); with a project, the project's own. */
  page: (org: string, path: string, prj?: string) => {
    const rest = path === '' ? [] : path.split('/');
    return prj ? at(org, 'p', prj, ...rest) : at(org, ...rest);
  },
  overview: (org: string) => at(org),
  occurrences: (org: string, prj?: string) =>
    at(org, 'occurrences') + (prj ? `?project=${encodeURIComponent(prj)}` : ''),
  occurrence: (org: string, identifier: string) => at(org, 'occurrences', identifier),
  delivery: (org: string, identifier: string, delivery: number) =>
    `${at(org, 'occurrences', identifier)}?delivery=${delivery}`,
  activity: (org: string) => at(org, 'activity'),
  pager: (org: string, incident?: string) =>
    at(org, 'pager') + (incident ? `?incident=${encodeURIComponent(incident)}` : ''),
  incidents: (org: string) => at(org, 'incidents'),
  failures: (org: string, cause: string) => `${at(org, 'activity')}?cause=${cause}`,
  events: (org: string, prj?: string) => (prj ? at(org, 'p', prj, 'events') : at(org, 'events')),
  event: (org: string, prj: string, app: string, evt: string) => at(org, 'p', prj, 'a', app, 'e', evt),
  notification: (org: string, prj: string, app: string, evt: string, notification: number | 'new') =>
    at(org, 'p', prj, 'a', app, 'e', evt, 'n', notification),
  layouts: (org: string, prj?: string) => (prj ? at(org, 'p', prj, 'layouts') : at(org, 'layouts')),
  layout: (org: string, layout: number | 'new', prj?: string | null) =>
    prj ? at(org, 'p', prj, 'layouts', layout) : at(org, 'layouts', layout),
  channel: (org: string, channel: string, prj?: string) =>
    prj ? at(org, 'p', prj, 'channels', channel) : at(org, 'channels', channel),
  channels: (org: string, prj?: string) => (prj ? at(org, 'p', prj, 'channels') : at(org, 'channels')),
  newChannel: (org: string, prj?: string) => (prj ? at(org, 'p', prj, 'new-channel') : at(org, 'new-channel')),
  categories: (org: string) => at(org, 'categories'),
  category: (org: string, category: string) => at(org, 'categories', category),
  newCategory: (org: string) => at(org, 'new-category'),
  users: (org: string) => at(org, 'users'),
  user: (org: string, username: string) => at(org, 'users', username),
  lists: (org: string, prj?: string) => (prj ? at(org, 'p', prj, 'lists') : at(org, 'lists')),
  list: (org: string, prj: string, list: number) => at(org, 'p', prj, 'lists', list),
  importList: (org: string, prj: string, list: number) => at(org, 'p', prj, 'lists', list, 'import'),
  suppressions: (org: string, search?: string) =>
    at(org, 'suppressions') + (search ? `?search=${encodeURIComponent(search)}` : ''),
  sandbox: (org: string) => at(org, 'sandbox'),
  sources: (org: string) => at(org, 'sources'),
  source: (org: string, prj: string, app: string, source: string) => at(org, 'sources', prj, app, source),
  heartbeats: (org: string) => at(org, 'heartbeats'),
  heartbeat: (org: string, prj: string, app: string, heartbeat: string) => at(org, 'heartbeats', prj, app, heartbeat),
  schedules: (org: string) => at(org, 'schedules'),
  onCallReport: (org: string) => at(org, 'schedules', 'report'),
  schedule: (org: string, prj: string, schedule: string) => at(org, 'schedules', prj, schedule),
  silences: (org: string, prefilled: string[][] = []) =>
    at(org, 'silences') + (prefilled.length > 0 ? `?new&${new URLSearchParams(prefilled)}` : ''),
  silence: (org: string, silence: string) => at(org, 'silences', silence),
  webhooks: (org: string) => at(org, 'webhooks'),
  webhook: (org: string, webhook: string) => at(org, 'webhooks', webhook),
  keys: (org: string) => at(org, 'keys'),
  serviceLevels: (org: string) => at(org, 'service-levels'),
  audit: (org: string) => at(org, 'audit'),
  team: (org: string) => at(org, 'team'),
  settings: (org: string) => at(org, 'settings'),
  account: (org: string) => at(org, 'account'),
};

/** Local storage key of the last opened organization. */
export const lastOrganizationKey = 'belfry-organization';

/** Returns the page of an event path such as `shop/web/order-paid`. */
export function linkToEvent(org: string, path: string): string | undefined {
  const [prj, app, evt] = path.split('/');
  return prj && app && evt ? to.event(org, prj, app, evt) : undefined;
}

/** Returns the organization in the URL, for pages below /o/:org. */
export function useOrg(): string {
  return useParams().org ?? '';
}

/** Returns the project in the URL, otherwise the one last selected in this organization. */
export function useProject(): [project: string | undefined, choose: (project: string | undefined) => void] {
  const { org = '', prj } = useParams();
  const [search] = useSearchParams();
  const [remembered, remember] = useLocalStorage<Record<string, string>>({
    key: 'belfry-projects',
    defaultValue: {},
    getInitialValueInEffect: false,
  });
  const choose = useCallback(
    (project: string | undefined) =>
      remember(({ [org]: _, ...others }) => (project ? { ...others, [org]: project } : others)),
    [org, remember],
  );
  return [prj ?? search.get('project') ?? remembered[org], choose];
}
