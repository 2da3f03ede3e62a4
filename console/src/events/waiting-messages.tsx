/** Number of an event's messages that wait for a later time, such as the end of quiet hours. */
import { Alert, Text } from '@mantine/core';
import { IconMoon } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { reasons } from '../api-types.ts';
import { clockAndDay } from '../components/time.tsx';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { countOf } from '../texts/count-of.ts';
import { texts } from '../texts/preferences.ts';
import type { EventPath } from './sample.ts';

/** Refresh interval. */
const refreshMs = 30_000;

export function WaitingMessages({ path }: { path: EventPath }) {
  const can = useCan();
  const { data } = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/waiting/', { path }),
    enabled: can('occurrence:read'),
    refetchInterval: refreshMs,
  });
  if (!data || data.waiting.length === 0) return null;
  return (
    <Alert variant="light" color="indigo" p="xs" icon={<IconMoon size={16} stroke={1.6} />} role="status">
      {data.waiting.map(({ reason, count: amount, last_due_at }) => {
        const messages = countOf(amount, 'message', { isAtLeast: !data.complete });
        const until = clockAndDay(last_due_at);
        return (
          <Text key={reason} size="sm" c="var(--mantine-color-text)">
            {reason === 'quiet_hours'
              ? texts.waitingQuietHours(messages, amount === 1 && data.complete, until)
              : texts.waitingOther(messages, reasons[reason] ?? reason, until)}
          </Text>
        );
      })}
    </Alert>
  );
}
