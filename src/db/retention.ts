/**
 * What an organization no longer keeps, where its partition stays because another organization keeps more. These rows are
 * deleted a batch at a time, which costs what dropping a partition does not: dead rows that vacuum has to clear. An
 * installation whose organizations all keep the same never comes here.
 */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt } from '../core/ids.ts';
import type { Db } from './pool.ts';

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

/** Statistics are kept as long as what they count. */
export async function deleteOldStatisticsAcrossTenants(db: Db, now: Date): Promise<void> {
  await sql`
    delete from delivery_stats s using organizations o
    where o.id = s.organization_id and s.hour < ${now}::timestamptz - make_interval(days => o.retention_days)`.execute(
    db,
  );
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
