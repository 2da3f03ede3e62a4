/** What is decided and waits for its hour, such as the end of quiet hours. */
import { sql } from 'kysely';
import type { Db } from './pool.ts';
import { waitingList } from './status-text.ts';

export interface Waiting {
  /** Whether all that waits in the organization was looked through. */
  complete: boolean;
  waiting: { reason: string; count: number; first_due_at: string; last_due_at: string }[];
}

/** What waits is in no index of events: so much of the queue is looked through. */
const mostLookedAt = 10_000;

/** Deliveries of one event that wait for a known time, by reason. What is paused waits for nobody knows when, and is not told. */
export async function summarizeWaiting(db: Db, organizationId: number, eventId: number): Promise<Waiting> {
  const { rows } = await sql<Waiting>`
    with queue as (
      select notification_id, status, reason, due_at from deliveries
      where status in ${sql.raw(waitingList)} and priority in (0, 1, 2) and organization_id = ${organizationId}
        and due_at > now() and due_at < 'infinity'
      limit ${mostLookedAt}
    ), found as (
      select reason, count(*)::int as count, min(due_at) as first_due_at, max(due_at) as last_due_at
      from queue
      where status = 'pending' and reason is not null and notification_id in (
        select id from notifications where organization_id = ${organizationId} and event_id = ${eventId})
      group by reason
    )
    select (select count(*) < ${mostLookedAt} from queue) as complete,
      coalesce((select jsonb_agg(f order by reason) from found f), '[]') as waiting`.execute(db);
  const { complete, waiting } = rows[0]!;
  const moment = (text: string) => new Date(text).toISOString();
  return {
    complete,
    waiting: waiting.map(one => ({
      ...one,
      first_due_at: moment(one.first_due_at),
      last_due_at: moment(one.last_due_at),
    })),
  };
}
