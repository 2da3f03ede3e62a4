/** Accounts that sign in. An account may be a member of several organizations, so it belongs to no tenant. */
import { sql } from 'kysely';
import type { Role } from '../../core/identity/roles.ts';
import type { Db, Row } from '../connection/pool.ts';

const columns = [
  'id',
  'email',
  'email_verified',
  'name',
  'password_hash',
  'admin',
  // The account's `sub` claim at the identity provider.
  'oidc_subject',
  'oidc_issuer',
  // Incremented whenever sessions are ended. A sign-in that read a lower value opens no session.
  'generation',
] as const;

export type Account = Row<'accounts', (typeof columns)[number]>;

export async function findAccountAcrossTenants(db: Db, email: string) {
  return db.selectFrom('accounts').select(columns).where('email', '=', email).executeTakeFirst();
}

export async function findAccountByIdAcrossTenants(db: Db, id: number) {
  return db.selectFrom('accounts').select(columns).where('id', '=', id).executeTakeFirst();
}

/** Locks the row until the transaction ends, so that changes to how an account signs in are serialized. */
export async function findAccountForUpdateAcrossTenants(db: Db, id: number) {
  return db.selectFrom('accounts').select(columns).where('id', '=', id).forUpdate().executeTakeFirst();
}

export async function listAccountsOfIssuerAcrossTenants(db: Db, issuer: string) {
  return db.selectFrom('accounts').select(['id', 'email']).where('oidc_issuer', '=', issuer).orderBy('id').execute();
}

/** Returns how many organizations the account is a member of, including those that have moved to another cell. */
export async function countMembershipsAcrossTenants(db: Db, id: number): Promise<number> {
  const { count } = await db
    .selectFrom('memberships')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('account_id', '=', id)
    .executeTakeFirstOrThrow();
  return count;
}

/** Finds the account linked to an identity at the identity provider. */
export async function findAccountBySubjectAcrossTenants(db: Db, issuer: string, subject: string) {
  return db
    .selectFrom('accounts')
    .select(columns)
    .where('oidc_issuer', '=', issuer)
    .where('oidc_subject', '=', subject)
    .executeTakeFirst();
}

type NewAccount = Omit<Account, 'id' | 'oidc_subject' | 'oidc_issuer' | 'generation'> & {
  oidc_issuer?: string;
  oidc_subject?: string;
};

/** Returns undefined when an account with this email exists. */
export async function createAccountAcrossTenants(db: Db, account: NewAccount): Promise<number | undefined> {
  const row = await db
    .insertInto('accounts')
    .values(account)
    .onConflict(conflict => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

type AccountFields = Partial<
  Pick<Account, 'name' | 'password_hash' | 'email_verified' | 'oidc_issuer' | 'oidc_subject'>
>;

export async function updateAccountAcrossTenants(db: Db, id: number, fields: AccountFields): Promise<void> {
  await db.updateTable('accounts').set(fields).where('id', '=', id).execute();
}

/** Stores the same password hashed with new parameters, unless it was changed or removed since it was read. */
export async function replacePasswordHashAcrossTenants(db: Db, id: number, from: string, to: string): Promise<void> {
  await db
    .updateTable('accounts')
    .set({ password_hash: to })
    .where('id', '=', id)
    .where('password_hash', '=', from)
    .execute();
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
      'a.oidc_issuer',
      hasTwoFactor('a').as('two_factor'),
      sql<
        string[]
      >`array(select o.slug || ':' || m.role from memberships m join organizations o on o.id = m.organization_id
        where m.account_id = a.id order by o.slug)`.as('roles'),
    ])
    .orderBy('a.email')
    .execute();
}

/** SQL expression: whether the account with this table alias has a second factor. */
export const hasTwoFactor = (alias: string) => {
  const account = sql.ref(alias);
  return sql<boolean>`(${account}.totp_secret is not null
    or exists (select from passkeys k where k.account_id = ${account}.id))`;
};

interface AccessibleOrganization {
  id: number;
  slug: string;
  name: string;
  /** Null when the account has access only as an instance admin. */
  role: Role | null;
  two_factor_required: boolean;
}

/** Whether this cell owns the organization `o`. */
const isHere = sql<boolean>`not exists (
  select from organization_moves v where v.organization_id = o.id and v.state in ('arriving', 'moved', 'left'))`;

/** Lists the organizations that an account is a member of, or every organization with `all`, ordered by id. */
export async function listAccessibleOrganizationsAcrossTenants(
  db: Db,
  accountId: number,
  all: boolean,
  { after, limit }: { after: number; limit: number },
): Promise<AccessibleOrganization[]> {
  let query = db
    .selectFrom('organizations as o')
    .leftJoin('memberships as m', join =>
      join.onRef('m.organization_id', '=', 'o.id').on('m.account_id', '=', accountId),
    )
    .select(['o.id', 'o.slug', 'o.name', 'o.two_factor_required', 'm.role'])
    .where('o.id', '>', after)
    .where(isHere);
  if (!all) query = query.where('m.role', 'is not', null);
  return (await query.orderBy('o.id').limit(limit).execute()) as AccessibleOrganization[];
}

/** Lists the organizations of an account that have moved to another cell, with its URL, ordered by id. */
export async function listMovedOrganizationsAcrossTenants(
  db: Db,
  accountId: number,
  limit: number,
): Promise<{ slug: string; name: string; url: string }[]> {
  const { rows } = await sql<{ slug: string; name: string; url: string }>`
    select o.slug, o.name, v.url from organization_moves v
    join organizations o on o.id = v.organization_id
    join memberships m on m.organization_id = o.id and m.account_id = ${accountId}
    where v.state in ('moved', 'left') order by o.id limit ${limit}`.execute(db);
  return rows;
}
