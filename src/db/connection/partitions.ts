/**
 * Occurrences, deliveries and feedback have one partition for each month of the occurrence's id. Partitions are created ahead of
 * time and dropped as a whole when no organization keeps that month any longer: no row is deleted, nothing to vacuum.
 *
 * Both operations need an exclusive lock for a moment. They wait for it only briefly, as later statements queue behind
 * them, and for less than PostgreSQL's deadlock_timeout (1 s), so that it is never the engine's statement that is
 * cancelled. Without the lock they are retried, then again an hour later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { lowestUuidAt, timeOfUuid } from '../../core/ids.ts';
import { waitingList } from '../ledger/status-text.ts';
import { type Db, sqlState } from './pool.ts';

/** In the opposite order in which statements lock them. */
const partitioned = ['occurrences', 'feedback', 'deliveries'] as const;
const monthsAhead = 2;
const dayMs = 86_400_000;
/** The schema's default; used while there is no organization. */
const defaultRetentionDays = 90;

const lockTimeoutMs = 250;
const lockAttempts = 8;
const lockNotAvailable = '55P03';

export interface Month {
  /** The suffix of the partition's name: 2026_11. */
  name: string;
  from: number;
  to: number;
}

function monthAt(year: number, month: number): Month {
  const from = Date.UTC(year, month);
  return {
    name: new Date(from).toISOString().slice(0, 7).replace('-', '_'),
    from,
    to: Date.UTC(year, month + 1),
  };
}

/**
 * Creates the partitions of the month of `from`, of this month and the next ones; safe to call at any time from any process.
 * Until a partition exists, `_rest` holds its rows; they are moved when it is created, also for a past month without a partition.
 */
export async function createPartitions(db: Db, now: number, from = now): Promise<void> {
  const [first, today] = [new Date(from), new Date(now)];
  const behind = 12 * (today.getUTCFullYear() - first.getUTCFullYear()) + today.getUTCMonth() - first.getUTCMonth();
  for (let ahead = -behind; ahead <= monthsAhead; ahead++) {
    await createMonth(db, monthAt(today.getUTCFullYear(), today.getUTCMonth() + ahead));
  }
  for (let month = await findMonthInRest(db); month; month = await findMonthInRest(db)) {
    if (!(await createMonth(db, month))) break;
  }
}

/** Returns whether the month's partitions exist now. */
async function createMonth(db: Db, month: Month): Promise<boolean> {
  if ((await listMissing(db, month)).length === 0) return true;
  const done = await withTablesLocked(db, async trx => {
    // Another process may have created them while this one waited for the lock.
    for (const table of await listMissing(trx, month)) await createPartition(trx, table, month);
    return true;
  });
  return done === true;
}

/** Creates the partitions of months by name, within a transaction in which no one else uses the tables. */
export async function createMonths(trx: Db, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const [year, month] = name.split('_').map(Number) as [number, number];
    const missing = monthAt(year, month - 1);
    for (const table of await listMissing(trx, missing)) await createPartition(trx, table, missing);
  }
}

/** Returns the oldest month with rows in `_rest`, which is normally empty. */
async function findMonthInRest(db: Db): Promise<Month | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      (select id from occurrences_rest order by id limit 1)
      union all (select occurrence_id from deliveries_rest order by occurrence_id limit 1)
      union all (select occurrence_id from feedback_rest order by occurrence_id limit 1)
    ) oldest order by id limit 1`.execute(db);
  if (!rows[0]) return undefined;
  const at = new Date(timeOfUuid(rows[0].id));
  return monthAt(at.getUTCFullYear(), at.getUTCMonth());
}

/** Returns the tables without a partition for the month. Under an older schema, a table may have no partitions. */
async function listMissing(db: Db, month: Month): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...partitioned]}::text[]) as name
    where exists (select from pg_class where oid = to_regclass(name) and relkind = 'p') and not exists (
      select from pg_inherits where inhparent = to_regclass(name) and inhrelid = to_regclass(name || ${`_${month.name}`}))`.execute(
    db,
  );
  return rows.map(row => row.name);
}

async function createPartition(trx: Db, table: string, { name, from, to }: Month): Promise<void> {
  const partition = sql.table(`${table}_${name}`);
  const rest = sql.table(`${table}_rest`);
  const key = sql.ref(table === 'occurrences' ? 'id' : 'occurrence_id');
  const [lowest, end] = [lowestUuidAt(from), lowestUuidAt(to)];
  const columns = sql.join((await listStoredColumns(trx, table)).map(column => sql.ref(column)));
  await sql`create table ${partition} (like ${sql.table(table)} including all)`.execute(trx);
  await sql`
    with moved as (delete from ${rest} where ${key} >= ${lowest}::uuid and ${key} < ${end}::uuid returning *)
    insert into ${partition} (${columns}) select ${columns} from moved`.execute(trx);
  await sql`
    alter table ${sql.table(table)} attach partition ${partition}
    for values from (${sql.lit(lowest)}) to (${sql.lit(end)})`.execute(trx);
}

