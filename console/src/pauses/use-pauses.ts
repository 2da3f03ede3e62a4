/** Loads the active pauses with the number of waiting messages and occurrences. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { liveMs } from '../components/use-list.ts';
import { useOrg } from '../paths.ts';
import { useCan } from '../session.tsx';

/** All pauses of the organization; `enabled` skips the request on pages that none of them affects. */
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

/** Pauses that hold an occurrence. */
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
