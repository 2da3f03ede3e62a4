/** Stores generated rows of an organization, for the demo. Nothing else inserts history that did not happen. */
import { type RawBuilder, sql } from 'kysely';
import { latencyBucketText } from '../../core/history/latency.ts';
import type { Db } from '../connection/pool.ts';
import { statisticsTables } from '../history/stats/stats-sums.ts';

export type GeneratedTable =
  | 'occurrences'
  | 'deliveries'
  | 'feedback'
  | 'steps'
  | 'responses'
  | 'inbox'
  | 'preferences'
  | 'preference_history'
  | 'suppressions';

/** Inserts all rows with one statement. All of them have the fields of the first one. */
export async function insertGenerated(
  db: Db,
  organizationId: number,
  table: GeneratedTable,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = sql.join(Object.keys(rows[0]!).map(name => sql.ref(name)));
  await sql`
    insert into ${sql.table(table)} (organization_id, ${columns})
    select ${organizationId}, ${columns}
    from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb)`.execute(db);
}

export async function reserveDeliveryIdsAcrossTenants(db: Db, count: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select nextval('delivery_ids') as id from generate_series(1, ${count})`.execute(db);
  return rows.map(({ id }) => id).sort((a, b) => a - b);
}

/** Reserves sequence numbers of inboxes, by user. */
export async function reserveInboxSequences(
  db: Db,
  organizationId: number,
  counts: ReadonlyMap<number, number>,
): Promise<void> {
  await sql`
    insert into inboxes as i (organization_id, user_id, sequence)
    select ${organizationId}, user_id, count
    from unnest(${[...counts.keys()]}::bigint[], ${[...counts.values()]}::bigint[]) as g (user_id, count) order by 2
    on conflict (organization_id, user_id) do update set sequence = i.sequence + excluded.sequence`.execute(db);
}

/** Returns whether the organization has occurrences with this correlation id. */
export async function hasCorrelated(db: Db, organizationId: number, correlationId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from occurrences
      where organization_id = ${organizationId} and correlation_id = ${correlationId}) as found`.execute(db);
  return rows[0]!.found;
}

/** Sets when the organization, its users and its messages were created. */
export async function backdate(db: Db, organizationId: number, createdAt: Date): Promise<void> {
  await sql`update organizations set created_at = ${createdAt} where id = ${organizationId}`.execute(db);
  for (const table of ['users', 'addresses', 'messages']) {
    await sql`update ${sql.table(table)} set created_at = ${createdAt} where organization_id = ${organizationId}`.execute(
      db,
    );
  }
}

/**
 * Adds the occurrences with this correlation id to the hourly statistics, as if they had been counted when they happened. The
 * daily sums are deleted: maintenance sums all days again.
 */
export async function countCorrelated(db: Db, organizationId: number, correlationId: string): Promise<void> {
  const ended = sql`coalesce(d.sent_at, (d.failed_attempts -> -1 ->> 'at')::timestamptz, d.created_at)`;
  const occurrences = sql`occurrences o where o.organization_id = ${organizationId} and o.correlation_id = ${correlationId}`;
  const deliveries = sql`(select * from ${occurrences}) o
    join deliveries d on d.organization_id = o.organization_id and d.occurrence_id = o.id`;
  const add = (table: string, keys: string, rows: RawBuilder<unknown>) => sql`
    insert into ${sql.table(table)} (organization_id, hour, ${sql.raw(keys)}, count) ${rows}
    on conflict (organization_id, hour, ${sql.raw(keys)})
      do update set count = ${sql.table(table)}.count + excluded.count`;
  await add(
    'trigger_stats',
    'event_id, part',
    sql`select o.organization_id, date_trunc('hour', o.created_at), o.event_id, 0, sum(o.triggers)
      from ${occurrences} group by 1, 2, 3`,
  ).execute(db);
  await add(
    'delivery_stats',
    'event_id, channel_id, status',
    sql`select o.organization_id, date_trunc('hour', ${ended}), o.event_id, d.channel_id, d.status, count(*)
      from ${deliveries} group by 1, 2, 3, 4, 5`,
  ).execute(db);
  // Only the carrier of a digest has a latency, and only from when the digest closed.
  const since = sql.raw(`case when d.step > 0 then d.created_at else coalesce(d.released_at, o.due_at) end`);
  await add(
    'latency_stats',
    'bucket',
    sql`select organization_id, hour, ${sql.raw(latencyBucketText('ms'))}, count(*) from (
        select o.organization_id, date_trunc('hour', d.sent_at) as hour,
          extract(epoch from d.sent_at - ${since})::float8 * 1000 as ms
        from ${deliveries} where d.sent_at is not null and d.attempts > 0
      ) sent group by 1, 2, 3`,
  ).execute(db);
  const counted = new Set<string>(['trigger_stats', 'delivery_stats', 'latency_stats', 'service_levels']);
  for (const [table] of statisticsTables.filter(([name]) => !counted.has(name))) {
    await db.deleteFrom(table).where('organization_id', '=', organizationId).execute();
  }
}
