/** Sending again what failed. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from './pool.ts';

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

/** What of an occurrence failed or has an unknown outcome; with ids, of these alone. */
export async function findFailedDeliveries(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  ids: number[] | undefined,
  most: number,
): Promise<FailedDelivery[]> {
  const { rows } = await sql<FailedDelivery>`
    select occurrence_id, id, user_id, channel_id, notification_id, step, address, priority from deliveries
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and status in ('failed', 'unknown')
      ${ids ? sql`and id = any(${ids}::bigint[])` : sql``}
    order by id limit ${most}`.execute(db);
  return rows;
}

/**
 * Failed and unknown deliveries are due again, from the first provider on; returns how many. An occurrence whose expansion
 * was set aside is expanded again.
 */
export async function replayOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  /** Only this one. */
  deliveryId?: number,
): Promise<number> {
  const { rows } = await pool.query<{ replayed: number }>(
    `with before as (
      select id, status from deliveries
      where organization_id = $1 and occurrence_id = $2 and status in ('failed', 'unknown')
        and ($3::bigint is null or id = $3) for update
    ), again as (
      update deliveries d set status = 'pending', reason = null, detail = null, due_at = now(), crashes = 0,
        provider_index = 0, provider_attempts = 0
      from before b where d.organization_id = $1 and d.occurrence_id = $2 and d.id = b.id
      returning b.status
    ), reopened as (
      update occurrences o set
        status = case
          when o.reason = 'crashed' and $3::bigint is null then case when o.cursor is null then 'accepted' else 'expanding' end
          when o.status = 'completed' then 'sending' else o.status end,
        completed_at = null, crashes = 0,
        reason = case when o.reason = 'crashed' and $3::bigint is null then null else o.reason end,
        due_at = case when o.reason = 'crashed' and $3::bigint is null then now() else o.due_at end,
        failed = o.failed - (select count(*) from again where status = 'failed'),
        unknown = o.unknown - (select count(*) from again where status = 'unknown')
      where o.organization_id = $1 and o.id = $2
        and (exists (select from again) or (o.reason = 'crashed' and $3::bigint is null))
    )
    select count(*)::int as replayed, pg_notify('belfry_work', '') from again`,
    [organizationId, id, deliveryId ?? null],
  );
  return rows[0]!.replayed;
}
