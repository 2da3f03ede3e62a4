/** What is paused, and how much waits because of it. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { liveMs } from '../components/use-list.ts';
import { useOrg } from '../places.ts';
import { useCan } from '../session.tsx';

/** All of the organization's; only pages that something of it concerns look. */
export function usePauses({ enabled = true }: { enabled?: boolean } = {}) {
  const org = useOrg();
  const isAllowed = useCan()('occurrence:read');
  const { data = [] } = useQuery({
    queryKey: [org, 'pauses'],
    enabled: enabled && isAllowed,
    refetchInterval: liveMs,
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/pauses/', { params: { path: { org } }, signal })),
  });
  return enabled ? data : [];
}

/** Those that keep an occurrence from going on. */
export function useOccurrencePauses(identifier: string, isOpen: boolean) {
  const org = useOrg();
  const { data = [] } = useQuery({
    queryKey: [org, 'pauses', identifier],
    enabled: isOpen,
    refetchInterval: liveMs,
    queryFn: ({ signal }) =>
      take(api.GET('/api/o/{org}/occurrence/{identifier}/pauses/', { params: { path: { org, identifier } }, signal })),
  });
  return isOpen ? data : [];
}
