/**
 * Runs statements on the partitions of one month. With few messages at a time, preparing an update of all partitions for
 * execution takes most of PostgreSQL's time: with a year of history, twice as much as all other work. A batch usually
 * belongs to one month. One that does not, or whose month has no partition yet, goes through the parent tables.
 */
import type pg from 'pg';
import { timeOfUuid } from '../../core/ids.ts';
import { sqlState } from '../connection/pool.ts';

const undefinedTable = '42P01';
/** When to look again for the partition of a month: they are created every hour. */
const retryMs = 3_600_000;
const maxMissing = 100;

interface Statement {
  name: string;
  text: string;
}

/** The names of the tables that a statement runs on. */
export interface LedgerTables {
  occurrences: string;
  deliveries: string;
}

export const parentTables: LedgerTables = { occurrences: 'occurrences', deliveries: 'deliveries' };

/** A statement on the parent tables, and on the partitions of each month. */
export interface MonthlyStatement {
  parent: Statement;
  of: (month: string) => Statement;
}

export function monthly({ name, text }: { name: string; text: (tables: LedgerTables) => string }): MonthlyStatement {
  const statements = new Map<string, Statement>();
  return {
    parent: { name, text: text(parentTables) },
    of: month => {
      const tables = { occurrences: `occurrences_${month}`, deliveries: `deliveries_${month}` };
      const statement = statements.get(month) ?? { name: `${name}_${month}`, text: text(tables) };
      statements.set(month, statement);
      return statement;
    },
  };
}

/** The months without partitions in the database of a pool, and when to look again. */
const missingMonths = new WeakMap<pg.Pool, Map<string, number>>();

/** `ids` are those of all occurrences that the statement concerns. */
export async function queryMonthAcrossTenants<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: MonthlyStatement,
  ids: readonly string[],
  values: unknown[],
): Promise<pg.QueryResult<R>> {
  const month = commonMonth(ids);
  const missing = missingMonths.get(pool) ?? new Map<string, number>();
  if (month && (missing.get(month) ?? 0) <= performance.now()) {
    try {
      return await pool.query<R>({ ...statement.of(month), values });
    } catch (error) {
      if (sqlState(error) !== undefinedTable) throw error;
      if (missing.size >= maxMissing) missing.clear();
      missingMonths.set(pool, missing.set(month, performance.now() + retryMs));
    }
  }
  return pool.query<R>({ ...statement.parent, values });
}

/** Returns the month of all ids, such as 2026_11. */
function commonMonth(ids: readonly string[]): string | undefined {
  let [first, last] = [ids[0], ids[0]];
  if (first === undefined || last === undefined) return undefined;
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  const month = monthOf(first);
  return month === monthOf(last) ? month : undefined;
}

function monthOf(id: string): string {
  return new Date(timeOfUuid(id)).toISOString().slice(0, 7).replace('-', '_');
}
