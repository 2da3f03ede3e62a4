/** Turning occurrences into deliveries: claiming them, and committing each page of decisions with its cursor. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { JsonObject } from '../core/json.ts';
import { addressInOnce, type Delivery, type NewDelivery, occurrenceInOnce } from './deliveries.ts';
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
  /** How many it has already. */
  deliveries: number;
  correlation_id: string | null;
  expires_at: Date | null;
  created_at: Date;
}

/** Where an expansion goes on: which notification, which of its sources of recipients, after which id. */
export interface Cursor {
  notification: number;
  source: number;
  after: number;
}

// Not waited for until it is on disk: a claim that a power cut takes back has led to nothing yet, as the page that it
// leads to is waited for, and comes after it.
const claim = {
  name: 'claim_occurrences',
  text: `
    with ${pickByTurns('occurrences', "status = 'accepted'", 'id')}, hurry as materialized (
      select set_config('synchronous_commit', 'off', true)
    )
    update occurrences o set status = 'expanding', owner = $4
    from picked p, hurry
    where o.organization_id = p.organization_id and o.id = p.id
    returning o.organization_id, o.id, o.project_id, o.application_id, o.event_id, o.priority, o.context, o.options,
      o.cursor, o.deliveries, o.correlation_id, o.expires_at, o.created_at`,
};

export async function claimOccurrencesAcrossTenants(pool: pg.Pool, turn: Turn): Promise<ClaimedOccurrence[]> {
  const values = [turn.priority, turn.after, turn.most, turn.owner, turn.busy];
  const { rows } = await pool.query<ClaimedOccurrence>({ ...claim, values });
  return rows;
}

export interface ExpansionPage<Given extends NewDelivery = NewDelivery> {
  organization_id: number;
  id: string;
  /** With which the next page is expanded. */
  priority: number;
  /** Null: that was the last page. Else the occurrence goes back into the queue, where others may have their turn. */
  cursor: Cursor | null;
  /** Why the occurrence came to nothing, if it did. */
  reason: string | null;
  deliveries: Given[];
}

// Values come as an array for each column: half the time of rows of JSON. Said apart from what follows, so that two plain
// statements make up the page of a fan-out.
const insertText = `
  insert into deliveries as d (organization_id, occurrence_id, priority, notification_id, version, channel_id, user_id,
    address, status, reason, user_version, attempts, provider_attempts, owner, due_at)
  select g.organization_id, g.occurrence_id, g.priority, g.notification_id, g.version, g.channel_id, g.user_id,
    g.address, g.status, g.reason, g.user_version,
    (g.status = 'sending')::int, (g.status = 'sending')::int, case when g.status = 'sending' then $1::bigint end, now()
  from unnest($2::bigint[], $3::uuid[], $4::smallint[], $5::bigint[], $6::integer[], $7::bigint[], $8::bigint[],
    $9::text[], $10::text[], $11::text[], $12::integer[]) as g (organization_id, occurrence_id, priority, notification_id, version,
    channel_id, user_id, address, status, reason, user_version)
  on conflict (organization_id, (${occurrenceInOnce}), notification_id, channel_id, (${addressInOnce}),
    occurrence_id) do nothing
  returning d.organization_id, d.occurrence_id, d.id, d.notification_id, d.channel_id, d.user_id, d.address, d.status`;

const claimedText = `now() as stored_at, coalesce(json_agg(json_build_array(
  s.id, s.occurrence_id, s.notification_id, s.channel_id, s.user_id, s.address)) filter (where s.status = 'sending'), '[]')
  as claimed`;

/** How an occurrence `o` goes on after a page `p` of which so many were added. */
function advanceText(total: string, suppressed: string): string {
  const outstanding = `(o.deliveries + ${total} - o.suppressed - ${suppressed}
    - o.sent - o.failed - o.cancelled - o.expired - o.unknown)`;
  return `
    deliveries = o.deliveries + ${total}, suppressed = o.suppressed + ${suppressed},
    cursor = p.cursor, owner = null, priority = case when p.cursor is null then o.priority else p.priority end,
    reason = case when o.deliveries + ${total} = 0 or p.reason = 'limit.fan_out' then p.reason end,
    status = case when p.cursor is not null then 'accepted' when ${outstanding} = 0 then 'completed' else 'sending' end,
    completed_at = case when p.cursor is null and ${outstanding} = 0 then now() end`;
}

