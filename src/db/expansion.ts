/** Turning occurrences into deliveries: claiming them, and committing each page of decisions with its cursor. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { JsonObject } from '../core/json.ts';
import type { Delivery, NewDelivery } from './deliveries.ts';
import type { Db } from './pool.ts';
import { pickByTurns, type Turn } from './turns.ts';

export interface ClaimedOccurrence {
  organization_id: number;
  id: string;
  project_id: number;
  application_id: number;
  event_id: number;
  priority: number;
  context: JsonObject;
  options: JsonObject;
  cursor: Cursor | null;
  expires_at: Date | null;
  created_at: Date;
}

/** Where an expansion goes on: which notification, which of its sources of recipients, after which id. */
export interface Cursor {
  notification: number;
  source: number;
  after: number;
}

const claim = {
  name: 'claim_occurrences',
  text: `
    with ${pickByTurns('occurrences', "status = 'accepted'", 'id')}
    update occurrences o set status = 'expanding', owner = $4
    from picked p
    where o.organization_id = p.organization_id and o.id = p.id
    returning o.organization_id, o.id, o.project_id, o.application_id, o.event_id, o.priority, o.context, o.options,
      o.cursor, o.expires_at, o.created_at`,
};

export async function claimOccurrencesAcrossTenants(pool: pg.Pool, turn: Turn): Promise<ClaimedOccurrence[]> {
  const values = [turn.priority, turn.after, turn.most, turn.owner, turn.busy];
  const { rows } = await pool.query<ClaimedOccurrence>({ ...claim, values });
  return rows;
}

export interface ExpansionPage {
  organization_id: number;
  id: string;
  /** With which the next page is expanded. */
  priority: number;
  /** Null: that was the last page. Else the occurrence goes back into the queue, where others may have their turn. */
  cursor: Cursor | null;
  /** Why the occurrence came to nothing, if it did. */
  reason: string | null;
  deliveries: NewDelivery[];
}

// Outcomes of earlier pages change the same rows meanwhile, so they are locked first, by a statement of its own. With the
// lock inside the statement that stores, PostgreSQL 18.4 crashed in it (a segmentation fault, twice in some hundred pages
// of a busy fan-out); since then 150 pages have passed. Why it crashed is not known.
const lock = {
  name: 'lock_expanding',
  text: `
    select from occurrences o
    join unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
      on o.organization_id = wanted.organization_id and o.id = wanted.id
    where o.status = 'expanding' and o.owner = $3
    order by o.organization_id, o.id
    for update of o`,
};

// Pages of any number of occurrences in one statement: deliveries, counts and cursor are committed together, so that a
// crash resumes where it stopped. An occurrence that was cancelled or taken over meanwhile gets nothing.
const store = {
  name: 'store_expansion',
  text: `
    with pages as materialized (
      select * from json_to_recordset($1::json) as page (
        organization_id bigint, id uuid, priority smallint, cursor jsonb, reason text)
    ), given as materialized (
      select * from json_to_recordset($2::json) as given (
        organization_id bigint, occurrence_id uuid, notification_id bigint, version integer, channel_id bigint,
        user_id bigint, address text, status text, reason text, priority smallint)
    ), mine as materialized (
      select p.* from pages p join occurrences o on o.organization_id = p.organization_id and o.id = p.id
      where o.status = 'expanding' and o.owner = $3
    ), stored as (
      insert into deliveries as d (organization_id, occurrence_id, notification_id, version, channel_id, user_id,
        address, status, reason, priority, attempts, provider_attempts, owner, due_at)
      select g.organization_id, g.occurrence_id, g.notification_id, g.version, g.channel_id, g.user_id,
        g.address, g.status, g.reason, g.priority,
        (g.status = 'sending')::int, (g.status = 'sending')::int, case when g.status = 'sending' then $3 end, now()
      from given g join mine m on m.organization_id = g.organization_id and m.id = g.occurrence_id
      on conflict do nothing
      returning d.*
    ), added as (
      select organization_id, occurrence_id, count(*) as total,
        count(*) filter (where status = 'suppressed') as suppressed
      from stored group by 1, 2
    ), advanced as (
      update occurrences o set
        deliveries = o.deliveries + coalesce(a.total, 0), suppressed = o.suppressed + coalesce(a.suppressed, 0),
        cursor = m.cursor, owner = null, priority = case when m.cursor is null then o.priority else m.priority end,
        reason = case when o.deliveries + coalesce(a.total, 0) = 0 then m.reason end,
        status = case when m.cursor is not null then 'accepted' when ${outstanding()} = 0 then 'completed' else 'sending' end,
        completed_at = case when m.cursor is null and ${outstanding()} = 0 then now() end
      from mine m left join added a on a.organization_id = m.organization_id and a.occurrence_id = m.id
      where o.organization_id = m.organization_id and o.id = m.id
      returning o.organization_id, o.id, o.event_id
    ), stats as (
      insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
      select s.organization_id, date_trunc('hour', now()), v.event_id, s.channel_id, s.status, count(*)
      from stored s join advanced v on v.organization_id = s.organization_id and v.id = s.occurrence_id
      where s.status = 'suppressed'
      group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
      on conflict (organization_id, hour, event_id, channel_id, status)
        do update set count = delivery_stats.count + excluded.count
    )
    select d.organization_id, d.occurrence_id, d.id, d.notification_id, d.version, d.channel_id, d.user_id, d.address,
      d.attempts, d.provider_index, d.provider_attempts, d.priority, d.created_at
    from stored d where d.status = 'sending'`,
};

function outstanding(): string {
  return `(o.deliveries + coalesce(a.total, 0) - o.suppressed - coalesce(a.suppressed, 0)
    - o.sent - o.failed - o.cancelled - o.expired - o.unknown)`;
}

/** Returns the deliveries that were stored as already claimed by this worker. */
export async function storeExpansionAcrossTenants(
  pool: pg.Pool,
  owner: number,
  pages: ExpansionPage[],
): Promise<Delivery[]> {
  if (pages.length === 0) return [];
  const heads = pages.map(({ deliveries: _, ...page }) => page);
  const rows = pages.flatMap(page =>
    page.deliveries.map(delivery => ({ organization_id: page.organization_id, occurrence_id: page.id, ...delivery })),
  );
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    await client.query({
      ...lock,
      values: [pages.map(page => page.organization_id), pages.map(({ id }) => id), owner],
    });
    const values = [JSON.stringify(heads), JSON.stringify(rows), owner];
    const result = await client.query<Delivery>({ ...store, values });
    await client.query('commit');
    return result.rows;
  } catch (error) {
    // Closing the connection rolls back, whatever state it is in.
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

/** What is paused waits, whatever its due time was, until it is resumed. */
export async function holdOccurrences(db: Db, organizationId: number, ids: string[], reason: string): Promise<void> {
  await db
    .updateTable('occurrences')
    .set({ status: 'accepted', owner: null, due_at: sql`'infinity'`, reason })
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .where('status', '=', 'expanding')
    .execute();
}

/** Claimed, and not expanded after all: due again, at once or a little later. */
export async function returnOccurrencesAcrossTenants(
  db: Db,
  owner: number,
  ids: string[],
  afterSeconds = 0,
): Promise<void> {
  await db
    .updateTable('occurrences')
    .set({
      status: 'accepted',
      owner: null,
      due_at: sql`greatest(due_at, now() + make_interval(secs => ${afterSeconds}))`,
    })
    .where('id', 'in', ids)
    .where('status', '=', 'expanding')
    .where('owner', '=', owner)
    .execute();
}
