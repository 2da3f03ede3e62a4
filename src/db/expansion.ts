/**
 * Turning occurrences into deliveries. Both ways commit a page of decisions together with its cursor, so that a crash
 * resumes where it stopped:
 *
 * - First pages, of many occurrences at once: locked, decided and stored in one transaction. Nearly all occurrences are
 *   done with that, and none of them is written more often than that takes.
 * - Further pages of a fan-out, one occurrence at a time: claimed by its `owner`. A lock would keep the outcomes of its
 *   earlier pages waiting, which are counted in the same row.
 */
import type pg from 'pg';
import type { JsonObject } from '../core/json.ts';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import { plainArray } from './arrays.ts';
import { addSuppressedAcrossTenants, type SuppressedCount } from './counts.ts';
import { addressInOnce, type Delivery, type NewDelivery, occurrenceInOnce } from './deliveries.ts';
import { deliveryArrays, insertDeliveriesText, toDelivery } from './new-deliveries.ts';
import { beginStepsAcrossTenants, type NewStep } from './new-steps.ts';
import { sqlState } from './pool.ts';
import { outstandingText } from './status-text.ts';
import { inTransaction } from './transaction.ts';
import { pickByTurns, type Turn, turnValues } from './turns.ts';
import { completedColumns, completionEventsText } from './webhook-events.ts';

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
  due_at: Date;
  expires_at: Date | null;
  created_at: Date;
  acknowledged_at: Date | null;
  resolved_at: Date | null;
  /** What it is below in a trace. */
  traceparent: string | null;
}

/** Where an expansion goes on. By names, not positions: notifications may come and go between two pages. */
export interface Cursor {
  /** The notification's id. */
  notification: number;
  /** Which of its sources of recipients. */
  source: string;
  /** The position in it that was read last. */
  after: number;
}

const columns =
  'organization_id, id, project_id, application_id, event_id, priority, context, options, cursor, deliveries, correlation_id, ' +
  'due_at, expires_at, created_at, acknowledged_at, resolved_at, traceparent';

/** SQL text: what `ClaimedOccurrence` holds, of the table by this name. */
export const occurrenceColumns = (alias: string) =>
  columns
    .split(', ')
    .map(column => `${alias}.${column}`)
    .join(', ');

/** What becomes of an occurrence after a page of it has been decided. */
export interface ExpansionPage<Given extends NewDelivery = NewDelivery> {
  organization_id: number;
  id: string;
  event_id: number;
  /** With which the next page is expanded. */
  priority: number;
  /** Null: that was the last page. Else the occurrence goes back into the queue, where others may have their turn. */
  cursor: Cursor | null;
  /** Why the occurrence came to nothing, if it did, or why it waits. */
  reason: string | null;
  /** Set where nothing was decided: it is due again then. `infinity` until what holds it is resumed. */
  again?: Date | 'infinity';
  /** No two to the same address of one notification and channel. */
  deliveries: Given[];
  /** First runs of notifications that tell people step by step. */
  steps?: NewStep[];
  /** Whether somebody is to acknowledge it. */
  awaitsAcknowledgement?: boolean;
}

/** A delivery that was stored as already claimed by this worker, and what it was decided from. */
export interface StoredDelivery<Given> {
  delivery: Delivery;
  given: Given;
}

export interface StoredPages<Given> {
  stored: StoredDelivery<Given>[];
  /** Outcomes of occurrences that have ended with it, as there was nothing to send. */
  ended: OccurrenceOutcome[];
}

interface ExpandedPages<Given extends NewDelivery> extends StoredPages<Given> {
  claimed: ClaimedOccurrence[];
  pages: ExpansionPage<Given>[];
}

const lockAccepted = {
  name: 'lock_accepted',
  text: `with ${pickByTurns('accepted', columns)} select * from picked`,
};

// First pages of any number of occurrences. All rows are new, so the counts are known beforehand, and the identifiers
// come back in the order of the rows: nothing has to be joined to anything. Joined to each other, the parts of this
// statement took time by the square of the batch.
const storeFirst = {
  name: 'store_first_pages',
  text: `
    with stored as (${insertDeliveriesText} returning d.id), advanced as (
      update occurrences o set status = p.status, deliveries = p.deliveries, suppressed = p.suppressed,
        priority = p.priority, cursor = p.cursor, reason = p.reason, due_at = coalesce(p.due_at, o.due_at),
        completed_at = case when p.status = 'completed' then now() end
      from unnest($17::bigint[], $18::uuid[], $19::text[], $20::integer[], $21::integer[], $22::smallint[],
        $23::jsonb[], $24::text[], $25::timestamptz[]) as p (
        organization_id, id, status, deliveries, suppressed, priority, cursor, reason, due_at)
      where o.organization_id = p.organization_id and o.id = p.id
      returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome
    ), ${completionEventsText('advanced')}
    select now() as stored_at, array(select id from stored) as ids, array(select outcome from advanced) as outcomes`,
};

