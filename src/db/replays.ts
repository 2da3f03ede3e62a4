/** Stopping what is not sent yet, and sending again what failed. */
import { sql } from 'kysely';
import type pg from 'pg';
import { countText, endedText } from './counts.ts';
import type { Db } from './pool.ts';

export interface FailedDelivery {
  occurrence_id: string;
  id: number;
  user_id: number;
  channel_id: number;
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
    select occurrence_id, id, user_id, channel_id, address, priority from deliveries
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and status in ('failed', 'unknown')
      ${ids ? sql`and id = any(${ids}::bigint[])` : sql``}
    order by id limit ${most}`.execute(db);
  return rows;
}

/** Stops what is not sent yet; returns how many deliveries that were, or undefined when it has ended already. */
export async function cancelOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
): Promise<{ stopped: number; ended: string[] } | undefined> {
  const { rows } = await pool.query<{ open: boolean; ended: string[] }>(
    `with stopped as (
      update occurrences o set cancelled_at = now(), owner = null,
        status = case when o.status = 'sending' then o.status else 'completed' end,
        reason = case when o.status = 'sending' then o.reason else 'cancelled' end,
        completed_at = case when o.status = 'sending' then o.completed_at else now() end
      where o.organization_id = $1 and o.id = $2 and o.status in ('accepted', 'expanding', 'sending')
        and o.cancelled_at is null
      returning o.status, o.outcome
    ) select count(*) > 0 as open, coalesce(array_agg(outcome) filter (where status = 'completed'), '{}') as ended
    from stopped`,
    [organizationId, id],
  );
  if (!rows[0]!.open) return undefined;
  const result = await pool.query<{ stopped: number; ended: string[] }>(
    `with stopped as (
      update deliveries d set status = 'cancelled', reason = 'cancelled', owner = null
      from occurrences o
      where d.organization_id = $1 and d.occurrence_id = $2 and d.status in ('pending', 'retrying')
        and o.organization_id = $1 and o.id = $2
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, o.event_id, o.due_at as since
    ), ${countText('stopped')}
    select count(*)::int as stopped, ${endedText} as ended from stopped`,
    [organizationId, id],
  );
  const { stopped, ended } = result.rows[0]!;
  return { stopped, ended: [...rows[0]!.ended, ...ended] };
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
