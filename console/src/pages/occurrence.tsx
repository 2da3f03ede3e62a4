/** One occurrence: how far it is, whom it reached, and why not the others. */
import { Alert, Anchor, Grid, Group, Stack, Text } from '@mantine/core';
import { IconPlayerStop, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api, take } from '../api.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { CopyText } from '../components/copy.tsx';
import { CountsBar, CountsLegend, count, totalOf } from '../components/counts.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Page, Section } from '../components/page.tsx';
import { Failure, Waiting } from '../components/states.tsx';
import { occurrenceLooks, StatusBadge } from '../components/status.tsx';
import { TimeAgo } from '../components/time.tsx';
import { liveMs } from '../components/use-list.ts';
import { eventTo, to, useOrg } from '../places.ts';
import { Course } from './occurrence/course.tsx';
import { Deliveries } from './occurrence/deliveries.tsx';
import { WhyNot } from './occurrence/why-not.tsx';

export default function OccurrencePage() {
  const org = useOrg();
  const { identifier = '' } = useParams();
  const path = { org, identifier };
  const key = [org, 'occurrence', identifier];
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/occurrence/{identifier}/', { params: { path }, signal })),
    // Once complete it only changes when somebody sends it again, which looks anew by itself.
    refetchInterval: query => (query.state.data?.status === 'completed' ? liveMs * 5 : liveMs / 2),
  });
  const refresh = [key, [org, 'deliveries', identifier]];
  const cancel = useAction({
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/cancel/', { params: { path } })),
    done: ({ cancelled }) =>
      cancelled === 1 ? 'One delivery is cancelled.' : `${count(cancelled)} deliveries are cancelled.`,
    refresh,
  });
  const replay = useAction({
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/replay/', { params: { path } })),
    done: ({ replayed }) =>
      replayed === 1 ? 'One delivery is sent again.' : `${count(replayed)} deliveries are sent again.`,
    refresh,
  });

  const parents = [{ label: 'Occurrences', to: to.occurrences(org) }];
  if (!data) {
    return (
      <Page title="Occurrence" parents={parents}>
        {error ? <Failure error={error} retry={() => void refetch()} /> : <Waiting />}
      </Page>
    );
  }
  const { counts, status } = data;
  const total = totalOf(counts);
  const again = counts.failed + counts.unknown;
  const open = counts.pending;
  const askCancel = async () => {
    const sure = await confirm({
      title: 'Cancel this occurrence?',
      children: 'What has not been sent yet is never sent. What was sent stays sent.',
      action: 'Cancel occurrence',
      danger: true,
    });
    if (sure) cancel.mutate(undefined);
  };
  const askReplay = async () => {
    const unknown = counts.unknown > 0 && ' Where the outcome is unknown, somebody may get the message twice.';
    const sure = await confirm({
      title: again === 1 ? 'Send one delivery again?' : `Send ${count(again)} deliveries again?`,
      children: <>Those that failed or whose outcome is unknown are sent again.{unknown}</>,
      action: 'Send again',
    });
    if (sure) replay.mutate(undefined);
  };
  const name = data.event ?? 'Deleted event';
  const eventPage = data.event && eventTo(org, data.event);

  return (
    <Page
      title={name}
      documentTitle={`${name} · ${identifier.slice(0, 8)}`}
      parents={parents}
      aside={<StatusBadge status={status} looks={occurrenceLooks} />}
      description={
        <Group gap="2px 16px">
          <CopyText value={identifier} label="Copy identifier" />
          <span>
            Triggered <TimeAgo at={data.created_at} />
          </span>
          {data.correlation_id && (
            <span>
              Correlation id <CopyText value={data.correlation_id} label="Copy correlation id" />
            </span>
          )}
          {eventPage && (
            <Anchor component={Link} to={eventPage} inherit>
              Event
            </Anchor>
          )}
        </Group>
      }
      actions={
        <>
          {(status !== 'completed' || open > 0) && (
            <GuardedButton
              permission="occurrence:write"
              variant="default"
              leftSection={<IconPlayerStop size={14} stroke={1.6} />}
              loading={cancel.isPending}
              onClick={() => void askCancel()}
            >
              Cancel
            </GuardedButton>
          )}
          {again > 0 && (
            <GuardedButton
              permission="occurrence:write"
              leftSection={<IconRefresh size={14} stroke={1.6} />}
              loading={replay.isPending}
              onClick={() => void askReplay()}
            >
              Replay
            </GuardedButton>
          )}
        </>
      }
    >
      <Stack gap="md">
        <Section title="Progress" aside={<Sum total={total} open={open} />}>
          <Stack gap="sm">
            <CountsBar counts={counts} height={8} />
            {total > 0 && <CountsLegend counts={counts} />}
            {data.reason === 'limit.fan_out' && (
              <Alert color="yellow" variant="light" p="xs">
                <Text size="sm" c="var(--mantine-color-text)">
                  Stopped after {count(total)} deliveries: that is as many as one trigger may have in this organization.
                  The other recipients were not told. See the limits in the settings.
                </Text>
              </Alert>
            )}
            {total === 0 && status === 'completed' && data.reason !== 'limit.fan_out' && (
              <Alert color="gray" variant="light" p="xs">
                <Text size="sm" c="var(--mantine-color-text)">
                  Nobody was told: no notification of the event found a recipient. Ask below why somebody was not.
                </Text>
              </Alert>
            )}
          </Stack>
        </Section>
        <Grid gap="md">
          <Grid.Col span={{ base: 12, lg: 8 }}>
            <Deliveries identifier={identifier} live={status !== 'completed' || open > 0} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, lg: 4 }}>
            <Stack gap="md">
              <WhyNot identifier={identifier} />
              <Section title="Course">
                <Course occurrence={data} />
              </Section>
              <Section title="Context">
                <JsonView value={data.context} label="Context" />
              </Section>
              <Section title="Options">
                <JsonView value={data.options} label="Options" />
              </Section>
            </Stack>
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

function Sum({ total, open }: { total: number; open: number }) {
  return (
    <Text size="sm" c="dimmed" role="status" className="numbers">
      {open > 0 ? `${count(total - open)} of ${count(total)} have their outcome` : `${count(total)} deliveries`}
    </Text>
  );
}
