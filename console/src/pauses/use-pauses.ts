/** Loads the active pauses with the number of waiting messages and occurrences. */
import { useQuery } from '@tanstack/react-query';
import { liveMs } from '../components/use-list.ts';
import { useOrg } from '../paths.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';

/** All pauses of the organization; `enabled` skips the request on pages that none of them affects. */
export function usePauses({ enabled = true }: { enabled?: boolean } = {}) {
  const org = useOrg();
  const isAllowed = useCan()('occurrence:read');
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/pauses/', { path: { org } }),
    enabled: enabled && isAllowed,
    refetchInterval: liveMs,
  });
  return enabled ? data : [];
}

/** Pauses that hold an occurrence. */
export function useOccurrencePauses(identifier: string, isOpen: boolean) {
  const org = useOrg();
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/pauses/', { path: { org, identifier } }),
    enabled: isOpen,
    refetchInterval: liveMs,
  });
  return isOpen ? data : [];
}
