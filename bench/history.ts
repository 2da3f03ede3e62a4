/** All results so far, in docs/performance.json, from which the page and its chart are generated. */
import { type Judged, judge, type Row } from './scenario.ts';

/** The results of one scenario in one run. */
export interface Entry {
  scenario: string;
  /** When the scenario ended. */
  at: string;
  seconds: number;
  /** Load average of the machine before the run; other work slows everything down. */
  load: number;
  machine: string;
  versions: Record<string, string>;
  /** Settings of the database. */
  settings: Record<string, string>;
  rows: Row[];
}

export interface History {
  entries: Entry[];
}

/** Maximum number of runs kept for each scenario. */
const maxRuns = 20;

/** Adds new results, ordered by scenario and time. */
export function addToHistory(history: History, added: Entry[], order: string[]): History {
  const position = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const groups = Map.groupBy([...history.entries, ...added], ({ scenario }) => scenario);
  const names = [...groups.keys()].toSorted((a, b) => position(a) - position(b) || (a < b ? -1 : 1));
  const entries = names.flatMap(name =>
    groups
      .get(name)!
      .toSorted((a, b) => (a.at < b.at ? -1 : 1))
      .slice(-maxRuns),
  );
  return { entries };
}

/** Returns the last run of each scenario. */
export function lastOfEach({ entries }: History): Entry[] {
  return [...new Map(entries.map(entry => [entry.scenario, entry])).values()];
}

export function judgedRows({ rows }: Entry): Judged[] {
  return rows.map(judge);
}

/** Returns the row that is closest to its limit, or furthest beyond it; undefined without limits. */
export function tightest(entry: Entry): (Judged & { used: number }) | undefined {
  const limited = judgedRows(entry).filter(row => row.limit);
  const used = limited.map(row => ({ ...row, used: row.used ?? Number.POSITIVE_INFINITY }));
  return used.toSorted((a, b) => b.used - a.used)[0];
}

/** Rounds to four significant digits: more would only make diffs hard to read. */
export function rounded(row: Row): Row {
  const digits = (value: number) => Number(value.toPrecision(4));
  return { ...row, value: digits(row.value), ...(row.baseline !== undefined && { baseline: digits(row.baseline) }) };
}
