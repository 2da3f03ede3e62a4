/**
 * Loads the channels available to a project's events. A project's own channel hides an organization channel with the
 * same slug.
 */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import type { Channel } from '../api-types.ts';
import type { EventPath } from '../events/sample.ts';
import { combine } from '../queries.ts';

export interface UsableChannel extends Channel {
  prj: string | null;
}

export function useChannels({ org, prj }: Pick<EventPath, 'org' | 'prj'>) {
  return useQuery({
    ...combine('usable channels', '/api/o/{org}/c/', { org, prj }, async (signal): Promise<UsableChannel[]> => {
      const [own, shared] = await Promise.all([
        take(api.GET('/api/o/{org}/p/{prj}/c/', { params: { path: { org, prj } }, signal })),
        take(api.GET('/api/o/{org}/c/', { params: { path: { org } }, signal })),
      ]);
      const slugs = new Set(own.map(({ slug }) => slug));
      const others = shared.filter(({ slug }) => !slugs.has(slug));
      return [...own.map(channel => ({ ...channel, prj })), ...others.map(channel => ({ ...channel, prj: null }))];
    }),
    staleTime: 30_000,
  });
}
