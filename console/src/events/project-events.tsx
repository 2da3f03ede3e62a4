/** A project with its applications and their events. */
import { Badge, Box, Group, Skeleton, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import type { EventStatistics } from '../api-types.ts';
import { GuardedButton } from '../components/actions.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { to, useOrg } from '../paths.ts';
import { PauseBanners } from '../pauses/pause-banner.tsx';
import { usePauses } from '../pauses/use-pauses.ts';
import { read } from '../queries.ts';
import { texts } from '../texts/events.ts';
import { StatsCells, StatsHeader, StatsLine, useEventStats } from './event-stats.tsx';
import { NameForm, type NameFormProps } from './name-form.tsx';
import { pageOfNewEvent } from './new-event.tsx';
import { eventQuery, type ResourceKind } from './resource-api.ts';
import { ResourceMenu } from './resource-menu.tsx';
import { StateBadges } from './state-badges.tsx';

export function ProjectEvents({ prj, name }: { prj: string; name: string }) {
  const org = useOrg();
  const applications = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/', { path: { org, prj } }),
  });
  const pauses = usePauses();
  return (
    <Box component="section" className="card" aria-label={texts.project(name)}>
      <Group justify="space-between" px="md" py={10} wrap="nowrap">
        <Group gap="xs" miw={0}>
          <Title order={2} style={{ overflowWrap: 'anywhere' }}>
            {name}
          </Title>
          <Text className="mono" size="sm" c="dimmed">
            {prj}
          </Text>
        </Group>
        <ResourceMenu
          resource={{ org, prj }}
          name={name}
          paused={pauses.some(({ kind, path }) => kind === 'project' && path === prj)}
        />
      </Group>
      {applications.isPending && <Skeleton height={90} m="md" mt={0} w="auto" />}
      {applications.error && <Failure error={applications.error} retry={() => void applications.refetch()} />}
      {applications.data?.map(({ slug, name }) => (
        <ApplicationEvents key={slug} prj={prj} app={slug} name={name} />
      ))}
      {applications.data?.length === 0 && (
        <Empty
          title={texts.noApplicationsYet}
          action={<CreateButton noun="application" resource={{ org, prj }} label={texts.newApplication} />}
        >
          {texts.noApplicationsHint}
        </Empty>
      )}
    </Box>
  );
}

function ApplicationEvents({ prj, app, name }: { prj: string; app: string; name: string }) {
  const org = useOrg();
  const path = { org, prj, app };
  const navigate = useNavigate();
  const details = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/', { path }),
  });
  const events = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/e/', { path }),
  });
  const open = (evt: string, sample: string) => void navigate(pageOfNewEvent(org, prj, app, evt, sample));
  const pauses = usePauses({ enabled: details.data?.paused ?? false }).filter(
    pause => pause.kind === 'application' && pause.path === `${prj}/${app}`,
  );
  const rows = events.data ?? [];
  const stats = useEventStats(path);
  return (
    <Box style={{ borderTop: '1px solid var(--line)' }}>
      <Group justify="space-between" px="md" py={8} wrap="nowrap">
        <Group gap="xs" miw={0}>
          <Title order={3} fw={500}>
            {name}
          </Title>
          <Text className="mono" size="xs" c="dimmed">
            {app}
          </Text>
          <StateBadges paused={details.data?.paused} paused_reason={details.data?.paused_reason} />
        </Group>
        <Group gap={4} wrap="nowrap">
          <CreateButton noun="event" resource={path} label={texts.newEvent} onCreated={open} variant="subtle" />
          <ResourceMenu resource={path} name={name} paused={details.data?.paused} onCreated={open} />
        </Group>
      </Group>
      {pauses.length > 0 && (
        <Box px="md">
          <PauseBanners pauses={pauses} />
        </Box>
      )}
      {events.isPending && <Skeleton height={60} m="md" mt={0} w="auto" />}
      {events.error && <Failure error={events.error} retry={() => void events.refetch()} />}
      {rows.length > 0 && (
        <Table className="table" layout="fixed">
          <caption hidden>{texts.eventsOf(name)}</caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col" pl="md">
                {texts.event}
              </Table.Th>
              <Table.Th scope="col" visibleFrom="sm">
                {texts.notifications}
              </Table.Th>
              <StatsHeader />
              <Table.Th scope="col" w={56}>
                <VisuallyHidden>{texts.more}</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(event => (
              <EventRow
                key={event.slug}
                path={{ ...path, evt: event.slug }}
                name={event.name}
                stats={stats?.get(event.slug)}
              />
            ))}
          </Table.Tbody>
        </Table>
      )}
      {events.data?.length === 0 && (
        <Text size="sm" c="dimmed" px="md" pb="md">
          {texts.noEventsYet}
        </Text>
      )}
    </Box>
  );
}

interface EventRowProps {
  path: { org: string; prj: string; app: string; evt: string };
  name: string;
  stats: EventStatistics | undefined;
}

/** Loads the event when its row scrolls into view, because there may be very many. */
function EventRow({ path, name, stats }: EventRowProps) {
  const { ref, inViewport } = useInViewport<HTMLTableRowElement>();
  const [seen, setSeen] = useState(false);
  if (inViewport && !seen) setSeen(true);
  const { data } = useQuery({ ...eventQuery(path), enabled: seen });
  const event = data?.value;
  return (
    <Table.Tr ref={ref} className="linked">
      <Table.Td pl="md" miw={140}>
        <Group gap="xs">
          <Link to={to.event(path.org, path.prj, path.app, path.evt)} className="rowlink">
            <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Text>{' '}
            <Text component="span" className="mono" size="xs" c="dimmed">
              {path.evt}
            </Text>
          </Link>
          {event && <StateBadges {...event} />}
        </Group>
        <StatsLine stats={stats} />
      </Table.Td>
      <Table.Td visibleFrom="sm">
        {event?.notifications.length === 0 && (
          <Text size="sm" c="dimmed">
            {texts.noNotificationsYet}
          </Text>
        )}
        <Group gap={6}>
          {event?.notifications.map(notification => (
            <Badge
              key={notification.id}
              variant="default"
              tt="none"
              fw={400}
              size="md"
              c={notification.active ? undefined : 'dimmed'}
            >
              {notification.name} · {notification.channels.join(', ')}
            </Badge>
          ))}
        </Group>
      </Table.Td>
      <StatsCells stats={stats} />
      <Table.Td>
        <ResourceMenu
          resource={path}
          name={name}
          active={event?.active}
          paused={event?.paused}
          category={event?.category}
        />
      </Table.Td>
    </Table.Tr>
  );
}

interface CreateButtonProps {
  noun: ResourceKind;
  resource: { org: string; prj?: string; app?: string };
  label: string;
  variant?: string;
  onCreated?: NameFormProps['onCreated'];
}

function CreateButton({ noun, resource, label, variant = 'default', onCreated }: CreateButtonProps) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <GuardedButton
        permission={noun === 'event' ? 'event:write' : 'organization:write'}
        variant={variant}
        onClick={() => setOpened(true)}
      >
        {label}
      </GuardedButton>
      {opened && <NameForm noun={noun} resource={resource} close={() => setOpened(false)} onCreated={onCreated} />}
    </>
  );
}
