/** The interface of a benchmark and its results. */
export interface Scenario {
  name: string;
  /** One sentence about what is measured. */
  summary: string;
  /** Throws if a count is wrong, because figures of work that was not done are meaningless. */
  run(options: Options): Promise<Row[]>;
}

export interface Options {
  /** A small run that only checks that the scenario works; its times are not compared with limits. */
  quick: boolean;
  /** How many inbox streams to hold open, instead of the usual measurement. */
  streams?: number | undefined;
  /** Prints a line of progress. */
  log(text: string): void;
}

export interface Row {
  measure: string;
  value: number;
  unit: string;
  /** The result of the simplest implementation of the same work, in the same run and unit. */
  baseline?: number;
  /** The promised limit of the value, or of its ratio to the baseline. */
  limit?: { of: 'value' | 'ratio'; min?: number; max?: number };
  note?: string;
}

export interface Judged extends Row {
  ratio?: number;
  pass: boolean;
  /** The used share of the limit: 1 is the limit itself, and anything above exceeds it. */
  used?: number;
}

export function judge(row: Row): Judged {
  const ratio = row.baseline ? row.value / row.baseline : undefined;
  const judged = { ...row, ...(ratio !== undefined && { ratio }) };
  if (!row.limit) return { ...judged, pass: true };
  const { of, min, max } = row.limit;
  const measured = of === 'ratio' ? ratio : row.value;
  // Without a valid ratio the limit counts as missed.
  if (measured === undefined || Number.isNaN(measured)) return { ...judged, pass: false };
  const used = Math.max(min === undefined ? 0 : share(min, measured), max === undefined ? 0 : share(measured, max));
  return { ...judged, pass: used <= 1, used };
}

/** Returns part / whole; a part of zero is a share of zero, even of zero. */
function share(part: number, whole: number): number {
  if (part <= 0) return 0;
  return whole > 0 ? part / whole : Number.POSITIVE_INFINITY;
}

/** Returns the smallest measured value that at least this part of all values does not exceed. */
export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.min(sorted.length, Math.ceil(sorted.length * part)) - 1)] ?? Number.NaN;
}
