/** People who sign in. An account may belong to several organizations, so it is no tenant's. */
import { sql } from 'kysely';
import type { Role } from '../core/roles.ts';
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

export async function findAccountByIdAcrossTenants(db: Db, id: number): Promise<Account | undefined> {
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
      hasTwoFactor('a').as('two_factor'),
      sql<
        string[]
      >`array(select o.slug || ':' || m.role from memberships m join organizations o on o.id = m.organization_id
        where m.account_id = a.id order by o.slug)`.as('roles'),
    ])
    .orderBy('a.email')
    .execute();
}

/** Whether the account of this alias signs in with more than a password. */
export const hasTwoFactor = (alias: string) => {
  const account = sql.ref(alias);
  return sql<boolean>`(${account}.totp_secret is not null
    or exists (select from passkeys k where k.account_id = ${account}.id))`;
};

export interface Reached {
  id: number;
  slug: string;
  name: string;
  /** Null for an organization that only an admin of the instance reaches. */
  role: Role | null;
  two_factor_required: boolean;
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
    .select(['o.id', 'o.slug', 'o.name', 'o.two_factor_required', 'm.role'])
    .where('o.id', '>', after);
  if (!all) query = query.where('m.role', 'is not', null);
  return (await query.orderBy('o.id').limit(limit).execute()) as Reached[];
}
