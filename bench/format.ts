/** Formats results for the terminal and the page. */
import type { Judged, Row } from './scenario.ts';

export function formatNumber(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: Math.abs(value) < 1_000 ? 3 : 4 });
}

export function formatLimit({ limit, unit }: Row): string {
  if (!limit) return '';
  const { of, min, max } = limit;
  const suffix = of === 'value' && unit ? ` ${unit}` : '';
  const bounds = [min === undefined ? '' : `≥ ${formatNumber(min)}`, max === undefined ? '' : `≤ ${formatNumber(max)}`];
  return `${of === 'ratio' ? 'ratio ' : ''}${bounds.filter(Boolean).join(', ')}${suffix}`;
}

/** The columns after the scenario: the first is text, the others are numbers. */
export const columns = ['measured', 'Belfry', 'baseline', 'ratio', 'limit', 'verdict'];

export function cells(row: Judged, judged = true): string[] {
  const { measure, value, unit, baseline, ratio, limit, pass } = row;
  return [
    measure,
    `${formatNumber(value)} ${unit}`.trimEnd(),
    baseline === undefined ? '' : formatNumber(baseline),
    ratio === undefined ? '' : ratio.toFixed(2),
    formatLimit(row),
    limit && judged ? (pass ? 'met' : 'MISSED') : '',
  ];
}
