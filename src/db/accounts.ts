/** People who sign in. An account may belong to several organizations, so it is no tenant's. */
import { sql } from 'kysely';
import type { Role } from '../core/roles.ts';
import { sha256 } from '../core/tokens.ts';
import type { Db } from './pool.ts';

export interface Account {
  id: number;
  email: string;
  email_verified: boolean;
  name: string;
  password_hash: string | null;
  admin: boolean;
  /** Who this is to the identity provider. */
  oidc_subject: string | null;
}

const columns = ['id', 'email', 'email_verified', 'name', 'password_hash', 'admin', 'oidc_subject'] as const;

export async function findAccountAcrossTenants(db: Db, email: string): Promise<Account | undefined> {
  return db.selectFrom('accounts').select(columns).where('email', '=', email).executeTakeFirst();
}

export async function getAccountAcrossTenants(db: Db, id: number): Promise<Account | undefined> {
  return db.selectFrom('accounts').select(columns).where('id', '=', id).executeTakeFirst();
}

/** By what the identity provider calls them. */
export async function findAccountBySubjectAcrossTenants(
  db: Db,
  issuer: string,
  subject: string,
): Promise<Account | undefined> {
  return db
    .selectFrom('accounts')
    .select(columns)
    .where('oidc_issuer', '=', issuer)
    .where('oidc_subject', '=', subject)
    .executeTakeFirst();
}

export type NewAccount = Omit<Account, 'id' | 'oidc_subject'> & { oidc_issuer?: string; oidc_subject?: string };

/** Undefined when there is an account with this email. */
export async function createAccountAcrossTenants(db: Db, account: NewAccount): Promise<number | undefined> {
  const row = await db
    .insertInto('accounts')
    .values(account)
    .onConflict(conflict => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

export type AccountFields = Partial<
  Pick<Account, 'name' | 'password_hash' | 'email_verified'> & { oidc_issuer: string; oidc_subject: string }
>;

export async function updateAccountAcrossTenants(db: Db, id: number, fields: AccountFields): Promise<void> {
  await db.updateTable('accounts').set(fields).where('id', '=', id).execute();
}

export async function deleteAccountAcrossTenants(db: Db, id: number): Promise<void> {
  await db.deleteFrom('accounts').where('id', '=', id).execute();
}

export async function listAccountsAcrossTenants(db: Db) {
  return db
    .selectFrom('accounts as a')
    .select([
      'a.id',
      'a.email',
      'a.name',
      'a.admin',
      'a.created_at',
      'a.last_seen_at',
      sql<
        string[]
      >`array(select o.slug || ':' || m.role from memberships m join organizations o on o.id = m.organization_id
        where m.account_id = a.id order by o.slug)`.as('roles'),
    ])
    .orderBy('a.email')
    .execute();
}

export interface Reached {
  id: number;
  slug: string;
  name: string;
  /** Null for an organization that only an admin of the instance reaches. */
  role: Role | null;
}

/** The organizations of an account, or with `all` every one, in the order of their ids. */
export async function listReachedAcrossTenants(
  db: Db,
  accountId: number,
  all: boolean,
  { after, limit }: { after: number; limit: number },
): Promise<Reached[]> {
  let query = db
    .selectFrom('organizations as o')
    .leftJoin('memberships as m', join =>
      join.onRef('m.organization_id', '=', 'o.id').on('m.account_id', '=', accountId),
    )
    .select(['o.id', 'o.slug', 'o.name', 'm.role'])
    .where('o.id', '>', after);
  if (!all) query = query.where('m.role', 'is not', null);
  return (await query.orderBy('o.id').limit(limit).execute()) as Reached[];
}

/** When a guess may be made again; undefined when this one may be made, and then it is counted already. */
export async function takeAttemptAcrossTenants(db: Db, email: string): Promise<Date | undefined> {
  const emailHash = sha256(email);
  // The fifth within a quarter of an hour locks as it is taken, so that guesses at the same time find it locked.
  const taken = await sql`
    insert into sign_in_attempts as a (email_hash, attempts) values (${emailHash}, 1)
    on conflict (email_hash) do update set
      attempts = case when ${isOver} then 1 else a.attempts + 1 end,
      since = case when ${isOver} then now() else a.since end,
      locked_until = case when ${isOver} or a.attempts < 4 then null
        else now() + least(interval '1 minute' * 2 ^ least(a.attempts - 4, 10), interval '15 minutes') end
    where a.locked_until is null or a.locked_until <= now()
    returning 1`.execute(db);
  if (taken.rows.length > 0) return undefined;
  const row = await db
    .selectFrom('sign_in_attempts')
    .select('locked_until')
    .where('email_hash', '=', emailHash)
    .executeTakeFirst();
  return row?.locked_until ?? new Date();
}

const isOver = sql`greatest(a.since, a.locked_until) < now() - interval '15 minutes'`;

export async function forgetAttemptsAcrossTenants(db: Db, email: string): Promise<void> {
  await db.deleteFrom('sign_in_attempts').where('email_hash', '=', sha256(email)).execute();
}

export async function deleteOldAttemptsAcrossTenants(db: Db): Promise<void> {
  await sql`delete from sign_in_attempts a where ${isOver}`.execute(db);
}
