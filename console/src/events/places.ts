/** Projects, applications and events: how each is created, renamed, deleted. One noun, three depths. */
import { api, take, takeTagged } from '../api.ts';

export interface Place {
  org: string;
  prj?: string;
  app?: string;
  evt?: string;
}

export type Noun = 'project' | 'application' | 'event';

export function nounOf({ app, evt }: Place): Noun {
  return evt ? 'event' : app ? 'application' : 'project';
}

/** What the permission to change it is called. */
export function writePermission(noun: Noun): string {
  return noun === 'event' ? 'event:write' : 'organization:write';
}

/** Pausing is one permission at every depth. */
export const pausePermission = 'event:write';

export async function createPlace(
  noun: Noun,
  { org, prj = '', app = '' }: Place,
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

export async function changePlace(place: Place, body: { name?: string; active?: boolean; category?: string | null }) {
  const { org, prj = '', app = '', evt = '' } = place;
  const { name } = body;
  switch (nounOf(place)) {
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

export async function deletePlace(place: Place, query: { cascade?: boolean; dry_run?: boolean }) {
  const { org, prj = '', app = '', evt = '' } = place;
  switch (nounOf(place)) {
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

export async function holdPlace({ org, prj = '', app = '', evt }: Place, hold: boolean): Promise<unknown> {
  const path = { org, prj, app };
  if (evt) {
    const params = { path: { ...path, evt } };
    return hold
      ? take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/pause/', { params }))
      : take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/resume/', { params }));
  }
  return hold
    ? take(api.POST('/api/o/{org}/p/{prj}/a/{app}/pause/', { params: { path } }))
    : take(api.POST('/api/o/{org}/p/{prj}/a/{app}/resume/', { params: { path } }));
}

export function eventQuery(path: { org: string; prj: string; app: string; evt: string }) {
  return {
    queryKey: [path.org, 'event', path.prj, path.app, path.evt],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      takeTagged(api.GET('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', { params: { path }, signal })),
  };
}
