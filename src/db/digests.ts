/**
 * Digests, from the first item until their message is written. Whoever adds, removes or sends items locks the digest first,
 * many at a time in the order of `inLockOrder`, before any delivery: so nobody waits crosswise, and no item is in two digests or
 * in none.
 */

import { sql } from 'kysely';
import type pg from 'pg';
import { digestLimits } from '../core/digest.ts';
import type { JsonObject } from '../core/json.ts';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import {
  addItemsAcrossTenants,
  carriedDueAt,
  dropStaleItemsAcrossTenants,
  lockDigestsAcrossTenants,
  notEnded,
  theseDigests,
} from './digest-items.ts';
import type { Db } from './pool.ts';
import { inTransaction } from './transaction.ts';

/** What gathers together, and what a digest of it would be. */
export interface DigestClaim {
  organizationId: number;
  eventId: number;
  notificationId: number;
  channelId: number;
  /** 0 where the channel is a room. */
  recipientId: number;
  userId: number;
  address: string;
  key: string;
  closesAt: Date;
}

export interface OpenDigest {
  id: string;
  /** Without those that are about to be added. */
  items: number;
  closesAt: Date;
  /** Whether it was opened just now. */
  isNew: boolean;
}

export function digestName(claim: DigestClaim): string {
  const { organizationId, notificationId, channelId, recipientId, address, key } = claim;
  return `${organizationId} ${notificationId} ${channelId} ${recipientId} ${address} ${key}`;
}

interface Row {
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

const rowName = (row: Row) =>
  `${row.organization_id} ${row.notification_id} ${row.channel_id} ${row.recipient_id} ${row.address} ${row.key}`;

const identity = 'organization_id, notification_id, channel_id, recipient_id, address, key';
const answered = `d.${identity.replaceAll(', ', ', d.')}, d.id, d.items, d.closes_at`;

// The row is there and locked afterwards, whoever made it, and what comes back is what was committed last. A window that
// nothing gathered in, and that is over, begins anew.
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
    returning ${answered}`,
};

/** By name. Held until the transaction ends: nobody else adds to them, or sends them, meanwhile. No two claims of one name. */
export async function openDigestsAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  claims: readonly (DigestClaim & { id: string })[],
): Promise<Map<string, OpenDigest>> {
  const fresh = new Set(claims.map(({ id }) => id));
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
  const { rows } = await client.query<Row>({ ...open, values });
  return toDigests(rows, id => fresh.has(id));
}

/** Those that are open, without locking: for whoever only asks what would happen. */
export async function findDigestsAcrossTenants(
  pool: pg.Pool,
  claims: readonly DigestClaim[],
): Promise<Map<string, OpenDigest>> {
  const { rows } = await pool.query<Row>(
    `select ${answered} from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
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

function toDigests(rows: Row[], isNew: (id: string) => boolean): Map<string, OpenDigest> {
  return new Map(
    rows.map(row => [rowName(row), { id: row.id, items: row.items, closesAt: row.closes_at, isNew: isNew(row.id) }]),
  );
}

const discard = {
  name: 'discard_digests',
  text: `delete from digests d where ${theseDigests('d')}`,
};

// Its carrier, which is due, is the only one of its items that ever is.
const hasten = {
  name: 'hasten_digests',
  text: `
    update deliveries d set due_at = now()
    where d.organization_id = any($1::bigint[]) and d.digest_id = any($2::uuid[]) and d.digest_id is not null
      and d.status ${notEnded}
      and d.due_at > now() and d.due_at < 'infinity' and d.reason = 'digest' and d.due_at <> $3`,
};

export interface DigestChange {
  organizationId: number;
  id: string;
  /** Items that were there before. */
  items: number;
  added: number;
  /** Whether it goes where nothing was added after all. */
  isDiscardedEmpty: boolean;
}

/** What came of those that were opened, in the same transaction. */
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
  if (full.length > 0) await client.query({ ...hasten, values: [...columns(full), carriedDueAt] });
}

export interface GatheredItems {
  /** As many as the message has, the oldest first. */
  items: { context: JsonObject; created_at: Date }[];
  /** All of them. */
  count: number;
}

