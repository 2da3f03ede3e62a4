/** Replays failed deliveries, and cancels waiting ones. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from '../connection/pool.ts';
import { inLedgerTransaction } from '../connection/transaction.ts';
import { countText, endedText } from '../ledger/counts.ts';
import { cancelText, type Delivery } from '../ledger/deliver/deliveries.ts';
import { cancelDigestItems } from '../ledger/digests/digest-items.ts';
import { waitingList } from '../ledger/status-text.ts';
import { deliveryEventColumns, deliveryEventsText } from '../ledger/webhooks/events.ts';

export type FailedDelivery = Pick<
  Delivery,
  'occurrence_id' | 'id' | 'user_id' | 'channel_id' | 'notification_id' | 'step' | 'address' | 'priority'
>;

const failedColumns = sql`occurrence_id, id, user_id, channel_id, notification_id, step, address, priority`;

/** Finds the failed and unknown deliveries of an occurrence, optionally only those with these ids. */
export async function findFailedDeliveries(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  ids: number[] | undefined,
  max: number,
): Promise<FailedDelivery[]> {
  const { rows } = await sql<FailedDelivery>`
    select ${failedColumns} from deliveries
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and status in ('failed', 'unknown')
      ${ids ? sql`and id = any(${ids}::bigint[])` : sql``}
    order by id limit ${max}`.execute(db);
  return rows;
}

/**
 * Makes failed and unknown deliveries due again, starting with the first provider. Returns how many. Digest items are
 * sent on their own, because the other items belong to other occurrences. If the expansion was abandoned after crashes,
 * the occurrence is expanded again.
 */
export async function replayOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  /** Replays only these deliveries. */
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
      update deliveries d set status = 'pending', reason = null, detail = null, due_at = now(), released_at = now(), crashes = 0,
        retry_since = null, worker_deaths = null, digest_id = null, provider_index = 0, provider_attempts = 0
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

/** Replays deliveries of any occurrences, all or none. Returns how many are due again. */
export async function replayDeliveries(pool: pg.Pool, organizationId: number, deliveries: DeliveryKey[]) {
  // In key order, so that two concurrent replays never deadlock.
  const byOccurrence = [...Map.groupBy(deliveries, one => one.occurrence)].sort(([a], [b]) => (a < b ? -1 : 1));
  return inLedgerTransaction(pool, async client => {
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

/** Cancels those that are waiting. Returns how many, and the outcomes of the occurrences that ended as a result. */
export async function cancelDeliveries(
  pool: pg.Pool,
  organizationId: number,
  deliveries: DeliveryKey[],
): Promise<{ stopped: number; ended: string[] }> {
  const { rows } = await pool.query<{ stopped: number; ended: string[] }>(
    `with stopped as (
      update deliveries d set ${cancelText(`'cancelled'`)}, owner = null
      from unnest($2::uuid[], $3::bigint[]) as given (occurrence_id, id)
      join occurrences o on o.organization_id = $1 and o.id = given.occurrence_id
      where d.organization_id = $1 and d.occurrence_id = given.occurrence_id and d.id = given.id
        and d.status in ${waitingList} and d.digest_id is null
      returning ${deliveryEventColumns}, o.event_id, o.due_at as since
    ), ${countText('stopped')}, ${deliveryEventsText('stopped')}
    select count(*)::int as stopped, ${endedText} as ended from stopped`,
    [organizationId, deliveries.map(one => one.occurrence), deliveries.map(one => one.id)],
  );
  const all = rows[0]!;
  for (const [occurrence, members] of Map.groupBy(deliveries, one => one.occurrence)) {
    const ids = members.map(one => one.id);
    const items = await cancelDigestItems(pool, organizationId, occurrence, { only: ids });
    all.stopped += items.stopped;
    all.ended.push(...items.ended);
  }
  return all;
}

/** Finds the failed and unknown deliveries among these, which may belong to different occurrences. */
export async function findFailedDeliveriesByKey(db: Db, organizationId: number, deliveries: DeliveryKey[]) {
  const { rows } = await sql<FailedDelivery>`
    select ${failedColumns} from deliveries
    where organization_id = ${organizationId} and status in ('failed', 'unknown')
      and (occurrence_id, id) in (
        select * from unnest(${deliveries.map(one => one.occurrence)}::uuid[], ${deliveries.map(one => one.id)}::bigint[]))`.execute(
    db,
  );
  return rows;
}