/** Returns the columns of a table, except generated ones. */
async function listStoredColumns(db: Db, table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = to_regclass(${table}) and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * Drops the months that every organization's retention has passed and that have no unfinished rows; returns them. A month
 * is kept until its last day is older than the longest retention, so a row can outlive its retention by a month: the
 * price of not deleting rows. Rows of organizations with a shorter retention are deleted: see retention.ts.
 */
export async function dropOldPartitions(db: Db, now: number): Promise<string[]> {
  const maxRetentionMs = (await maxRetentionDays(db)) * dayMs;
  const dropped: string[] = [];
  for (const month of await listMonths(db)) {
    if (month.to + maxRetentionMs > now || (await hasUnfinished(db, month))) continue;
    const done = await withTablesLocked(db, async trx => {
      // An old occurrence may have been replayed since.
      if (await hasUnfinishedDeliveries(trx, month)) return false;
      const tables = partitioned.map(table => sql.table(`${table}_${month.name}`));
      await sql`drop table if exists ${sql.join(tables)}`.execute(trx);
      return true;
    });
    if (done === undefined) break;
    if (done) dropped.push(month.name);
  }
  return dropped;
}

export async function maxRetentionDays(db: Db): Promise<number> {
  const { longest } = await db
    .selectFrom('organizations')
    .select(({ fn }) => fn.max('retention_days').as('longest'))
    .executeTakeFirstOrThrow();
  return longest ?? defaultRetentionDays;
}

/** Returns the months that have a partition, oldest first. */
export async function listMonths(db: Db): Promise<Month[]> {
  const { rows } = await sql<{ year: number; month: number }>`
    select distinct named[1]::int as year, named[2]::int as month
    from pg_inherits i join pg_class c on c.oid = i.inhrelid, regexp_match(c.relname, '_([0-9]{4})_([0-9]{2})$') as named
    where i.inhparent = any(array[${sql.join(partitioned.map(table => sql`to_regclass(${table})`))}])
      and named is not null
    order by 1, 2`.execute(db);
  return rows.map(({ year, month }) => monthAt(year, month - 1));
}

/** Reads the whole month if nothing is unfinished, so it runs before the tables are locked. */
async function hasUnfinished(db: Db, month: Month): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from occurrences
      where id >= ${lowestUuidAt(month.from)}::uuid and id < ${lowestUuidAt(month.to)}::uuid
        and status in ('accepted', 'expanding', 'sending')) as found`.execute(db);
  return rows[0]!.found;
}

/** The same using only partial indexes: an unfinished occurrence either waits itself or has a delivery that does. */
async function hasUnfinishedDeliveries(trx: Db, month: Month): Promise<boolean> {
  const [from, to] = [sql`${lowestUuidAt(month.from)}::uuid`, sql`${lowestUuidAt(month.to)}::uuid`];
  await sql`set local enable_seqscan = off`.execute(trx);
  await sql`set local jit = off`.execute(trx);
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from occurrences where status = 'accepted' and id >= ${from} and id < ${to})
      or exists (select from occurrences where status = 'expanding' and id >= ${from} and id < ${to})
      or exists (select from deliveries
        where status in ${sql.raw(waitingList)} and occurrence_id >= ${from} and occurrence_id < ${to})
      or exists (select from deliveries
        where status = 'sending' and occurrence_id >= ${from} and occurrence_id < ${to}) as found`.execute(trx);
  return rows[0]!.found;
}

/** Returns undefined if the locks could not be acquired in time. */
async function withTablesLocked<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T | undefined> {
  for (let attempt = 1; attempt <= lockAttempts; attempt++) {
    try {
      return await db.transaction().execute(async trx => {
        await sql`set local lock_timeout = ${sql.lit(`${lockTimeoutMs}ms`)}`.execute(trx);
        // Workers update a delivery and then its occurrence. Locking in the other order deadlocks with them until the
        // timeout, and blocks triggers meanwhile.
        for (const table of partitioned.toReversed()) {
          await sql`lock table only ${sql.table(table)} in access exclusive mode`.execute(trx);
        }
        return work(trx);
      });
    } catch (error) {
      if (sqlState(error) !== lockNotAvailable) throw error;
      await sleep(Math.random() * lockTimeoutMs);
    }
  }
  return undefined;
}
