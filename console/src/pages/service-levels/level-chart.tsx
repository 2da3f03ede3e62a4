import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { SimpleGrid } from '@mantine/core';
import type { ServiceLevels } from '../../api-types.ts';
import { compact } from '../../components/counts.tsx';
import { Section } from '../../components/page.tsx';
import { texts } from '../../texts/service-levels.ts';

const dayName = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });

interface LevelChartProps {
  days: ServiceLevels['days'];
  within: string;
}

export default function LevelChart({ days, within }: LevelChartProps) {
  const bars = days.map(({ day, ...counts }) => ({ at: dayName.format(new Date(day)), ...counts }));
  const shared = {
    className: 'bars',
    h: '100%',
    data: bars,
    dataKey: 'at',
    type: 'stacked',
    withLegend: true,
    gridAxis: 'x',
    gridColor: 'var(--line)',
    strokeDasharray: '0',
    tickLine: 'none',
    barProps: { isAnimationActive: false, maxBarSize: 28 },
    xAxisProps: { minTickGap: 28 },
    yAxisProps: { width: 44, allowDecimals: false, tickFormatter: (value: number) => compact(value) },
    valueFormatter: compact,
    tooltipAnimationDuration: 0,
  } as const;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Section title={texts.takenIn}>
        <figure className="chart" aria-label={texts.callsChart(days.length)}>
          <BarChart
            {...shared}
            series={[
              { name: 'taken', label: texts.taken, color: 'teal.6' },
              { name: 'failed', label: texts.failed, color: 'red.6' },
            ]}
          />
        </figure>
      </Section>
      <Section title={texts.firstPage(within)}>
        <figure className="chart" aria-label={texts.pagesChart(days.length)}>
          <BarChart
            {...shared}
            series={[
              { name: 'pages_in_time', label: texts.inTime, color: 'teal.6' },
              { name: 'pages_late', label: texts.late, color: 'red.6' },
            ]}
          />
        </figure>
      </Section>
    </SimpleGrid>
  );
}
