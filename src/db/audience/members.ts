import { sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export async function listMembers(db: Db, organizationId: number, listId: number, page: PageRequest) {
  return db
    .selectFrom('members as m')
    .innerJoin('addresses as a', join =>
      join.onRef('a.organization_id', '=', 'm.organization_id').onRef('a.id', '=', 'm.address_id'),
    )
    .innerJoin('users as u', join =>
      join.onRef('u.organization_id', '=', 'a.organization_id').onRef('u.id', '=', 'a.user_id'),
    )
    .select(['m.id', 'a.value as address', 'a.name as address_name', 'u.username as user', 'm.active'])
    .where('m.organization_id', '=', organizationId)
    .where('m.list_id', '=', listId)
    .where('m.id', '>', page.after)
    .orderBy('m.id')
    .limit(page.limit)
    .execute();
}

/** Adds the users' own email addresses as members. Returns how many were added. */
export async function addMissingMembers(db: Db, organizationId: number, listId: number, usernames: string[]) {
  const result = await sql`
    insert into members (organization_id, list_id, address_id)
    select u.organization_id, ${listId}, a.id
    from users u
    join addresses a on a.organization_id = u.organization_id and a.user_id = u.id and a.name = 'email' and a.value = u.email
    where u.organization_id = ${organizationId} and u.username = any(${usernames}::text[])
    order by a.id
    on conflict do nothing`.execute(db);
  return Number(result.numAffectedRows ?? 0);
}

/** Adds a user to a list, once for each of these addresses. */
export async function addMembersByAddress(
  db: Db,
  organizationId: number,
  listId: number,
  userId: number,
  addresses: readonly { name: string; value: string }[],
): Promise<void> {
  await sql`
    insert into members (organization_id, list_id, address_id)
    select a.organization_id, ${listId}, a.id
    from unnest(${addresses.map(({ name }) => name)}::text[], ${addresses.map(({ value }) => value)}::text[]) as g (name, value)
    join addresses a on a.organization_id = ${organizationId} and a.user_id = ${userId} and a.name = g.name and a.value = g.value
    order by a.id
    on conflict do nothing`.execute(db);
}

/** Lists the members of all lists that are members by their own email, in the order of usernames. */
export async function listAllEmailMembers(db: Db, organizationId: number) {
  const { rows } = await sql<{ list_id: number; username: string }>`
    select m.list_id, u.username
    from members m
    join addresses a on a.organization_id = m.organization_id and a.id = m.address_id
    join users u on u.organization_id = a.organization_id and u.id = a.user_id
    where m.organization_id = ${organizationId} and a.name = 'email' and a.value = u.email
    order by m.list_id, u.username collate "C"`.execute(db);
  return rows;
}

/** Removes users who are members by their own email: the counterpart of `addMissingMembers`. */
export async function removeEmailMembers(db: Db, organizationId: number, listId: number, usernames: string[]) {
  await sql`
    delete from members m
    using addresses a, users u
    where m.organization_id = ${organizationId} and m.list_id = ${listId}
      and a.organization_id = m.organization_id and a.id = m.address_id and a.name = 'email' and a.value = u.email
      and u.organization_id = a.organization_id and u.id = a.user_id and u.username = any(${usernames}::text[])`.execute(
    db,
  );
}

/**
 * Removes all memberships of these users. Call it before deleting users: with the cascade, each address would recount
 * its lists again, in its own order.
 */
export async function removeMembershipsOfUsers(db: Db, organizationId: number, usernames: string[]): Promise<void> {
  await sql`
    delete from members m
    using addresses a, users u
    where m.organization_id = ${organizationId} and a.organization_id = m.organization_id and a.id = m.address_id
      and u.organization_id = a.organization_id and u.id = a.user_id and u.username = any(${usernames}::text[])`.execute(
    db,
  );
}

interface Membership {
  id: number;
  /** Slug. */
  project: string;
  list: { id: number; name: string };
  address: string;
  active: boolean;
}

/** Lists the memberships of one user, in the order of ids. */
export async function listMemberships(db: Db, organizationId: number, userId: number, page: PageRequest) {
  const { rows } = await sql<Membership>`
    select m.id, p.slug as project, jsonb_build_object('id', l.id, 'name', l.name) as list, a.value as address, m.active
    from addresses a
    join members m on m.organization_id = a.organization_id and m.address_id = a.id
    join distribution_lists l on l.organization_id = m.organization_id and l.id = m.list_id
    join projects p on p.organization_id = l.organization_id and p.id = l.project_id
    where a.organization_id = ${organizationId} and a.user_id = ${userId} and m.id > ${page.after}
    order by m.id limit ${page.limit}`.execute(db);
  return rows;
}

/** Lists members together with the names of the users. */
export async function listNamedMembers(db: Db, organizationId: number, listId: number, page: PageRequest) {
  return selectNamedMembers(db, organizationId, listId)
    .where('m.id', '>', page.after)
    .orderBy('m.id')
    .limit(page.limit)
    .execute();
}

export async function findMember(db: Db, organizationId: number, listId: number, id: number) {
  return selectNamedMembers(db, organizationId, listId).where('m.id', '=', id).executeTakeFirst();
}

function selectNamedMembers(db: Db, organizationId: number, listId: number) {
  return db
    .selectFrom('members as m')
    .innerJoin('addresses as a', join =>
      join.onRef('a.organization_id', '=', 'm.organization_id').onRef('a.id', '=', 'm.address_id'),
    )
    .innerJoin('users as u', join =>
      join.onRef('u.organization_id', '=', 'a.organization_id').onRef('u.id', '=', 'a.user_id'),
    )
    .select(['m.id', 'u.username as user', 'u.first_name', 'u.last_name', 'a.value as address', 'm.active'])
    .where('m.organization_id', '=', organizationId)
    .where('m.list_id', '=', listId);
}

/** Returns false when the member no longer exists. */
export async function setMemberActive(db: Db, organizationId: number, id: number, active: boolean): Promise<boolean> {
  const result = await db
    .updateTable('members')
    .set({ active })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function removeMember(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('members').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}
