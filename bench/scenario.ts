/** What a benchmark is, and what it tells. */
export interface Scenario {
  name: string;
  /** What is measured, in one sentence. */
  summary: string;
  /** Throws where a count is wrong: figures of work that was not done say nothing. */
  run(options: Options): Promise<Row[]>;
}

export interface Options {
  /** Small, to see that it works: its times are never judged. */
  quick: boolean;
  /** A line of progress. */
  log(words: string): void;
}

export interface Row {
  measure: string;
  value: number;
  unit: string;
  /** The same work done as plainly as it can be, in the same run, in the same unit. */
  yardstick?: number;
  /** What is promised: of the value, or of its ratio to the yardstick. */
  limit?: { of: 'value' | 'ratio'; least?: number; most?: number };
  note?: string;
}

export interface Judged extends Row {
  ratio?: number;
  pass: boolean;
  /** How much of the limit is used up: 1 is the limit itself, more is too much. */
  used?: number;
}

export function judge(row: Row): Judged {
  const ratio = row.yardstick ? row.value / row.yardstick : undefined;
  const judged = { ...row, ...(ratio !== undefined && { ratio }) };
  if (!row.limit) return { ...judged, pass: true };
  const { of, least, most } = row.limit;
  const measured = of === 'ratio' ? ratio : row.value;
  // A ratio to nothing keeps no limit.
  if (measured === undefined || Number.isNaN(measured)) return { ...judged, pass: false };
  const used = Math.max(
    least === undefined ? 0 : share(least, measured),
    most === undefined ? 0 : share(measured, most),
  );
  return { ...judged, pass: used <= 1, used };
}

/** Nothing of nothing is within it. */
function share(part: number, whole: number): number {
  if (part <= 0) return 0;
  return whole > 0 ? part / whole : Number.POSITIVE_INFINITY;
}

/** The value that so large a part of them does not exceed. */
export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.min(sorted.length, Math.ceil(sorted.length * part)) - 1)] ?? Number.NaN;
}
