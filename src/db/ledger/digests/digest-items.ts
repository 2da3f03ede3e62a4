/**
 * Removes single items from a digest, because they were cancelled or have expired. If the carrier is removed, the next
 * item becomes the carrier; a digest without items sends nothing. The digest is locked for all of this: see digests.ts.
 */

import type pg from 'pg';
import { isBundleIdText } from '../../../core/decision/bundle.ts';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import { endedStatuses } from '../../../core/history/statuses.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { columnsText } from '../columns.ts';
import { countText, endedText } from '../counts.ts';

/**
 * The due time of items that another delivery carries: they are never due. Not `infinity`, which means held by a pause.
 */
export const carriedDueAt = new Date('9999-12-31T00:00:00Z');

/**
 * SQL text: the order in which digests are always locked. It does not start with a plain column, because before
 * PostgreSQL 17 the planner would read all digests of an organization in index order.
 */
export const lockOrderText = (g: string) =>
  columnsText(g, ['organization_id + 0', 'notification_id', 'channel_id', 'recipient_id', 'address', 'key', 'id']);

/** SQL text: the digests with these ids. Not a join: planned on an empty table, a join reads all digests ever after. */
export const digestsByIdText = (g: string, organizations: string, ids: string) =>
  `${g}.organization_id = any(${organizations}::bigint[]) and ${g}.id = any(${ids}::uuid[])`;

const lock = {
  name: 'lock_digests',
  text: `
    select g.id from digests g where ${digestsByIdText('g', '$1', '$2')} order by ${lockOrderText('g')} for update`,
};

/** Locks digests until the transaction ends. Later statements see what others committed before. */
export async function lockDigestsAcrossTenants(
  client: pg.PoolClient,
  organizationIds: number[],
  ids: string[],
): Promise<void> {
  await client.query({ ...lock, values: [organizationIds, ids] });
}

/**
 * SQL text: whether a digest item `d` of an occurrence `o` that was acknowledged or resolved is no longer sent: those of bundles,
 * except the message that it is resolved.
 */
const endsWithAlertText = `d.step >= 0 and ${isBundleIdText('d.digest_id')}`;

/** SQL text: whether the recipient of an item `d` has acknowledged the occurrence `o` alone. */
export const hasAcknowledgedText = `coalesce(o.acknowledged_users @> to_jsonb(d.user_id), false)`;

/** SQL text: not ended. Written like this, it keeps the planner from reading the whole index of waiting deliveries. */
export const notEndedText = `<> all('{${endedStatuses.join()}}')`;

const findStale = {
  name: 'find_stale_items',
  text: `
    select d.organization_id, d.occurrence_id, d.id, d.digest_id, o.event_id,
      case when o.expires_at <= now() and o.cancelled_at is null and o.resolved_at is null and o.acknowledged_at is null
        and not ${hasAcknowledgedText}
        then 'expired' else 'cancelled' end as status,
      case when o.cancelled_at is not null then 'cancelled' when o.resolved_at is not null and ${endsWithAlertText} then 'resolved'
        when (o.acknowledged_at is not null or ${hasAcknowledgedText}) and ${endsWithAlertText} then 'acknowledged'
        else 'expired' end as reason
    from deliveries d join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
    where d.organization_id = any($1::bigint[]) and d.digest_id = any($2::uuid[]) and d.digest_id is not null
      and d.status ${notEndedText} and d.due_at = $3 and (o.cancelled_at is not null or o.expires_at <= now()
        or (coalesce(o.resolved_at, o.acknowledged_at) is not null or ${hasAcknowledgedText}) and ${endsWithAlertText})`,
};

// The item ends as its occurrence did, and leaves the digest.
const endStale = {
  name: 'end_stale_items',
  text: `
    with dropped as (
      update deliveries d set status = e.status, reason = e.reason, digest_id = null
      from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
        as e (organization_id, occurrence_id, id, event_id, status, reason)
      where d.organization_id = e.organization_id and d.occurrence_id = e.occurrence_id and d.id = e.id
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, e.event_id, null::timestamptz as since
    ), ${countText('dropped')}
    select ${endedText} as ended`,
};

interface StaleItem {
  organization_id: number;
  occurrence_id: string;
  id: number;
  digest_id: string;
  event_id: number;
  status: string;
  reason: string;
}

interface DroppedItems {
  /** The number of items dropped, by digest. */
  counts: Map<string, number>;
  /** Outcomes of occurrences that ended with it. */
  ended: OccurrenceOutcome[];
}

/**
 * Drops items that were cancelled or have expired, and alerts that were acknowledged or resolved. Carriers are not among them: they are being sent, and are checked
 * there.
 */
