/** Steps of an occurrence: what ran, why a step was skipped, and what is still planned. */
import { Box, Group, Stack, Text } from '@mantine/core';
import { IconCheck, IconMinus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Occurrence, OccurrenceStep } from '../../api-types.ts';
import { Section } from '../../components/page.tsx';
import { reasonText } from '../../components/statuses.ts';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

export function Steps({ occurrence }: { occurrence: Occurrence }) {
  const org = useOrg();
  const { identifier, status, acknowledged_at, resolved_at } = occurrence;
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/steps/', { path: { org, identifier } }, [
      status,
      acknowledged_at,
      resolved_at,
    ]),
    refetchInterval: status === 'completed' ? false : liveMs,
  });
  if (data.length === 0) return null;
  const notifications = [...Map.groupBy(data, step => step.notification)];
  return (
    <Section title={texts.steps}>
      <Stack gap="md">
        {notifications.map(([name, steps]) => (
          <div key={name}>
            {notifications.length > 1 && (
              <Text size="sm" fw={500} mb={4}>
                {name ?? texts.deletedNotification}
              </Text>
            )}
            <Box component="ol" className="steps" aria-label={texts.stepsOf(name ?? texts.deletedNotification)}>
              {steps.map(step => (
                <Line key={step.number} step={step} />
              ))}
            </Box>
          </div>
        ))}
        <Responses occurrence={occurrence} />
      </Stack>
    </Section>
  );
}

function Line({ step }: { step: OccurrenceStep }) {
  const { status, reason, due_at, ended_at, messages } = step;
  const isDone = status === 'done';
  const title = step.step === null ? texts.resolutionNotice : texts.step(step.step);
  return (
    <li data-status={status}>
      <span className="timeline-dot" aria-hidden>
        {isDone ? <IconCheck size={11} stroke={3} /> : status !== 'planned' && <IconMinus size={11} stroke={3} />}
      </span>
      <div>
        <Group gap={6}>
          <Text size="sm" fw={500}>
            {title}
          </Text>
          <Text size="sm" c="dimmed">
            {step.channels.join(', ')}
            {step.recipients !== null && ` · ${step.recipients}`}
          </Text>
        </Group>
        <Text size="xs" c="dimmed" title={exactTime(ended_at ?? due_at)}>
          {statusText(step)} {status !== 'running' && <TimeAgo at={ended_at ?? due_at} />}
          {isDone && ` · ${texts.messages(messages)}`}
          {reason && !isDone && ` · ${reasonText(reason)}`}
          {status === 'planned' && step.unless && ` · ${texts.unless(step.unless)}`}
        </Text>
      </div>
    </li>
  );
}

function statusText({ status }: OccurrenceStep): string {
  return {
    planned: texts.stepPlanned,
    running: texts.stepRunning,
    done: texts.stepDone,
    skipped: texts.stepSkipped,
    ended: texts.stepEnded,
  }[status];
}

function Responses({ occurrence }: { occurrence: Occurrence }) {
  const { acknowledged_at, acknowledged_by, resolved_at, resolved_by, triggers } = occurrence;
  const lines = [
    ...(triggers > 1 ? [{ key: 'triggers', text: texts.joinedByTriggers(triggers), at: null }] : []),
    ...(acknowledged_at
      ? [{ key: 'acknowledged', text: texts.acknowledgedBy(acknowledged_by ?? ''), at: acknowledged_at }]
      : []),
    ...(resolved_at ? [{ key: 'resolved', text: texts.resolvedBy(resolved_by ?? ''), at: resolved_at }] : []),
  ];
  return lines.map(({ key, text, at }) => (
    <Text key={key} size="sm" role="status">
      {text} {at && <TimeAgo at={at} />}
    </Text>
  ));
}
