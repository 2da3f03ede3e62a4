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
/** Months without partitions, and when to look again. */
const missing = new Map<string, number>();

interface Statement {
  name: string;
  text: string;
}

/** `ids` are those of all occurrences that the statement concerns. */
export async function queryMonthAcrossTenants<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: Statement,
  ids: readonly string[],
  values: unknown[],
): Promise<pg.QueryResult<R>> {
  const month = commonMonth(ids);
  if (month && (missing.get(month) ?? 0) <= performance.now()) {
    try {
      return await pool.query<R>({ ...onMonth(statement, month), values });
    } catch (error) {
      if (sqlState(error) !== undefinedTable) throw error;
      if (missing.size >= maxMissing) missing.clear();
      missing.set(month, performance.now() + retryMs);
    }
  }
  return pool.query<R>({ ...statement, values });
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

const statements = new Map<string, Statement>();

function onMonth({ name, text }: Statement, month: string): Statement {
  const own = `${name}_${month}`;
  const found = statements.get(own) ?? {
    name: own,
    text: text.replaceAll(/\b(update|into|from) (occurrences|deliveries)\b/g, `$1 $2_${month}`),
  };
  statements.set(own, found);
  return found;
}