/**
 * Locks what is due, lets it be decided, and stores what came of it. `decide` may leave some of them out: those stay as
 * they were. Returns what was stored as claimed by this worker. Nothing is left behind where this fails at any point.
 */
export async function expandAcceptedAcrossTenants<Given extends NewDelivery>(
  pool: pg.Pool,
  turn: Turn,
  decide: (claimed: ClaimedOccurrence[], client: pg.PoolClient) => Promise<ExpansionPage<Given>[]>,
): Promise<ExpandedPages<Given>> {
  let claimed: ClaimedOccurrence[] = [];
  try {
    return await inTransaction(pool, async (client, { commit }) => {
      ({ rows: claimed } = await client.query<ClaimedOccurrence>({ ...lockAccepted, values: turnValues(turn) }));
      const pages = claimed.length > 0 ? await decide(claimed, client) : [];
      const stored = pages.length > 0 ? await storeFirstPages(client, turn.owner, pages, commit) : nothing;
      return { claimed, pages, ...stored };
    });
  } catch (error) {
    if (sqlState(error) !== uniqueViolation) throw error;
    // One of them has deliveries already. They are expanded one by one, where that is no failure.
    await pool.query(
      `update occurrences set status = 'expanding', cursor = $3
       where organization_id = any($1::bigint[]) and id = any($2::uuid[]) and status = 'accepted'`,
      [claimed.map(one => one.organization_id), claimed.map(one => one.id), JSON.stringify(start)],
    );
    return { claimed, pages: [], ...nothing };
  }
}

const uniqueViolation = '23505';
const nothing = { stored: [], ended: [] };
/** Before all notifications. */
const start: Cursor = { notification: 0, source: '', after: 0 };

async function storeFirstPages<Given extends NewDelivery>(
  client: pg.PoolClient,
  owner: number,
  pages: ExpansionPage<Given>[],
  commit: () => Promise<unknown>,
): Promise<StoredPages<Given>> {
  const suppressed = pages.map(page => page.deliveries.filter(one => one.status === 'suppressed').length);
  const heads = [
    plainArray(pages.map(page => page.organization_id)),
    plainArray(pages.map(page => page.id)),
    plainArray(
      pages.map((page, i) => statusAfter(page, page.deliveries.length - suppressed[i]! + (page.steps?.length ?? 0))),
    ),
    plainArray(pages.map(page => page.deliveries.length)),
    plainArray(suppressed),
    plainArray(pages.map(page => page.priority)),
    pages.map(page => page.cursor && JSON.stringify(page.cursor)),
    pages.map(page => (page.deliveries.length === 0 || page.reason?.startsWith('limit.') ? page.reason : null)),
    pages.map(page => page.again ?? null),
  ];
  const storing = client.query<{ stored_at: Date; ids: string[]; outcomes: (OccurrenceOutcome | null)[] }>({
    ...storeFirst,
    values: [...deliveryArrays(owner, pages), ...heads],
  });
  if (pages.some(page => page.steps?.length) || suppressed.some(count => count > 0)) {
    await storing;
    await beginStepsAcrossTenants(client, pages);
    await addSuppressedAcrossTenants(client, suppressedCounts(pages));
  }
  const [{ rows }] = await Promise.all([storing, commit()]);
  const { stored_at, ids, outcomes } = rows[0]!;
  let i = 0;
  const stored = pages.flatMap(page =>
    page.deliveries.flatMap(given => {
      const id = Number(ids[i++]);
      return given.status === 'sending' ? [{ delivery: toDelivery(page, given, id, stored_at), given }] : [];
    }),
  );
  return { stored, ended: outcomes.filter(outcome => outcome !== null) };
}

function statusAfter({ cursor, again }: ExpansionPage, outstanding: number): string {
  if (again) return 'accepted';
  if (cursor) return 'expanding';
  return outstanding > 0 ? 'sending' : 'completed';
}

function suppressedCounts(pages: ExpansionPage[]): SuppressedCount[] {
  const counts = new Map<string, SuppressedCount>();
  for (const { organization_id, event_id, deliveries } of pages) {
    for (const { status, channel_id } of deliveries) {
      if (status !== 'suppressed') continue;
      const name = `${organization_id}/${event_id}/${channel_id}`;
      const count = counts.get(name) ?? { organization_id, event_id, channel_id, count: 0 };
      counts.set(name, count);
      count.count++;
    }
  }
  return [...counts.values()];
}

// Not waited for until it is on disk: a claim that a power cut takes back has led to nothing yet, as the page that it
// leads to is waited for, and comes after it.
const claimExpanding = {
  name: 'claim_expanding',
  text: `
    with ${pickByTurns('expanding', 'organization_id, id')}, hurry as materialized (
      select set_config('synchronous_commit', 'off', true)
    )
    update occurrences o set owner = $8
    from picked p, hurry
    where o.organization_id = p.organization_id and o.id = p.id
    returning ${occurrenceColumns('o')}`,
};

