/** The report about being on call, by month. */
import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { ActionIcon, Button, Group, Text } from '@mantine/core';
import { IconCalendarUser, IconChevronLeft, IconChevronRight, IconDownload } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { OnCallReport } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { NameWithAddress } from '../../components/name-with-address.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { duration } from '../../components/time.tsx';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';
import { dateOf, formatMonth, monthSpan, moveBy, viewerZone } from './calendar-days.ts';

type Person = OnCallReport['people'][number];

/** Bars of more users would be too thin. */
const maxBars = 30;

const nameOf = ({ username, first_name, last_name }: Person) => `${first_name} ${last_name}`.trim() || username;
const taken = (spread: Person['time_to_acknowledge']) =>
  spread ? texts.medianAndP90(duration(spread.median), duration(spread.p90)) : '–';
const right = { align: 'right' } as const;

const columns: Column<Person>[] = [
  { head: texts.reportUser, cell: one => <NameWithAddress name={nameOf(one)} address={one.username} /> },
  { head: texts.shifts, ...right, from: 'md', cell: one => one.shifts },
  { head: texts.hours, ...right, cell: one => one.hours },
  { head: texts.nightHours, ...right, from: 'sm', cell: one => one.night_hours },
  { head: texts.weekendHours, ...right, from: 'sm', cell: one => one.weekend_hours },
  { head: texts.againstMean, ...right, from: 'sm', cell: one => texts.percent(Math.round(one.against_mean * 100)) },
  { head: texts.pages, ...right, cell: one => one.pages },
  { head: texts.acknowledged, ...right, from: 'md', cell: one => one.acknowledged },
  { head: texts.timeToAcknowledge, ...right, from: 'lg', cell: one => taken(one.time_to_acknowledge) },
  { head: texts.resolved, ...right, from: 'md', cell: one => one.resolved },
  { head: texts.timeToResolve, ...right, from: 'lg', cell: one => taken(one.time_to_resolve) },
];

export default function Report() {
  const org = useOrg();
  const [date, setDate] = useState(() => dateOf(Date.now(), viewerZone));
  const { begin, end } = monthSpan(date, viewerZone);
  const query = { since: new Date(begin).toISOString(), until: new Date(end).toISOString() };
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/on-call/report/', { path: { org }, query }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const people = data?.people ?? [];
  const bars = people.slice(0, maxBars).map(one => ({
    ...{ name: nameOf(one), night: one.night_hours },
    day: Math.round((one.hours - one.night_hours) * 100) / 100,
  }));
  return (
    <Page
      title={texts.report}
      parents={[{ label: texts.schedules, to: to.schedules(org) }]}
      description={texts.reportHint}
      actions={
        <Button
          component="a"
          variant="default"
          href={`/api/o/${encodeURIComponent(org)}/on-call/report/export/?${new URLSearchParams(query)}`}
          download="on-call.csv"
          leftSection={<IconDownload size={14} />}
        >
          {texts.downloadCsv}
        </Button>
      }
    >
      <Group gap={6} mb="md">
        <ActionIcon
          variant="default"
          aria-label={texts.previous.month!}
          onClick={() => setDate(moveBy('month', date, -1))}
        >
          <IconChevronLeft size={14} />
        </ActionIcon>
        <ActionIcon
          variant="default"
          aria-label={texts.following.month!}
          onClick={() => setDate(moveBy('month', date, 1))}
        >
          <IconChevronRight size={14} />
        </ActionIcon>
        <Text size="sm" fw={500} role="status" ml={4}>
          {formatMonth(date)}
        </Text>
      </Group>
      {bars.length > 0 && (
        <Section title={texts.hours}>
          <figure className="chart" aria-label={texts.hoursChart(people.length)}>
            <BarChart
              className="bars"
              h="100%"
              data={bars}
              dataKey="name"
              type="stacked"
              series={[
                { name: 'day', label: texts.otherHours, color: 'copper.6' },
                { name: 'night', label: texts.nightHours, color: 'indigo.6' },
              ]}
              withLegend
              gridAxis="x"
              gridColor="var(--line)"
              strokeDasharray="0"
              tickLine="none"
              barProps={{ isAnimationActive: false, maxBarSize: 28 }}
              yAxisProps={{ width: 44 }}
              tooltipAnimationDuration={0}
            />
          </figure>
        </Section>
      )}
      <div className="card" style={{ marginTop: bars.length > 0 ? 16 : 0 }}>
        <DataTable
          label={texts.report}
          list={{ rows: people, loading: !data && !error, error, retry: () => void refetch() }}
          columns={columns}
          rowKey={({ username }) => username}
          rowTo={({ username }) => to.user(org, username)}
          empty={
            <Empty icon={<IconCalendarUser size={28} stroke={1.4} />} title={texts.noOneOnCall}>
              {texts.noOneOnCallHint}
            </Empty>
          }
        />
      </div>
    </Page>
  );
}
