/**
 * Retention of data that dropping a partition does not remove: inbox messages, render snapshots of dropped messages, and
 * the history of organizations whose retention is shorter than that of others in the same partition. These rows are
 * deleted in batches; unlike a dropped partition, they leave dead rows for vacuum.
 */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt } from '../../core/ids.ts';
import type { Db } from '../connection/pool.ts';
import { statisticsTables } from '../history/stats/stats-sums.ts';

/** Small enough that a batch does not block others. */
const batchSize = 5_000;
/** Per organization and run; the next run continues. */
const maxBatches = 200;

/** Lists organizations with a retention shorter than `days`. */
export async function listShorterRetentionsAcrossTenants(db: Db, days: number) {
  return db
    .selectFrom('organizations')
    .select(['id', 'retention_days'])
    .where('retention_days', '<', days)
    .orderBy('id')
    .execute();
}

/** Deletes completed occurrences triggered before that time (in milliseconds), their deliveries and feedback. */
export async function deleteOldHistory(db: Db, organizationId: number, before: number): Promise<void> {
  const end = sql`${lowestUuidAt(before)}::uuid`;
  const unfinished = sql`(
    select from occurrences o where o.organization_id = ${organizationId} and o.id = d.occurrence_id
      and o.status <> 'completed')`;
  const deliveries = sql`deliveries d where d.organization_id = ${organizationId} and d.occurrence_id < ${end}`;
  await deleteInKeyOrder(db, deliveries, sql`d.occurrence_id, d.id`, sql`not exists ${unfinished}`);

  const feedback = sql`feedback f where f.organization_id = ${organizationId} and f.occurrence_id < ${end}`;
  const delivery = sql`(
    select from deliveries d where d.organization_id = ${organizationId} and d.occurrence_id = f.occurrence_id)`;
  await deleteInKeyOrder(db, feedback, sql`f.occurrence_id, f.delivery_id, f.key`, sql`not exists ${delivery}`);

  const remaining = sql`(
    select from deliveries d where d.organization_id = ${organizationId} and d.occurrence_id = o.id)`;
  const occurrences = sql`occurrences o where o.organization_id = ${organizationId} and o.id < ${end}`;
  await deleteInKeyOrder(db, occurrences, sql`o.id`, sql`o.status = 'completed' and not exists ${remaining}`);
}

interface Retention {
  id: number;
  retention_days: number;
  /** Id of the organization's oldest occurrence; null if it has none. */
  oldest: string | null;
}

export async function listRetentionsAcrossTenants(db: Db): Promise<Retention[]> {
  const { rows } = await sql<Retention>`
    select o.id, o.retention_days,
      (select x.id from occurrences x where x.organization_id = o.id order by x.id limit 1) as oldest
    from organizations o order by o.id`.execute(db);
  return rows;
}

/** Deletes previous versions of users replaced before that time, and render snapshots not used since. */
export async function deleteOldRenderSnapshots(db: Db, organizationId: number, before: Date): Promise<void> {
  await deleteAll(db, 'user_history', sql`organization_id = ${organizationId} and replaced_at < ${before}`);
  await deleteAll(db, 'render_snapshots', sql`organization_id = ${organizationId} and used_at < ${before}`);
}

/** Deletes the updates of messages and sources about, and the responses to, occurrences triggered before that time (in milliseconds). */
export async function deleteOldMessageUpdates(db: Db, organizationId: number, before: number): Promise<void> {
  const end = sql`${lowestUuidAt(before)}::uuid`;
  for (const table of ['message_updates', 'source_updates', 'responses'])
    await deleteAll(db, table, sql`organization_id = ${organizationId} and occurrence_id < ${end}`);
}

/** Locks the inboxes before their messages, in the same order as all other changes, to prevent deadlocks. */
export async function deleteOldInbox(db: Db, organizationId: number, before: Date): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch++) {
    const found = await db.transaction().execute(async trx => {
      const { rows } = await sql<{ user_id: number; id: number }>`
        select user_id, id from inbox where organization_id = ${organizationId} and created_at < ${before}
        order by created_at limit ${batchSize}`.execute(trx);
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
    if (found < batchSize) return;
  }
}

/**
 * Deletes statistics older than the organization's retention, and all statistics of deleted organizations. The cut-off is a
 * whole day, so hourly rows and daily sums disappear together.
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

/** Rows that are deleted some time after the one in this column. */
const agingTables = {
  absences: 'ends_at',
  schedule_history: 'replaced_at',
  schedule_overrides: 'ends_at',
  schedule_swaps: 'ends_at',
  silences: 'ends_at',
  source_alerts: 'last_seen_at',
  verification_codes: 'created_at',
} as const;

/** Deletes in batches, oldest first. Larger ones would be found by reading and sorting a table that was never analyzed. */
export async function deleteOlderAcrossTenants(
  db: Db,
  name: keyof typeof agingTables,
  before: Date,
  batch = 1_000,
): Promise<void> {
  const [table, column] = [sql.table(name), sql.ref(agingTables[name])];
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where ${column} < ${before} order by ${column} limit ${batch}))`.execute(db);
    if (Number(numAffectedRows) < batch) return;
  }
}

/** Deletes in batches. The rows of a batch are found first, by ctid: see `deleteInKeyOrder`. */
async function deleteAll(db: Db, table: string, condition: RawBuilder<unknown>): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch++) {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where ${condition} and ctid = any(array(
        select ctid from ${sql.table(table)} where ${condition} limit ${batchSize}))`.execute(db);
    if (Number(numAffectedRows) < batchSize) return;
  }
}

/**
 * Deletes in batches, in the order of a key. The end of each batch is found before it is deleted: joined with a `limit`,
 * a table that was never analyzed is read whole for every row.
 */
async function deleteInKeyOrder(
  db: Db,
  rows: RawBuilder<unknown>,
  key: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
): Promise<void> {
  let from = sql``;
  for (let batch = 0; batch < maxBatches; batch++) {
    const found = await sql<Record<string, unknown>>`
      select ${key} from ${rows} ${from} order by ${key} offset ${batchSize} limit 1`.execute(db);
    const next = found.rows[0] && sql.join(Object.values(found.rows[0]));
    const to = next ? sql`and (${key}) < (${next})` : sql``;
    await sql`delete from ${rows} ${from} ${to} and ${condition}`.execute(db);
    if (!next) return;
    from = sql`and (${key}) >= (${next})`;
  }
}
