/** Creates, changes, pauses and deletes projects, applications and events, which share one set of forms and menus. */
import { api, take } from '../api.ts';
import { pause, resume } from '../pauses/resume.ts';
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

/** Pausing needs the same permission for projects, applications and events. */
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

const pausePathOf = (resource: ResourcePath) => ({
  kind: nounOf(resource),
  path: [resource.prj, resource.app, resource.evt].filter(Boolean).join('/'),
});

export async function pauseResource(resource: ResourcePath, body: { reason?: string }): Promise<unknown> {
  return pause(resource.org, pausePathOf(resource), body);
}

export async function resumeResource(resource: ResourcePath): Promise<unknown> {
  return resume(resource.org, pausePathOf(resource));
}

export function eventQuery(path: { org: string; prj: string; app: string; evt: string }) {
  return {
    ...readTagged('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', { path }),
  };
}
