/** What someone should take care of now, and what was taken care of. */
import { Button, Center, Group, SegmentedControl, Select, Skeleton, Stack, Text } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { IconAntenna, IconBellCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { Page } from '../../components/page.tsx';
import { Empty, Failure } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { liveMs, useList } from '../../components/use-list.ts';
import { to, useOrg, useProject } from '../../paths.ts';
import { pages, read } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/incidents.ts';
import { Incident } from './incident.tsx';
import { formatSpan } from './marks.tsx';

const statuses = ['open', 'silenced', 'acknowledged', 'snoozed', 'resolved'] as const;
const pageSize = 30;

export default function Incidents() {
  const org = useOrg();
  const can = useCan();
  const [filters, setFilters] = useFilters(['status', 'severity', 'source', 'project']);
  const [project, chooseProject] = useProject();
  const { severity, source } = filters;
  const status = statuses.find(one => one === filters.status) ?? 'open';
  const query = {
    status,
    ...(severity && { severity: severity as 'critical' }),
    ...(source && { source }),
    ...(project && { project }),
  };
  const list = useList(pages('/api/o/{org}/incidents/', { path: { org }, query }), { live: true, pageSize });
  const { data: summary } = useQuery({
    ...read('/api/o/{org}/incidents/summary/', { path: { org } }),
    refetchInterval: liveMs * 5,
  });
  const { data: sources = [] } = useQuery({
    ...read('/api/o/{org}/sources/', { path: { org } }),
    enabled: can('source:read'),
  });
  const { data: projects = [] } = useProjects();
  const now = useNow();
  const rows = useRef<HTMLDivElement>(null);
  useRowKeys(rows);
  const isFiltered = Boolean(severity || source || project);
  const labelOf = (one: Status) => {
    const found = one === 'resolved' ? 0 : (summary?.[one] ?? 0);
    return found > 0 ? texts.withCount(texts[one], found) : texts[one];
  };
  const select = { size: 'xs', clearable: true, flex: '1 1 130px', maw: 200 } as const;
  return (
    <Page title={texts.incidents} description={texts.description}>
      <Stack gap="md">
        <Group gap="xs" role="search" aria-label={texts.filter}>
          <SegmentedControl
            size="xs"
            maw="100%"
            style={{ overflowX: 'auto' }}
            aria-label={texts.status}
            data={statuses.map(value => ({ value, label: labelOf(value) }))}
            value={status}
            onChange={value => setFilters({ status: value === 'open' ? null : value })}
          />
          <Select
            {...select}
            aria-label={texts.severity}
            placeholder={texts.anySeverity}
            data={Object.entries(texts.severities).map(([value, label]) => ({ value, label }))}
            value={severity ?? null}
            onChange={value => setFilters({ severity: value })}
          />
          {sources.length > 0 && (
            <Select
              {...select}
              aria-label={texts.source}
              placeholder={texts.anySource}
              searchable
              data={sources.map(one => ({ value: `${one.project}/${one.application}/${one.slug}`, label: one.name }))}
              value={source ?? null}
              onChange={value => setFilters({ source: value })}
            />
          )}
          {projects.length > 1 && (
            <Select
              {...select}
              aria-label={texts.project}
              placeholder={texts.anyProject}
              data={projects.map(one => ({ value: one.slug, label: one.name }))}
              value={project ?? null}
              onChange={value => {
                chooseProject(value ?? undefined);
                setFilters({ project: value });
              }}
            />
          )}
        </Group>
        {summary && (summary.acknowledge_seconds !== null || summary.resolve_seconds !== null) && (
          <Text size="xs" c="dimmed">
            {texts.medians(show(summary.acknowledge_seconds), show(summary.resolve_seconds))}
          </Text>
        )}
        {list.error && <Failure error={list.error} retry={list.retry} />}
        {list.loading && <Skeleton height={180} radius="lg" />}
        {!list.loading && !list.error && list.rows.length === 0 && !list.hasMore && (
          <div className="card">
            <Nothing status={isFiltered ? undefined : status} connects={sources.length === 0 && can('source:write')} />
          </div>
        )}
        <Stack gap="sm" ref={rows}>
          {list.rows.map(incident => (
            <Incident key={incident.occurrence.identifier} incident={incident} now={now} />
          ))}
        </Stack>
        {list.hasMore && (
          <Center>
            <Button variant="subtle" loading={list.loadingMore} onClick={list.loadMore}>
              {common.loadMore}
            </Button>
          </Center>
        )}
        {list.rows.length > 0 && status !== 'resolved' && (
          <Text size="xs" c="dimmed" visibleFrom="sm">
            {texts.keys}
          </Text>
        )}
      </Stack>
    </Page>
  );
}

function show(seconds: number | null): string {
  return seconds === null ? texts.none : formatSpan(seconds);
}

type Status = (typeof statuses)[number];

const nothing: Partial<Record<Status, { title: string; hint: string }>> = {
  open: { title: texts.nothingOpen, hint: texts.nothingOpenHint },
  silenced: { title: texts.nothingSilenced, hint: texts.nothingSilencedHint },
  snoozed: { title: texts.nothingSnoozed, hint: texts.nothingSnoozedHint },
};

/** `status` is undefined if other filters are set. */
function Nothing({ status, connects }: { status: Status | undefined; connects: boolean }) {
  const org = useOrg();
  const action = status === 'open' && connects && (
    <Button component={Link} to={to.sources(org)} leftSection={<IconAntenna size={14} stroke={1.6} />}>
      {texts.connect}
    </Button>
  );
  const { title, hint } = (status && nothing[status]) ?? { title: texts.nothingFound, hint: texts.nothingFoundHint };
  return (
    <Empty icon={<IconBellCheck size={26} stroke={1.4} />} title={title} action={action}>
      {hint}
    </Empty>
  );
}

/** Returns the time, every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), 1_000, { autoInvoke: true });
  return now;
}

/** j and k move between the articles; a, s, u and r press the buttons of the one with the focus. */
function useRowKeys(rows: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const isTyping = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (
        isTyping ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        document.querySelector('[role=dialog], [role=menu]')
      )
        return;
      const articles = [...(rows.current?.querySelectorAll('article') ?? [])];
      const at = articles.findIndex(article => article.contains(document.activeElement));
      if (event.key === 'j' || event.key === 'k') {
        const next = event.key === 'j' ? at + 1 : Math.max(0, at - 1);
        articles[Math.min(next, articles.length - 1)]?.querySelector('a')?.focus();
      } else if (at !== -1 && /^[asur]$/.test(event.key)) {
        articles[at]!.querySelector<HTMLButtonElement>(`button[data-key=${event.key}]`)?.click();
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [rows]);
}
