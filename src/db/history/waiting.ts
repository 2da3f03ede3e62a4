/** Deliveries that wait for a later time, such as the end of quiet hours. */
import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';
import { carriedDueAt } from '../ledger/digests/digest-items.ts';
import { waitingList } from '../ledger/status-text.ts';

export interface WaitingSummary {
  /** Whether all waiting deliveries of the organization were scanned. */
  complete: boolean;
  waiting: { reason: string; count: number; first_due_at: string; last_due_at: string }[];
}

/** Waiting deliveries are not indexed by event, so at most this many of the queue are scanned. */
const maxScanned = 10_000;

/** Counts the deliveries of one event that wait for a definite time, by reason. Held deliveries are not included. */
export async function summarizeWaiting(db: Db, organizationId: number, eventId: number): Promise<WaitingSummary> {
  const { rows } = await sql<WaitingSummary>`
    with queue as (
      select notification_id, status, reason, due_at, digest_id from deliveries
      where status in ${sql.raw(waitingList)} and priority in (0, 1, 2) and organization_id = ${organizationId}
        and due_at > now() and due_at < 'infinity'
      limit ${maxScanned}
    ), found as (
      select q.reason, count(*)::int as count, min(due.at) as first_due_at, max(due.at) as last_due_at
      from queue q
      left join digests g on g.organization_id = ${organizationId} and g.id = q.digest_id,
      -- A digest item is due when its digest closes.
      lateral (select case when q.due_at < ${carriedDueAt} then q.due_at else g.closes_at end as at) due
      where q.status = 'pending' and q.reason is not null and due.at < 'infinity' and q.notification_id in (
        select id from notifications where organization_id = ${organizationId} and event_id = ${eventId})
      group by q.reason
    )
    select (select count(*) < ${maxScanned} from queue) as complete,
      coalesce((select jsonb_agg(f order by reason) from found f), '[]') as waiting`.execute(db);
  const { complete, waiting } = rows[0]!;
  const toIso = (text: string) => new Date(text).toISOString();
  return {
    complete,
    waiting: waiting.map(one => ({
      ...one,
      first_due_at: toIso(one.first_due_at),
      last_due_at: toIso(one.last_due_at),
    })),
  };
}
