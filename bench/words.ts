/** How figures are written, in the terminal and on the page. */
import type { Judged, Row } from './scenario.ts';

export function figure(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: Math.abs(value) < 1_000 ? 3 : 4 });
}

export function limitWords({ limit, unit }: Row): string {
  if (!limit) return '';
  const { of, least, most } = limit;
  const suffix = of === 'value' && unit ? ` ${unit}` : '';
  const bounds = [least === undefined ? '' : `≥ ${figure(least)}`, most === undefined ? '' : `≤ ${figure(most)}`];
  return `${of === 'ratio' ? 'ratio ' : ''}${bounds.filter(Boolean).join(', ')}${suffix}`;
}

/** The columns after the scenario, of which the first is words and the others are figures. */
export const columns = ['measured', 'Belfry', 'yardstick', 'ratio', 'limit', 'verdict'];

export function cells(row: Judged, judged = true): string[] {
  const { measure, value, unit, yardstick, ratio, limit, pass } = row;
  return [
    measure,
    `${figure(value)} ${unit}`.trimEnd(),
    yardstick === undefined ? '' : figure(yardstick),
    ratio === undefined ? '' : ratio.toFixed(2),
    limitWords(row),
    limit && judged ? (pass ? 'kept' : 'MISSED') : '',
  ];
}
