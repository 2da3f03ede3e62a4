/** Board of open escalations: the step each has reached, when the next one runs, and buttons to respond. */
import { Anchor, Box, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { IconBellCheck, IconCheck, IconHandStop } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Escalations as Board } from '../api-types.ts';
import { GuardedButton } from '../components/actions.tsx';
import { countdown } from '../components/countdown.ts';
import { count } from '../components/counts.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { OccurrenceBadge } from '../components/status.tsx';
import { exactTime, TimeAgo } from '../components/time.tsx';
import { liveMs } from '../components/use-list.ts';
import { useResponses } from '../components/use-responses.ts';
import { to, useOrg } from '../paths.ts';
import { read } from '../queries.ts';
import { texts } from '../texts/escalations.ts';
import { texts as responses } from '../texts/responses.ts';

type Escalation = Board['escalations'][number];
type Step = Escalation['steps'][number];

export default function Escalations() {
  const org = useOrg();
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/escalations/', { path: { org } }),
    refetchInterval: liveMs,
  });
  const now = useNow();
  const escalating = data?.escalations.filter(({ occurrence }) => occurrence.outcome === 'escalating') ?? [];
  const unanswered = data?.escalations.filter(({ occurrence }) => occurrence.outcome !== 'escalating') ?? [];
  return (
    <Page title={texts.escalations} description={texts.description}>
      {error && !data && <Failure error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton height={180} radius="lg" />}
      {data?.escalations.length === 0 && (
        <div className="card">
          <Empty icon={<IconBellCheck size={26} stroke={1.4} />} title={texts.nothingEscalates}>
            {texts.nothingEscalatesHint}
          </Empty>
        </div>
      )}
      <Stack gap="lg">
        <Column title={texts.escalatingNow} escalations={escalating} now={now} />
        <Column title={texts.noOneResponded} escalations={unanswered} now={now} />
        {data?.capped && (
          <Text size="sm" c="dimmed">
            {texts.newestShown(count(data.escalations.length))}
          </Text>
        )}
      </Stack>
    </Page>
  );
}

/** Returns the time, every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), 1_000, { autoInvoke: true });
  return now;
}

function Column({ title, escalations, now }: { title: string; escalations: Escalation[]; now: number }) {
  if (escalations.length === 0) return null;
  return (
    <Box component="section" aria-label={title}>
      <Title order={2} mb="xs">
        {title}
      </Title>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        {escalations.map(escalation => (
          <Card key={escalation.occurrence.identifier} escalation={escalation} now={now} />
        ))}
      </SimpleGrid>
    </Box>
  );
}

function Card({ escalation, now }: { escalation: Escalation; now: number }) {
  const { occurrence, steps, notified, notified_more } = escalation;
  const { identifier, event, created_at } = occurrence;
  const org = useOrg();
  const name = event ?? texts.deletedEvent;
  return (
    <Box component="article" className="card" p="md" aria-label={name}>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <div>
            <Anchor component={Link} to={to.occurrence(org, identifier)} fw={600} style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Anchor>
            <Text size="xs" c="dimmed">
              <TimeAgo at={created_at} />
              {occurrence.triggers > 1 && ` · ${texts.triggers(occurrence.triggers)}`}
            </Text>
          </div>
          <OccurrenceBadge occurrence={occurrence} />
        </Group>
        {steps.map(step => (
          <StepLine key={step.notification} step={step} now={now} isAlone={steps.length === 1} />
        ))}
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {notified.length === 0
            ? texts.noOneNotified
            : (notified_more ? texts.notifiedAndOthers : texts.notified)(notified.join(', '))}
        </Text>
        <Responses identifier={identifier} name={name} acknowledged={occurrence.acknowledged_at !== null} />
      </Stack>
    </Box>
  );
}

function StepLine({ step, now, isAlone }: { step: Step; now: number; isAlone: boolean }) {
  const { notification, next_step, next_at } = step;
  const done =
    step.step === null ? texts.notStarted : step.is_running ? texts.stepRunning(step.step) : texts.stepDone(step.step);
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">
        {!isAlone && `${notification ?? texts.deletedNotification}: `}
        {done}
      </Text>
      {next_at === null ? (
        <Text size="sm" c="dimmed">
          {texts.noFurtherStep}
        </Text>
      ) : (
        <Text size="sm" ta="right">
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

function Responses({ identifier, name, acknowledged }: { identifier: string; name: string; acknowledged: boolean }) {
  const { acknowledge, resolve, askResolve } = useResponses(identifier);
  return (
    <Group gap="xs">
      {!acknowledged && (
        <GuardedButton
          permission="occurrence:write"
          leftSection={<IconHandStop size={14} stroke={1.6} />}
          loading={acknowledge.isPending}
          onClick={() => acknowledge.mutate(undefined)}
          aria-label={responses.acknowledgeEvent(name)}
        >
          {responses.acknowledge}
        </GuardedButton>
      )}
      <GuardedButton
        permission="occurrence:write"
        variant="default"
        leftSection={<IconCheck size={14} stroke={1.6} />}
        loading={resolve.isPending}
        onClick={() => void askResolve()}
        aria-label={responses.resolveEvent(name)}
      >
        {responses.resolve}
      </GuardedButton>
    </Group>
  );
}
