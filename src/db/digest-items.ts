/**
 * How items leave a digest, one by one: cancelled or expired. Where the one that carries the message goes, the next one
 * takes its place; a digest without items sends nothing. All of it with the digest locked: see digests.ts.
 */

import type pg from 'pg';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import { endedStatuses } from '../core/statuses.ts';
import { countText, endedText } from './counts.ts';
import { inTransaction } from './transaction.ts';

/** What is never due by itself: it is carried by another. Not `infinity`, which waits for a pause to end. */
export const carriedDueAt = new Date('9999-12-31T00:00:00Z');

/**
 * SQL text: everybody locks in this order. It begins with no column as such: before PostgreSQL 17, the planner read all digests
 * of an organization to have them in order of it.
 */
export const inLockOrder = (g: string) =>
  ['organization_id + 0', 'notification_id', 'channel_id', 'recipient_id', 'address', 'key', 'id']
    .map(column => `${g}.${column}`)
    .join(', ');

/**
 * SQL text: the digests that $1 and $2 name. Not joined to them: planned while there were none, such a statement read all of
 * them ever after.
 */
export const theseDigests = (g: string) => `${g}.organization_id = any($1::bigint[]) and ${g}.id = any($2::uuid[])`;

const lock = {
  name: 'lock_digests',
  text: `
    select g.id from digests g where ${theseDigests('g')} order by ${inLockOrder('g')} for update`,
};

/** Until the transaction ends. What others did to them before is seen by the statements that follow. */
export async function lockDigestsAcrossTenants(
  client: pg.PoolClient,
  organizationIds: number[],
  ids: string[],
): Promise<void> {
  await client.query({ ...lock, values: [organizationIds, ids] });
}

/** SQL text: not ended. Said so, no statement is led to the index of what waits, and reads all of that. */
export const notEnded = `<> all('{${endedStatuses.join()}}')`;

const findStale = {
  name: 'find_stale_items',
  text: `
    select d.organization_id, d.occurrence_id, d.id, d.digest_id, o.event_id,
      case when o.cancelled_at is not null then 'cancelled' else 'expired' end as status
    from deliveries d join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
    where d.organization_id = any($1::bigint[]) and d.digest_id = any($2::uuid[]) and d.digest_id is not null
      and d.status ${notEnded} and d.due_at = $3 and (o.cancelled_at is not null or o.expires_at <= now())`,
};

// It ends as its occurrence did, and is nobody's item any more.
const endStale = {
  name: 'end_stale_items',
  text: `
    with dropped as (
      update deliveries d set status = e.status, reason = e.status, digest_id = null
      from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[])
        as e (organization_id, occurrence_id, id, event_id, status)
      where d.organization_id = e.organization_id and d.occurrence_id = e.occurrence_id and d.id = e.id
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, e.event_id, null::timestamptz as since
    ), ${countText('dropped')}
    select ${endedText} as ended`,
};

interface Stale {
  organization_id: number;
  occurrence_id: string;
  id: number;
  digest_id: string;
  event_id: number;
  status: string;
}

export interface DroppedItems {
  /** By digest. */
  counts: Map<string, number>;
  /** Outcomes of occurrences that came to their end with it. */
  ended: OccurrenceOutcome[];
}

/** Carriers are not among them: they are being sent, and looked at by whoever does that. */
export async function dropStaleItemsAcrossTenants(
  client: pg.PoolClient,
  organizationIds: number[],
  ids: string[],
): Promise<DroppedItems> {
  const { rows } = await client.query<Stale>({ ...findStale, values: [organizationIds, ids, carriedDueAt] });
  const counts = new Map<string, number>();
  for (const { digest_id } of rows) counts.set(digest_id, (counts.get(digest_id) ?? 0) + 1);
  if (rows.length === 0) return { counts, ended: [] };
  const columns = ['organization_id', 'occurrence_id', 'id', 'event_id', 'status'] as const;
  const values = columns.map(column => rows.map(row => row[column]));
  const { rows: dropped } = await client.query<Pick<DroppedItems, 'ended'>>({ ...endStale, values });
  await addItemsAcrossTenants(
    client,
    rows.map(row => row.organization_id),
    [...counts.keys()],
    [...counts.values()].map(count => -count),
  );
  return { counts, ended: dropped[0]!.ended };
}

const addItems = {
  name: 'add_items',
  text: `
    update digests d set items = d.items + ($3::integer[])[array_position($2::uuid[], d.id)]
    where ${theseDigests('d')}`,
};

/** Or takes them away. */
export async function addItemsAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  organizationIds: number[],
  ids: string[],
  added: number[],
): Promise<void> {
  await client.query({ ...addItems, values: [organizationIds, ids, added] });
}

// Later items may have been added by a transaction that ended while this one waited for the lock: they are seen here.
const findHeirs = {
  name: 'find_heirs',
  text: `
    select heir.occurrence_id, heir.id, greatest(g.closes_at, now()) as due_at
    from digests g, lateral (
      select d.occurrence_id, d.id from deliveries d
      where d.organization_id = g.organization_id and d.digest_id = g.id and d.status ${notEnded}
      order by d.occurrence_id, d.id limit 1
    ) heir where g.organization_id = $1 and g.id = any($2::uuid[])`,
};

