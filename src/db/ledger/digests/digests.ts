/**
 * Digests, from the first item until the message is rendered. Every change of items locks the digests first, in the
 * order of `lockOrderText` and before any delivery: this prevents deadlocks, and keeps each item in exactly one digest.
 */

import { sql } from 'kysely';
import type pg from 'pg';
import { type BundledAlert, isBundleId } from '../../../core/decision/bundle.ts';
import { digestLimits } from '../../../core/decision/digest.ts';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import type { Db } from '../../connection/pool.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { columnsText } from '../columns.ts';
import { contextAtText } from '../context-text.ts';
import { countCriticalAlertsAcrossTenants, openNextBundlesAcrossTenants } from './bundles.ts';
import {
  addItemsAcrossTenants,
  carriedDueAt,
  digestsByIdText,
  dropStaleItemsAcrossTenants,
  lockDigestsAcrossTenants,
  notEndedText,
} from './digest-items.ts';

/** The identity of a digest, and how to open it. */
export interface DigestClaim {
  organizationId: number;
  eventId: number;
  notificationId: number;
  channelId: number;
  /** 0 if the channel is a room. */
  recipientId: number;
  userId: number;
  address: string;
  key: string;
  closesAt: Date;
}

export interface OpenDigest {
  id: string;
  /** The number of items before the current change. */
  items: number;
  closesAt: Date;
  /** Whether it was just opened. */
  isNew: boolean;
}

export function digestName(claim: DigestClaim): string {
  const { organizationId, notificationId, channelId, recipientId, address, key } = claim;
  return `${organizationId} ${notificationId} ${channelId} ${recipientId} ${address} ${key}`;
}

interface DigestRow {
  organization_id: number;
  id: string;
  notification_id: number;
  channel_id: number;
  recipient_id: number;
  address: string;
  key: string;
  items: number;
  closes_at: Date;
}

const rowName = (row: DigestRow) =>
  `${row.organization_id} ${row.notification_id} ${row.channel_id} ${row.recipient_id} ${row.address} ${row.key}`;

const identityColumns = ['organization_id', 'notification_id', 'channel_id', 'recipient_id', 'address', 'key'];
const identity = identityColumns.join(', ');
const digestColumns = columnsText('d', [...identityColumns, 'id', 'items', 'closes_at']);

// Creates the row or locks the existing one, and returns the latest committed values. A window that ended without items
// starts again.
const open = {
  name: 'open_digests',
  text: `
    insert into digests as d (organization_id, id, event_id, notification_id, channel_id, recipient_id, user_id, address,
      key, items, closes_at)
    select g.organization_id, g.id, g.event_id, g.notification_id, g.channel_id, g.recipient_id, g.user_id, g.address,
      g.key, 0, g.closes_at
    from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[],
      $9::text[], $10::timestamptz[]) as g (organization_id, id, event_id, notification_id, channel_id,
      recipient_id, user_id, address, key, closes_at)
    order by g.organization_id, g.notification_id, g.channel_id, g.recipient_id, g.address collate "C", g.key collate "C"
    on conflict (${identity}) where closed_at is null do update set
      id = case when d.items = 0 and d.closes_at <= now() then excluded.id else d.id end,
      opened_at = case when d.items = 0 and d.closes_at <= now() then now() else d.opened_at end,
      closes_at = case when d.items = 0 and d.closes_at <= now() then excluded.closes_at else d.closes_at end
    returning ${digestColumns}`,
};

/**
 * Opens digests and locks them until the transaction ends: no one else can add to them or send them. Returns them by
 * name. Each name must be unique among the claims.
 */
export async function openDigestsAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  claims: readonly (DigestClaim & { id: string })[],
): Promise<Map<string, OpenDigest>> {
  const newIds = new Set(claims.map(({ id }) => id));
  const values = [
    claims.map(one => one.organizationId),
    claims.map(one => one.id),
    claims.map(one => one.eventId),
    claims.map(one => one.notificationId),
    claims.map(one => one.channelId),
    claims.map(one => one.recipientId),
    claims.map(one => one.userId),
    claims.map(one => one.address),
    claims.map(one => one.key),
    claims.map(one => one.closesAt),
  ];
  const { rows } = await client.query<DigestRow>({ ...open, values });
  return toDigests(rows, id => newIds.has(id));
}

