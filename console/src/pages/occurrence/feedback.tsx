/** What services and mail servers reported about a message after it was sent. */
import { Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import { StateBadge } from '../../components/status.tsx';
import { plainState, type State } from '../../components/statuses.ts';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { texts } from '../../texts/occurrences.ts';

const states: Record<string, State> = {
  delivered: { name: texts.delivered, color: 'teal', meaning: '' },
  permanent: { name: texts.bouncedForGood, color: 'red', meaning: '' },
  bounced: { name: texts.bounced, color: 'red', meaning: '' },
  deferred: { name: texts.deferred, color: 'yellow', meaning: '' },
  complained: { name: texts.complained, color: 'red', meaning: '' },
  unsubscribed: { name: texts.unsubscribed, color: 'gray', meaning: '' },
  opened: { name: texts.opened, color: 'blue', meaning: '' },
  clicked: { name: texts.clicked, color: 'blue', meaning: '' },
};

interface FeedbackProps {
  org: string;
  identifier: string;
  delivery: number;
  status: string;
  enabled: boolean;
}

export function Feedback({ status, enabled, ...path }: FeedbackProps) {
  const feedback = useQuery({
    queryKey: [path.org, 'deliveries', path.identifier, path.delivery, 'feedback', status],
    enabled,
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/feedback/', { params: { path }, signal }),
      ),
  });
  if (!feedback.data?.length) return null;
  return (
    <Stack gap="xs">
      <Title order={3}>{texts.afterSending}</Title>
      <Table fz="sm" aria-label={texts.afterSending}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.feedbackAt}</Table.Th>
            <Table.Th>{texts.feedbackSource}</Table.Th>
            <Table.Th>{texts.feedbackEvent}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {feedback.data.map(({ id, at, source, type, permanent, detail }) => (
            <Table.Tr key={id}>
              <Table.Td title={exactTime(at)}>
                <TimeAgo at={at} />
              </Table.Td>
              <Table.Td>{source}</Table.Td>
              <Table.Td>
                <StateBadge state={states[permanent ? 'permanent' : type] ?? plainState(type)} />
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
