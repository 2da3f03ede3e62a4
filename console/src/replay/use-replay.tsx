/** Replays the failed deliveries of an occurrence: shows the predicted outcome first and the actual one afterwards. */
import { Alert, CloseButton, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../api.ts';
import type { Occurrence } from '../api-types.ts';
import { useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { type Counts, CountsLegend, totalOf } from '../components/counts.tsx';
import { useOrg } from '../paths.ts';
import { texts } from '../texts/replay.ts';
import { Forecast, sendsNothing } from './forecast.tsx';

export function useReplay({ identifier, counts }: Pick<Occurrence, 'identifier' | 'counts'>) {
  const org = useOrg();
  const path = { org, identifier };
  // Counts before the replay, without the deliveries that are replayed.
  const [before, setBefore] = useState<Counts>();
  const replay = useAction({
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/replay/', { params: { path } })),
    onDone: () => setBefore({ ...counts, failed: 0, unknown: 0, pending: 0 }),
    refresh: ['/api/o/{org}/occurrence/', '/api/o/{org}/failures/', '/api/o/{org}/stats/'],
  });
  const ask = useAction({
    run: () => take(api.GET('/api/o/{org}/occurrence/{identifier}/replay/', { params: { path } })),
    onDone: async preview => {
      const { deliveries } = preview;
      const confirmed = await confirm({
        title: deliveries === 0 ? texts.resolveRecipientsQuestion : texts.replayDeliveries(deliveries),
        children: <Forecast preview={preview} mayDuplicate={counts.unknown > 0} />,
        action: sendsNothing(preview) ? texts.replayAnyway : texts.replay,
      });
      if (confirmed) replay.mutate(undefined);
    },
  });
  const result = before && <ReplayResult before={before} counts={counts} close={() => setBefore(undefined)} />;
  return { ask: () => ask.mutate(undefined), isPending: ask.isPending || replay.isPending, result };
}

/** Shows by how much the counts have grown since the replay. */
function ReplayResult({ before, counts, close }: { before: Counts; counts: Counts; close: () => void }) {
  const growth = Object.fromEntries(
    Object.entries(counts).map(([status, n]) => [status, Math.max(0, (n ?? 0) - (before[status] ?? 0))]),
  );
  return (
    <Alert color="blue" variant="light" p="xs" role="status" aria-label={texts.replayResult}>
      <Group gap="xs 16px">
        <Text size="sm" fw={600} c="var(--mantine-color-text)">
          {texts.sinceTheReplay}
        </Text>
        {totalOf(growth) > 0 ? <CountsLegend counts={growth} /> : <Text size="sm">{texts.nothingYet}</Text>}
        <CloseButton ml="auto" size="sm" aria-label={texts.dismiss} onClick={close} />
      </Group>
    </Alert>
  );
}