/** Returns open digests without locking them, for simulations. */
export async function findDigestsAcrossTenants(
  pool: pg.Pool,
  claims: readonly DigestClaim[],
): Promise<Map<string, OpenDigest>> {
  const { rows } = await pool.query<DigestRow>(
    `select ${digestColumns} from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
       as g (${identity})
     join digests d using (${identity}) where d.closed_at is null and not (d.items = 0 and d.closes_at <= now())`,
    [
      claims.map(one => one.organizationId),
      claims.map(one => one.notificationId),
      claims.map(one => one.channelId),
      claims.map(one => one.recipientId),
      claims.map(one => one.address),
      claims.map(one => one.key),
    ],
  );
  return toDigests(rows, () => false);
}

function toDigests(rows: DigestRow[], isNew: (id: string) => boolean): Map<string, OpenDigest> {
  return new Map(
    rows.map(row => [rowName(row), { id: row.id, items: row.items, closesAt: row.closes_at, isNew: isNew(row.id) }]),
  );
}

const discard = {
  name: 'discard_digests',
  text: `delete from digests d where ${digestsByIdText('d', '$1', '$2')}`,
};

// Only the carrier of a digest has a due time.
const makeDue = {
  name: 'hasten_digests',
  text: `
    update deliveries d set due_at = now()
    where d.organization_id = any($1::bigint[]) and d.digest_id = any($2::uuid[]) and d.digest_id is not null
      and d.status ${notEndedText}
      and d.due_at > now() and d.due_at < 'infinity' and d.reason = 'digest' and d.due_at <> $3`,
};

export interface DigestChange {
  organizationId: number;
  id: string;
  /** The number of items before. */
  items: number;
  added: number;
  /** Whether to delete the digest if nothing was added. */
  isDiscardedEmpty: boolean;
}

/** Applies the changes to digests that the same transaction opened. */
export async function fillDigestsAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  changes: readonly DigestChange[],
): Promise<void> {
  const columns = (some: readonly DigestChange[]): [number[], string[]] => [
    some.map(one => one.organizationId),
    some.map(one => one.id),
  ];
  const filled = changes.filter(one => one.added > 0);
  if (filled.length > 0) {
    await addItemsAcrossTenants(
      client,
      ...columns(filled),
      filled.map(one => one.added),
    );
  }
  const empty = changes.filter(one => one.added === 0 && one.isDiscardedEmpty);
  if (empty.length > 0) await client.query({ ...discard, values: columns(empty) });
  const { fullAt } = digestLimits;
  const full = filled.filter(one => one.items < fullAt && one.items + one.added >= fullAt);
  if (full.length > 0) await client.query({ ...makeDue, values: [...columns(full), carriedDueAt] });
}

/** An item, and its delivery. */
export interface DigestItem extends BundledAlert {
  id: number;
}

export interface DigestItems {
  /** The items that the message shows, oldest first. */
  items: DigestItem[];
  /** The number of all items. */
  count: number;
  /** How many of them are critical alerts; only for bundles. */
  critical?: number;
}

export interface ClosedDigest extends DigestItems {
  /** The trace parents of the items' occurrences, if traced. */
  traceparents: string[];
}

export interface DigestItemsRequest {
  organizationId: number;
  id: string;
  max: number;
}

const close = {
  name: 'close_digests',
  text: `
    update digests d set closed_at = coalesce(d.closed_at, now()) where ${digestsByIdText('d', '$1', '$2')}
    returning d.organization_id, d.id, d.items`,
};

// The first item is included whatever its size.
const readItems = {
  name: 'read_digest_items',
  text: `
    select w.nth::int as nth, i.context, i.created_at, i.traceparent, i.id, i.occurrence_id, i.event, i.dedup_key
    from unnest($1::bigint[], $2::uuid[], $3::integer[]) with ordinality as w (organization_id, id, max_items, nth), lateral (
      select * from (
        select ${contextAtText('d.created_at')} as context, o.created_at, o.traceparent, row_number() over sorted as place, d.id, d.occurrence_id,
          (select e.name from events e where e.organization_id = o.organization_id and e.id = o.event_id) as event,
          o.options ->> 'dedup_key' as dedup_key,
          sum(octet_length(o.context::text)) over sorted as bytes
        from (
          select d.organization_id, d.occurrence_id, d.id, d.created_at from deliveries d
          where d.organization_id = w.organization_id and d.digest_id = w.id order by d.occurrence_id, d.id limit w.max_items
        ) d
        join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
        window sorted as (order by d.occurrence_id, d.id)
      ) each where place = 1 or bytes <= ${digestLimits.contextBytes}
    ) i order by w.nth, i.place`,
};

const columnsOf = (requests: readonly DigestItemsRequest[]) => [
  requests.map(one => one.organizationId),
  requests.map(one => one.id),
  requests.map(one => one.max),
];

