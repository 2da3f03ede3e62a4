/**
 * How much of its limit each scenario uses up: now as a bar, and its course as a line. The colours are chosen to be read on
 * white as on black, as a picture does not know which of the two a reader of the page has.
 */
import { type Entry, type History, lastOfEach, tightest } from './history.ts';
import { figure } from './words.ts';

const ink = '#6e7781';
const line = '#8c959f';
const kept = '#2da44e';
const missed = '#e5534b';

const width = 860;
const rowHeight = 44;
const top = 34;
const bar = { from: 116, to: 596 };
const course = { from: 684, to: 846 };
/** What is beyond is drawn to the edge, with an arrow. */
const most = 1.5;

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
    const colour = row.pass ? kept : missed;
    const value =
      row.limit!.of === 'ratio' ? `ratio ${row.ratio!.toFixed(2)}` : `${figure(row.value)} ${row.unit}`.trimEnd();
    return [
      `<text x="0" y="${y + 17}" font-weight="600">${escapeText(entry.scenario)}</text>`,
      `<rect x="${bar.from}" y="${y + 6}" width="${Math.max(2, end - bar.from)}" height="14" rx="2" fill="${colour}"/>`,
      `<text x="${bar.to + 8}" y="${y + 17}">${row.used > most ? '→ ' : ''}${percent(row.used)}</text>`,
      `<text x="${bar.from}" y="${y + 34}" font-size="11">${escapeText(`${row.measure}: ${value}`)}</text>`,
      courseOf(history, entry, y),
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="${ink}" role="img" aria-labelledby="title">
<title id="title">How much of its limit each scenario uses up</title>
<text x="${limitAt}" y="14" text-anchor="middle" font-size="11">limit</text>
<text x="${bar.from}" y="14" font-size="11">used of the limit: less is better</text>
<text x="${course.from}" y="14" font-size="11">the last runs</text>
<line x1="${limitAt}" y1="20" x2="${limitAt}" y2="${height - 8}" stroke="${line}" stroke-dasharray="4 3"/>
${rows.join('\n')}
</svg>
`;
}

/** A point for each run, the limit as a line, the last run as a dot. */
function courseOf(history: History, { scenario }: Entry, y: number): string {
  const runs = history.entries.filter(entry => entry.scenario === scenario).map(entry => tightest(entry)?.used ?? 0);
  const height = 26;
  const at = (used: number) => round(y + 4 + height * (1 - Math.min(used, most) / most));
  const x = (i: number) =>
    round(runs.length === 1 ? course.to : course.from + ((course.to - course.from) * i) / (runs.length - 1));
  const points = runs.map((used, i) => `${x(i)},${at(used)}`);
  const [lastX, lastY] = points.at(-1)!.split(',');
  return [
    `<line x1="${course.from}" y1="${at(1)}" x2="${course.to}" y2="${at(1)}" stroke="${line}" stroke-dasharray="4 3"/>`,
    ...(points.length > 1
      ? [`<polyline points="${points.join(' ')}" fill="none" stroke="${ink}" stroke-width="1.5"/>`]
      : []),
    `<circle cx="${lastX}" cy="${lastY}" r="3" fill="${runs.at(-1)! <= 1 ? kept : missed}"/>`,
  ].join('\n');
}

function along({ from, to }: { from: number; to: number }, used: number): number {
  return round(from + ((to - from) * Math.min(used, most)) / most);
}

function percent(used: number): string {
  return Number.isFinite(used) ? `${figure(used * 100)} %` : 'nothing';
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