const statsText = `
  insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
  select s.organization_id, date_trunc('hour', now()), v.event_id, s.channel_id, s.status, count(*)
  from stored s join advanced v on v.organization_id = s.organization_id and v.id = s.occurrence_id
  where s.status = 'suppressed'
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (organization_id, hour, event_id, channel_id, status)
    do update set count = delivery_stats.count + excluded.count`;

// With a lock of the occurrences inside the statement that stores, PostgreSQL 18.4 crashed in it (a segmentation fault,
// twice in some hundred pages of a busy fan-out). Why it crashed is not known; here it stands in a statement of its own.
const lock = {
  name: 'lock_expanding',
  text: `
    select o.organization_id, o.id from occurrences o
    join unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
      on o.organization_id = wanted.organization_id and o.id = wanted.id
    where o.status = 'expanding' and o.owner = $3
    order by o.organization_id, o.id
    for update of o`,
};

// Pages of any number of occurrences in one statement.
const store = {
  name: 'store_expansion',
  text: `
    with stored as (${insertText}), added as (
      select organization_id, occurrence_id, count(*) as total,
        count(*) filter (where status = 'suppressed') as suppressed
      from stored group by 1, 2
    ), advanced as (
      update occurrences o set ${advanceText('coalesce(a.total, 0)', 'coalesce(a.suppressed, 0)')}
      from unnest($13::bigint[], $14::uuid[], $15::smallint[], $16::jsonb[], $17::text[]) as p (
        organization_id, id, priority, cursor, reason)
      left join added a on a.organization_id = p.organization_id and a.occurrence_id = p.id
      where o.organization_id = p.organization_id and o.id = p.id
      returning o.organization_id, o.id, o.event_id
    ), stats as (${statsText})
    select ${claimedText} from stored s`,
};

// A page of one occurrence, mostly of a fan-out whose earlier pages are being settled meanwhile. The occurrence is changed
// last: locked first, it kept their outcomes waiting for the whole page, 70 ms at a time.
const insertPage = {
  name: 'store_page',
  text: `
    with stored as (${insertText}), suppressed as (
      select channel_id, count(*) as count from stored where status = 'suppressed' group by 1
    )
    select ${claimedText}, count(*)::int as total,
      (select coalesce(json_object_agg(channel_id, count), '{}') from suppressed) as suppressed
    from stored s`,
};

const advancePage = {
  name: 'advance_page',
  text: `
    update occurrences o set ${advanceText('$4::integer', '$5::integer')}
    from (select $6::smallint as priority, $7::jsonb as cursor, $8::text as reason) p
    where o.organization_id = $1 and o.id = $2 and o.status = 'expanding' and o.owner = $3
    returning o.event_id`,
};

const countSuppressed = `
  insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
  select $1::bigint, date_trunc('hour', now()), $2::bigint, key::bigint, 'suppressed', value::bigint
  from json_each_text($3::json) order by 4
  on conflict (organization_id, hour, event_id, channel_id, status)
    do update set count = delivery_stats.count + excluded.count`;

type Stored = [
  id: number,
  occurrence: string,
  notification: number,
  channel: number,
  user: number,
  address: string | null,
];

/**
 * Deliveries, counts and cursor are committed together, so that a crash resumes where it stopped; an occurrence that was
 * cancelled or taken over meanwhile gets nothing. Returns the deliveries that were stored as already claimed by this
 * worker, each with what it was decided from.
 */