const nameCarriers = {
  name: 'name_carriers',
  text: `
    update deliveries d set due_at = h.due_at
    from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::timestamptz[]) as h (organization_id, occurrence_id, id, due_at)
    where d.organization_id = h.organization_id and d.occurrence_id = h.occurrence_id and d.id = h.id`,
};

const dropEmpty = {
  name: 'drop_empty_digests',
  text: `
    delete from digests where organization_id = $1 and id = any($2::uuid[]) and items = 0
      and (closed_at is not null or closes_at <= now())`,
};

export interface Removal {
  digest_id: string;
  removed: number;
  /** Whether the carrier is among them. */
  is_carrier: boolean;
}

export async function passOnDigests(
  client: pg.PoolClient,
  organizationId: number,
  removals: readonly Removal[],
): Promise<void> {
  if (removals.length === 0) return;
  const ids = removals.map(one => one.digest_id);
  await addItemsAcrossTenants(
    client,
    [organizationId],
    ids,
    removals.map(one => -one.removed),
  );
  const bereft = removals.filter(one => one.is_carrier).map(one => one.digest_id);
  const { rows: heirs } = await client.query<{ occurrence_id: string; id: number; due_at: Date | number }>({
    ...findHeirs,
    values: [organizationId, bereft],
  });
  const columns = [
    heirs.map(() => organizationId),
    heirs.map(one => one.occurrence_id),
    heirs.map(one => one.id),
    // As the driver reads infinity, and does not write it.
    heirs.map(one => (typeof one.due_at === 'number' ? 'infinity' : one.due_at)),
  ];
  if (heirs.length > 0) await client.query({ ...nameCarriers, values: columns });
  await client.query({ ...dropEmpty, values: [organizationId, ids] });
}

const itemsAtOnce = 1_000;

// Asked in other words, whether there is one leads to the index of all items, of whichever occurrence.
const hasDigest = 'num_nulls(d.digest_id) = 0';

const listItems = {
  name: 'list_items_of_occurrence',
  text: `
    select d.id, d.digest_id from deliveries d
    where d.organization_id = $1 and d.occurrence_id = $2 and d.id > $3 and ${hasDigest}
      and ($4::bigint[] is null or d.id = any($4))
      and d.status ${notEnded} and d.status <> 'sending'
    order by d.id limit ${itemsAtOnce}`,
};

// What is being written or sent at the moment goes out.
const cancelItems = {
  name: 'cancel_items',
  text: `
    with before as (
      select d.id, d.digest_id, d.due_at < timestamptz '9999-01-01' or d.due_at = 'infinity' as is_carrier
      from deliveries d
      where d.organization_id = $1 and d.occurrence_id = $2 and d.id = any($3::bigint[]) and ${hasDigest}
        and d.status ${notEnded} and d.status <> 'sending' and not exists (
          select from digests g, deliveries c
          where g.organization_id = $1 and g.id = d.digest_id and g.closed_at is not null
            and c.organization_id = $1 and c.digest_id = d.digest_id and c.status = 'sending')
      for update
    ), cancelled as (
      update deliveries d set status = 'cancelled', reason = 'cancelled', owner = null, digest_id = null
      from before b, occurrences o
      where d.organization_id = $1 and d.occurrence_id = $2 and d.id = any($3::bigint[]) and d.id = b.id
        and o.organization_id = $1 and o.id = $2
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, o.event_id, null::timestamptz as since,
        b.digest_id, b.is_carrier
    ), ${countText('cancelled')}
    select digest_id, count(*)::int as removed, bool_or(is_carrier) as is_carrier, ${endedText} as ended
    from cancelled group by 1`,
};

interface Cancelled {
  stopped: number;
  /** The outcome of the occurrence, where it came to its end with it. */
  ended: string[];
}

/** The items of an occurrence, or some of them. Few at a time, as a fan-out may have an item in everybody's digest. */
export async function cancelDigestItems(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  only?: number[],
): Promise<Cancelled> {
  let after = 0;
  const all: Cancelled = { stopped: 0, ended: [] };
  for (;;) {
    const { rows } = await pool.query<{ id: number; digest_id: string }>({
      ...listItems,
      values: [organizationId, occurrenceId, after, only ?? null],
    });
    if (rows.length > 0) {
      const { stopped, ended } = await cancelThese(pool, organizationId, occurrenceId, rows);
      all.stopped += stopped;
      all.ended.push(...ended);
    }
    if (rows.length < itemsAtOnce) return all;
    after = rows.at(-1)!.id;
  }
}

async function cancelThese(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  items: { id: number; digest_id: string }[],
): Promise<Cancelled> {
  return inTransaction(pool, async client => {
    const ids = items.map(one => one.digest_id);
    await lockDigestsAcrossTenants(client, [organizationId], ids);
    const { rows } = await client.query<Removal & { ended: string[] }>({
      ...cancelItems,
      values: [organizationId, occurrenceId, items.map(one => one.id)],
    });
    await passOnDigests(client, organizationId, rows);
    return { stopped: rows.reduce((sum, one) => sum + one.removed, 0), ended: rows[0]?.ended ?? [] };
  });
}
