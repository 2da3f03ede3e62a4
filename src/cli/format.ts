/** Formatting of the command line's output. */
import { AppError } from '../core/errors.ts';

/** Formats an error as one line, followed by one line per field when several fields are invalid. */
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

/** Aligns columns. The last one is not padded. Cells may contain any text. */
export function formatTable(cells: string[][]): string {
  const rows = cells.map(row => row.map(printable));
  const widths =
    rows[0]?.map((_, column) => rows.reduce((max, row) => Math.max(max, row[column]?.length ?? 0), 0)) ?? [];
  return rows
    .map(row =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Characters that control the terminal, break the line or reorder it. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Escapes such characters, so that stored text, also that of files and servers, stays in its line and in its order. */
export function printable(text: string): string {
  return text.replace(unprintable, escapeCharacter);
}

/** Like `printable`, for the whole output: it leaves line breaks, tabs and the colors of `describeChanges`. JSON stays the same. */
export function printableLines(text: string): string {
  return text.replace(unprintable, (character, at: number) => {
    const isColor = character === '\u001b' && /^\[3[1239]m/.test(text.slice(at + 1, at + 5));
    return isColor || character === '\n' || character === '\t' ? character : escapeCharacter(character);
  });
}

function escapeCharacter(character: string): string {
  return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
}

/** Joins words with commas and breaks lines at `width` characters. */
export function formatWords(words: readonly string[], width: number): string {
  const lines: string[] = [];
  for (const [i, word] of words.entries()) {
    const text = i < words.length - 1 ? `${word},` : word;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + text.length <= width) lines[lines.length - 1] = `${last} ${text}`;
    else lines.push(text);
  }
  return lines.join('\n');
}

/** Prints whole lines: a chunk may end in the middle of a line. */
export async function printAll(chunks: AsyncIterable<string>, print: (line: string) => void): Promise<void> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) print(lines.join('\n'));
  }
}

/** Formats a number with separators, such as 1,234,567. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** Formats a time to the minute in the zone of the terminal, and names the zone: `2026-11-18 04:10 +01:00`. */
export function formatTime(time: Date | string): string {
  const date = new Date(time);
  const minutes = -date.getTimezoneOffset();
  const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, 16).replace('T', ' ');
  const two = (n: number) => String(n).padStart(2, '0');
  const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return `${local} ${minutes === 0 ? 'UTC' : offset}`;
}
