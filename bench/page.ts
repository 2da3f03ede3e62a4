/**
 * Updates docs/performance.md: most of it is written by hand; the parts between two markers are generated from the history.
 */

import { cells, columns } from './format.ts';
import { type Entry, type History, judgedRows, lastOfEach } from './history.ts';

const parts = { figures: figuresTable, machine: machineList };

export function writePage(page: string, history: History): string {
  const entries = lastOfEach(history);
  return Object.entries(parts).reduce((text, [name, write]) => replacePart(text, name, write(entries)), page);
}

/** Replaces the text between the two markers of a part. */
export function replacePart(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}: written by npm run bench -->`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has lost its markers: it needs ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

function figuresTable(entries: Entry[]): string {
  const lines = entries.flatMap(entry =>
    judgedRows(entry).map((row, i) => [i === 0 ? `[\`${entry.scenario}\`](#${entry.scenario})` : '', ...cells(row)]),
  );
  const rule = ['---', '---', '---:', '---:', '---:', '---', '---'];
  const head = ['scenario', ...columns];
  return [head, rule, ...lines].map(line => `| ${line.map(escapeCell).join(' | ')} |`).join('\n');
}

/** Runs with the same machine, versions and settings share a line. */
function machineList(entries: Entry[]): string {
  const groups = Map.groupBy(entries, ({ machine, versions, settings }) =>
    [`${machine}`, pairs(versions), pairs(settings)].join('; '),
  );
  return [...groups]
    .map(([environment, runs]) => {
      const names = runs.map(({ scenario, at, load }) => `\`${scenario}\` (${at.slice(0, 10)}, load ${load})`);
      return `- ${environment}: ${names.join(', ')}`;
    })
    .join('\n');
}

function pairs(named: Record<string, string>): string {
  return Object.entries(named)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replace('MISSED', '**missed**');
}
