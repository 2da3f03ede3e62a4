/**
 * Draws how much of its limit each scenario uses: the last run as a bar, the trend as a line. The colors are readable on a
 * white and on a black background, because an image does not know the reader's theme.
 */

import { formatNumber } from './format.ts';
import { type Entry, type History, lastOfEach, tightest } from './history.ts';

const ink = '#6e7781';
const line = '#8c959f';
const met = '#2da44e';
const missed = '#e5534b';

const width = 860;
const rowHeight = 44;
const top = 34;
const bar = { from: 116, to: 596 };
const trend = { from: 684, to: 846 };
/** Larger shares are drawn up to the edge, with an arrow. */
const maxShare = 1.5;

export function chart(history: History): string {
  const shown = lastOfEach(history).flatMap(entry => {
    const row = tightest(entry);
    return row ? [{ entry, row }] : [];
  });
  const height = top + shown.length * rowHeight + 8;
  const limitAt = along(bar, 1);
  const rows = shown.map(({ entry, row }, i) => {
    const y = top + i * rowHeight;
    const end = along(bar, row.used);
    const color = row.pass ? met : missed;
    const value =
      row.limit!.of === 'ratio' ? `ratio ${row.ratio!.toFixed(2)}` : `${formatNumber(row.value)} ${row.unit}`.trimEnd();
    return [
      `<text x="0" y="${y + 17}" font-weight="600">${escapeText(entry.scenario)}</text>`,
      `<rect x="${bar.from}" y="${y + 6}" width="${Math.max(2, end - bar.from)}" height="14" rx="2" fill="${color}"/>`,
      `<text x="${bar.to + 8}" y="${y + 17}">${row.used > maxShare ? '→ ' : ''}${percent(row.used)}</text>`,
      `<text x="${bar.from}" y="${y + 34}" font-size="11">${escapeText(`${row.measure}: ${value}`)}</text>`,
      trendOf(history, entry, y),
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="${ink}" role="img" aria-labelledby="title">
<title id="title">How much of its limit each scenario uses</title>
<text x="${limitAt}" y="14" text-anchor="middle" font-size="11">limit</text>
<text x="${bar.from}" y="14" font-size="11">share of the limit used: less is better</text>
<text x="${trend.from}" y="14" font-size="11">last runs</text>
<line x1="${limitAt}" y1="20" x2="${limitAt}" y2="${height - 8}" stroke="${line}" stroke-dasharray="4 3"/>
${rows.join('\n')}
</svg>
`;
}

/** Draws a point for each run, the limit as a line and the last run as a dot. */
function trendOf(history: History, { scenario }: Entry, y: number): string {
  const runs = history.entries.filter(entry => entry.scenario === scenario).map(entry => tightest(entry)?.used ?? 0);
  const height = 26;
  const at = (used: number) => round(y + 4 + height * (1 - Math.min(used, maxShare) / maxShare));
  const x = (i: number) =>
    round(runs.length === 1 ? trend.to : trend.from + ((trend.to - trend.from) * i) / (runs.length - 1));
  const points = runs.map((used, i) => `${x(i)},${at(used)}`);
  const [lastX, lastY] = points.at(-1)!.split(',');
  return [
    `<line x1="${trend.from}" y1="${at(1)}" x2="${trend.to}" y2="${at(1)}" stroke="${line}" stroke-dasharray="4 3"/>`,
    ...(points.length > 1
      ? [`<polyline points="${points.join(' ')}" fill="none" stroke="${ink}" stroke-width="1.5"/>`]
      : []),
    `<circle cx="${lastX}" cy="${lastY}" r="3" fill="${runs.at(-1)! <= 1 ? met : missed}"/>`,
  ].join('\n');
}

function along({ from, to }: { from: number; to: number }, used: number): number {
  return round(from + ((to - from) * Math.min(used, maxShare)) / maxShare);
}

function percent(used: number): string {
  return Number.isFinite(used) ? `${formatNumber(used * 100)} %` : 'no value';
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
