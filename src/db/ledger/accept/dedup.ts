/**
 * Stores triggers that have a dedup key. The row of the key is locked first, so that among concurrent triggers exactly
 * one opens an occurrence, and the others are counted in it.
 */
import type pg from 'pg';
import { AppError } from '../../../core/errors.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Db } from '../../connection/pool.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import {
  type EncodedOccurrence,
  encodeOccurrence,
  findClaimsAcrossTenants,
  idempotencyClaimKey,
  type NewOccurrence,
  type StoredOccurrence,
  storeOccurrencesAcrossTenants,
} from './accept.ts';

export interface KeyedOccurrence extends EncodedOccurrence {
  dedup_key: string;
  /** Triggers after this time open a new occurrence. */
  closes_at: Date;
}

/** The idempotency key is claimed by a separate statement, not when the occurrence is stored. */
export function encodeKeyedOccurrence(
  occurrence: NewOccurrence,
  dedup_key: string,
  closes_at: Date,
  bytes?: number,
): KeyedOccurrence {
  const { idempotency, ...others } = occurrence;
  return { ...encodeOccurrence({ ...others, dedup_key }, bytes), idempotency, dedup_key, closes_at };
}

interface KeyGroup {
  organization_id: number;
  event_id: number;
  key: string;
  items: KeyedOccurrence[];
}

/** A key with its triggers that are no repetitions, and their answer. */
interface Joining extends KeyGroup {
  state: DedupKeyState;
  newItems: KeyedOccurrence[];
}

/** Stores a batch of any tenants' triggers. The results are in the order of the items. */
export async function storeKeyedAcrossTenants(pool: pg.Pool, items: KeyedOccurrence[]): Promise<StoredOccurrence[]> {
  const groups = groupByKey(items);
  return inLedgerTransaction(pool, async client => {
    const states = await lockKeys(client, groups);
    const named = items.filter(item => item.idempotency);
    const claims = named.length > 0 ? await findClaimsAcrossTenants(client, named) : undefined;
    const claimOf = (item: KeyedOccurrence) =>
      item.idempotency && claims?.get(idempotencyClaimKey(item.organization_id, item.event_id, item.idempotency.key));
    const joining = groups.map((group, i): Joining => {
      const isNew = (item: KeyedOccurrence, n: number) =>
        !claimOf(item) &&
        !(
          item.idempotency &&
          group.items.slice(0, n).some(one => !claimOf(one) && one.idempotency?.key === item.idempotency!.key)
        );
      return { ...group, state: states[i]!, newItems: group.items.filter(isNew) };
    });
    const ids = await joinOrOpen(client, joining);
    await storeIdempotencyKeys(client, joining, ids);
    const answers = new Map<KeyedOccurrence, StoredOccurrence>();
    for (const [i, { items: all, newItems }] of joining.entries()) {
      for (const item of all) {
        const claim = claimOf(item);
        const first = claim ?? newItems.find(one => one.idempotency?.key === item.idempotency?.key)?.idempotency;
        const isSame = !item.idempotency || first!.body_hash === item.idempotency.body_hash;
        answers.set(item, isSame ? { id: claim?.occurrence_id ?? ids[i]! } : { conflict: 'idempotency' });
      }
    }
    return items.map(item => answers.get(item)!);
  });
}

function groupByKey(items: KeyedOccurrence[]): KeyGroup[] {
  const groups = new Map<string, KeyGroup>();
  for (const item of items) {
    const { organization_id, event_id, dedup_key: key } = item;
    const name = JSON.stringify([organization_id, event_id, key]);
    const group = groups.get(name) ?? { organization_id, event_id, key, items: [] };
    groups.set(name, group);
    group.items.push(item);
  }
  // In key order, so that two batches cannot deadlock.
  return [...groups.values()].sort(
    (a, b) => a.organization_id - b.organization_id || a.event_id - b.event_id || (a.key < b.key ? -1 : 1),
  );
}

interface DedupKeyState {
  occurrence_id: string;
  is_open: boolean;
}

const keyColumns = (groups: readonly KeyGroup[]) => [
  groups.map(group => group.organization_id),
  groups.map(group => group.event_id),
  groups.map(group => group.key),
];
const nameOf = ({ organization_id, event_id, key }: Pick<KeyGroup, 'organization_id' | 'event_id' | 'key'>) =>
  JSON.stringify([Number(organization_id), Number(event_id), key]);

/**
 * Locks the rows of the keys. A missing row is created with the id of its first trigger, and is not open yet. All are created before
 * any other is locked, both in key order, so that two batches cannot deadlock.
 */
