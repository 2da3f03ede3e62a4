/** Incidents to choose from, and a bar at the bottom of the screen to respond to the chosen one. */
import { Anchor, Box, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconBellCheck, IconCheck, IconHandStop } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { Incident } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Section } from '../../components/page.tsx';
import { SnoozeMenu } from '../../components/snooze-menu.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { OccurrenceBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/pager.ts';
import { texts as words } from '../../texts/responses.ts';
import { SeverityMark } from '../incidents/marks.tsx';
import { toInstant, useRespond } from './use-respond.ts';

const maxShown = 20;

export function OpenIncidents() {
  const org = useOrg();
  const [params, setParams] = useSearchParams();
  const wanted = params.get('incident');
  const query = (status: 'open' | 'acknowledged' | 'snoozed') => ({
    ...read('/api/o/{org}/incidents/', { path: { org }, query: { status, limit: maxShown } }),
    refetchInterval: liveMs,
  });
  const open = useQuery(query('open'));
  const acknowledged = useQuery(query('acknowledged'));
  const snoozed = useQuery(query('snoozed'));
  const taken = [...(acknowledged.data ?? []), ...(snoozed.data ?? [])];
  const all = [...(open.data ?? []), ...taken];
  const chosen = all.find(one => one.occurrence.identifier === wanted) ?? (wanted ? undefined : open.data?.[0]);
  const choose = (identifier: string) => setParams({ incident: identifier }, { replace: true });
  const isGone = wanted !== null && !chosen && open.isSuccess && acknowledged.isSuccess && snoozed.isSuccess;
  const rows = (incidents: readonly Incident[]) =>
    incidents.map(one => (
      <Row key={one.occurrence.identifier} incident={one} isChosen={one === chosen} choose={choose} />
    ));
  const allLink = (
    <Anchor component={Link} to={to.incidents(org)} size="sm">
      {texts.allIncidents}
    </Anchor>
  );
  return (
    <>
      {isGone && (
        <Group className="card" p="sm" gap="xs" role="status">
          <Text size="sm">{texts.notOpen}</Text>
          <Anchor component={Link} to={to.occurrence(org, wanted)} size="sm">
            {texts.details}
          </Anchor>
        </Group>
      )}
      <Section title={texts.openIncidents} aside={allLink} padded={false}>
        {open.isError && open.data && (
          <Text size="sm" px="md" pb="xs" c="var(--mantine-color-error)" role="status">
            {texts.notCurrent}
          </Text>
        )}
        {open.isPending && <Loading />}
        {open.isError && !open.data && <Failure error={open.error} retry={() => void open.refetch()} />}
        {open.data?.length === 0 && <Empty icon={<IconBellCheck size={26} stroke={1.4} />} title={texts.nothingOpen} />}
        {open.data && rows(open.data)}
      </Section>
      {taken.length > 0 && (
        <Section title={texts.takenIncidents} padded={false}>
          {rows(taken)}
        </Section>
      )}
      {chosen && <Bar key={chosen.occurrence.identifier} incident={chosen} />}
    </>
  );
}

function titleOf({ title, occurrence }: Incident): string {
  return title ?? occurrence.event ?? texts.deletedEvent;
}

interface RowProps {
  incident: Incident;
  isChosen: boolean;
  choose: (identifier: string) => void;
}

function Row({ incident, isChosen, choose }: RowProps) {
  const { occurrence, severity } = incident;
  const { identifier, created_at, acknowledged_by } = occurrence;
  return (
    <UnstyledButton className="page-row" aria-pressed={isChosen} onClick={() => choose(identifier)}>
      <Text component="span" fw={600} style={{ overflowWrap: 'anywhere' }}>
        {titleOf(incident)}
      </Text>
      <Group component="span" gap="xs">
        <SeverityMark severity={severity} />
        <OccurrenceBadge occurrence={occurrence} />
        <Text component="span" size="xs" c="dimmed">
          <TimeAgo at={created_at} text={texts.opened} />
        </Text>
        {acknowledged_by && (
          <Text component="span" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {texts.takenBy(acknowledged_by)}
          </Text>
        )}
      </Group>
    </UnstyledButton>
  );
}

function Bar({ incident }: { incident: Incident }) {
  const org = useOrg();
  const respond = useRespond();
  const [sending, setSending] = useState<string>();
  const { status, steps, occurrence } = incident;
  const { identifier } = occurrence;
  const title = titleOf(incident);
  const send = async (action: 'acknowledge' | 'snooze' | 'resolve', until?: string) => {
    setSending(action);
    await respond({ occurrence: identifier, title, action, ...(until && { until }) });
    setSending(undefined);
  };
  const askResolve = async () => {
    const { resolveQuestion, resolveHint, resolve } = words;
    if (await confirm({ title: resolveQuestion, children: resolveHint, action: resolve })) await send('resolve');
  };
  const isOpen = status === 'open' || status === 'silenced';
  return (
    <Box component="section" className="pager-bar" aria-label={texts.respondTo(title)}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" fw={600} truncate>
          {title}
        </Text>
        <Anchor component={Link} to={to.occurrence(org, identifier)} size="sm">
          {texts.details}
        </Anchor>
      </Group>
      <Stack gap="xs">
        {(isOpen || status === 'snoozed') && (
          <GuardedButton
            permission="occurrence:write"
            size="lg"
            fullWidth
            leftSection={<IconHandStop size={18} stroke={1.6} />}
            loading={sending === 'acknowledge'}
            onClick={() => void send('acknowledge')}
          >
            {words.acknowledge}
          </GuardedButton>
        )}
        <Group grow gap="xs">
          {steps.length > 0 && (
            <SnoozeMenu identifier={identifier} choose={request => void send('snooze', toInstant(request))} />
          )}
          <GuardedButton
            permission="occurrence:write"
            variant="default"
            size="md"
            leftSection={<IconCheck size={16} stroke={1.6} />}
            loading={sending === 'resolve'}
            onClick={() => void askResolve()}
          >
            {words.resolve}
          </GuardedButton>
        </Group>
      </Stack>
    </Box>
  );
}
