import { sql } from 'kysely';
import type { Role } from '../core/roles.ts';
import type { Db } from './pool.ts';

export interface Session {
  tokenHash: Buffer;
  account: { id: number; email: string; name: string; admin: boolean };
  /** By the id of the organization. */
  roles: Record<number, Role>;
  expiresAt: Date;
  lastUsedAt: Date;
}

/** A cookie is presented before anyone knows whose it is. */
export async function findSessionAcrossTenants(db: Db, tokenHash: Buffer): Promise<Session | undefined> {
  const row = await db
    .selectFrom('sessions as s')
    .innerJoin('accounts as a', 'a.id', 's.account_id')
    .select([
      'a.id',
      'a.email',
      'a.name',
      'a.admin',
      's.expires_at',
      's.last_used_at',
      sql<Record<number, Role>>`coalesce((select jsonb_object_agg(m.organization_id, m.role) from memberships m
        where m.account_id = a.id), '{}')`.as('roles'),
    ])
    .where('s.token_hash', '=', tokenHash)
    .executeTakeFirst();
  if (!row) return undefined;
  const { id, email, name, admin, roles, expires_at, last_used_at } = row;
  return { tokenHash, account: { id, email, name, admin }, roles, expiresAt: expires_at, lastUsedAt: last_used_at };
}

export interface NewSession {
  token_hash: Buffer;
  account_id: number;
  expires_at: Date;
  user_agent: string | null;
  origin: string | null;
}

export async function createSessionAcrossTenants(db: Db, session: NewSession): Promise<void> {
  await db.insertInto('sessions').values(session).execute();
  await db.updateTable('accounts').set({ last_seen_at: sql`now()` }).where('id', '=', session.account_id).execute();
}

export async function deleteSessionAcrossTenants(db: Db, tokenHash: Buffer): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', tokenHash).execute();
}

/** All of an account, or all but one. */
export async function deleteSessionsAcrossTenants(db: Db, accountId: number, but?: Buffer): Promise<void> {
  let query = db.deleteFrom('sessions').where('account_id', '=', accountId);
  if (but) query = query.where('token_hash', '<>', but);
  await query.execute();
}

export async function touchSessionsAcrossTenants(db: Db, used: { tokenHash: Buffer; at: Date }[]): Promise<void> {
  await sql`
    with used as (
      select * from unnest(${used.map(session => session.tokenHash)}::bytea[], ${used.map(session => session.at)}::timestamptz[])
        as u (token_hash, at)
    ), touched as (
      update sessions s set last_used_at = used.at from used
      where s.token_hash = used.token_hash and s.last_used_at < used.at returning s.account_id, used.at
    )
    update accounts a set last_seen_at = seen.at
    from (select account_id, max(at) as at from touched group by 1) as seen
    where a.id = seen.account_id and (a.last_seen_at is null or a.last_seen_at < seen.at)`.execute(db);
}

/** Whose time is over, or which nobody used since. */
export async function deleteOldSessionsAcrossTenants(db: Db, now: Date, unusedSince: Date): Promise<void> {
  await db
    .deleteFrom('sessions')
    .where(where => where.or([where('expires_at', '<', now), where('last_used_at', '<', unusedSince)]))
    .execute();
}
