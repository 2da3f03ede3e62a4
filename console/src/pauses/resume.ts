import { api, take } from '../api.ts';
import type { Pause } from '../api-types.ts';

/** Ends a pause and returns the number of released messages. */
export function resume(org: string, { kind, path }: Pick<Pause, 'kind' | 'path'>): Promise<{ released: number }> {
  const [a = '', b = '', c = ''] = path.split('/');
  if (kind === 'event') {
    const params = { path: { org, prj: a, app: b, evt: c } };
    return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/resume/', { params }));
  }
  if (kind === 'application') {
    return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/resume/', { params: { path: { org, prj: a, app: b } } }));
  }
  if (b === '') return take(api.POST('/api/o/{org}/c/{channel}/resume/', { params: { path: { org, channel: a } } }));
  return take(api.POST('/api/o/{org}/p/{prj}/c/{channel}/resume/', { params: { path: { org, prj: a, channel: b } } }));
}
