/** How a message was changed after it was sent, because its occurrence was acknowledged, resolved or cancelled. */
import { useQuery } from '@tanstack/react-query';
import { RecordTable } from '../../components/record-table.tsx';
import type { State } from '../../components/statuses.ts';
import { liveMs } from '../../components/use-list.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

const states: Record<string, State> = {
  update: { name: texts.updated, color: 'teal', meaning: '' },
  retract: { name: texts.retracted, color: 'teal', meaning: '' },
  waiting: { name: texts.updateWaiting, color: 'gray', meaning: '' },
  retrying: { name: texts.updateRetrying, color: 'yellow', meaning: '' },
  failed: { name: texts.updateFailed, color: 'red', meaning: '' },
  unsupported: { name: texts.updateUnsupported, color: 'gray', meaning: '' },
};

interface UpdatesProps {
  org: string;
  identifier: string;
  delivery: number;
  enabled: boolean;
}

export function Updates({ enabled, ...path }: UpdatesProps) {
  const updates = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/updates/', { path }),
    enabled,
    refetchInterval: ({ state }) =>
      ['waiting', 'retrying'].includes(state.data?.at(-1)?.outcome ?? '') ? liveMs : false,
  });
  if (!updates.data?.length) return null;
  return (
    <RecordTable
      title={texts.updates}
      headings={[texts.attemptAt, texts.updateCause, texts.attemptOutcome]}
      rows={updates.data.map(({ at, change, by, action, outcome, detail }) => ({
        key: `${change} ${at}`,
        at,
        cause: texts.updateCauses[change](by),
        state: states[outcome === 'done' ? (action ?? 'update') : outcome]!,
        detail,
      }))}
    />
  );
}
