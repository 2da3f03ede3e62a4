/** One event: its notifications, a form to trigger it, and recent occurrences. */
import { Anchor, Grid, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import type { Pause } from '../api-types.ts';
import { EventGuard } from '../approvals/event-guard.tsx';
import { GuardedButton } from '../components/actions.tsx';
import { CopyText } from '../components/copy.tsx';
import { CountsBar, totalOf } from '../components/counts.tsx';
import { DataTable } from '../components/data-table.tsx';
import { Page, Section } from '../components/page.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { OccurrenceBadge } from '../components/status.tsx';
import { TimeAgo } from '../components/time.tsx';
import { liveMs } from '../components/use-list.ts';
import { ContextSchema } from '../events/context-schema.tsx';
import { EventCategory } from '../events/event-category.tsx';
import { NotificationCard } from '../events/notification-card.tsx';
import { OpenDigests } from '../events/open-digests.tsx';
import { eventQuery } from '../events/resource-api.ts';
import { ResourceMenu } from '../events/resource-menu.tsx';
import { type EventPath, useRecent, useSample } from '../events/sample.ts';
import { StateBadges } from '../events/state-badges.tsx';
import { HowToTrigger, TryEvent } from '../events/try-event.tsx';
import { WaitingMessages } from '../events/waiting-messages.tsx';
import { to } from '../paths.ts';
import { PauseBanners } from '../pauses/pause-banner.tsx';
import { usePauses } from '../pauses/use-pauses.ts';
import { read } from '../queries.ts';
import { useCan, useSession } from '../session.tsx';
import { texts } from '../texts/events.ts';

export default function Event() {
  const { org = '', prj = '', app = '', evt = '' } = useParams();
  const path = { org, prj, app, evt };
  // The key resets the page's state when another event is opened.
  return <EventPage key={Object.values(path).join('/')} path={path} />;
}

function EventPage({ path }: { path: EventPath }) {
  const { org, prj, app, evt } = path;
  const navigate = useNavigate();
  const sample = useSample(path);
  const [recipients, setRecipients] = useRecipients(org);
  const { data, error, refetch } = useQuery(eventQuery(path));
  const notifications = useNotifications(path);
  const pauses = usePauses().filter(pause => affects(pause, path));
  const event = data?.value;
  const parents = [
    { label: texts.events, to: to.events(org) },
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
      {texts.newNotification}
    </GuardedButton>
  );
  const rows = notifications.data ?? [];
  const takesRecipients = rows.some(({ recipients }) => recipients.trigger);

  return (
    <Page
      title={event?.name ?? evt}
      parents={parents}
      aside={event && <StateBadges {...event} />}
      description={
        <Group gap="md">
          <CopyText value={`${prj}/${app}/${evt}`} label={texts.copyEventPath} />
          {event && <EventCategory slug={event.category} />}
        </Group>
      }
      actions={
        <>
          {create}
          <ResourceMenu
            resource={path}
            name={event?.name ?? evt}
            active={event?.active}
            paused={event?.paused}
            category={event?.category}
            onDeleted={() => void navigate(to.events(org, prj))}
          />
        </>
      }
    >
      <PauseBanners pauses={pauses} />
      <Stack gap="lg">
        <WaitingMessages path={path} />
        <Section title={texts.notifications}>
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
            <Empty icon={<IconBell size={26} stroke={1.4} />} title={texts.noNotificationsYet} action={create}>
              {texts.noNotificationsHint}
            </Empty>
          )}
        </Section>
        <OpenDigests path={path} />
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <TryEvent
              path={path}
              sample={sample}
              active={event?.active ?? true}
              takesRecipients={takesRecipients}
              recipients={recipients}
              setRecipients={setRecipients}
            />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Stack gap="lg">
              <HowToTrigger path={path} sample={sample} recipients={takesRecipients ? recipients : undefined} />
              {event && <ContextSchema path={path} schema={event.context_schema} etag={data.etag} />}
              {event && <EventGuard path={path} guard={event.guard} etag={data.etag} />}
              <Recent path={path} />
            </Stack>
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

/** Whether the pause affects the event: its own or its application's. */
function affects({ kind, path }: Pause, { prj, app, evt }: EventPath): boolean {
  return kind === 'event' ? path === `${prj}/${app}/${evt}` : kind === 'application' && path === `${prj}/${app}`;
}

/** Recipients of a manual trigger; initially the signed-in user, if they are also a recipient. */
function useRecipients(org: string): [recipients: string[], set: (recipients: string[]) => void] {
  const { account } = useSession();
  const can = useCan();
  const [search] = useSearchParams();
  const named = search.getAll('recipient');
  const [chosen, setChosen] = useState<string[] | undefined>(named.length > 0 ? named : undefined);
  const username = account.email.toLowerCase();
  const self = useQuery({
    ...read('/api/o/{org}/u/', { path: { org }, query: { search: username, limit: 1 } }),
    enabled: can('user:read'),
  });
  const isRecipient = self.data?.some(user => user.username === username);
  return [chosen ?? (isRecipient ? [username] : []), setChosen];
}

function useNotifications(path: EventPath) {
  const can = useCan();
  return useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/', { path }),
    enabled: can('notification:read'),
  });
}

function Recent({ path }: { path: EventPath }) {
  const can = useCan();
  const recent = useRecent(path, liveMs);
  if (!can('occurrence:read')) return null;
  const { org, prj } = path;
  return (
    <Section
      title={texts.recentOccurrences}
      padded={false}
      aside={
        <Anchor component={Link} to={to.occurrences(org, prj)} size="sm">
          {texts.all}
        </Anchor>
      }
    >
      <DataTable
        label={texts.recentOccurrences}
        list={{ rows: recent.data ?? [], loading: recent.isPending, error: recent.data ? null : recent.error }}
        rowKey={row => row.identifier}
        rowTo={row => to.occurrence(org, row.identifier)}
        columns={[
          { head: texts.when, cell: row => <TimeAgo at={row.created_at} /> },
          { head: texts.status, cell: row => <OccurrenceBadge occurrence={row} /> },
          {
            head: texts.deliveries,
            width: '40%',
            cell: row =>
              totalOf(row.counts) === 0 ? (
                <Text size="sm" c="dimmed">
                  {texts.none}
                </Text>
              ) : (
                <CountsBar counts={row.counts} />
              ),
          },
        ]}
        empty={<Empty title={texts.notTriggeredYet}>{texts.notTriggeredHint}</Empty>}
      />
    </Section>
  );
}
