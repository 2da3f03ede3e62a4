/** What was reported to the senders of the occurrence's alerts. */
import { useQuery } from '@tanstack/react-query';
import type { Occurrence } from '../../api-types.ts';
import { liveMs } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { SourceUpdates } from '../sources/updates.tsx';

export function ReportedBack({ occurrence }: { occurrence: Occurrence }) {
  const { identifier, acknowledged_at, resolved_at } = occurrence;
  const org = useOrg();
  const { data = [] } = useQuery({
    ...read(
      '/api/o/{org}/occurrence/{identifier}/source-updates/',
      { path: { org, identifier } },
      `${acknowledged_at} ${resolved_at}`,
    ),
    enabled: Boolean(acknowledged_at ?? resolved_at),
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === 'waiting') ? liveMs : false),
  });
  return <SourceUpdates updates={data} />;
}
