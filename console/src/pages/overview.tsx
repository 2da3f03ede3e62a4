/** What is happening now: how much, how fast, and what needs a person. */
import { Grid, SegmentedControl, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { api, take } from '../api.ts';
import type { Statistics } from '../api-types.ts';
import { type Counts, compact, totalOf } from '../components/counts.tsx';
import { Page, Section } from '../components/page.tsx';
import { Failure } from '../components/states.tsx';
import { duration, milliseconds } from '../components/time.tsx';
import { TriggerHint } from '../components/trigger-hint.tsx';
import { useFilters } from '../components/use-filters.ts';
import { liveMs } from '../components/use-list.ts';
import { useOrg } from '../places.ts';
import { Attention } from './overview/attention.tsx';
import { Busiest, ByChannel } from './overview/rankings.tsx';
import { Tile } from './overview/tile.tsx';

// The library behind it is larger than all of the rest of the page.
const Chart = lazy(() => import('./overview/chart.tsx'));

const periods = [
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
  { value: '720', label: '30 days' },
];

function sumOf(hours: Statistics['hours']): { triggers: number; ended: Counts } {
  const ended: Counts = {};
  let triggers = 0;
  for (const hour of hours) {
    triggers += hour.triggers;
    for (const [status, n] of Object.entries(hour.by_status)) ended[status] = (ended[status] ?? 0) + n;
  }
  return { triggers, ended };
}

export default function Overview() {
  const org = useOrg();
  const [filters, setFilters] = useFilters(['hours', 'show']);
  const hours = periods.some(({ value }) => value === filters.hours) ? filters.hours! : '24';
  const show = filters.show === 'triggers' ? 'triggers' : 'deliveries';
  const { data, error, refetch } = useQuery({
    queryKey: [org, 'stats', hours],
    queryFn: ({ signal }) =>
      take(api.GET('/api/o/{org}/stats/', { params: { path: { org }, query: { hours: Number(hours) } }, signal })),
    refetchInterval: liveMs,
  });
  const sums = data && sumOf(data.hours);
  const quiet = sums !== undefined && sums.triggers === 0 && totalOf(sums.ended) === 0;
  const ever = useQuery({
    queryKey: [org, 'ever'],
    enabled: quiet,
    refetchInterval: quiet && liveMs,
    queryFn: ({ signal }) =>
      take(api.GET('/api/o/{org}/occurrence/', { params: { path: { org }, query: { limit: 1 } }, signal })),
  });

  const actions = (
    <SegmentedControl
      size="xs"
      aria-label="Period"
      data={periods}
      value={hours}
      onChange={value => setFilters({ hours: value === '24' ? null : value })}
    />
  );
  if (error && !data) {
    return (
      <Page title="Overview" actions={actions}>
        <Failure error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  if (data && quiet && ever.data?.length === 0) {
    return (
      <Page title="Overview">
        <div className="card">
          <TriggerHint />
        </div>
        <Attention paused={data.attention.paused} failures={false} />
      </Page>
    );
  }
  const bad = (data?.attention.failed ?? 0) + (data?.attention.unknown ?? 0);
  return (
    <Page title="Overview" actions={actions}>
      <Stack gap="md">
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm">
          <Tile
            label="Triggers"
            value={sums && compact(sums.triggers)}
            note={sums && rate(sums.triggers, Number(hours))}
          />
          <Tile label="Sent" value={sums && compact(sums.ended.sent ?? 0)} note={sums && share(sums.ended)} />
          <Tile
            label="Failed or unknown"
            value={data && compact(bad)}
            note={bad > 0 ? 'See below' : 'Nothing to do'}
            tone={bad > 0 ? 'bad' : undefined}
          />
          <Tile
            label="Latency, median"
            value={data && milliseconds(data.latency.p50_ms)}
            note={data && `p95 ${milliseconds(data.latency.p95_ms)} · p99 ${milliseconds(data.latency.p99_ms)}`}
          />
          <Tile
            label="Waiting"
            value={data && `${compact(data.queue.pending)}${data.queue.capped ? '+' : ''}`}
            note={data && oldest(data.queue.oldest_seconds)}
            tone={(data?.queue.oldest_seconds ?? 0) > 60 ? 'warn' : undefined}
          />
        </SimpleGrid>
        <Grid gap="md">
          <Grid.Col span={{ base: 12, lg: 8 }}>
            <Section
              title="Over time"
              aside={
                <SegmentedControl
                  size="xs"
                  aria-label="What the chart shows"
                  data={[
                    { value: 'deliveries', label: 'Deliveries' },
                    { value: 'triggers', label: 'Triggers' },
                  ]}
                  value={show}
                  onChange={value => setFilters({ show: value === 'triggers' ? value : null })}
                />
              }
            >
              <Suspense fallback={<Skeleton height={260} />}>
                {data ? <Chart hours={data.hours} show={show} /> : <Skeleton height={260} />}
              </Suspense>
            </Section>
          </Grid.Col>
          <Grid.Col span={{ base: 12, lg: 4 }}>
            <Stack gap="md">
              <ByChannel channels={data?.channels} />
              {data && data.events.length > 0 && <Busiest events={data.events} />}
            </Stack>
          </Grid.Col>
        </Grid>
        <Attention paused={data?.attention.paused ?? []} failures />
      </Stack>
    </Page>
  );
}

function rate(triggers: number, hours: number): string {
  const each = triggers / hours;
  return `${each >= 10 || Number.isInteger(each) ? compact(Math.round(each)) : each.toFixed(1)} an hour`;
}

function share(ended: Counts): string {
  const tried = (ended.sent ?? 0) + (ended.failed ?? 0) + (ended.unknown ?? 0);
  if (tried === 0) return 'Nothing was tried';
  const percent = ((ended.sent ?? 0) / tried) * 100;
  // 99.96 % is not all of them.
  return `${percent === 100 ? '100' : Math.min(99.9, percent).toFixed(1)} % of those tried`;
}

function oldest(seconds: number | null): string {
  return seconds === null ? 'Nothing is due' : `Oldest is due for ${duration(seconds)}`;
}
