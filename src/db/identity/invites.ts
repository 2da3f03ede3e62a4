import type { Role } from '../../core/identity/roles.ts';
import { currentTime } from '../../lib/clock.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

interface NewInvite {
  token_hash: Buffer;
  email: string;
  role: Role;
  invited_by: string;
  expires_at: Date;
}

/** Replaces an earlier invite for the same email, whose link then stops working. */
export async function createInvite(db: Db, organizationId: number, invite: NewInvite): Promise<number> {
  await db
    .deleteFrom('invites')
    .where('organization_id', '=', organizationId)
    .where('email', '=', invite.email)
    .execute();
  const row = await db
    .insertInto('invites')
    .values({ organization_id: organizationId, ...invite })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
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
    .selectFrom('invites')
    .select(listedColumns)
    .where('organization_id', '=', organizationId)
    .where('expires_at', '>', new Date(currentTime()))
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

/** Finds an invite by the token of its link, which does not name the organization. Ignores expired invites. */
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
    .where('i.expires_at', '>', new Date(currentTime()));

function toInvite(row: Omit<Invite, 'organization' | 'role'> & { slug: string; name: string; role: string }): Invite {
  const { slug, name, role, ...invite } = row;
  return { ...invite, role: role as Role, organization: { slug, name } };
}

export async function deleteOldInvitesAcrossTenants(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('invites').where('expires_at', '<', now).execute();
}
