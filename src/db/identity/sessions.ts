import { sql } from 'kysely';
import type { Role } from '../../core/identity/roles.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import { hasTwoFactor } from './accounts.ts';

/** How the account was authenticated. */
export type SignInMethod = 'password' | 'passkey' | 'oidc';

export interface Session {
  tokenHash: Buffer;
  method: SignInMethod;
  /** Whether the account has a second factor, without which no session is opened. */
  hasTwoFactor: boolean;
  account: { id: number; email: string; name: string; admin: boolean };
  /** By organization id. */
  roles: Record<number, Role>;
  expiresAt: Date;
  lastUsedAt: Date;
}

/** The account is not known before the session is found. */
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
      's.method',
      hasTwoFactor('a').as('two_factor'),
      sql<Record<number, Role>>`coalesce((select jsonb_object_agg(m.organization_id, m.role) from memberships m
        where m.account_id = a.id), '{}')`.as('roles'),
    ])
    .where('s.token_hash', '=', tokenHash)
    .executeTakeFirst();
  if (!row) return undefined;
  const { id, email, name, admin, roles, expires_at, last_used_at, method, two_factor } = row;
  return {
    tokenHash,
    method: method as SignInMethod,
    hasTwoFactor: two_factor,
    account: { id, email, name, admin },
    roles,
    expiresAt: expires_at,
    lastUsedAt: last_used_at,
  };
}

interface NewSession {
  token_hash: Buffer;
  account_id: number;
  expires_at: Date;
  user_agent: string | null;
  origin: string | null;
  method: SignInMethod;
}

export async function createSessionAcrossTenants(db: Db, session: NewSession): Promise<void> {
  await db.insertInto('sessions').values(session).execute();
  await db.updateTable('accounts').set({ last_seen_at: sql`now()` }).where('id', '=', session.account_id).execute();
}

export async function deleteSessionAcrossTenants(db: Db, tokenHash: Buffer): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', tokenHash).execute();
}

/** Lists the sessions of an account that have not expired. */
export async function listSessionsAcrossTenants(
  db: Db,
  accountId: number,
  { now, usedSince }: { now: Date; usedSince: Date },
  { after, limit }: PageRequest,
) {
  return db
    .selectFrom('sessions')
    .select(['id', 'token_hash', 'created_at', 'last_used_at', 'user_agent', 'origin', 'method'])
    .where('account_id', '=', accountId)
    .where('expires_at', '>', now)
    .where('last_used_at', '>', usedSince)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Returns undefined when the account has no such session. */
export async function endSessionAcrossTenants(db: Db, accountId: number, id: number) {
  return db
    .deleteFrom('sessions')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returning('token_hash')
    .executeTakeFirst();
}

/** Whether the session still exists. Reads the database, because a cached answer may be stale. */
export async function hasSessionAcrossTenants(db: Db, tokenHash: Buffer): Promise<boolean> {
  const row = await db.selectFrom('sessions').select('id').where('token_hash', '=', tokenHash).executeTakeFirst();
  return row !== undefined;
}

/** Returns when the user last confirmed their identity. Reads the database, because a cached answer may be stale. */
export async function getConfirmationAcrossTenants(db: Db, tokenHash: Buffer): Promise<Date | undefined> {
  const row = await db
    .selectFrom('sessions')
    .select('confirmed_at')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst();
  return row?.confirmed_at;
}

export async function confirmSessionAcrossTenants(db: Db, tokenHash: Buffer): Promise<void> {
  await db.updateTable('sessions').set({ confirmed_at: sql`now()` }).where('token_hash', '=', tokenHash).execute();
}

/**
 * Ends all sessions of an account, except the one with the token hash `except`, and every sign-in that has begun but not opened its session
 * yet. Returns how many sessions were ended.
 */
export async function endSessionsAcrossTenants(db: Db, accountId: number, except?: Buffer): Promise<number> {
  await db
    .updateTable('accounts')
    .set(update => ({ generation: update('generation', '+', 1) }))
    .where('id', '=', accountId)
    .execute();
  let query = db.deleteFrom('sessions').where('account_id', '=', accountId);
  if (except) query = query.where('token_hash', '<>', except);
  return Number((await query.executeTakeFirst()).numDeletedRows);
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

/** Deletes sessions that have expired or have not been used since `unusedSince`. */
export async function deleteOldSessionsAcrossTenants(db: Db, now: Date, unusedSince: Date): Promise<void> {
  await db
    .deleteFrom('sessions')
    .where(where => where.or([where('expires_at', '<', now), where('last_used_at', '<', unusedSince)]))
    .execute();
}