export async function storeExpansionAcrossTenants<Given extends NewDelivery>(
  pool: pg.Pool,
  owner: number,
  pages: ExpansionPage<Given>[],
): Promise<{ delivery: Delivery; given: Given }[]> {
  if (pages.length === 0) return [];
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const stored =
      pages.length === 1 ? await storePage(client, owner, pages[0]!) : await storePages(client, owner, pages);
    await client.query(stored ? 'commit' : 'rollback');
    return stored ? match(pages, stored.claimed, stored.stored_at) : [];
  } catch (error) {
    // Closing the connection rolls back, whatever state it is in.
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

interface StoredPages {
  stored_at: Date;
  claimed: Stored[];
}

async function storePages(client: pg.PoolClient, owner: number, pages: ExpansionPage[]): Promise<StoredPages> {
  const wanted = [pages.map(page => page.organization_id), pages.map(({ id }) => id), owner];
  const { rows: mine } = await client.query<{ id: string }>({ ...lock, values: wanted });
  const ids = new Set(mine.map(({ id }) => id));
  const kept = pages.filter(({ id }) => ids.has(id));
  const heads = [
    kept.map(page => page.organization_id),
    kept.map(page => page.id),
    kept.map(page => page.priority),
    kept.map(page => page.cursor && JSON.stringify(page.cursor)),
    kept.map(page => page.reason),
  ];
  const { rows } = await client.query<StoredPages>({ ...store, values: [...toArrays(owner, kept), ...heads] });
  return rows[0]!;
}

/** Undefined when the occurrence is no longer this worker's: then nothing may stay of the page. */
async function storePage(client: pg.PoolClient, owner: number, page: ExpansionPage): Promise<StoredPages | undefined> {
  const { organization_id, id, priority, cursor, reason } = page;
  const result = await client.query<StoredPages & { total: number; suppressed: Record<string, number> }>({
    ...insertPage,
    values: toArrays(owner, [page]),
  });
  const stored = result.rows[0]!;
  const counts = Object.values(stored.suppressed);
  const suppressed = counts.reduce((sum, count) => sum + count, 0);
  const { rows } = await client.query<{ event_id: number }>({
    ...advancePage,
    values: [organization_id, id, owner, stored.total, suppressed, priority, cursor && JSON.stringify(cursor), reason],
  });
  if (!rows[0]) return undefined;
  if (suppressed > 0) {
    await client.query(countSuppressed, [organization_id, rows[0].event_id, JSON.stringify(stored.suppressed)]);
  }
  return stored;
}

function toArrays(owner: number, pages: ExpansionPage[]): unknown[] {
  const rows = pages.flatMap(page => page.deliveries.map(delivery => ({ page, delivery })));
  const names = [
    'notification_id',
    'version',
    'channel_id',
    'user_id',
    'address',
    'status',
    'reason',
    'user_version',
  ] as const;
  return [
    owner,
    rows.map(({ page }) => page.organization_id),
    rows.map(({ page }) => page.id),
    rows.map(({ delivery }) => delivery.priority),
    ...names.map(name => rows.map(({ delivery }) => delivery[name])),
  ];
}

/** What was stored, and what it was stored from: what there was already is in neither. */
function match<Given extends NewDelivery>(
  pages: ExpansionPage<Given>[],
  stored: Stored[],
  created_at: Date,
): { delivery: Delivery; given: Given }[] {
  if (stored.length === 0) return [];
  const nameOf = (occurrence: string, notification: number, channel: number, user: number, address: string | null) =>
    `${occurrence} ${notification} ${channel} ${user} ${address}`;
  const byName = new Map(stored.map(([id, ...parts]) => [nameOf(...parts), id]));
  return pages.flatMap(({ organization_id, id: occurrence_id, deliveries }) =>
    deliveries.flatMap(given => {
      const { notification_id, version, channel_id, user_id, address, priority, user_version } = given;
      const name = nameOf(occurrence_id, notification_id, channel_id, user_id, address);
      const id = byName.get(name);
      if (id === undefined) return [];
      // A recipient of two sources is decided twice in a page, and stored once.
      byName.delete(name);
      const parts = { organization_id, occurrence_id, id, notification_id, version, channel_id, user_id, address };
      const delivery = {
        ...parts,
        attempts: 1,
        provider_index: 0,
        provider_attempts: 1,
        priority,
        user_version,
        created_at,
      };
      return [{ delivery, given }];
    }),
  );
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
