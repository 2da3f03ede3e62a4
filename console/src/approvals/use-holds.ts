/** Loads occurrences that wait for an approval. */
import { useQuery } from '@tanstack/react-query';
import { liveMs } from '../components/use-list.ts';
import { useOrg } from '../paths.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';

export function useHolds() {
  const org = useOrg();
  const isAllowed = useCan()('occurrence:read');
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/holds/', { path: { org } }),
    enabled: isAllowed,
    refetchInterval: liveMs,
  });
  return data;
}

/** The hold of one occurrence. */
export function useHold(identifier: string, isEnabled: boolean) {
  const org = useOrg();
  const { data } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/hold/', { path: { org, identifier } }),
    enabled: isEnabled,
    refetchInterval: query => (query.state.data?.state === 'counting' ? liveMs / 2 : liveMs),
  });
  return isEnabled ? data : undefined;
}
