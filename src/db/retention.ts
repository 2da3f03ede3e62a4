/**
 * What an organization no longer keeps and no dropped partition takes along: its inbox, what only its dropped messages
 * were written with, and its history where the partition stays because another organization keeps more. These rows are
 * deleted a batch at a time, which costs what dropping a partition does not: dead rows that vacuum has to clear.
 */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt } from '../core/ids.ts';
import type { Db } from './pool.ts';
import { statisticsTables } from './stats-sums.ts';

/** Small enough that a batch is over in a moment and holds nobody up. */
const rowsAtOnce = 5_000;
/** For each organization and call; the rest waits for the next one. */
const mostBatches = 200;

/** Organizations that keep less than so many days. */
export async function listShorterRetentionsAcrossTenants(
  db: Db,
  days: number,
): Promise<{ id: number; retention_days: number }[]> {
  return db
    .selectFrom('organizations')
    .select(['id', 'retention_days'])
    .where('retention_days', '<', days)
    .orderBy('id')
    .execute();
}

/** Finished occurrences from before that time, with their deliveries. */
export async function deleteOldHistory(db: Db, organizationId: number, before: number): Promise<void> {
  const end = sql`${lowestUuidAt(before)}::uuid`;
  const unfinished = sql`(
    select from occurrences o where o.organization_id = ${organizationId} and o.id = d.occurrence_id
      and o.status <> 'completed')`;
  const deliveries = sql`deliveries d where d.organization_id = ${organizationId} and d.occurrence_id < ${end}`;
  await walk(db, deliveries, sql`d.occurrence_id, d.id`, sql`not exists ${unfinished}`);

  const remaining = sql`(
    select from deliveries d where d.organization_id = ${organizationId} and d.occurrence_id = o.id)`;
  const occurrences = sql`occurrences o where o.organization_id = ${organizationId} and o.id < ${end}`;
  await walk(db, occurrences, sql`o.id`, sql`o.status = 'completed' and not exists ${remaining}`);
}

export interface Retention {
  id: number;
  retention_days: number;
  /** Identifier of the oldest occurrence that is kept; null where there is none. */
  oldest: string | null;
}

export async function listRetentionsAcrossTenants(db: Db): Promise<Retention[]> {
  const { rows } = await sql<Retention>`
    select o.id, o.retention_days,
      (select x.id from occurrences x where x.organization_id = o.id order by x.id limit 1) as oldest
    from organizations o order by o.id`.execute(db);
  return rows;
}

/** What users were before that time, and what no message was written with since. */
export async function deleteOldWriting(db: Db, organizationId: number, before: Date): Promise<void> {
  await deleteAll(db, 'user_history', sql`organization_id = ${organizationId} and replaced_at < ${before}`);
  await deleteAll(db, 'wordings', sql`organization_id = ${organizationId} and used_at < ${before}`);
}

/** As whoever changes messages does, it locks their inboxes first. */
export async function deleteOldInbox(db: Db, organizationId: number, before: Date): Promise<void> {
  for (let batch = 0; batch < mostBatches; batch++) {
    const found = await db.transaction().execute(async trx => {
      const { rows } = await sql<{ user_id: number; id: number }>`
        select user_id, id from inbox where organization_id = ${organizationId} and created_at < ${before}
        order by created_at limit ${rowsAtOnce}`.execute(trx);
      const users = [...new Set(rows.map(row => row.user_id))];
      await sql`
        select from inboxes where organization_id = ${organizationId} and user_id = any(${users}::bigint[])
        order by user_id for no key update`.execute(trx);
      await sql`
        delete from inbox i using unnest(${rows.map(row => row.user_id)}::bigint[], ${rows.map(row => row.id)}::bigint[])
          as old (user_id, id)
        where i.organization_id = ${organizationId} and i.user_id = old.user_id and i.id = old.id`.execute(trx);
      return rows.length;
    });
    if (found < rowsAtOnce) return;
  }
}

/**
 * Statistics are kept as long as what they count, by whole days, so that hours and sums of days go together; of an
 * organization that is gone, not at all.
 */
export async function deleteOldStatisticsAcrossTenants(db: Db, now: Date): Promise<void> {
  for (const [table, time] of statisticsTables) {
    const kept = time
      ? sql`and s.${sql.ref(time)} >= date_trunc('day', ${now}::timestamptz - make_interval(days => o.retention_days), 'UTC')`
      : sql``;
    await sql`
      delete from ${sql.table(table)} s where not exists (
        select from organizations o where o.id = s.organization_id ${kept})`.execute(db);
  }
  await sql`
    delete from missing_variables m using organizations o
    where o.id = m.organization_id and m.last_at < ${now}::timestamptz - make_interval(days => o.retention_days)`.execute(
    db,
  );
}

/** A batch at a time, of rows whose place is found first: see below. */
async function deleteAll(db: Db, table: string, condition: RawBuilder<unknown>): Promise<void> {
  for (let batch = 0; batch < mostBatches; batch++) {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where ${condition} and ctid = any(array(
        select ctid from ${sql.table(table)} where ${condition} limit ${rowsAtOnce}))`.execute(db);
    if (Number(numAffectedRows) < rowsAtOnce) return;
  }
}

/**
 * Deletes in the order of a key, a stretch of so many rows at a time. The stretch is found before it is deleted: joined
 * with a `limit`, a table that was never analyzed is read whole for every row.
 */
async function walk(
  db: Db,
  rows: RawBuilder<unknown>,
  key: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
): Promise<void> {
  let from = sql``;
  for (let batch = 0; batch < mostBatches; batch++) {
    const found = await sql<Record<string, unknown>>`
      select ${key} from ${rows} ${from} order by ${key} offset ${rowsAtOnce} limit 1`.execute(db);
    const next = found.rows[0] && sql.join(Object.values(found.rows[0]));
    const to = next ? sql`and (${key}) < (${next})` : sql``;
    await sql`delete from ${rows} ${from} ${to} and ${condition}`.execute(db);
    if (!next) return;
    from = sql`and (${key}) >= (${next})`;
  }
}
