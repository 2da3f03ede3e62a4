/** Timeline of an occurrence's progress. */
import { Box, Text } from '@mantine/core';
import { IconCheck, IconExclamationMark, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Occurrence } from '../../api-types.ts';
import { clockAndDay, clockTime, exactTime, milliseconds } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';
import { type StageState, stagesOf } from './timeline-steps.ts';

const icon = { size: 11, stroke: 3 };
const icons: Partial<Record<StageState, ReactNode>> = {
  done: <IconCheck {...icon} />,
  ended: <IconCheck {...icon} />,
  partly: <IconExclamationMark {...icon} />,
  failed: <IconX {...icon} />,
};

export function OccurrenceTimeline({ occurrence }: { occurrence: Occurrence }) {
  const stages = stagesOf(occurrence, useFirstDeliveries(occurrence.identifier, occurrence.status), clockAndDay);
  const start = Date.parse(occurrence.created_at);
  return (
    <Box component="ol" className="timeline" aria-label={texts.timeline}>
      {stages.map(({ name, at, state, note }) => (
        <li key={name} data-state={state} aria-current={state === 'now' ? 'step' : undefined}>
          <span className="timeline-dot" aria-hidden>
            {icons[state]}
          </span>
          <Text size="sm" fw={500}>
            {name}
          </Text>
          <Text size="xs" c="dimmed" className="numbers" title={at ? exactTime(at) : undefined}>
            {state === 'now' ? (note ?? texts.inProgress) : at && state !== 'open' ? stamp(at, start) : '–'}
          </Text>
        </li>
      ))}
    </Box>
  );
}

/** Formats the time of day and the time since the trigger. */
function stamp(at: string, start: number): string {
  const later = Date.parse(at) - start;
  return later > 0 ? `${clockTime(at)} · +${milliseconds(later)}` : clockTime(at);
}

/** Returns the first page of deliveries. */
function useFirstDeliveries(identifier: string, status: Occurrence['status'] | undefined) {
  const org = useOrg();
  const { data = [] } = useQuery({
    ...read(
      '/api/o/{org}/occurrence/{identifier}/deliveries/',
      { path: { org, identifier }, query: { limit: 200 } },
      status,
    ),
    enabled: status !== undefined,
    refetchInterval: status !== 'completed' && liveMs,
  });
  return data;
}
