/** What happened when, as far as it has happened, in one line. */
import { Box, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { Occurrence } from '../../api-types.ts';
import { clockTime, exactTime, milliseconds } from '../../components/time.tsx';
import { useOrg } from '../../places.ts';
import { texts } from '../../texts/occurrences.ts';

const order = ['accepted', 'expanding', 'sending', 'completed'];

interface Step {
  name: string;
  at?: string | null;
  isDone: boolean;
  isNow: boolean;
}

export function OccurrenceTimeline({ occurrence }: { occurrence: Occurrence }) {
  const { status, created_at, completed_at, options } = occurrence;
  const reached = order.indexOf(status);
  const { resolvedAt, sentAt } = useDeliveryTimes(occurrence);
  const due = typeof options.send_at === 'string' ? options.send_at : undefined;
  const steps: Step[] = [
    { name: texts.accepted, at: created_at, isDone: true, isNow: reached === 0 && !due },
    ...(due ? [{ name: texts.scheduled, at: due, isDone: reached > 0, isNow: reached === 0 }] : []),
    { name: texts.recipientsResolved, at: resolvedAt, isDone: reached > 1, isNow: reached === 1 },
    { name: texts.messagesSent, at: sentAt, isDone: reached > 2, isNow: reached === 2 },
    { name: texts.completed, at: completed_at, isDone: reached === 3, isNow: false },
  ];
  const start = Date.parse(created_at);
  return (
    <Box component="ol" className="timeline" aria-label={texts.timeline}>
      {steps.map(({ name, at, isDone, isNow }) => (
        <li key={name} data-done={isDone || undefined} aria-current={isNow ? 'step' : undefined}>
          <span className="timeline-dot" aria-hidden>
            {isDone && <IconCheck size={11} stroke={3} />}
          </span>
          <Text size="sm" fw={500}>
            {name}
          </Text>
          <Text size="xs" c="dimmed" className="numbers" title={at ? exactTime(at) : undefined}>
            {at && isDone ? stamp(at, start) : isNow ? texts.inProgress : '–'}
          </Text>
        </li>
      ))}
    </Box>
  );
}

/** The clock's time, and how long after the trigger that was. */
function stamp(at: string, start: number): string {
  const later = Date.parse(at) - start;
  return later > 0 ? `${clockTime(at)} · +${milliseconds(later)}` : clockTime(at);
}

/** When the first delivery was there, and the last of the first ones sent; unknown where there is none. */
function useDeliveryTimes({ identifier, status }: Occurrence): { resolvedAt?: string; sentAt?: string } {
  const org = useOrg();
  const { data = [] } = useQuery({
    queryKey: [org, 'deliveries', identifier, 'times', status],
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/', {
          params: { path: { org, identifier }, query: { limit: 200 } },
          signal,
        }),
      ),
  });
  const sent = data.flatMap(({ sent_at }) => sent_at ?? []).sort();
  return { resolvedAt: data.map(({ created_at }) => created_at).sort()[0], sentAt: sent.at(-1) };
}
