/** Sending again what failed. */
import { sql } from 'kysely';
import type pg from 'pg';
import { countText, endedText } from './counts.ts';
import { cancelDigestItems } from './digest-items.ts';
import type { Db } from './pool.ts';
import { waitingList } from './status-text.ts';
import { inTransaction } from './transaction.ts';

export interface FailedDelivery {
  occurrence_id: string;
  id: number;
  user_id: number;
  channel_id: number;
  notification_id: number;
  step: number;
  address: string | null;
  priority: number;
}

const failedColumns = sql`occurrence_id, id, user_id, channel_id, notification_id, step, address, priority`;

/** What of an occurrence failed or has an unknown outcome; with ids, of these alone. */
export async function findFailedDeliveries(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  ids: number[] | undefined,
  most: number,
): Promise<FailedDelivery[]> {
  const { rows } = await sql<FailedDelivery>`
    select ${failedColumns} from deliveries
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and status in ('failed', 'unknown')
      ${ids ? sql`and id = any(${ids}::bigint[])` : sql``}
    order by id limit ${most}`.execute(db);
  return rows;
}

/**
 * Failed and unknown deliveries are due again, from the first provider on; returns how many. What a digest carried goes by
 * itself: its other items belong to other occurrences. An occurrence whose expansion
 * was set aside is expanded again.
 */
export async function replayOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  /** Only these. */
  deliveryIds?: number[],
): Promise<number> {
  return replay(pool, organizationId, id, deliveryIds);
}

async function replay(
  pool: Pick<pg.Pool, 'query'>,
  organizationId: number,
  id: string,
  deliveryIds: number[] | undefined,
): Promise<number> {
  const { rows } = await pool.query<{ replayed: number }>(
    `with before as (
      select id, status from deliveries
      where organization_id = $1 and occurrence_id = $2 and status in ('failed', 'unknown')
        and ($3::bigint[] is null or id = any($3)) for update
    ), again as (
      update deliveries d set status = 'pending', reason = null, detail = null, due_at = now(), crashes = 0,
        digest_id = null, provider_index = 0, provider_attempts = 0
      from before b where d.organization_id = $1 and d.occurrence_id = $2 and d.id = b.id
      returning b.status
    ), reopened as (
      update occurrences o set
        status = case
          when o.reason = 'crashed' and $3::bigint[] is null then case when o.cursor is null then 'accepted' else 'expanding' end
          when o.status = 'completed' then 'sending' else o.status end,
        completed_at = null, crashes = 0,
        reason = case when o.reason = 'crashed' and $3::bigint[] is null then null else o.reason end,
        due_at = case when o.reason = 'crashed' and $3::bigint[] is null then now() else o.due_at end,
        failed = o.failed - (select count(*) from again where status = 'failed'),
        unknown = o.unknown - (select count(*) from again where status = 'unknown')
      where o.organization_id = $1 and o.id = $2
        and (exists (select from again) or (o.reason = 'crashed' and $3::bigint[] is null))
    )
    select count(*)::int as replayed, pg_notify('belfry_work', '') from again`,
    [organizationId, id, deliveryIds ?? null],
  );
  return rows[0]!.replayed;
}

/** Of any occurrences; all of them or, where it fails, none. Returns how many are due again. */
export async function replayDeliveries(
  pool: pg.Pool,
  organizationId: number,
  deliveries: DeliveryKey[],
): Promise<number> {
  // In the order of their keys, so that two who do this never wait for each other crosswise.
  const byOccurrence = [...Map.groupBy(deliveries, one => one.occurrence)].sort(([a], [b]) => (a < b ? -1 : 1));
  return inTransaction(pool, async client => {
    let replayed = 0;
    for (const [occurrence, members] of byOccurrence) {
      const ids = members.map(one => one.id);
      replayed += await replay(client, organizationId, occurrence, ids);
    }
    return replayed;
  });
}

export interface DeliveryKey {
  occurrence: string;
  id: number;
}

/** What waits of them is not sent; returns how many that were, and the outcomes of occurrences that ended with it. */
export async function cancelDeliveries(
  pool: pg.Pool,
  organizationId: number,
  deliveries: DeliveryKey[],
): Promise<{ stopped: number; ended: string[] }> {
  const { rows } = await pool.query<{ stopped: number; ended: string[] }>(
    `with stopped as (
      update deliveries d set status = 'cancelled', reason = 'cancelled', owner = null
      from unnest($2::uuid[], $3::bigint[]) as given (occurrence_id, id)
      join occurrences o on o.organization_id = $1 and o.id = given.occurrence_id
      where d.organization_id = $1 and d.occurrence_id = given.occurrence_id and d.id = given.id
        and d.status in ${waitingList} and d.digest_id is null
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, o.event_id, o.due_at as since
    ), ${countText('stopped')}
    select count(*)::int as stopped, ${endedText} as ended from stopped`,
    [organizationId, deliveries.map(one => one.occurrence), deliveries.map(one => one.id)],
  );
  const all = rows[0]!;
  for (const [occurrence, members] of Map.groupBy(deliveries, one => one.occurrence)) {
    const ids = members.map(one => one.id);
    const items = await cancelDigestItems(pool, organizationId, occurrence, ids);
    all.stopped += items.stopped;
    all.ended.push(...items.ended);
  }
  return all;
}

/** Of any occurrences. */
export async function findFailedAmong(
  db: Db,
  organizationId: number,
  deliveries: DeliveryKey[],
): Promise<FailedDelivery[]> {
  const { rows } = await sql<FailedDelivery>`
    select ${failedColumns} from deliveries
    where organization_id = ${organizationId} and status in ('failed', 'unknown')
      and (occurrence_id, id) in (
        select * from unnest(${deliveries.map(one => one.occurrence)}::uuid[], ${deliveries.map(one => one.id)}::bigint[]))`.execute(
    db,
  );
  return rows;
}
