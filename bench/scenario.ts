/** What a benchmark is, and what it tells. */
export interface Scenario {
  name: string;
  /** What is measured, in one sentence. */
  summary: string;
  run(options: { quick: boolean }): Promise<Row[]>;
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
}

export function judge(row: Row): Judged {
  const ratio = row.yardstick ? row.value / row.yardstick : undefined;
  const { of = 'value', least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = row.limit ?? {};
  const measured = of === 'ratio' ? ratio : row.value;
  const pass = row.limit === undefined || (measured !== undefined && measured >= least && measured <= most);
  return { ...row, ...(ratio !== undefined && { ratio }), pass };
}

/** The value that so large a part of them does not exceed. */
export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}
