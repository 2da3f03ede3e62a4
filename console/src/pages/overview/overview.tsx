/** Overview: volume, latency, queue, and what needs attention. */
import { Grid, SegmentedControl, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { Statistics } from '../../api-types.ts';
import { useHolds } from '../../approvals/use-holds.ts';
import { type Counts, compact, totalOf } from '../../components/counts.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Failure } from '../../components/states.tsx';
import { duration, milliseconds } from '../../components/time.tsx';
import { TriggerHint } from '../../components/trigger-hint.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { liveMs } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { PauseBanners } from '../../pauses/pause-banner.tsx';
import { PauseSending } from '../../pauses/pause-sending.tsx';
import { read } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/overview.ts';
import { Failures } from './attention.tsx';
import { DisabledWebhooks } from './disabled-webhooks.tsx';
import { Busiest, ByChannel } from './rankings.tsx';
import { Tile } from './tile.tsx';
import { Unacknowledged } from './unacknowledged.tsx';

// Only shown to new organizations.
const Checklist = lazy(() => import('../../welcome/checklist.tsx').then(({ Checklist }) => ({ default: Checklist })));
// Only shown if something waits.
const HoldBanners = lazy(() =>
  import('../../approvals/hold-banners.tsx').then(({ HoldBanners }) => ({ default: HoldBanners })),
);
// The chart library is larger than the rest of the page.
const Chart = lazy(() => import('./chart.tsx'));
const Gaps = lazy(() => import('../schedules/gaps.tsx').then(({ Gaps }) => ({ default: Gaps })));

const periods = [
  { value: '24', label: texts.twentyFourHours },
  { value: '168', label: texts.sevenDays },
  { value: '720', label: texts.thirtyDays },
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
  const can = useCan();
  const [filters, setFilters] = useFilters(['hours', 'show']);
  const hours = periods.some(({ value }) => value === filters.hours) ? filters.hours! : '24';
  const show = filters.show === 'triggers' ? 'triggers' : 'deliveries';
  const [startedBy, setStartedBy] = useState<string>();
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/stats/', { path: { org }, query: { hours: Number(hours) } }),
    refetchInterval: liveMs,
  });
  const sums = data && sumOf(data.hours);
  const isEmpty = sums !== undefined && sums.triggers === 0 && totalOf(sums.ended) === 0;
  const firstOccurrence = useQuery({
    ...read('/api/o/{org}/occurrence/', { path: { org }, query: { limit: 1 } }),
    enabled: isEmpty,
    refetchInterval: isEmpty && liveMs,
  });

  const holds = useHolds();
  const holdBanners = holds.length > 0 && (
    <Suspense>
      <HoldBanners holds={holds} />
    </Suspense>
  );
  const isPaused = data?.attention.paused.some(({ kind }) => kind === 'organization');
  const actions = (
    <>
      {isPaused === false && <PauseSending />}
      <SegmentedControl
        size="xs"
        aria-label={texts.period}
        data={periods}
        value={hours}
        onChange={value => setFilters({ hours: value === '24' ? null : value })}
      />
    </>
  );
  if (error && !data) {
    return (
      <Page title={texts.overview} actions={actions}>
        <Failure error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  // Stays until the page is left: the first trigger may arrive while a dialog shows the new API key.
  const isNew = isEmpty && firstOccurrence.data?.length === 0;
  if (isNew && startedBy !== org) setStartedBy(org);
  if (data && (isNew || startedBy === org)) {
    return (
      <Page title={texts.overview}>
        <PauseBanners pauses={data.attention.paused} />
        {holdBanners}
        <DisabledWebhooks count={data.attention.disabled_webhooks} />
        {can('event:write') ? (
          <Suspense>
            <Checklist />
          </Suspense>
        ) : (
          <div className="card">
            <TriggerHint />
          </div>
        )}
      </Page>
    );
  }
  const unresolved = data?.attention.unresolved;
  const bad = (unresolved?.failed ?? 0) + (unresolved?.unknown ?? 0);
  return (
    <Page title={texts.overview} actions={actions}>
      <PauseBanners pauses={data?.attention.paused ?? []} />
      {holdBanners}
      <DisabledWebhooks count={data?.attention.disabled_webhooks ?? 0} />
      <Stack gap="md">
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm" className="tiles">
          <Tile
            label={texts.triggers}
            value={sums && compact(sums.triggers)}
            note={sums && rate(sums.triggers, Number(hours))}
          />
          <Tile label={texts.sent} value={sums && compact(sums.ended.sent ?? 0)} note={sums && share(sums.ended)} />
          <Tile
            label={texts.needsAttention}
            value={unresolved && `${compact(bad)}${unresolved.capped ? '+' : ''}`}
            note={
              unresolved &&
              (bad > 0
                ? texts.failedAndUnknown(compact(unresolved.failed), compact(unresolved.unknown))
                : texts.allClear)
            }
            tone={bad > 0 ? 'bad' : undefined}
          />
          <Tile
            label={texts.medianLatency}
            hint={texts.latencyHint}
            value={data && milliseconds(data.latency.p50_ms)}
            note={data && `p95 ${milliseconds(data.latency.p95_ms)} · p99 ${milliseconds(data.latency.p99_ms)}`}
          />
          <Tile
            label={texts.dueNow}
            value={data && cappedCount(data.queue.due)}
            note={data && waitingNote(data.queue)}
            tone={(data?.queue.oldest_seconds ?? 0) > 60 ? 'warn' : undefined}
          />
        </SimpleGrid>
        <Grid gap="md">
          <Grid.Col span={{ base: 12, lg: 8 }}>
            <Section
              fills
              title={texts.overTime}
              aside={
                <SegmentedControl
                  size="xs"
                  aria-label={texts.chartData}
                  data={[
                    { value: 'deliveries', label: texts.deliveries },
                    { value: 'triggers', label: texts.triggers },
                  ]}
                  value={show}
                  onChange={value => setFilters({ show: value === 'triggers' ? value : null })}
                />
              }
            >
              <Suspense fallback={<Skeleton height={260} />}>
                {data ? <Chart hours={data.hours} recent={data.recent} show={show} /> : <Skeleton height={260} />}
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
        <Unacknowledged />
        <Suspense>
          <Gaps />
        </Suspense>
        <Failures />
      </Stack>
    </Page>
  );
}

function rate(triggers: number, hours: number): string {
  const each = triggers / hours;
  if (each > 0 && each < 0.1) return texts.underOneInTenHours;
  return texts.perHour(each >= 10 || Number.isInteger(each) ? compact(Math.round(each)) : each.toFixed(1));
}

function share(ended: Counts): string {
  const tried = (ended.sent ?? 0) + (ended.failed ?? 0) + (ended.unknown ?? 0);
  const suppressed = ended.suppressed ?? 0;
  // Suppressed messages were not to be sent, so they do not lower the rate; the note names them.
  const notes = suppressed > 0 ? [texts.suppressed(compact(suppressed))] : [];
  if (tried === 0) return notes[0] ?? texts.nothingEnded;
  const percent = ((ended.sent ?? 0) / tried) * 100;
  // Below 100 % is never rounded up to 100 %.
  return [texts.ofAttempted(percent === 100 ? '100' : Math.min(99.9, percent).toFixed(1)), ...notes].join(' · ');
}

/** The API stops counting here. */
const maxCounted = 10_000;

function cappedCount(count: number): string {
  return `${compact(count)}${count >= maxCounted ? '+' : ''}`;
}

/** The tile's number counts due deliveries; scheduled and held ones are listed in the note. */
function waitingNote({ oldest_seconds, scheduled, held }: Statistics['queue']): string {
  const parts = [
    ...(oldest_seconds === null ? [] : [texts.oldestWaiting(duration(oldest_seconds))]),
    ...(scheduled > 0 ? [texts.scheduledFor(cappedCount(scheduled))] : []),
    ...(held > 0 ? [texts.held(cappedCount(held))] : []),
  ];
  return parts.length > 0 ? parts.join(' · ') : texts.queueIsEmpty;
}
