import { api, take } from '../api.ts';
import type { Pause } from '../api-types.ts';

type PausePath = Pick<Pause, 'kind' | 'path'> & { id?: string | null };
/** What becomes of held messages; all are sent at once by default. */
export type Resuming = { per_second?: number; drop?: boolean };
type Resumed = { released: number; dropped: number };

/** Pauses, so that messages are held. */
export function pause(org: string, { kind, path, id }: PausePath, body: { reason?: string }): Promise<unknown> {
  const [a = '', b = '', c = ''] = path.split('/');
  switch (kind) {
    case 'organization':
      return take(api.POST('/api/o/{org}/pause/', { params: { path: { org } }, body }));
    case 'project':
      return take(api.POST('/api/o/{org}/p/{prj}/pause/', { params: { path: { org, prj: a } }, body }));
    case 'application':
      return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/pause/', { params: { path: { org, prj: a, app: b } }, body }));
    case 'event': {
      const params = { path: { org, prj: a, app: b, evt: c } };
      return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/pause/', { params, body }));
    }
    default:
      return take(api.POST('/api/o/{org}/k/{key}/pause/', { params: { path: { org, key: id ?? '' } }, body }));
  }
}

/** Ends a pause, and returns how many messages and occurrences were released or dropped. */
export function resume(org: string, { kind, path, id }: PausePath, body: Resuming = {}): Promise<Resumed> {
  const [a = '', b = '', c = ''] = path.split('/');
  switch (kind) {
    case 'organization':
      return take(api.POST('/api/o/{org}/resume/', { params: { path: { org } }, body }));
    case 'project':
      return take(api.POST('/api/o/{org}/p/{prj}/resume/', { params: { path: { org, prj: a } }, body }));
    case 'application':
      return take(
        api.POST('/api/o/{org}/p/{prj}/a/{app}/resume/', { params: { path: { org, prj: a, app: b } }, body }),
      );
    case 'event': {
      const params = { path: { org, prj: a, app: b, evt: c } };
      return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/resume/', { params, body }));
    }
    case 'key':
      return take(api.POST('/api/o/{org}/k/{key}/resume/', { params: { path: { org, key: id ?? '' } }, body }));
  }
  if (b === '')
    return take(api.POST('/api/o/{org}/c/{channel}/resume/', { params: { path: { org, channel: a } }, body }));
  const params = { path: { org, prj: a, channel: b } };
  return take(api.POST('/api/o/{org}/p/{prj}/c/{channel}/resume/', { params, body }));
}
