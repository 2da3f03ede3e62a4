/** What commands that list rows have in common. */
import { flag, string } from './arguments.ts';
import { type Terminal, usageError } from './command.ts';
import { formatTable } from './format.ts';

export const rowOptions = { limit: string, all: flag };

/** Maximum of `--limit`. A server returns 1,000 rows at most if a limit is set, of which one shows that there are more. */
export const maxLimit = 999;
/** Most rows of a table on a terminal; a server returns as many as there are. */
const maxRows = 100_000;

export interface RowLimit {
  /** One more than is shown, to know whether there are more. */
  toRead: number;
  /** Query parameters for a server. */
  query: Record<string, string>;
  /** Returns the rows to show, and the line that follows them if there are more. */
  take<Row>(rows: Row[]): { shown: Row[]; more: string | undefined };
}

export function readRowLimit(
  { limit, all = false }: { limit?: string | undefined; all?: boolean | undefined },
  { default: defaultLimit, max }: { default: number; max: number },
): RowLimit {
  const count = limit === undefined ? defaultLimit : Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > max)
    throw usageError(`--limit must be a number from 1 to ${max}`);
  if (all && limit !== undefined) throw usageError('--limit and --all cannot be combined');
  const shownRows = all ? maxRows : count;
  return {
    toRead: shownRows + 1,
    query: all ? {} : { limit: String(count + 1) },
    take: rows => ({
      shown: rows.slice(0, shownRows),
      more: rows.length > shownRows ? `\n${shownRows} shown, there are more: add --all, or --limit N.` : undefined,
    }),
  };
}

/** Prints rows as JSON, or as a table with these columns. `more` follows the table, `none` replaces an empty one. */
export function printRows<Row>(
  { print }: Terminal,
  rows: Row[],
  { json, more }: { json?: boolean | undefined; more?: string | undefined },
  none: string,
  columns: Record<string, (row: Row) => string>,
): void {
  const cells = rows.map(row => Object.values(columns).map(cellOf => cellOf(row)));
  const table = rows.length === 0 ? none : formatTable([Object.keys(columns), ...cells]);
  print(json ? JSON.stringify(rows, null, 2) : table);
  if (more && !json) print(more);
}

/** A row in the response of a server: its times are strings. */
export type Sent<Row> = {
  [Field in keyof Row]: Row[Field] extends Date ? string : Row[Field] extends Date | null ? string | null : Row[Field];
};

/** Returns rows of the database as a server sends them. */
export function asSent<Row>(rows: Row[]): Sent<Row>[] {
  return JSON.parse(JSON.stringify(rows));
}
