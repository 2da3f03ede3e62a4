/**
 * Triggers that join the open occurrence of their key. The row of the key is locked first, so that of any number of triggers at
 * once exactly one opens an occurrence and the others are counted in it.
 */
import type pg from 'pg';
import { AppError } from '../core/errors.ts';
import {
  claimPath,
  findClaimsAcrossTenants,
  type NewOccurrence,
  type StoredOccurrence,
  storeOccurrencesAcrossTenants,
} from './accepting.ts';
import type { Db } from './pool.ts';
import { inTransaction } from './transaction.ts';

export interface KeyedOccurrence extends NewOccurrence {
  dedup_key: string;
  /** Triggers after this open another occurrence. */
  closes_at: Date;
}

interface Group {
  organization_id: number;
  event_id: number;
  key: string;
  items: KeyedOccurrence[];
}

/** Stores the batch, whoever its items belong to; the answers stand in the order of the items. */
export async function storeKeyedAcrossTenants(pool: pg.Pool, items: KeyedOccurrence[]): Promise<StoredOccurrence[]> {
  const groups = groupByKey(items);
  return inTransaction(pool, async client => {
    const kept = await lockKeys(client, groups);
    const claims = await findClaimsAcrossTenants(
      client,
      items.filter(item => item.idempotency),
    );
    const claimOf = (item: KeyedOccurrence) =>
      item.idempotency && claims.get(claimPath(item.organization_id, item.event_id, item.idempotency.key));
    const answers = new Map<KeyedOccurrence, StoredOccurrence>();
    for (const [i, group] of groups.entries()) {
      const fresh: KeyedOccurrence[] = [];
      const known = new Map<string, KeyedOccurrence>();
      for (const item of group.items) {
        const claim = claimOf(item);
        const twin = item.idempotency && known.get(item.idempotency.key);
        if (claim) {
          const isSame = claim.body_hash === item.idempotency!.body_hash;
          answers.set(item, isSame ? { id: claim.occurrence_id } : { conflict: 'idempotency' });
        } else if (!twin) {
          fresh.push(item);
          if (item.idempotency) known.set(item.idempotency.key, item);
        }
      }
      const id = await joinOrOpen(client, group, kept[i]!, fresh);
      for (const item of group.items) {
        if (answers.has(item)) continue;
        const twin = item.idempotency && known.get(item.idempotency.key);
        const isSame = !twin || twin.idempotency!.body_hash === item.idempotency!.body_hash;
        answers.set(item, isSame ? { id: id! } : { conflict: 'idempotency' });
      }
      await remember(client, fresh, id);
    }
    return items.map(item => answers.get(item)!);
  });
}

function groupByKey(items: KeyedOccurrence[]): Group[] {
  const groups = new Map<string, Group>();
  for (const item of items) {
    const { organization_id, event_id, dedup_key: key } = item;
    const name = JSON.stringify([organization_id, event_id, key]);
    const group = groups.get(name) ?? { organization_id, event_id, key, items: [] };
    groups.set(name, group);
    group.items.push(item);
  }
  // In the order of their keys, so that two batches never wait for each other crosswise.
  return [...groups.values()].sort(
    (a, b) => a.organization_id - b.organization_id || a.event_id - b.event_id || (a.key < b.key ? -1 : 1),
  );
}

interface Kept {
  occurrence_id: string;
  is_open: boolean;
}

/** A row that was not there is made, for the identifier of its first trigger, and is not open yet. */
async function lockKeys(client: pg.PoolClient, groups: Group[]): Promise<Kept[]> {
  const kept: Kept[] = [];
  for (const { organization_id, event_id, key, items } of groups) {
    const values = [organization_id, event_id, key];
    const made = await client.query({
      name: 'create_dedup_key',
      text: `insert into dedup_keys (organization_id, event_id, key, occurrence_id, closes_at) values ($1, $2, $3, $4, $5)
             on conflict do nothing`,
      values: [...values, items[0]!.id, items[0]!.closes_at],
    });
    const { rows } = await client.query<Kept>({
      name: 'lock_dedup_key',
      text: `select occurrence_id, closes_at > now() as is_open from dedup_keys
             where organization_id = $1 and event_id = $2 and key = $3 for update`,
      values,
    });
    if (!rows[0]) throw new AppError('service.unavailable', 'the dedup_key is being forgotten: try again');
    kept.push(made.rowCount === 1 ? { ...rows[0], is_open: false } : rows[0]);
  }
  return kept;
}

/** The identifier of the occurrence that the triggers belong to; undefined where there are none. */
async function joinOrOpen(client: pg.PoolClient, group: Group, kept: Kept, fresh: KeyedOccurrence[]) {
  const { organization_id, event_id, key } = group;
  const [first] = fresh;
  if (!first) return undefined;
  if (kept.is_open) {
    const joined = await client.query({
      name: 'join_occurrence',
      text: `update occurrences set triggers = triggers + $3 where organization_id = $1 and id = $2
               and resolved_at is null and cancelled_at is null`,
      values: [organization_id, kept.occurrence_id, fresh.length],
    });
    if (joined.rowCount === 1) return kept.occurrence_id;
  }
  const { idempotency: _, dedup_key: __, closes_at, ...occurrence } = first;
  await storeOccurrencesAcrossTenants(client, [occurrence]);
  await client.query({
    name: 'count_triggers',
    text: 'update occurrences set triggers = $3, dedup_key = $4 where organization_id = $1 and id = $2',
    values: [organization_id, first.id, fresh.length, key],
  });
  await client.query({
    name: 'open_dedup_key',
    text: `update dedup_keys set occurrence_id = $4, closes_at = $5
           where organization_id = $1 and event_id = $2 and key = $3`,
    values: [organization_id, event_id, key, first.id, closes_at],
  });
  return first.id;
}

async function remember(client: pg.PoolClient, fresh: KeyedOccurrence[], id: string | undefined): Promise<void> {
  for (const { organization_id, event_id, idempotency } of fresh) {
    if (!idempotency) continue;
    await client.query({
      name: 'claim_idempotency_key',
      text: `insert into idempotency_keys (organization_id, event_id, key, body_hash, occurrence_id)
             values ($1, $2, $3, decode($4, 'hex'), $5)`,
      values: [organization_id, event_id, idempotency.key, idempotency.body_hash, id],
    });
  }
}

/** The occurrence that was opened last under a key and is not closed by time; whether or not somebody has resolved it. */
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
    .where('closes_at', '>', new Date())
    .executeTakeFirst();
  return row?.occurrence_id;
}

export async function deleteOldDedupKeysAcrossTenants(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('dedup_keys').where('closes_at', '<', before).execute();
}
