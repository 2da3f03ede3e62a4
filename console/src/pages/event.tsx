/** One event: its notifications, how to trigger it, what came of it lately. */
import { Anchor, Grid, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from 'react-router';
import { api, take } from '../api.ts';
import { GuardedButton } from '../components/actions.tsx';
import { CopyText } from '../components/copy.tsx';
import { CountsBar, describe } from '../components/counts.tsx';
import { DataTable } from '../components/data-table.tsx';
import { Page, Section } from '../components/page.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { occurrenceLooks, StatusBadge } from '../components/status.tsx';
import { TimeAgo } from '../components/time.tsx';
import { liveMs } from '../components/use-list.ts';
import { NotificationCard } from '../events/notification-card.tsx';
import { PlaceMenu } from '../events/place-menu.tsx';
import { eventQuery } from '../events/places.ts';
import { type EventPath, useRecent, useSample } from '../events/sample.ts';
import { StateBadges } from '../events/state-badges.tsx';
import { HowToTrigger, TryEvent } from '../events/try-event.tsx';
import { to } from '../places.ts';
import { useCan } from '../session.tsx';

export default function Event() {
  const { org = '', prj = '', app = '', evt = '' } = useParams();
  const path = { org, prj, app, evt };
  // Another event is another page: nothing typed for one is shown at the next.
  return <EventPage key={Object.values(path).join('/')} path={path} />;
}

function EventPage({ path }: { path: EventPath }) {
  const { org, prj, app, evt } = path;
  const navigate = useNavigate();
  const sample = useSample(path);
  const { data, error, refetch } = useQuery(eventQuery(path));
  const notifications = useNotifications(path);
  const event = data?.value;
  const parents = [
    { label: 'Events', to: to.events(org) },
    { label: prj, to: to.events(org, prj) },
  ];
  if (error) {
    return (
      <Page title={evt} parents={parents}>
        <Failure error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  const create = (
    <GuardedButton
      permission="notification:write"
      onClick={() => void navigate(to.notification(org, prj, app, evt, 'new'))}
    >
      New notification
    </GuardedButton>
  );
  const rows = notifications.data ?? [];

  return (
    <Page
      title={event?.name ?? evt}
      parents={parents}
      aside={event && <StateBadges active={event.active} paused={event.paused} />}
      description={<CopyText value={`${prj}/${app}/${evt}`} label="Copy the path of the event" />}
      actions={
        <>
          {create}
          <PlaceMenu
            place={path}
            name={event?.name ?? evt}
            active={event?.active}
            paused={event?.paused}
            onDeleted={() => void navigate(to.events(org, prj))}
          />
        </>
      }
    >
      <Stack gap="lg">
        <Section title="Notifications">
          {notifications.isPending && <Skeleton height={110} />}
          {notifications.error && <Failure error={notifications.error} retry={() => void notifications.refetch()} />}
          {rows.length > 0 && (
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
              {rows.map(notification => (
                <NotificationCard key={notification.id} path={path} notification={notification} />
              ))}
            </SimpleGrid>
          )}
          {notifications.data?.length === 0 && (
            <Empty icon={<IconBell size={26} stroke={1.4} />} title="Nobody is told yet" action={create}>
              A notification says who is told when this event is triggered, by which channels, and in which words. An
              event may have several: a receipt for the customer, a line in the team's chat.
            </Empty>
          )}
        </Section>
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <TryEvent
              path={path}
              sample={sample}
              active={event?.active ?? true}
              asksForRecipients={rows.some(({ recipients }) => recipients.trigger)}
            />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Stack gap="lg">
              <HowToTrigger path={path} sample={sample} />
              <Recent path={path} />
            </Stack>
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

function useNotifications(path: EventPath) {
  const can = useCan();
  return useQuery({
    queryKey: [path.org, 'notifications', path.prj, path.app, path.evt],
    enabled: can('notification:read'),
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/', { params: { path }, signal })),
  });
}

function Recent({ path }: { path: EventPath }) {
  const can = useCan();
  const recent = useRecent(path, liveMs);
  if (!can('occurrence:read')) return null;
  const { org, prj } = path;
  return (
    <Section
      title="Recent occurrences"
      padded={false}
      aside={
        <Anchor component={Link} to={to.occurrences(org, prj)} size="sm">
          All
        </Anchor>
      }
    >
      <DataTable
        label="Recent occurrences"
        list={{ rows: recent.data ?? [], loading: recent.isPending, error: recent.data ? null : recent.error }}
        rowKey={row => row.identifier}
        rowTo={row => to.occurrence(org, row.identifier)}
        columns={[
          { head: 'When', cell: row => <TimeAgo at={row.created_at} /> },
          { head: 'Status', cell: row => <StatusBadge status={row.status} looks={occurrenceLooks} /> },
          {
            head: 'Deliveries',
            width: '40%',
            cell: row =>
              describe(row.counts) === 'no deliveries' ? (
                <Text size="sm" c="dimmed">
                  none
                </Text>
              ) : (
                <CountsBar counts={row.counts} />
              ),
          },
        ]}
        empty={<Empty title="Not triggered yet">Try it here, or from your application with the command above.</Empty>}
      />
    </Section>
  );
}
