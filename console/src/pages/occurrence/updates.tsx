/** How a message was changed after it was sent, because its occurrence was acknowledged, resolved or cancelled. */
import { Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import { StateBadge } from '../../components/status.tsx';
import type { State } from '../../components/statuses.ts';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
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
    queryKey: [path.org, 'deliveries', path.identifier, path.delivery, 'updates'],
    enabled,
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/updates/', { params: { path }, signal }),
      ),
    refetchInterval: ({ state }) =>
      ['waiting', 'retrying'].includes(state.data?.at(-1)?.outcome ?? '') ? liveMs : false,
  });
  if (!updates.data?.length) return null;
  return (
    <Stack gap="xs">
      <Title order={3}>{texts.updates}</Title>
      <Table fz="sm" aria-label={texts.updates}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.attemptAt}</Table.Th>
            <Table.Th>{texts.updateCause}</Table.Th>
            <Table.Th>{texts.attemptOutcome}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {updates.data.map(({ at, change, by, action, outcome, detail }) => (
            <Table.Tr key={`${change} ${at}`}>
              <Table.Td title={exactTime(at)}>
                <TimeAgo at={at} />
              </Table.Td>
              <Table.Td>{texts.updateCauses[change](by)}</Table.Td>
              <Table.Td>
                <StateBadge state={states[outcome === 'done' ? (action ?? 'update') : outcome]!} />
                {detail && (
                  <Text size="xs" c="dimmed" mt={4} style={{ overflowWrap: 'anywhere' }}>
                    {detail}
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}
