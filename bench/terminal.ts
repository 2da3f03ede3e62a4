/** Prints the table at the end of a run. */

import { cells, columns } from './format.ts';
import type { Judged } from './scenario.ts';

const gap = 2;
/** Minimum width of the first column, however narrow the terminal is. */
const minWidth = 20;

/** Formats a heading for each scenario with its rows below; measures are wrapped so that every line fits. */
export function terminalTable(
  scenarios: { scenario: string; rows: Judged[] }[],
  { width = 100, judged = true } = {},
): string {
  const body = scenarios.map(({ scenario, rows }) => ({ scenario, rows: rows.map(row => cells(row, judged)) }));
  const all = body.flatMap(({ rows }) => rows);
  // Empty columns are left out.
  const widths = columns.map((column, i) => {
    const longest = Math.max(...all.map(row => row[i]!.length));
    return longest === 0 ? 0 : Math.max(longest, column.length);
  });
  const others = widths.slice(1).reduce((sum, each) => sum + (each > 0 ? each + gap : 0), 0);
  widths[0] = Math.max(minWidth, Math.min(widths[0]!, width - others - gap));
  const line = (row: string[]) => {
    const [first = '', ...more] = wrap(row[0]!, widths[0]!);
    const figures = row.slice(1).map((cell, i) => {
      const size = widths[i + 1]!;
      return size === 0 ? '' : ' '.repeat(gap) + (i < 3 ? cell.padStart(size) : cell.padEnd(size));
    });
    return [`  ${first.padEnd(widths[0]!)}${figures.join('')}`.trimEnd(), ...more.map(text => `    ${text}`)].join(
      '\n',
    );
  };
  return [line(columns), ...body.flatMap(({ scenario, rows }) => [scenario, ...rows.map(line)])].join('\n');
}

/** Wraps text into lines of this width; from the third line on they leave room to be indented by two. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const room = lines.length > 1 ? width - 2 : width;
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
