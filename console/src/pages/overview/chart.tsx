import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { Group, Text } from '@mantine/core';
import type { Statistics } from '../../api-types.ts';
import { compact, fillColor } from '../../components/counts.tsx';
import { deliveryStates, fillOf, statusOrder } from '../../components/statuses.ts';
import { texts } from '../../texts/overview.ts';

/** Longer periods are shown by day instead of by hour. */
const maxHourlyBars = 48;

const hourName = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayName = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' });

interface Bar {
  [status: string]: string | number;
  at: string;
  triggers: number;
}

type Step = Statistics['recent'][number];

function barsOf(steps: Step[], name: Intl.DateTimeFormat): Bar[] {
  const bars = new Map<string, Bar>();
  for (const { at: time, triggers, by_status } of steps) {
    const at = name.format(new Date(time));
    const bar = bars.get(at) ?? { at, triggers: 0 };
    bar.triggers += triggers;
    for (const [status, n] of Object.entries(by_status)) bar[status] = Number(bar[status] ?? 0) + n;
    bars.set(at, bar);
  }
  return [...bars.values()];
}

interface ChartProps extends Pick<Statistics, 'hours' | 'recent'> {
  show: 'deliveries' | 'triggers';
}

export default function Chart({ hours, recent, show }: ChartProps) {
  const isDaily = hours.length > maxHourlyBars;
  // By day or by hour, a new organization would have a single bar.
  const steps = recent.length > 0 ? recent : hours.map(({ hour, ...counts }) => ({ at: hour, ...counts }));
  const bars = barsOf(steps, isDaily && recent.length === 0 ? dayName : hourName);
  const present = statusOrder.filter(status => bars.some(bar => Number(bar[status] ?? 0) > 0));
  const statuses = present.length > 0 ? present : ['sent'];
  const series =
    show === 'triggers'
      ? [{ name: 'triggers', color: 'copper.6' }]
      : statuses.map(name => ({ name, label: deliveryStates[name]!.name, color: fillOf(name) }));
  const total = bars.reduce((sum, bar) => sum + bar.triggers, 0);
  return (
    <figure className="chart" aria-label={texts.chartLabel(show, total)}>
      {show === 'deliveries' && statuses.length > 1 && (
        // The library's legend has a fixed height: on a phone, many statuses would cover the bars.
        <Group gap="4px 16px" justify="flex-end" mb="sm">
          {statuses.map(status => (
            <Group key={status} gap={6} wrap="nowrap">
              <span className="dot" style={{ '--dot': fillColor(status) } as React.CSSProperties} />
              <Text size="sm">{deliveryStates[status]!.name}</Text>
            </Group>
          ))}
        </Group>
      )}
      <BarChart
        className="bars"
        h="100%"
        data={bars}
        dataKey="at"
        xAxisLabel={recent.length > 0 ? texts.axisMinutes : isDaily ? texts.axisDay : texts.axisHour}
        yAxisLabel={show === 'triggers' ? texts.triggers : texts.deliveries}
        type="stacked"
        series={series}
        gridAxis="x"
        gridColor="var(--line)"
        strokeDasharray="0"
        tickLine="none"
        barProps={{ isAnimationActive: false, maxBarSize: 28 }}
        xAxisProps={{ minTickGap: 28 }}
        yAxisProps={{ width: 44, allowDecimals: false, tickFormatter: (value: number) => compact(value) }}
        valueFormatter={compact}
        tooltipAnimationDuration={0}
      />
    </figure>
  );
}