async function lockKeys(client: pg.PoolClient, groups: KeyGroup[]): Promise<DedupKeyState[]> {
  const made = await client.query<Pick<KeyGroup, 'organization_id' | 'event_id' | 'key'>>({
    name: 'create_dedup_keys',
    text: `
      insert into dedup_keys (organization_id, event_id, key, occurrence_id, closes_at)
      select organization_id, event_id, key, occurrence_id, closes_at
      from unnest($1::bigint[], $2::bigint[], $3::text[], $4::uuid[], $5::timestamptz[]) with ordinality
        as g (organization_id, event_id, key, occurrence_id, closes_at, n)
      order by n on conflict do nothing returning organization_id, event_id, key`,
    values: [
      ...keyColumns(groups),
      groups.map(({ items }) => items[0]!.id),
      groups.map(({ items }) => items[0]!.closes_at),
    ],
  });
  const isMade = new Set(made.rows.map(nameOf));
  const others = groups.filter(group => !isMade.has(nameOf(group)));
  const found = new Map<string, DedupKeyState>();
  if (others.length > 0) {
    const { rows } = await client.query<DedupKeyState & { n: number }>({
      name: 'lock_dedup_keys',
      text: `
        select g.n::int, d.occurrence_id, d.closes_at > now() as is_open
        from unnest($1::bigint[], $2::bigint[], $3::text[]) with ordinality as g (organization_id, event_id, key, n),
          lateral (
            select * from dedup_keys d
            where d.organization_id = g.organization_id and d.event_id = g.event_id and d.key = g.key for update
          ) d
        order by g.n`,
      values: keyColumns(others),
    });
    for (const { n, ...state } of rows) found.set(nameOf(others[n - 1]!), state);
  }
  return groups.map(group => {
    if (isMade.has(nameOf(group))) return { occurrence_id: group.items[0]!.id, is_open: false };
    const state = found.get(nameOf(group));
    if (!state) throw new AppError('service.unavailable', 'the dedup_key has just expired; send the request again');
    return state;
  });
}

/** Returns the ids of the occurrences that the triggers of each key belong to; undefined when there are none. */
async function joinOrOpen(client: pg.PoolClient, joining: Joining[]): Promise<(string | undefined)[]> {
  const ids: (string | undefined)[] = [];
  const opening: Joining[] = [];
  for (const { organization_id, state, newItems, ...group } of joining) {
    const isJoined =
      newItems.length > 0 && state.is_open && (await join(client, organization_id, state, newItems.length));
    ids.push(isJoined ? state.occurrence_id : newItems[0]?.id);
    if (!isJoined && newItems.length > 0) opening.push({ organization_id, state, newItems, ...group });
  }
  if (opening.length === 0) return ids;
  await storeOccurrencesAcrossTenants(
    client,
    opening.map(({ newItems: [first] }) => ({ ...first!, idempotency: undefined })),
  );
  for (const { organization_id, newItems } of opening) {
    if (newItems.length > 1)
      await join(client, organization_id, { occurrence_id: newItems[0]!.id }, newItems.length - 1);
  }
  // The row of a key that was just created has them already.
  const moved = opening.filter(({ state, newItems }) => state.occurrence_id !== newItems[0]!.id);
  if (moved.length === 0) return ids;
  await client.query({
    name: 'open_dedup_keys',
    text: `
      update dedup_keys d set occurrence_id = g.occurrence_id, closes_at = g.closes_at
      from unnest($1::bigint[], $2::bigint[], $3::text[], $4::uuid[], $5::timestamptz[])
        as g (organization_id, event_id, key, occurrence_id, closes_at)
      where d.organization_id = g.organization_id and d.event_id = g.event_id and d.key = g.key`,
    values: [
      ...keyColumns(moved),
      moved.map(({ newItems }) => newItems[0]!.id),
      moved.map(({ newItems }) => newItems[0]!.closes_at),
    ],
  });
  return ids;
}

/** Counts triggers in an occurrence. Returns false if it is over. */
async function join(
  client: pg.PoolClient,
  organizationId: number,
  { occurrence_id }: Pick<DedupKeyState, 'occurrence_id'>,
  count: number,
): Promise<boolean> {
  const joined = await client.query({
    name: 'join_occurrence',
    text: `update occurrences set triggers = triggers + $3 where organization_id = $1 and id = $2
             and resolved_at is null and cancelled_at is null`,
    values: [organizationId, occurrence_id, count],
  });
  return joined.rowCount === 1;
}

async function storeIdempotencyKeys(
  client: pg.PoolClient,
  joining: Joining[],
  ids: (string | undefined)[],
): Promise<void> {
  const claimed = joining.flatMap(({ newItems }, i) =>
    newItems.flatMap(({ organization_id, event_id, idempotency }) =>
      idempotency ? { organization_id, event_id, ...idempotency, id: ids[i]! } : [],
    ),
  );
  if (claimed.length === 0) return;
  await client.query({
    name: 'claim_idempotency_keys',
    text: `insert into idempotency_keys (organization_id, event_id, key, body_hash, occurrence_id)
           select organization_id, event_id, key, decode(body_hash, 'hex'), id
           from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::uuid[])
             as g (organization_id, event_id, key, body_hash, id) order by 1, 2, 3`,
    values: [
      claimed.map(one => one.organization_id),
      claimed.map(one => one.event_id),
      claimed.map(one => one.key),
      claimed.map(one => one.body_hash),
      claimed.map(one => one.id),
    ],
  });
}

/** Returns the last occurrence opened under a key, resolved or not, unless its time is over. */
export async function findKeyedOccurrence(
  db: Db,
  organizationId: number,
  eventId: number,
  key: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('dedup_keys')
    .select('occurrence_id')
    .where('organization_id', '=', organizationId)
    .where('event_id', '=', eventId)
    .where('key', '=', key)
    .where('closes_at', '>', new Date(currentTime()))
    .executeTakeFirst();
  return row?.occurrence_id;
}

export async function deleteOldDedupKeysAcrossTenants(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('dedup_keys').where('closes_at', '<', before).execute();
}
