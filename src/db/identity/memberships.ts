import { sql } from 'kysely';
import type { Role } from '../../core/identity/roles.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import { hasTwoFactor } from './accounts.ts';

export async function listMembers(db: Db, organizationId: number, { after, limit }: PageRequest) {
  const rows = await members(db, organizationId).where('a.id', '>', after).orderBy('a.id').limit(limit).execute();
  return rows.map(row => ({ ...row, role: row.role as Role }));
}

export type Member = Awaited<ReturnType<typeof listMembers>>[number];

export async function findMember(db: Db, organizationId: number, accountId: number): Promise<Member | undefined> {
  const row = await members(db, organizationId).where('a.id', '=', accountId).executeTakeFirst();
  return row && { ...row, role: row.role as Role };
}

export async function findMemberByEmail(db: Db, organizationId: number, email: string) {
  return members(db, organizationId).where('a.email', '=', email).executeTakeFirst();
}

const members = (db: Db, organizationId: number) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .select([
      'a.id',
      'a.email',
      'a.name',
      'm.role',
      'm.created_at',
      'a.last_seen_at',
      hasTwoFactor('a').as('two_factor'),
      sql<boolean>`a.oidc_subject is not null`.as('linked'),
    ])
    .where('m.organization_id', '=', organizationId);

/** Returns false, without changes, when the account is already a member. */
export async function addMember(db: Db, organizationId: number, accountId: number, role: Role): Promise<boolean> {
  const result = await db
    .insertInto('memberships')
    .values({ organization_id: organizationId, account_id: accountId, role })
    .onConflict(conflict => conflict.columns(['organization_id', 'account_id']).doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export async function setRole(db: Db, organizationId: number, accountId: number, role: Role): Promise<void> {
  await db
    .updateTable('memberships')
    .set({ role })
    .where('organization_id', '=', organizationId)
    .where('account_id', '=', accountId)
    .execute();
}

export async function removeMember(db: Db, organizationId: number, accountId: number): Promise<void> {
  await db
    .deleteFrom('memberships')
    .where('organization_id', '=', organizationId)
    .where('account_id', '=', accountId)
    .execute();
}

/**
 * Locks the owners until the transaction ends and returns their account ids. When two owners leave at the same time, the
 * second transaction sees that it is about to remove the last one.
 */
export async function lockOwners(db: Db, organizationId: number): Promise<number[]> {
  const { rows } = await sql<{ account_id: number }>`
    select account_id from memberships where organization_id = ${organizationId} and role = 'owner'
    order by account_id for update`.execute(db);
  return rows.map(row => row.account_id);
}