async function listItems(client: pg.PoolClient | pg.Pool, requests: readonly DigestItemsRequest[]) {
  const { rows } = await client.query<DigestItem & { nth: number; traceparent: string | null }>({
    ...readItems,
    values: columnsOf(requests),
  });
  const byDigest = Map.groupBy(rows, ({ nth }) => nth);
  return requests.map((_, i) => {
    const own = byDigest.get(i + 1) ?? [];
    return {
      items: own.map(({ nth: _, traceparent: __, ...item }) => item),
      traceparents: own.flatMap(({ traceparent }) => traceparent ?? []),
    };
  });
}

/**
 * Closes digests: nothing is added from here on. Items that were cancelled or have expired end as such and are left
 * out. Many digests are closed together, because thousands may be due in the morning. Also returns the outcomes of
 * occurrences that ended with it.
 */
export async function closeDigestsAcrossTenants(
  pool: pg.Pool,
  requests: readonly DigestItemsRequest[],
): Promise<{ digests: ClosedDigest[]; ended: OccurrenceOutcome[] }> {
  return inLedgerTransaction(pool, async client => {
    const [organizations, ids] = columnsOf(requests);
    await lockDigestsAcrossTenants(client, organizations as number[], ids as string[]);
    const closed = await client.query<{ organization_id: number; id: string; items: number }>({
      ...close,
      values: [organizations, ids],
    });
    const { counts: dropped, ended } = await dropStaleItemsAcrossTenants(
      client,
      organizations as number[],
      ids as string[],
    );
    const counts = new Map(closed.rows.map(row => [row.id, row.items - (dropped.get(row.id) ?? 0)]));
    await openNextBundlesAcrossTenants(client, requests);
    const itemsByDigest = await listItems(client, requests);
    const critical = await countCriticalAlertsAcrossTenants(client, requests);
    const digests = requests.map(({ id }, i) => ({
      ...itemsByDigest[i]!,
      count: counts.get(id) ?? itemsByDigest[i]!.items.length,
      ...(isBundleId(id) && { critical: critical.get(id) ?? 0 }),
    }));
    return { digests, ended };
  });
}

/** Returns the items that a digest has now, or had when it was sent, without closing it. */
export async function findDigestItems(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  max: number,
): Promise<DigestItems> {
  const request = { organizationId, id, max };
  const [[digest], critical, counted] = await Promise.all([
    listItems(pool, [request]),
    countCriticalAlertsAcrossTenants(pool, [request]),
    pool.query<{ count: number }>(
      'select count(*)::int as count from deliveries where organization_id = $1 and digest_id = $2',
      [organizationId, id],
    ),
  ]);
  return {
    items: digest!.items,
    count: counted.rows[0]!.count,
    ...(isBundleId(id) && { critical: critical.get(id) ?? 0 }),
  };
}

export interface DigestView {
  id: string;
  notification: string | null;
  channel: string | null;
  user: string | null;
  address: string;
  key: string;
  items: number;
  opened_at: Date;
  /** Null while it waits for a pause to end. */
  closes_at: Date | null;
}

/** Returns the open digests of an event, oldest first. `after` is the id of the last one seen, or empty. */
export async function listDigests(
  db: Db,
  organizationId: number,
  eventId: number,
  page: { after: string; limit: number },
): Promise<DigestView[]> {
  const { rows } = await sql<DigestView>`
    select d.id, n.name as notification, c.slug as channel, u.username as user, d.address, d.key, d.items, d.opened_at,
      nullif(d.closes_at, 'infinity') as closes_at
    from (
      select * from digests
      where organization_id = ${organizationId} and event_id = ${eventId} and closed_at is null and items > 0
        ${page.after ? sql`and id > ${page.after}::uuid` : sql``}
      order by id limit ${page.limit}
    ) d
    left join notifications n on n.organization_id = d.organization_id and n.id = d.notification_id
    left join channels c on c.organization_id = d.organization_id and c.id = d.channel_id
    left join users u on u.organization_id = d.organization_id and u.id = d.user_id
    order by d.id`.execute(db);
  return rows;
}

/** Deletes windows that ended without items. */
export async function deleteOldDigestsAcrossTenants(db: Db, max: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from digests d using (
      select organization_id, id from digests where items = 0 and closes_at < now()
      order by closes_at limit ${max} for update skip locked
    ) old
    where d.organization_id = old.organization_id and d.id = old.id`.execute(db);
  return Number(numAffectedRows ?? 0);
}
