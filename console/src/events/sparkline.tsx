/** Counts by hour as small bars, the latest on the right. */
const barWidth = 3;
const gap = 1;
const height = 20;

export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const max = Math.max(1, ...values);
  const bars = values.map((value, hour) => ({ x: hour * (barWidth + gap), value }));
  const width = values.length * (barWidth + gap) - gap;
  return (
    <svg role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      {bars.map(({ x, value }) => {
        // An hour with a single trigger is visible next to a busy one, and one without is a thin line.
        const length = value === 0 ? 1 : Math.max(3, Math.round((value / max) * height));
        const fill = value === 0 ? 'var(--line)' : 'var(--mantine-primary-color-filled)';
        return <rect key={x} x={x} y={height - length} width={barWidth} height={length} rx={1} fill={fill} />;
      })}
    </svg>
  );
}
