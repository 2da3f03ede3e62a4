/** Copies the accounts of an organization's members, which may exist in the other cell already. */
import type pg from 'pg';

export interface MemberAccount {
  id: number;
  email: string;
  email_verified: boolean;
  name: string;
  password_hash: string | null;
  oidc_issuer: string | null;
  oidc_subject: string | null;
  created_at: Date;
  totp_secret: Buffer | null;
  totp_added_at: Date | null;
  role: string;
  member_since: Date;
}

export async function listMemberAccounts(client: pg.PoolClient, organizationId: number): Promise<MemberAccount[]> {
  const { rows } = await client.query<MemberAccount>(
    `select a.id, a.email, a.email_verified, a.name, a.password_hash, a.oidc_issuer, a.oidc_subject, a.created_at,
       a.totp_secret, a.totp_added_at, m.role, m.created_at as member_since
     from memberships m join accounts a on a.id = m.account_id where m.organization_id = $1 order by a.id`,
    [organizationId],
  );
  return rows;
}

/**
 * Replaces the members. An account with the same email, or of the same person at the identity provider, is used as it is;
 * otherwise one is created, without the rights of an administrator of the cell, passkeys and recovery codes.
 */
export async function storeMembers(
  client: pg.PoolClient,
  organizationId: number,
  accounts: readonly MemberAccount[],
): Promise<void> {
  await client.query('delete from memberships where organization_id = $1', [organizationId]);
  for (const account of accounts) {
    const { rows } = await client.query<{ id: number }>(
      `with existing as (
         select id from accounts where email = $2 or (oidc_issuer = $6 and oidc_subject = $7)
         order by email = $2 desc limit 1
       ), created as (
         insert into accounts (id, email, email_verified, name, password_hash, oidc_issuer, oidc_subject, created_at,
           totp_secret, totp_added_at) overriding system value
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 where not exists (select from existing)
         returning id
       )
       select id from existing union all select id from created`,
      [
        account.id,
        account.email,
        account.email_verified,
        account.name,
        account.password_hash,
        account.oidc_issuer,
        account.oidc_subject,
        account.created_at,
        account.totp_secret,
        account.totp_added_at,
      ],
    );
    await client.query(
      `insert into memberships (organization_id, account_id, role, created_at) values ($1, $2, $3, $4)
       on conflict (organization_id, account_id) do update set role = excluded.role`,
      [organizationId, rows[0]!.id, account.role, account.member_since],
    );
  }
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

export interface SealedRow {
  table: 'channels' | 'webhooks';
  id: number;
  project_id: number | null;
  slug: string;
  secrets: Buffer;
}

/** Returns the secrets of the organization's channels and webhooks. */
export async function listSealed(client: pg.PoolClient, organizationId: number): Promise<SealedRow[]> {
  const { rows } = await client.query<SealedRow>(
    `select 'channels' as table, id, project_id, slug, secrets from channels
     where organization_id = $1 and secrets is not null
     union all select 'webhooks', id, null, slug, secrets from webhooks where organization_id = $1`,
    [organizationId],
  );
  return rows;
}

export async function replaceSealed(
  client: pg.PoolClient,
  organizationId: number,
  { table, id }: Pick<SealedRow, 'table' | 'id'>,
  secrets: Buffer,
): Promise<void> {
  await client.query(`update ${table} set secrets = $3 where organization_id = $1 and id = $2`, [
    organizationId,
    id,
    secrets,
  ]);
}
