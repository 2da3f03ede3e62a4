/** What occurrences in progress wait for, when none of their deliveries is being sent. */
import { sql } from 'kysely';
import type { OccurrenceWait } from '../../core/history/states.ts';
import { priorities } from '../../core/trigger.ts';
import type { Db } from '../connection/pool.ts';
import { waitingList } from '../ledger/status-text.ts';

/**
 * Deliveries that are due or in flight are not indexed by occurrence, so at most this many of each kind are scanned. With more,
 * everything counts as being sent.
 */
const maxScanned = 1_000;
/** The newest deliveries of an occurrence that reason and time are taken from. */
const sampled = 100;

/** Returns the waits of those occurrences that have neither due deliveries nor deliveries in flight. */
export async function findOccurrenceWaits(
  db: Db,
  organizationId: number,
  identifiers: readonly string[],
): Promise<Map<string, OccurrenceWait>> {
  if (identifiers.length === 0) return new Map();
  const { rows } = await sql<OccurrenceWait & { id: string }>`
    with due as materialized (
      select occurrence_id from unnest(${priorities.map((_, i) => i)}::smallint[]) as class (priority), lateral (
        select occurrence_id from deliveries where status in ${sql.raw(waitingList)} and priority = class.priority
          and organization_id = ${organizationId} and due_at <= now() limit ${maxScanned}
      ) queue
    ), busy as materialized (
      select occurrence_id from due
      union all
      -- Through the small index of deliveries in flight, not through all deliveries of an occurrence.
      (select occurrence_id from deliveries where status = 'sending' and organization_id = ${organizationId}
        limit ${maxScanned})
    )
    select wanted.id, sample.status, sample.reason, sample.until
    from unnest(${identifiers}::uuid[]) as wanted (id), lateral (
      select case when count(distinct last.status) = 1 then min(last.status) end as status,
        case when count(distinct coalesce(last.reason, '')) = 1 then min(last.reason) end as reason,
        min(last.until) as until
      from (
        select d.status, d.reason, case when d.due_at < timestamptz '9999-01-01' then d.due_at
          else (select g.closes_at from digests g where g.organization_id = d.organization_id and g.id = d.digest_id)
          end as until
        from deliveries d where d.organization_id = ${organizationId} and d.occurrence_id = wanted.id
        order by d.id desc limit ${sampled}
      ) last where last.status in ${sql.raw(waitingList)} and last.until < 'infinity'
    ) sample
    where wanted.id not in (select occurrence_id from busy) and (select count(*) from busy) < ${maxScanned}`.execute(
    db,
  );
  return new Map(rows.map(({ id, ...wait }) => [id, wait]));
}
