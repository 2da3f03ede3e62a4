/** How the command line looks. */
import { AppError } from '../core/errors.ts';

/** One clear line, with a line for each field where several are wrong. */
export function formatError(error: unknown): string {
  if (!(error instanceof AppError)) {
    const { message, stack } = error as Error;
    return `belfry: ${message || stack || String(error)}`;
  }
  const fields = Object.entries(error.details.fields ?? {});
  if (error.code === 'config.invalid' || fields.length < 2) return `belfry: ${error.message}`;
  const lines = fields.map(([field, messages]) => `  ${field}: ${messages.join('; ')}`);
  return [`belfry: ${error.title}:`, ...lines].join('\n');
}

/** Columns as wide as they need to be, the last one free. */
export function formatTable(rows: string[][]): string {
  const widths =
    rows[0]?.map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0)) ?? [];
  return rows
    .map(row =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** What comes from a file or a message must not be able to steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, character => {
    return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
  });
}
