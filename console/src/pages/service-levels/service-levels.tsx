/** How well Belfry itself does: service levels by day, and watches. */
import { SegmentedControl, SimpleGrid, Stack } from '@mantine/core';
import { IconGauge } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { ServiceLevels } from '../../api-types.ts';
import { compact } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty, Failure } from '../../components/states.tsx';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/service-levels.ts';
import { Tile } from '../overview/tile.tsx';
import { Watches } from './watches.tsx';

const LevelChart = lazy(() => import('./level-chart.tsx'));

const periods = [
  { value: '30', label: texts.days30 },
  { value: '90', label: texts.days90 },
];
const liveMs = 30_000;

type Day = ServiceLevels['days'][number];
type Level = ServiceLevels['taken_in'] | ServiceLevels['first_page'];

/** Rounded down: 99.996% is not 100%. */
const percent = (share: number | null) => (share === null ? '–' : `${Math.floor(share * 10_000) / 100}%`);
const right = { align: 'right' } as const;

const columns: Column<Day>[] = [
  { head: texts.day, cell: ({ day }) => day },
  { head: texts.taken, ...right, cell: ({ taken }) => compact(taken) },
  { head: texts.failed, ...right, cell: ({ failed }) => compact(failed) },
  { head: texts.refused, ...right, from: 'sm', cell: ({ refused }) => compact(refused) },
  { head: texts.inTime, ...right, from: 'xs', cell: ({ pages_in_time }) => compact(pages_in_time) },
  { head: texts.late, ...right, cell: ({ pages_late }) => compact(pages_late) },
];

const isCounted = (day: Day) => day.taken + day.failed + day.refused + day.pages_in_time + day.pages_late > 0;

export default function ServiceLevelsPage() {
  const org = useOrg();
  const [days, setDays] = useState('30');
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/service-levels/', { path: { org }, query: { days: Number(days) } }),
    placeholderData: keepPreviousData,
    refetchInterval: liveMs,
  });
  const actions = (
    <SegmentedControl size="xs" aria-label={texts.period} data={periods} value={days} onChange={setDays} />
  );
  if (error && !data) {
    return (
      <Page title={texts.serviceLevels} description={texts.description} actions={actions}>
        <Failure error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  const counted = data?.days.filter(isCounted).reverse() ?? [];
  return (
    <Page title={texts.serviceLevels} description={texts.description} actions={actions}>
      <Stack gap="md">
        <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
          <LevelTiles label={texts.takenIn} hint={texts.takenInHint} level={data?.taken_in} />
          <LevelTiles
            label={texts.firstPage(data?.first_page.within ?? '…')}
            hint={texts.firstPageHint}
            level={data?.first_page}
          />
        </SimpleGrid>
        {data && counted.length > 0 && (
          <Suspense>
            <LevelChart days={data.days} within={data.first_page.within} />
          </Suspense>
        )}
        <Watches watches={data?.watches} />
        <Section title={texts.byDay} padded={false}>
          <DataTable
            label={texts.byDay}
            list={{ rows: counted, loading: !data && !error, error, retry: () => void refetch() }}
            columns={columns}
            rowKey={({ day }) => day}
            empty={
              <Empty icon={<IconGauge size={28} stroke={1.4} />} title={texts.nothingYet}>
                {texts.nothingYetHint}
              </Empty>
            }
          />
        </Section>
      </Stack>
    </Page>
  );
}

/** The share that was kept, and the error budget that is left. */
function LevelTiles({ label, hint, level }: { label: string; hint: string; level: Level | undefined }) {
  const tone = level && !level.is_met ? 'bad' : undefined;
  const isEmpty = level?.share === null;
  return (
    <>
      <Tile
        label={label}
        hint={hint}
        value={level && (isEmpty ? texts.nothingCounted : percent(level.share))}
        note={level && texts.target(level.target)}
        tone={tone}
      />
      <Tile
        label={texts.budgetOf(label)}
        hint={texts.budgetHint}
        value={level && percent(level.budget_left)}
        note={level && !isEmpty ? texts.missedOf(compact(level.missed), compact(level.total)) : undefined}
        tone={tone}
      />
    </>
  );
}
