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
  return { ...encodeOccurrence(others, bytes), idempotency, dedup_key, closes_at };
}

interface KeyGroup {
  organization_id: number;
  event_id: number;
  key: string;
  items: KeyedOccurrence[];
}

/** Stores a batch of any tenants' triggers. The results are in the order of the items. */
export async function storeKeyedAcrossTenants(pool: pg.Pool, items: KeyedOccurrence[]): Promise<StoredOccurrence[]> {
  const groups = groupByKey(items);
  return inLedgerTransaction(pool, async client => {
    const states = await lockKeys(client, groups);
    const claims = await findClaimsAcrossTenants(
      client,
      items.filter(item => item.idempotency),
    );
    const claimOf = (item: KeyedOccurrence) =>
      item.idempotency && claims.get(idempotencyClaimKey(item.organization_id, item.event_id, item.idempotency.key));
    const answers = new Map<KeyedOccurrence, StoredOccurrence>();
    for (const [i, group] of groups.entries()) {
      const newItems: KeyedOccurrence[] = [];
      const seen = new Map<string, KeyedOccurrence>();
      for (const item of group.items) {
        const claim = claimOf(item);
        const earlier = item.idempotency && seen.get(item.idempotency.key);
        if (claim) {
          const isSame = claim.body_hash === item.idempotency!.body_hash;
          answers.set(item, isSame ? { id: claim.occurrence_id } : { conflict: 'idempotency' });
        } else if (!earlier) {
          newItems.push(item);
          if (item.idempotency) seen.set(item.idempotency.key, item);
        }
      }
      const id = await joinOrOpen(client, group, states[i]!, newItems);
      for (const item of group.items) {
        if (answers.has(item)) continue;
        const earlier = item.idempotency && seen.get(item.idempotency.key);
        const isSame = !earlier || earlier.idempotency!.body_hash === item.idempotency!.body_hash;
        answers.set(item, isSame ? { id: id! } : { conflict: 'idempotency' });
      }
      await storeIdempotencyKeys(client, newItems, id);
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

/** Locks the rows of the keys. A missing row is created with the id of its first trigger, and is not open yet. */
async function lockKeys(client: pg.PoolClient, groups: KeyGroup[]): Promise<DedupKeyState[]> {
  const states: DedupKeyState[] = [];
  for (const { organization_id, event_id, key, items } of groups) {
    const values = [organization_id, event_id, key];
    const made = await client.query({
      name: 'create_dedup_key',
      text: `insert into dedup_keys (organization_id, event_id, key, occurrence_id, closes_at) values ($1, $2, $3, $4, $5)
             on conflict do nothing`,
      values: [...values, items[0]!.id, items[0]!.closes_at],
    });
    const { rows } = await client.query<DedupKeyState>({
      name: 'lock_dedup_key',
      text: `select occurrence_id, closes_at > now() as is_open from dedup_keys
             where organization_id = $1 and event_id = $2 and key = $3 for update`,
      values,
    });
    if (!rows[0]) throw new AppError('service.unavailable', 'the dedup_key has just expired; send the request again');
    states.push(made.rowCount === 1 ? { ...rows[0], is_open: false } : rows[0]);
  }
  return states;
}

/** Returns the id of the occurrence that the triggers belong to; undefined when there are none. */
async function joinOrOpen(client: pg.PoolClient, group: KeyGroup, state: DedupKeyState, newItems: KeyedOccurrence[]) {
  const { organization_id, event_id, key } = group;
  const [first] = newItems;
  if (!first) return undefined;
  if (state.is_open) {
    const joined = await client.query({
      name: 'join_occurrence',
      text: `update occurrences set triggers = triggers + $3 where organization_id = $1 and id = $2
               and resolved_at is null and cancelled_at is null`,
      values: [organization_id, state.occurrence_id, newItems.length],
    });
    if (joined.rowCount === 1) return state.occurrence_id;
  }
  const { closes_at } = first;
  await storeOccurrencesAcrossTenants(client, [{ ...first, idempotency: undefined }]);
  await client.query({
    name: 'count_triggers',
    text: 'update occurrences set triggers = $3, dedup_key = $4 where organization_id = $1 and id = $2',
    values: [organization_id, first.id, newItems.length, key],
  });
  await client.query({
    name: 'open_dedup_key',
    text: `update dedup_keys set occurrence_id = $4, closes_at = $5
           where organization_id = $1 and event_id = $2 and key = $3`,
    values: [organization_id, event_id, key, first.id, closes_at],
  });
  return first.id;
}

async function storeIdempotencyKeys(
  client: pg.PoolClient,
  newItems: KeyedOccurrence[],
  id: string | undefined,
): Promise<void> {
  for (const { organization_id, event_id, idempotency } of newItems) {
    if (!idempotency) continue;
    await client.query({
      name: 'claim_idempotency_key',
      text: `insert into idempotency_keys (organization_id, event_id, key, body_hash, occurrence_id)
             values ($1, $2, $3, decode($4, 'hex'), $5)`,
      values: [organization_id, event_id, idempotency.key, idempotency.body_hash, id],
    });
  }
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