export interface ClosedDigest extends GatheredItems {
  /** What the occurrences of its items are below in their traces, as far as they are traced. */
  traceparents: string[];
}

export interface WantedItems {
  organizationId: number;
  id: string;
  most: number;
}

const close = {
  name: 'close_digests',
  text: `
    update digests d set closed_at = coalesce(d.closed_at, now()) where ${theseDigests('d')}
    returning d.organization_id, d.id, d.items`,
};

// The first one is there however large it is.
const readItems = {
  name: 'read_digest_items',
  text: `
    select w.nth::int as nth, i.context, i.created_at, i.traceparent
    from unnest($1::bigint[], $2::uuid[], $3::integer[]) with ordinality as w (organization_id, id, most, nth), lateral (
      select * from (
        select o.context, o.created_at, o.traceparent, row_number() over sorted as place,
          sum(octet_length(o.context::text)) over sorted as bytes
        from (
          select d.organization_id, d.occurrence_id, d.id from deliveries d
          where d.organization_id = w.organization_id and d.digest_id = w.id order by d.occurrence_id, d.id limit w.most
        ) d
        join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
        window sorted as (order by d.occurrence_id, d.id)
      ) each where place = 1 or bytes <= ${digestLimits.contextBytes}
    ) i order by w.nth, i.place`,
};

const columnsOf = (wanted: readonly WantedItems[]) => [
  wanted.map(one => one.organizationId),
  wanted.map(one => one.id),
  wanted.map(one => one.most),
];

async function listItems(client: pg.PoolClient | pg.Pool, wanted: readonly WantedItems[]) {
  const { rows } = await client.query<GatheredItems['items'][number] & { nth: number; traceparent: string | null }>({
    ...readItems,
    values: columnsOf(wanted),
  });
  const byDigest = Map.groupBy(rows, ({ nth }) => nth);
  return wanted.map((_, i) => {
    const own = byDigest.get(i + 1) ?? [];
    return {
      items: own.map(({ context, created_at }) => ({ context, created_at })),
      traceparents: own.flatMap(({ traceparent }) => traceparent ?? []),
    };
  });
}

/**
 * Nothing is added from here on. What was cancelled or has expired meanwhile is left out, and ends so. Each digest by
 * itself is a handful of statements; a morning has thousands, and so they are read many at a time. Also returns the outcomes
 * of occurrences that came to their end with it.
 */
export async function closeDigestsAcrossTenants(
  pool: pg.Pool,
  wanted: readonly WantedItems[],
): Promise<{ digests: ClosedDigest[]; ended: OccurrenceOutcome[] }> {
  return inTransaction(pool, async client => {
    const [organizations, ids] = columnsOf(wanted);
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
    const gathered = await listItems(client, wanted);
    const digests = wanted.map(({ id }, i) => ({
      ...gathered[i]!,
      count: counts.get(id) ?? gathered[i]!.items.length,
    }));
    return { digests, ended };
  });
}

/** The same for whoever only looks: what it holds now, or held when it was sent. */
export async function findGathered(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  most: number,
): Promise<GatheredItems> {
  const [[gathered], counted] = await Promise.all([
    listItems(pool, [{ organizationId, id, most }]),
    pool.query<{ count: number }>(
      'select count(*)::int as count from deliveries where organization_id = $1 and digest_id = $2',
      [organizationId, id],
    ),
  ]);
  return { items: gathered!.items, count: counted.rows[0]!.count };
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
  /** Null where it waits for a pause to end. */
  closes_at: Date | null;
}

/** Of an event, those that gather now, the oldest first; `after` is the id of the last one seen, or empty. */
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

/** Windows that are over and that nothing gathered in. */
export async function deleteOldDigestsAcrossTenants(db: Db, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from digests d using (
      select organization_id, id from digests where items = 0 and closes_at < now()
      order by closes_at limit ${most} for update skip locked
    ) old
    where d.organization_id = old.organization_id and d.id = old.id`.execute(db);
  return Number(numAffectedRows ?? 0);
}
