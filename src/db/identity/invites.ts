import { type RawBuilder, sql } from 'kysely';
import { allPermissions, Grant } from '../../core/identity/permissions.ts';
import { mayGrant, permissionsOf, type Role, roles } from '../../core/identity/roles.ts';
import { insert } from '../connection/insert.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

interface NewInvite {
  token_hash: Buffer;
  email: string;
  role: Role;
  invited_by: string;
  /** Null if the account with the email `invited_by` created it. */
  inviter_key_id: string | null;
  expires_at: Date;
}

const mayInvite = (own: Grant, role: Role) => own.lacking(['account:write']).length === 0 && mayGrant(own, role);

/**
 * SQL condition: the invite `i` has not expired, and its inviter could still create it. It ends with its inviter, who may be
 * removed from the organization or the instance, get a lower role, or be a key that is revoked or expires.
 */
const isPending: RawBuilder<boolean> = (() => {
  const rules = roles.map(role => {
    const inviters = roles.filter(own => mayInvite(new Grant(permissionsOf(own), null), role));
    const needed = [...new Set([...permissionsOf(role), 'account:write'])];
    return sql`(${role}::text, ${inviters}::text[], ${needed}::text[])`;
  });
  return sql<boolean>`i.expires_at > now() and exists (
    select from (values ${sql.join(rules)}) as rule (role, inviters, needed) where rule.role = i.role and (
      i.inviter_key_id is null and exists (select from accounts a where a.email = i.invited_by and (a.admin or exists (
        select from memberships m where m.organization_id = i.organization_id and m.account_id = a.id
          and m.role = any(rule.inviters))))
      or exists (select from keys k where k.organization_id = i.organization_id and k.id = i.inviter_key_id
        and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
        and (${allPermissions} = any(k.permissions) or k.permissions @> rule.needed))))`;
})();

/** Replaces an earlier invite for the same email, whose link then stops working. */
export async function createInvite(db: Db, organizationId: number, invite: NewInvite): Promise<number> {
  await db
    .deleteFrom('invites')
    .where('organization_id', '=', organizationId)
    .where('email', '=', invite.email)
    .execute();
  return insert(db, organizationId, 'invites', invite);
}

/** Records that the link was sent by mail and is not shown to anyone else. */
export async function markInviteMailed(db: Db, organizationId: number, id: number): Promise<void> {
  await db
    .updateTable('invites')
    .set({ mailed: true })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

const listedColumns = ['id', 'email', 'role', 'invited_by', 'created_at', 'expires_at'] as const;
export type ListedInvite = Awaited<ReturnType<typeof listInvites>>[number];

export async function listInvites(db: Db, organizationId: number, { after, limit }: PageRequest) {
  return db
    .selectFrom('invites as i')
    .select(listedColumns)
    .where('organization_id', '=', organizationId)
    .where(isPending)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function findInvite(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('invites')
    .select(listedColumns)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the role that the email is invited to, if the invite can still be accepted. */
export async function findInvitedRole(db: Db, organizationId: number, email: string): Promise<Role | undefined> {
  const row = await db
    .selectFrom('invites as i')
    .select('role')
    .where('organization_id', '=', organizationId)
    .where('email', '=', email)
    .where(isPending)
    .executeTakeFirst();
  return row && (row.role as Role);
}

/** Consumes the invite. Returns false when it was accepted or withdrawn concurrently, or its inviter may no longer invite. */
export async function takeInvite(db: Db, organizationId: number, id: number): Promise<boolean> {
  const result = await db
    .deleteFrom('invites as i')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where(isPending)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** Returns false when the invite no longer exists: it was accepted or withdrawn concurrently. */
export async function deleteInvite(db: Db, organizationId: number, id: number): Promise<boolean> {
  const result = await db
    .deleteFrom('invites')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

export interface Invite {
  organization_id: number;
  id: number;
  email: string;
  role: Role;
  /** Whether the link was sent by mail, so that only the owner of the address has seen it. */
  mailed: boolean;
  expires_at: Date;
  organization: { slug: string; name: string };
}

/** Finds an invite by the token of its link, which does not name the organization. Ignores those that have ended. */
export async function findInviteAcrossTenants(db: Db, tokenHash: Buffer): Promise<Invite | undefined> {
  const [invite] = await pending(db).where('i.token_hash', '=', tokenHash).execute();
  return invite && toInvite(invite);
}

export async function listInvitesForAcrossTenants(db: Db, email: string): Promise<Invite[]> {
  return (await pending(db).where('i.email', '=', email).execute()).map(toInvite);
}

const pending = (db: Db) =>
  db
    .selectFrom('invites as i')
    .innerJoin('organizations as o', 'o.id', 'i.organization_id')
    .select(['i.organization_id', 'i.id', 'i.email', 'i.role', 'i.mailed', 'i.expires_at', 'o.slug', 'o.name'])
    .where(isPending);

function toInvite(row: Omit<Invite, 'organization' | 'role'> & { slug: string; name: string; role: string }): Invite {
  const { slug, name, role, ...invite } = row;
  return { ...invite, role: role as Role, organization: { slug, name } };
}

export async function deleteOldInvitesAcrossTenants(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('invites').where('expires_at', '<', now).execute();
}
