/** What services and mail servers reported about a message after it was sent. */
import { Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import { StatusBadge } from '../../components/status.tsx';
import type { StatusStyle } from '../../components/statuses.ts';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { texts } from '../../texts/occurrences.ts';

const styles: Record<string, StatusStyle> = {
  delivered: { name: texts.delivered, color: 'teal', fill: 'teal.7', meaning: '' },
  permanent: { name: texts.bouncedForGood, color: 'red', fill: 'red.7', meaning: '' },
  bounced: { name: texts.bounced, color: 'red', fill: 'red.7', meaning: '' },
  deferred: { name: texts.deferred, color: 'yellow', fill: 'yellow.5', meaning: '' },
  complained: { name: texts.complained, color: 'red', fill: 'red.7', meaning: '' },
  unsubscribed: { name: texts.unsubscribed, color: 'gray', fill: 'gray.6', meaning: '' },
  opened: { name: texts.opened, color: 'blue', fill: 'blue.5', meaning: '' },
  clicked: { name: texts.clicked, color: 'blue', fill: 'blue.5', meaning: '' },
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
                <StatusBadge status={permanent ? 'permanent' : type} styles={styles} />
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
