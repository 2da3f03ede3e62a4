import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

export interface Key {
  organization_id: number;
  id: string;
  name: string;
  secret_hash: Buffer;
  project_id: number | null;
  application_id: number | null;
  permissions: string[];
  requests_per_second: number | null;
  /** Keys with the same group share one rate limit. Null: the group that has the id of the key. */
  rate_group: string | null;
  /** The rate of the group, if it has other active keys: the highest of them. */
  group_rate: number | null;
  /** Addresses and networks in CIDR notation; null allows any address. */
  allowed_networks: string[] | null;
  expires_at: Date | null;
  revoked_at: Date | null;
}

/** The organization is not known before the key is found. */
export async function findKeyAcrossTenants(db: Db, id: string): Promise<Key | undefined> {
  return db
    .selectFrom('keys as k')
    .select([
      'organization_id',
      'id',
      'name',
      'secret_hash',
      'project_id',
      'application_id',
      'permissions',
      'requests_per_second',
      'rate_group',
      sql<number | null>`case when k.requests_per_second is not null then (
        select max(g.requests_per_second) from keys g
        where g.organization_id = k.organization_id and coalesce(g.rate_group, g.id) = coalesce(k.rate_group, k.id)
          and g.revoked_at is null and (g.expires_at is null or g.expires_at > now())
        having count(*) > 1) end`.as('group_rate'),
      'allowed_networks',
      'expires_at',
      'revoked_at',
    ])
    .where('id', '=', id)
    .executeTakeFirst();
}

type NewKey = Omit<Key, 'organization_id' | 'revoked_at' | 'group_rate'>;

/** Returns false when the organization already has a key with this name. */
export async function createKey(db: Db, organizationId: number, key: NewKey): Promise<boolean> {
  const result = await db
    .insertInto('keys')
    .values({ organization_id: organizationId, ...key })
    .onConflict(conflict => conflict.columns(['organization_id', 'name']).doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export type KeyView = Awaited<ReturnType<typeof listKeys>>[number];

export async function listKeys(db: Db, organizationId: number) {
  return selectKeys(db, organizationId).orderBy('k.created_at').orderBy('k.id').execute();
}

export async function findKey(db: Db, organizationId: number, id: string): Promise<KeyView | undefined> {
  return selectKeys(db, organizationId).where('k.id', '=', id).executeTakeFirst();
}

/** Locks the row until the transaction ends. */
export async function findKeyForUpdate(db: Db, organizationId: number, id: string) {
  return db
    .selectFrom('keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export interface KeyChanges {
  name?: string;
  requests_per_second?: number | null;
  allowed_networks?: string[] | null;
  expires_at?: Date | null;
}

/** Violates the unique constraint when another key of the organization has the new name. */
export async function updateKey(db: Db, organizationId: number, id: string, changes: KeyChanges): Promise<void> {
  if (Object.values(changes).every(value => value === undefined)) return;
  await db
    .updateTable('keys')
    .set(changes)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteKey(db: Db, organizationId: number, id: string): Promise<void> {
  await db.deleteFrom('keys').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

function selectKeys(db: Db, organizationId: number) {
  return db
    .selectFrom('keys as k')
    .leftJoin('projects as p', join =>
      join.onRef('p.organization_id', '=', 'k.organization_id').onRef('p.id', '=', 'k.project_id'),
    )
    .leftJoin('applications as a', join =>
      join.onRef('a.organization_id', '=', 'k.organization_id').onRef('a.id', '=', 'k.application_id'),
    )
    .select([
      'k.id',
      'k.name',
      'p.slug as project',
      'a.slug as application',
      'k.permissions',
      'k.requests_per_second',
      'k.allowed_networks',
      'k.created_at',
      'k.expires_at',
      'k.revoked_at',
      'k.last_used_at',
      sql<boolean>`k.paused_at is not null`.as('paused'),
      'k.paused_reason',
    ])
    .where('k.organization_id', '=', organizationId);
}

/** Revokes the keys with this id or name and returns them. Keys that are already revoked keep their time. */
export async function revokeKey(db: Db, organizationId: number, idOrName: string) {
  return db
    .updateTable('keys')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('organization_id', '=', organizationId)
    .where(where => where.or([where('id', '=', idOrName), where('name', '=', idOrName)]))
    .returning(['id', 'name'])
    .execute();
}

export async function touchKeysAcrossTenants(db: Db, used: { id: string; at: Date }[]): Promise<void> {
  await sql`
    update keys set last_used_at = used.at
    from unnest(${used.map(key => key.id)}::text[], ${used.map(key => key.at)}::timestamptz[]) as used (id, at)
    where keys.id = used.id and (keys.last_used_at is null or keys.last_used_at < used.at)`.execute(db);
}
