/** Steps of an occurrence: what ran, why a step was skipped, and what is still planned. */
import { Box, Group, Stack, Text } from '@mantine/core';
import { IconCheck, IconMinus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Occurrence, OccurrenceResponse, OccurrenceStep } from '../../api-types.ts';
import { Section } from '../../components/page.tsx';
import { reasonText } from '../../components/statuses.ts';
import { clockAndDay, exactTime, TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

export function Steps({ occurrence }: { occurrence: Occurrence }) {
  const org = useOrg();
  const { identifier, status, acknowledged_at, acknowledged_until, resolved_at } = occurrence;
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/steps/', { path: { org, identifier } }, [
      status,
      acknowledged_at,
      acknowledged_until,
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
          {reason && ` · ${reasonText(reason)}`}
          {status === 'planned' && step.round_robin && ` · ${texts.inTurn}`}
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
  const org = useOrg();
  const { identifier, status, acknowledged_at, acknowledged_until, resolved_at, triggers } = occurrence;
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/responses/', { path: { org, identifier } }, [
      acknowledged_at,
      acknowledged_until,
      resolved_at,
    ]),
    refetchInterval: status === 'completed' ? false : liveMs,
  });
  const responses = data.length > 0 ? data : withoutResponses(occurrence);
  return (
    <>
      {triggers > 1 && (
        <Text size="sm" role="status">
          {texts.joinedByTriggers(triggers)}
        </Text>
      )}
      {responses.length > 0 && (
        <Box component="ul" m={0} p={0} style={{ listStyle: 'none' }} aria-label={texts.responses}>
          {responses.map(({ number, at, ...response }) => (
            <Text key={number} component="li" size="sm">
              {responseText(response)} <TimeAgo at={at} />
            </Text>
          ))}
        </Box>
      )}
    </>
  );
}

type Response = Pick<OccurrenceResponse, 'number' | 'kind' | 'at' | 'by' | 'until'>;

/** Returns the responses to an occurrence of a version that did not record them. */
function withoutResponses(occurrence: Occurrence): Response[] {
  const { acknowledged_at, acknowledged_by, acknowledged_until: until, resolved_at, resolved_by } = occurrence;
  return [
    ...(acknowledged_at
      ? [{ number: 1, kind: 'acknowledged' as const, at: acknowledged_at, by: acknowledged_by, until }]
      : []),
    ...(resolved_at ? [{ number: 2, kind: 'resolved' as const, at: resolved_at, by: resolved_by, until: null }] : []),
  ];
}

function responseText({ kind, by, until }: Pick<Response, 'kind' | 'by' | 'until'>): string {
  const name = by ?? '';
  switch (kind) {
    case 'acknowledged':
      return until ? texts.acknowledgedByUntil(name, clockAndDay(until)) : texts.acknowledgedBy(name);
    case 'snoozed':
      return texts.snoozedBy(name, until ? clockAndDay(until) : '');
    case 'unacknowledged':
      return texts.unacknowledgedBy(name);
    case 'expired':
      return texts.acknowledgementExpired;
    case 'snooze_ended':
      return texts.snoozeEnded;
    case 'severity_rose':
      return texts.severityRose(name);
    case 'resolved':
      return texts.resolvedBy(name);
  }
}
