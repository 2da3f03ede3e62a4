/** All occurrences with their outcomes, newest first. */
import { Box, Group, Select, Text } from '@mantine/core';
import { IconBellRinging } from '@tabler/icons-react';
import { type OccurrenceSummary, outcomes } from '../../api-types.ts';
import { CountsBar, compact, totalOf } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EventPath } from '../../components/event-path.tsx';
import { Page } from '../../components/page.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { ShortId } from '../../components/short-id.tsx';
import { Empty } from '../../components/states.tsx';
import { OccurrenceBadge } from '../../components/status.tsx';
import { occurrenceStates } from '../../components/statuses.ts';
import { useProjects } from '../../components/switchers.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { TriggerHint } from '../../components/trigger-hint.tsx';
import { useEvents } from '../../components/use-events.ts';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg, useProject } from '../../paths.ts';
import { pages, sinceHours } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

const periods = [
  { value: '1', label: texts.lastHour },
  { value: '24', label: texts.last24Hours },
  { value: '168', label: texts.last7Days },
  { value: '720', label: texts.last30Days },
];

const columns: Column<OccurrenceSummary>[] = [
  {
    head: texts.event,
    cell: ({ event, identifier }) => (
      <>
        <Text component="span" display="block" size="sm" fw={500}>
          <EventPath path={event} />
        </Text>
        <Text component="span" display="block" size="xs" c="dimmed">
          <ShortId value={identifier} />
        </Text>
      </>
    ),
  },
  {
    head: texts.outcome,
    cell: row => <OccurrenceBadge occurrence={row} />,
    width: 170,
  },
  {
    head: texts.deliveries,
    width: 220,
    from: 'sm',
    cell: ({ counts }) => {
      const total = totalOf(counts);
      if (total === 0)
        return (
          <Text size="sm" c="dimmed">
            {texts.none}
          </Text>
        );
      return (
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" className="numbers" w={52} ta="right">
            {compact(total)}
          </Text>
          <Box flex={1} miw={60}>
            <CountsBar counts={counts} />
          </Box>
        </Group>
      );
    },
  },
  {
    head: texts.correlationId,
    from: 'lg',
    cell: ({ correlation_id }) => (
      <Text size="sm" c="dimmed" className="mono" truncate maw={220}>
        {correlation_id ?? '–'}
      </Text>
    ),
  },
  { head: texts.triggered, align: 'right', width: 130, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
];

export default function Occurrences() {
  const org = useOrg();
  const [own, setFilters] = useFilters(['search', 'project', 'application', 'event', 'outcome', 'hours']);
  const [project, chooseProject] = useProject();
  const filters = { ...own, ...(project && { project }) };
  const { search, application, event, outcome, hours } = filters;
  const list = useList(
    pages(
      '/api/o/{org}/occurrence/',
      {
        path: { org },
        query: {
          ...(search && { search }),
          ...(project && { project }),
          ...(application && { application }),
          ...(event && { event }),
          ...(outcome && { outcome: outcome as OccurrenceSummary['outcome'] }),
        },
      },
      sinceHours(hours),
    ),
    { live: true },
  );
  const { data: projects = [] } = useProjects();
  const { data: resources } = useEvents();
  const eventPath = [project, application, event].every(Boolean) ? `${project}/${application}/${event}` : null;
  const filtered = Object.keys(filters).length > 0;

  return (
    <Page title={texts.occurrences} description={texts.description}>
      <Box className="card">
        <Group p="sm" gap="xs" role="search" aria-label={texts.filterOccurrences}>
          <SearchInput
            label={texts.searchByIdOrCorrelationId}
            value={search ?? ''}
            onChange={value => setFilters({ search: value })}
            flex={1}
            miw={220}
          />
          <Select
            size="xs"
            aria-label={texts.project}
            placeholder={texts.anyProject}
            clearable
            flex="1 1 150px"
            maw={210}
            data={projects.map(({ slug, name }) => ({ value: slug, label: name }))}
            value={project ?? null}
            onChange={value => {
              chooseProject(value ?? undefined);
              setFilters({ project: value, application: null, event: null });
            }}
          />
          <Select
            size="xs"
            aria-label={texts.event}
            placeholder={texts.anyEvent}
            clearable
            searchable
            flex="1 1 200px"
            maw={260}
            comboboxProps={{ width: 'max-content', position: 'bottom-end' }}
            data={(resources?.events ?? []).filter(({ prj }) => !project || prj === project).map(({ path }) => path)}
            value={eventPath}
            onChange={path => {
              const [prj = null, app = null, evt = null] = path?.split('/') ?? [project ?? null];
              setFilters({ project: prj, application: app, event: evt });
            }}
          />
          <Select
            size="xs"
            aria-label={texts.outcome}
            placeholder={texts.anyOutcome}
            clearable
            flex="1 1 130px"
            maw={190}
            data={outcomes.map(value => ({
              value,
              label: value === 'sending' ? texts.sendingOrWaiting : occurrenceStates[value]!.name,
            }))}
            value={outcome ?? null}
            onChange={value => setFilters({ outcome: value })}
          />
          <Select
            size="xs"
            aria-label={texts.period}
            placeholder={texts.anyTime}
            clearable
            flex="1 1 140px"
            maw={200}
            data={periods}
            value={hours ?? null}
            onChange={value => setFilters({ hours: value })}
          />
        </Group>
        <DataTable
          label={texts.occurrences}
          list={list}
          columns={columns}
          rowKey={row => row.identifier}
          rowTo={row => to.occurrence(org, row.identifier)}
          empty={
            filtered ? (
              <Empty icon={<IconBellRinging size={24} stroke={1.4} />} title={texts.noMatches}>
                {texts.noMatchesHint}
              </Empty>
            ) : (
              <TriggerHint />
            )
          }
        />
      </Box>
    </Page>
  );
}
