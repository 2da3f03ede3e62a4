/** Reads the statistics of an application's events: bounded scans of the last hours, and one probe per event. */
import { sql } from 'kysely';
import type { Db } from '../../connection/pool.ts';

export interface EventHour {
  event_id: number;
  hour: Date;
  triggers: number;
}

/** A day is summed long before this; older triggers are found in the sums of their day. */
const maxUnsummedDays = 7;

/** Lists the hours in which these events were triggered: since `from`, and before it as far as no day is summed yet. */
export async function listTriggerHours(
  db: Db,
  organizationId: number,
  ids: number[],
  from: Date,
): Promise<EventHour[]> {
  const { rows } = await sql<EventHour>`
    select event_id, hour, sum(count)::int as triggers from trigger_stats
    where organization_id = ${organizationId} and event_id = any(${ids}::bigint[])
      and hour >= (select greatest(least(${from}, max(until)), ${from}::timestamptz - make_interval(days => ${maxUnsummedDays}))
        from summed_stats where organization_id = ${organizationId})
    group by 1, 2`.execute(db);
  return rows;
}

/** Counts deliveries of these events that failed, and those with an unknown outcome, since `from`. */
export async function countFailuresByEvent(db: Db, organizationId: number, ids: number[], from: Date) {
  const { rows } = await sql<{ event_id: number; failures: number; unknown: number }>`
    select event_id, coalesce(sum(count) filter (where status = 'failed'), 0)::int as failures,
      coalesce(sum(count) filter (where status = 'unknown'), 0)::int as unknown from delivery_stats
    where organization_id = ${organizationId} and hour >= ${from} and event_id = any(${ids}::bigint[])
      and status in ('failed', 'unknown')
    group by 1`.execute(db);
  return rows;
}

/** Finds the last summed day on which each of these events was triggered. */
export async function findLastTriggerDays(db: Db, organizationId: number, ids: number[]) {
  const { rows } = await sql<{ event_id: number; day: Date }>`
    select given.event_id, last.day from unnest(${ids}::bigint[]) as given (event_id), lateral (
      select day from event_day_stats s
      where s.organization_id = ${organizationId} and s.event_id = given.event_id and s.triggers > 0
      order by day desc limit 1
    ) last`.execute(db);
  return rows;
}
