/** Creates, changes, pauses and deletes projects, applications and events, which share one set of forms and menus. */
import { api, take } from '../api.ts';
import { readTagged } from '../queries.ts';

export interface ResourcePath {
  org: string;
  prj?: string;
  app?: string;
  evt?: string;
}

export type ResourceKind = 'project' | 'application' | 'event';

export function nounOf({ app, evt }: ResourcePath): ResourceKind {
  return evt ? 'event' : app ? 'application' : 'project';
}

/** Permission that changing the resource needs. */
export function writePermission(noun: ResourceKind): string {
  return noun === 'event' ? 'event:write' : 'organization:write';
}

/** Pausing needs the same permission for applications and events. */
export const pausePermission = 'event:write';

export async function createResource(
  noun: ResourceKind,
  { org, prj = '', app = '' }: ResourcePath,
  body: { slug: string; name: string; category?: string },
) {
  if (noun === 'event') {
    return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/', { params: { path: { org, prj, app } }, body }));
  }
  if (noun === 'application') {
    return take(api.POST('/api/o/{org}/p/{prj}/a/', { params: { path: { org, prj } }, body }));
  }
  return take(api.POST('/api/o/{org}/p/', { params: { path: { org } }, body }));
}

export async function changeResource(
  resource: ResourcePath,
  body: { name?: string; active?: boolean; category?: string | null },
) {
  const { org, prj = '', app = '', evt = '' } = resource;
  const { name } = body;
  switch (nounOf(resource)) {
    case 'event':
      return take(
        api.PATCH('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', { params: { path: { org, prj, app, evt } }, body }),
      );
    case 'application':
      return take(api.PATCH('/api/o/{org}/p/{prj}/a/{app}/', { params: { path: { org, prj, app } }, body: { name } }));
    case 'project':
      return take(api.PATCH('/api/o/{org}/p/{prj}/', { params: { path: { org, prj } }, body: { name } }));
  }
}

export async function deleteResource(resource: ResourcePath, query: { cascade?: boolean; dry_run?: boolean }) {
  const { org, prj = '', app = '', evt = '' } = resource;
  switch (nounOf(resource)) {
    case 'event':
      return take(
        api.DELETE('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', { params: { path: { org, prj, app, evt }, query } }),
      );
    case 'application':
      return take(api.DELETE('/api/o/{org}/p/{prj}/a/{app}/', { params: { path: { org, prj, app }, query } }));
    case 'project':
      return take(api.DELETE('/api/o/{org}/p/{prj}/', { params: { path: { org, prj }, query } }));
  }
}

export async function setResourcePaused(
  { org, prj = '', app = '', evt }: ResourcePath,
  paused: boolean,
): Promise<unknown> {
  const path = { org, prj, app };
  if (evt) {
    const params = { path: { ...path, evt } };
    return paused
      ? take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/pause/', { params }))
      : take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/resume/', { params }));
  }
  return paused
    ? take(api.POST('/api/o/{org}/p/{prj}/a/{app}/pause/', { params: { path } }))
    : take(api.POST('/api/o/{org}/p/{prj}/a/{app}/resume/', { params: { path } }));
}

export function eventQuery(path: { org: string; prj: string; app: string; evt: string }) {
  return {
    ...readTagged('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', { path }),
  };
}
