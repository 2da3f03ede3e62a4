/** Copies the accounts of an organization's members, which may exist in the other cell already. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from '../connection/pool.ts';
import type { Account } from '../identity/accounts.ts';
import type { Passkey } from '../identity/passkeys.ts';

export async function listMemberAccounts(db: Db, organizationId: number) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .select([
      'a.id',
      'a.email',
      'a.email_verified',
      'a.name',
      'a.password_hash',
      'a.oidc_issuer',
      'a.oidc_subject',
      'a.created_at',
      'a.totp_secret',
      'a.totp_added_at',
      'a.totp_last_step',
      'm.role',
      'm.created_at as member_since',
    ])
    .where('m.organization_id', '=', organizationId)
    .orderBy('a.id')
    .execute();
}

export type MemberAccount = Awaited<ReturnType<typeof listMemberAccounts>>[number];

/**
 * Finds and locks the account of the same person: with the same verified email, else the same identity at the identity
 * provider, else the same email, which is not verified here.
 */
export async function findSameAccountAcrossTenants(
  db: Db,
  { email, oidc_issuer, oidc_subject }: Pick<MemberAccount, 'email' | 'oidc_issuer' | 'oidc_subject'>,
): Promise<Account | undefined> {
  const { rows } = await sql<Account>`
    select id, email, email_verified, name, password_hash, admin, oidc_subject, generation from accounts
    where email = ${email} or (oidc_issuer = ${oidc_issuer}::text and oidc_subject = ${oidc_subject}::text)
    order by (email = ${email} and email_verified) desc, email = ${email} limit 1 for update`.execute(db);
  return rows[0];
}

/** Creates the account with its id and without rights of an instance admin. Its credentials are stored separately. */
export async function createMovedAccountAcrossTenants(
  db: Db,
  { id, email, email_verified, created_at }: Pick<MemberAccount, 'id' | 'email' | 'email_verified' | 'created_at'>,
): Promise<void> {
  await sql`insert into accounts (id, email, email_verified, created_at) overriding system value
    values (${id}, ${email}, ${email_verified}, ${created_at})`.execute(db);
}

export async function setMovedIdentityAcrossTenants(
  db: Db,
  id: number,
  { name, password_hash, oidc_issuer, oidc_subject }: Omit<MemberAccount, 'totp_secret'>,
): Promise<void> {
  await db
    .updateTable('accounts')
    .set({ name, password_hash, oidc_issuer, oidc_subject })
    .where('id', '=', id)
    .execute();
}

export interface MovedFactors {
  /** The secret of the authenticator app, encrypted for this account. */
  totp: { totp_secret: Buffer; totp_added_at: Date | null; totp_last_step: number | null } | null;
  passkeys: readonly Passkey[];
  recovery_codes: readonly Buffer[];
}

/** Adds the second factors. Returns false when another account has one of the passkeys. */
export async function addMovedFactorsAcrossTenants(
  db: Db,
  accountId: number,
  { totp, passkeys, recovery_codes }: MovedFactors,
): Promise<boolean> {
  if (totp) await db.updateTable('accounts').set(totp).where('id', '=', accountId).execute();
  if (recovery_codes.length > 0) {
    const codes = recovery_codes.map(code_hash => ({ account_id: accountId, code_hash }));
    await db
      .insertInto('recovery_codes')
      .values(codes)
      .onConflict(conflict => conflict.doNothing())
      .execute();
  }
  if (passkeys.length === 0) return true;
  const rows = passkeys.map(({ id: _, ...passkey }) => ({ ...passkey, account_id: accountId }));
  const result = await db
    .insertInto('passkeys')
    .values(rows)
    .onConflict(conflict => conflict.column('credential_id').doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === BigInt(passkeys.length);
}

export async function removeMembers(db: Db, organizationId: number): Promise<void> {
  await db.deleteFrom('memberships').where('organization_id', '=', organizationId).execute();
}

/** Adds the member. Two accounts of the old cell can be one here: then the role of the later one counts. */
export async function storeMember(
  db: Db,
  organizationId: number,
  accountId: number,
  { role, member_since }: Pick<MemberAccount, 'role' | 'member_since'>,
): Promise<void> {
  await db
    .insertInto('memberships')
    .values({ organization_id: organizationId, account_id: accountId, role, created_at: member_since })
    .onConflict(conflict => conflict.columns(['organization_id', 'account_id']).doUpdateSet({ role }))
    .execute();
}

/** Returns some values that are sealed with the key of this database. */
export async function listSealedSamplesAcrossTenants(client: pg.PoolClient): Promise<Buffer[]> {
  const { rows } = await client.query<{ sealed: Buffer }>(
    `(select secrets as sealed from channels where secrets is not null and organization_id not in (
        select organization_id from organization_moves where state = 'arriving') limit 20)
     union all (select totp_secret from accounts where totp_secret is not null limit 20)`,
  );
  return rows.map(({ sealed }) => sealed);
}