/** Occurrences whose first page is stored and that have more; theirs until the next page is stored. */
export async function claimExpandingAcrossTenants(pool: pg.Pool, turn: Turn): Promise<ClaimedOccurrence[]> {
  const { rows } = await pool.query<ClaimedOccurrence>({
    ...claimExpanding,
    values: [...turnValues(turn), turn.owner],
  });
  return rows;
}

const insertPage = {
  name: 'store_page',
  text: `
    with stored as (
      ${insertDeliveriesText}
      on conflict (organization_id, (${occurrenceInOnce}), notification_id, channel_id, (${addressInOnce}),
        step, occurrence_id) do nothing
      returning d.id, d.notification_id, d.channel_id, d.user_id, d.address, d.status
    ), suppressed as (
      select channel_id, count(*) as count from stored where status = 'suppressed' group by 1
    )
    select now() as stored_at, count(*)::int as total,
      coalesce(json_agg(json_build_array(s.id, s.notification_id, s.channel_id, s.user_id, s.address))
        filter (where s.status = 'sending'), '[]') as claimed,
      (select coalesce(json_object_agg(channel_id, count), '{}') from suppressed) as suppressed
    from stored s`,
};

interface StoredPage {
  stored_at: Date;
  total: number;
  claimed: [id: number, notification: number, channel: number, user: number, address: string | null][];
  /** By channel. */
  suppressed: Record<string, number>;
}

const outstanding = `(${outstandingText('o')} + $4 - $5 + o.escalating)`;

// The occurrence is changed last: locked first, it kept the outcomes of earlier pages waiting for 70 ms at a time.
const advancePage = {
  name: 'advance_page',
  text: `
    with advanced as (
      update occurrences o set deliveries = o.deliveries + $4::integer, suppressed = o.suppressed + $5::integer,
        cursor = $7, owner = null, priority = $6,
        reason = case when $9::timestamptz is not null or o.deliveries + $4 = 0 or $8 like 'limit.%' then $8
          when o.reason like 'limit.%' then o.reason end, due_at = coalesce($9, o.due_at),
        status = case when $7::jsonb is not null or $9::timestamptz is not null then 'expanding'
          when ${outstanding} = 0 then 'completed' else 'sending' end,
        completed_at = case when $7::jsonb is null and $9::timestamptz is null and ${outstanding} = 0 then now() end
      where o.organization_id = $1 and o.id = $2 and o.status = 'expanding' and o.owner = $3
      returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome
    ), ${completionEventsText('advanced')}
    select outcome from advanced`,
};

/**
 * Deliveries, counts and cursor of a further page. What an earlier page has stored already is left out. Nothing stays of
 * it where the occurrence was cancelled or taken over meanwhile.
 */
export async function storePageAcrossTenants<Given extends NewDelivery>(
  pool: pg.Pool,
  owner: number,
  page: ExpansionPage<Given>,
  /** What is still to be decided in the transaction itself. */
  decide: (client: pg.PoolClient) => Promise<void> = async () => {},
): Promise<StoredPages<Given>> {
  const { organization_id, id, event_id, priority, reason, again, deliveries } = page;
  // A page that is put off changes nothing but its due time.
  const cursor = page.cursor && JSON.stringify(page.cursor);
  return inTransaction<StoredPages<Given>>(pool, async (client, { rollback }) => {
    await decide(client);
    const { rows } = await client.query<StoredPage>({ ...insertPage, values: deliveryArrays(owner, [page]) });
    await beginStepsAcrossTenants(client, [page]);
    const stored = rows[0]!;
    const suppressed = Object.entries(stored.suppressed);
    const advanced = await client.query<{ outcome: OccurrenceOutcome | null }>({
      ...advancePage,
      values: [
        organization_id,
        id,
        owner,
        stored.total,
        suppressed.reduce((sum, [, count]) => sum + count, 0),
        priority,
        cursor,
        reason,
        again ?? null,
      ],
    });
    const [after] = advanced.rows;
    if (!after) return rollback(nothing);
    await addSuppressedAcrossTenants(
      client,
      suppressed.map(([channel, count]) => ({ organization_id, event_id, channel_id: Number(channel), count })),
    );
    const nameOf = (notification: number, channel: number, user: number, address: string | null) =>
      `${notification} ${channel} ${user} ${address}`;
    const ids = new Map(stored.claimed.map(([id, ...parts]) => [nameOf(...parts), id]));
    const claimed = deliveries.flatMap(given => {
      const id = ids.get(nameOf(given.notification_id, given.channel_id, given.user_id, given.address));
      return id === undefined ? [] : [{ delivery: toDelivery(page, given, id, stored.stored_at), given }];
    });
    return { stored: claimed, ended: after.outcome ? [after.outcome] : [] };
  });
}
