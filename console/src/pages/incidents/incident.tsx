/** One incident of the list: its severity and source, the step it has reached, who was notified, and buttons to respond. */
import { Anchor, Box, Group, Stack, Text } from '@mantine/core';
import { IconArrowBackUp, IconCheck, IconHandStop } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Incident as IncidentRow } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { countdown } from '../../components/countdown.ts';
import { SnoozeMenu } from '../../components/snooze-menu.tsx';
import { OccurrenceBadge } from '../../components/status.tsx';
import { clockAndDay, exactTime, TimeAgo } from '../../components/time.tsx';
import { useResponses } from '../../components/use-responses.ts';
import { to, useOrg } from '../../paths.ts';
import { texts } from '../../texts/incidents.ts';
import { texts as responses } from '../../texts/responses.ts';
import { formatBetween, SeverityMark } from './marks.tsx';

type Step = IncidentRow['steps'][number];

/** The first report itself is stored a moment after the occurrence. */
const repeatMs = 10_000;

export function Incident({ incident, now }: { incident: IncidentRow; now: number }) {
  const {
    occurrence,
    title,
    severity,
    source,
    last_seen_at,
    alerts,
    steps,
    notified,
    notified_more,
    status,
    silenced_until,
  } = incident;
  const { identifier, event, created_at, triggers } = occurrence;
  const org = useOrg();
  const name = title ?? event ?? texts.deletedEvent;
  const members = alerts.open + alerts.acknowledged + alerts.resolved;
  const isLive = status === 'open' || status === 'silenced';
  return (
    <Box component="article" className="card" p="md" aria-label={name}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4} flex="1 1 300px" miw={0}>
          <Group gap="xs">
            <SeverityMark severity={severity} />
            <Anchor component={Link} to={to.occurrence(org, identifier)} fw={600} style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Anchor>
            <OccurrenceBadge occurrence={occurrence} />
          </Group>
          <Group gap="0 12px">
            <Detail>
              <TimeAgo at={created_at} text={texts.openedAt} />
            </Detail>
            {isLive && Date.parse(last_seen_at) - Date.parse(created_at) > repeatMs && (
              <Detail>
                <TimeAgo at={last_seen_at} text={texts.lastSeen} />
              </Detail>
            )}
            {triggers > 1 && <Detail>{texts.triggers(triggers)}</Detail>}
            {members > 1 && (
              <Detail>{isLive ? texts.membersOf(alerts.open, texts.members(members)) : texts.members(members)}</Detail>
            )}
            {source ? (
              <Anchor component={Link} to={linkToSource(org, source.path)} size="xs" c="dimmed">
                {source.name}
              </Anchor>
            ) : (
              title !== null && event && <Detail>{event}</Detail>
            )}
          </Group>
          <Answers occurrence={occurrence} />
          {silenced_until && <Text size="sm">{texts.silencedUntil(clockAndDay(silenced_until))}</Text>}
          {isLive &&
            steps.map(step => <StepLine key={step.notification} step={step} now={now} isAlone={steps.length === 1} />)}
          {isLive && steps.length > 0 && (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {notified.length === 0
                ? texts.noOneNotified
                : (notified_more ? texts.notifiedAndOthers : texts.notified)(notified.join(', '))}
            </Text>
          )}
        </Stack>
        {status !== 'resolved' && (
          <Responses identifier={identifier} name={name} status={status} hasSteps={steps.length > 0} />
        )}
      </Group>
    </Box>
  );
}

function Detail({ children }: { children: React.ReactNode }) {
  return (
    <Text component="span" size="xs" c="dimmed">
      {children}
    </Text>
  );
}

function linkToSource(org: string, path: string): string {
  const [prj = '', app = '', source = ''] = path.split('/');
  return to.source(org, prj, app, source);
}

function Answers({ occurrence }: { occurrence: IncidentRow['occurrence'] }) {
  const { created_at, acknowledged_at, acknowledged_by, acknowledged_until, snoozed_by, resolved_at, resolved_by } =
    occurrence;
  const lines = [
    acknowledged_at && texts.acknowledgedBy(acknowledged_by ?? '–', formatBetween(created_at, acknowledged_at)),
    snoozed_by && acknowledged_until && texts.snoozedBy(snoozed_by, clockAndDay(acknowledged_until)),
    resolved_at && texts.resolvedBy(resolved_by ?? '–', formatBetween(created_at, resolved_at)),
  ];
  return lines.map(
    line =>
      line && (
        <Text key={line} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {line}
        </Text>
      ),
  );
}

function StepLine({ step, now, isAlone }: { step: Step; now: number; isAlone: boolean }) {
  const { notification, next_step, next_at } = step;
  const done =
    step.step === null ? texts.notStarted : step.is_running ? texts.stepRunning(step.step) : texts.stepDone(step.step);
  return (
    <Group gap="0 12px">
      <Text size="sm">
        {!isAlone && `${notification ?? texts.deletedNotification}: `}
        {done}
      </Text>
      {next_at === null ? (
        <Text size="sm" c="dimmed">
          {texts.noFurtherStep}
        </Text>
      ) : (
        <Text size="sm">
          {texts.nextStep(next_step ?? '')}{' '}
          <Text
            component="time"
            dateTime={next_at}
            title={exactTime(next_at)}
            role="timer"
            className="numbers"
            fw={600}
          >
            {countdown(Date.parse(next_at) - now) ?? texts.dueNow}
          </Text>
        </Text>
      )}
    </Group>
  );
}

interface ResponsesProps {
  identifier: string;
  name: string;
  status: IncidentRow['status'];
  /** Only steps can go on after a snooze. */
  hasSteps: boolean;
}

function Responses({ identifier, name, status, hasSteps }: ResponsesProps) {
  const { acknowledge, unacknowledge, resolve } = useResponses(identifier);
  const isSnoozed = status === 'snoozed';
  return (
    <Group gap="xs">
      {status !== 'acknowledged' && (
        <GuardedButton
          permission="occurrence:write"
          data-key="a"
          leftSection={<IconHandStop size={14} stroke={1.6} />}
          loading={acknowledge.isPending}
          onClick={() => acknowledge.mutate(undefined)}
          aria-label={responses.acknowledgeEvent(name)}
        >
          {responses.acknowledge}
        </GuardedButton>
      )}
      {hasSteps && <SnoozeMenu identifier={identifier} name={name} hotkey="s" />}
      {(isSnoozed || status === 'acknowledged') && (
        <GuardedButton
          permission="occurrence:write"
          data-key="u"
          variant="default"
          leftSection={<IconArrowBackUp size={14} stroke={1.6} />}
          loading={unacknowledge.isPending}
          onClick={() => unacknowledge.ask(undefined)}
          aria-label={isSnoozed ? responses.unsnoozeEvent(name) : responses.unacknowledgeEvent(name)}
        >
          {isSnoozed ? responses.unsnooze : responses.unacknowledge}
        </GuardedButton>
      )}
      <GuardedButton
        permission="occurrence:write"
        data-key="r"
        variant="default"
        leftSection={<IconCheck size={14} stroke={1.6} />}
        loading={resolve.isPending}
        onClick={() => resolve.ask(undefined)}
        aria-label={responses.resolveEvent(name)}
      >
        {responses.resolve}
      </GuardedButton>
    </Group>
  );
}