export async function dropStaleItemsAcrossTenants(
  client: pg.PoolClient,
  organizationIds: number[],
  ids: string[],
): Promise<DroppedItems> {
  const { rows } = await client.query<StaleItem>({ ...findStale, values: [organizationIds, ids, carriedDueAt] });
  const counts = new Map<string, number>();
  for (const { digest_id } of rows) counts.set(digest_id, (counts.get(digest_id) ?? 0) + 1);
  if (rows.length === 0) return { counts, ended: [] };
  const columns = ['organization_id', 'occurrence_id', 'id', 'event_id', 'status', 'reason'] as const;
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
    where ${digestsByIdText('d', '$1', '$2')}`,
};

/** Adds to the item counts of digests; negative numbers subtract. */
export async function addItemsAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  organizationIds: number[],
  ids: string[],
  added: number[],
): Promise<void> {
  await client.query({ ...addItems, values: [organizationIds, ids, added] });
}

// Sees items of transactions that ended while this one waited for the lock.
const findNextCarriers = {
  name: 'find_heirs',
  text: `
    select heir.occurrence_id, heir.id, greatest(g.closes_at, now()) as due_at
    from digests g, lateral (
      select d.occurrence_id, d.id from deliveries d
      where d.organization_id = g.organization_id and d.digest_id = g.id and d.status ${notEndedText}
      order by d.occurrence_id, d.id limit 1
    ) heir where g.organization_id = $1 and g.id = any($2::uuid[])`,
};

const setCarriers = {
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

interface Removal {
  digest_id: string;
  removed: number;
  /** Whether the carrier is one of the removed items. */
  is_carrier: boolean;
}

export async function applyRemovals(
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
  const withoutCarrier = removals.filter(one => one.is_carrier).map(one => one.digest_id);
  const { rows: carriers } = await client.query<{ occurrence_id: string; id: number; due_at: Date | number }>({
    ...findNextCarriers,
    values: [organizationId, withoutCarrier],
  });
  const columns = [
    carriers.map(() => organizationId),
    carriers.map(one => one.occurrence_id),
    carriers.map(one => one.id),
    // The driver reads infinity as a number, but does not write it as one.
    carriers.map(one => (typeof one.due_at === 'number' ? 'infinity' : one.due_at)),
  ];
  if (carriers.length > 0) await client.query({ ...setCarriers, values: columns });
  await client.query({ ...dropEmpty, values: [organizationId, ids] });
}

const itemsPerPage = 1_000;

// Written differently, the condition makes the planner use the index of all items, of any occurrence.
const hasDigest = 'num_nulls(d.digest_id) = 0';

const listItems = {
  name: 'list_items_of_occurrence',
  text: `
    select d.id, d.digest_id from deliveries d
    where d.organization_id = $1 and d.occurrence_id = $2 and d.id > $3 and ${hasDigest}
      and ($4::bigint[] is null or d.id = any($4)) and ($5 = 'cancelled' or ${endsWithAlertText})
      and d.status ${notEndedText} and d.status <> 'sending'
    order by d.id limit ${itemsPerPage}`,
};

// Items whose digest is being rendered or sent are sent.
const cancelItems = {
  name: 'cancel_items',
  text: `
    with before as (
      select d.id, d.digest_id, d.due_at < timestamptz '9999-01-01' or d.due_at = 'infinity' as is_carrier
      from deliveries d
      where d.organization_id = $1 and d.occurrence_id = $2 and d.id = any($3::bigint[]) and ${hasDigest}
        and d.status ${notEndedText} and d.status <> 'sending' and not exists (
          select from digests g, deliveries c
          where g.organization_id = $1 and g.id = d.digest_id and g.closed_at is not null
            and c.organization_id = $1 and c.digest_id = d.digest_id and c.status = 'sending')
      for update
    ), cancelled as (
      update deliveries d set status = 'cancelled', reason = $4, owner = null, digest_id = null
      from before b, occurrences o
      where d.organization_id = $1 and d.occurrence_id = $2 and d.id = any($3::bigint[]) and d.id = b.id
        and o.organization_id = $1 and o.id = $2
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, o.event_id, null::timestamptz as since,
        b.digest_id, b.is_carrier
    ), ${countText('cancelled')}
    select digest_id, count(*)::int as removed, bool_or(is_carrier) as is_carrier, ${endedText} as ended
    from cancelled group by 1`,
};

interface CancelResult {
  stopped: number;
  /** The outcome of the occurrence, if it ended with it. */
  ended: string[];
}

interface CancelOptions {
  /** The ids of the deliveries. Absent: all. */
  only?: number[];
  /** An acknowledgement or resolution cancels only the items of bundles. */
  reason?: 'cancelled' | 'acknowledged' | 'resolved';
}

/** Cancels the items of an occurrence in pages: a fan-out may have an item in every user's digest. */
export async function cancelDigestItems(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  { only, reason = 'cancelled' }: CancelOptions = {},
): Promise<CancelResult> {
  let after = 0;
  const all: CancelResult = { stopped: 0, ended: [] };
  for (;;) {
    const { rows } = await pool.query<{ id: number; digest_id: string }>({
      ...listItems,
      values: [organizationId, occurrenceId, after, only ?? null, reason],
    });
    if (rows.length > 0) {
      const { stopped, ended } = await cancelPage(pool, { organizationId, occurrenceId, reason }, rows);
      all.stopped += stopped;
      all.ended.push(...ended);
    }
    if (rows.length < itemsPerPage) return all;
    after = rows.at(-1)!.id;
  }
}

async function cancelPage(
  pool: pg.Pool,
  { organizationId, occurrenceId, reason }: { organizationId: number; occurrenceId: string; reason: string },
  items: { id: number; digest_id: string }[],
): Promise<CancelResult> {
  return inLedgerTransaction(pool, async client => {
    const ids = items.map(one => one.digest_id);
    await lockDigestsAcrossTenants(client, [organizationId], ids);
    const { rows } = await client.query<Removal & { ended: string[] }>({
      ...cancelItems,
      values: [organizationId, occurrenceId, items.map(one => one.id), reason],
    });
    await applyRemovals(client, organizationId, rows);
    return { stopped: rows.reduce((sum, one) => sum + one.removed, 0), ended: rows[0]?.ended ?? [] };
  });
}
