/** What was measured so far: docs/performance.json, from which the page and its chart follow. */
import { type Judged, judge, type Row } from './scenario.ts';

/** One scenario in one run. */
export interface Entry {
  scenario: string;
  /** When it ended. */
  at: string;
  seconds: number;
  /** Of the machine, before the run: others who work on it slow everything down. */
  load: number;
  machine: string;
  versions: Record<string, string>;
  /** Of the database. */
  settings: Record<string, string>;
  rows: Row[];
}

export interface History {
  entries: Entry[];
}

/** For each scenario. */
const mostKept = 20;

/** With what was just measured, in the order of the scenarios and of time. */
export function addToHistory(history: History, added: Entry[], order: string[]): History {
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const groups = Map.groupBy([...history.entries, ...added], ({ scenario }) => scenario);
  const names = [...groups.keys()].toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
  const entries = names.flatMap(name =>
    groups
      .get(name)!
      .toSorted((a, b) => (a.at < b.at ? -1 : 1))
      .slice(-mostKept),
  );
  return { entries };
}

/** The last run of each scenario. */
export function lastOfEach({ entries }: History): Entry[] {
  return [...new Map(entries.map(entry => [entry.scenario, entry])).values()];
}

export function judgedRows({ rows }: Entry): Judged[] {
  return rows.map(judge);
}

/** The row that is nearest to its limit, or furthest beyond it; undefined where nothing is promised. */
export function tightest(entry: Entry): (Judged & { used: number }) | undefined {
  const limited = judgedRows(entry).filter(row => row.limit);
  const known = limited.map(row => ({ ...row, used: row.used ?? Number.POSITIVE_INFINITY }));
  return known.toSorted((a, b) => b.used - a.used)[0];
}

/** More digits than mean anything only make changes hard to read. */
export function rounded(row: Row): Row {
  const digits = (value: number) => Number(value.toPrecision(4));
  return { ...row, value: digits(row.value), ...(row.yardstick !== undefined && { yardstick: digits(row.yardstick) }) };
}
