/** Cells of the list of events: last trigger, triggers by hour, failures. */
import { Group, Table, Text, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { EventStatistics } from '../api-types.ts';
import { compact } from '../components/counts.tsx';
import { timeAgo } from '../components/time.tsx';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/events.ts';
import { Sparkline } from './sparkline.tsx';

/** The counts are by the hour: refreshing them as often as lists would cost more than it shows. */
const refreshMs = 30_000;

/** Loads the statistics of an application's events by slug; undefined while loading or without the permission. */
export function useEventStats(path: { org: string; prj: string; app: string }) {
  const can = useCan();
  const { data } = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/stats/', { path }),
    enabled: can('occurrence:read'),
    refetchInterval: refreshMs,
  });
  return data && new Map(data.map(one => [one.event, one]));
}

export function StatsHeader() {
  return (
    <>
      <Table.Th scope="col" visibleFrom="xs" w={120}>
        {texts.lastTrigger}
      </Table.Th>
      <Table.Th scope="col" visibleFrom="md" w={160}>
        {texts.last24Hours}
      </Table.Th>
      <Table.Th scope="col" visibleFrom="xs" w={90} ta="right">
        {texts.failures}
      </Table.Th>
    </>
  );
}

export function StatsCells({ stats }: { stats: EventStatistics | undefined }) {
  const total = stats?.triggers.reduce((sum, n) => sum + n, 0) ?? 0;
  return (
    <>
      <Table.Td visibleFrom="xs">
        <Text size="sm" c={stats?.last_triggered_at ? undefined : 'dimmed'}>
          {stats && describeLast(stats.last_triggered_at)}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="md">
        {stats && (
          <Group gap={8} wrap="nowrap">
            <Sparkline values={stats.triggers} label={texts.triggersIn24Hours(total)} />
            <Text size="xs" c="dimmed" className="numbers" aria-hidden>
              {compact(total)}
            </Text>
          </Group>
        )}
      </Table.Td>
      <Table.Td visibleFrom="xs" ta="right">
        {stats && (
          <Tooltip label={texts.failuresHint}>
            <Text
              component="span"
              size="sm"
              className="numbers tip"
              c={stats.failures > 0 ? 'var(--mantine-color-error)' : 'dimmed'}
            >
              {compact(stats.failures)}
              {stats.unknown > 0 && ` · ${texts.unknownCount(compact(stats.unknown))}`}
            </Text>
          </Tooltip>
        )}
      </Table.Td>
    </>
  );
}

/** The same below the event's name, where there is no space for columns. */
export function StatsLine({ stats }: { stats: EventStatistics | undefined }) {
  if (!stats) return null;
  return (
    <Text size="xs" c="dimmed" hiddenFrom="xs">
      {describeLast(stats.last_triggered_at)}
      {stats.failures > 0 && ` · ${texts.failureCount(compact(stats.failures))}`}
      {stats.unknown > 0 && ` · ${texts.unknownCount(compact(stats.unknown))}`}
    </Text>
  );
}

const hourMs = 3_600_000;

/** The API names the hour, or the day: a more precise text would be wrong. */
function describeLast(at: string | null, now = Date.now()): string {
  if (at === null) return texts.neverTriggered;
  const elapsed = now - Date.parse(at);
  if (elapsed < hourMs) return texts.thisHour;
  return timeAgo(at, now);
}
