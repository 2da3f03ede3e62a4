/** Corrects the outcome of messages that bounced after they were sent: the delivery, its occurrence and the statistics. */
import { CompiledQuery, sql } from 'kysely';
import type { Db } from '../../connection/pool.ts';
import { complaintEventsText, deliveryEventColumns, deliveryEventsText } from '../webhooks/events.ts';

export interface Bounce {
  occurrence_id: string;
  id: number;
  /** The reporter's own words. */
  detail: string | null;
}

interface Correction {
  hour: Date;
  event_id: number;
  channel_id: number;
  count: number;
}

// A digest bounces as a whole, so all of its items do. Deliveries are locked in key order, as settling does. A response that
// was lost (`unknown`) is known now: the message did not arrive.
const markText = `
    with given as (
      select * from unnest($2::uuid[], $3::bigint[], $4::text[]) as g (occurrence_id, id, detail)
    ), targets as (
      select distinct on (occurrence_id, id) * from (
        select * from given
        union all
        select item.occurrence_id, item.id, g.detail from given g
        join deliveries d on d.organization_id = $1 and d.occurrence_id = g.occurrence_id and d.id = g.id
        join deliveries item on item.organization_id = $1 and item.digest_id = d.digest_id
      ) all_targets order by occurrence_id, id
    ), before as (
      select d.occurrence_id, d.id, d.status, t.detail, o.event_id
      from targets t
      join deliveries d on d.organization_id = $1 and d.occurrence_id = t.occurrence_id and d.id = t.id
      left join occurrences o on o.organization_id = $1 and o.id = t.occurrence_id
      where d.status in ('sent', 'unknown')
      order by d.occurrence_id, d.id for update of d
    ), bounced as (
      update deliveries d set status = 'failed', reason = 'bounced', detail = b.detail
      from before b where d.organization_id = $1 and d.occurrence_id = b.occurrence_id and d.id = b.id
      returning ${deliveryEventColumns}, b.event_id, b.status as status_before, d.sent_at
    ), totals as (
      select occurrence_id, count(*) filter (where status_before = 'sent')::int as sent,
        count(*) filter (where status_before = 'unknown')::int as unknown
      from bounced group by 1 order by 1
    ), counted as (
      update occurrences o set sent = o.sent - t.sent, unknown = o.unknown - t.unknown,
        failed = o.failed + t.sent + t.unknown
      from totals t where o.organization_id = $1 and o.id = t.occurrence_id
    ), ${deliveryEventsText('bounced')}
    select date_trunc('hour', sent_at) as hour, event_id, channel_id, count(*)::int as count from bounced
    where status_before = 'sent' and event_id is not null group by 1, 2, 3 order by 1, 2, 3`;

/** Marks sent deliveries as failed with the reason `bounced`. Must run inside a transaction. */
export async function markBounced(db: Db, organizationId: number, bounces: readonly Bounce[]): Promise<void> {
  const columns = [bounces.map(one => one.occurrence_id), bounces.map(one => one.id), bounces.map(one => one.detail)];
  const { rows } = await db.executeQuery<Correction>(CompiledQuery.raw(markText, [organizationId, ...columns]));
  if (rows.length > 0) await correctStatistics(db, organizationId, rows);
}

const complainedText = `
    with complained as materialized (
      select ${deliveryEventColumns}, o.event_id
      from unnest($2::uuid[], $3::bigint[]) as g (occurrence_id, id)
      join deliveries d on d.organization_id = $1 and d.occurrence_id = g.occurrence_id and d.id = g.id
      join occurrences o on o.organization_id = $1 and o.id = g.occurrence_id
    ) ${complaintEventsText('complained')}`;

/** Queues messages of operational webhooks about recipients who reported a message as spam. */
export async function announceComplaints(
  db: Db,
  organizationId: number,
  deliveries: readonly Pick<Bounce, 'occurrence_id' | 'id'>[],
): Promise<void> {
  const columns = [deliveries.map(one => one.occurrence_id), deliveries.map(one => one.id)];
  await db.executeQuery(CompiledQuery.raw(complainedText, [organizationId, ...columns]));
}

/** SQL text: the table of sums, its time column, and the column besides it that it is kept by. */
const sums = [
  { table: 'hour_stats', time: 'hour', of: `g.hour`, key: undefined },
  { table: 'event_day_stats', time: 'day', of: `date_trunc('day', g.hour, 'UTC')`, key: 'event_id' },
  { table: 'channel_day_stats', time: 'day', of: `date_trunc('day', g.hour, 'UTC')`, key: 'channel_id' },
] as const;

/** Moves counts from `sent` to `failed`, in the hour in which the messages were sent. */
async function correctStatistics(db: Db, organizationId: number, corrections: readonly Correction[]): Promise<void> {
  const columns = (['hour', 'event_id', 'channel_id', 'count'] as const).map(name => corrections.map(one => one[name]));
  const values = [organizationId, ...columns];
  const given = `unnest($2::timestamptz[], $3::bigint[], $4::bigint[], $5::int[])
    as g (hour, event_id, channel_id, count)`;
  // Waits for a sum of the day that is being made: it may have read the counters already.
  const { rows } = await sql<{ until: Date }>`
    select until from summed_stats where organization_id = ${organizationId} for share`.execute(db);
  await db.executeQuery(
    CompiledQuery.raw(
      `insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
       select $1, hour, event_id, channel_id, status, case status when 'sent' then -count else count end
       from ${given}, unnest('{failed,sent}'::text[]) status
       order by 2, 3, 4, 5
       on conflict (organization_id, hour, event_id, channel_id, status)
         do update set count = delivery_stats.count + excluded.count`,
      values,
    ),
  );
  const until = rows[0]?.until;
  if (!until || corrections.every(({ hour }) => hour >= until)) return;
  for (const { table, time, of, key } of sums) {
    const more = key ? `, g.${key}` : '';
    await db.executeQuery(
      CompiledQuery.raw(
        `update ${table} s set sent = s.sent - moved.count, failed = s.failed + moved.count
         from (select ${of} as time${more}, sum(g.count) as count from ${given} where g.hour < $6 group by ${of}${more}) moved
         where s.organization_id = $1 and s.${time} = moved.time ${key ? `and s.${key} = moved.${key}` : ''}`,
        [...values, until],
      ),
    );
  }
}
