/** People as the engine sees them: what decides whether and where they are reached, and what messages say of them. */
import { type RawBuilder, sql } from 'kysely';
import type { Recipient } from '../core/decide.ts';
import type { JsonObject } from '../core/json.ts';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface Person extends Recipient {
  /** What the next page comes after. */
  position: number;
  first_name: string;
  last_name: string;
  locale: string | null;
  custom_fields: JsonObject;
  /** Of the user: goes up whenever something changes that a message may say of them. */
  version: number;
}

const person = sql`
  u.id as user_id, u.username, u.email, u.first_name, u.last_name, u.locked, u.locale, u.custom_fields,
  u.version,
  coalesce((
    select json_agg(json_build_object('name', a.name, 'value', a.value, 'disabled', a.disabled_at is not null) order by a.id)
    from addresses a where a.organization_id = u.organization_id and a.user_id = u.id
  ), '[]') as addresses`;

/**
 * Of a list by its folded name, in the order of the memberships; nobody when there is no such list. The list is looked up
 * first: joined, it led the planner past the members of all other lists (20,000 rows for a page of 500).
 */
export async function listMembersAsRecipients(
  db: Db,
  organizationId: number,
  projectId: number,
  listKey: string,
  page: PageRequest,
): Promise<Person[]> {
  return run(
    db,
    sql`
    select m.id as position, ${person},
      json_build_object('active', m.active, 'name', ma.name, 'value', ma.value) as member
    from members m
    join addresses ma on ma.organization_id = m.organization_id and ma.id = m.address_id
    join users u on u.organization_id = ma.organization_id and u.id = ma.user_id
    where m.organization_id = ${organizationId} and m.id > ${page.after} and m.list_id = (
      select id from distribution_lists
      where organization_id = ${organizationId} and project_id = ${projectId} and name_key = ${listKey})
    order by m.id limit ${page.limit}`,
  );
}

/** One user as a member of that list; undefined when they are none. */
export async function findMemberAsRecipient(
  db: Db,
  organizationId: number,
  projectId: number,
  listKey: string,
  userId: number,
): Promise<Person | undefined> {
  const [found] = await run<Person>(
    db,
    sql`
    select m.id as position, ${person},
      jsonb_build_object('active', m.active, 'name', ma.name, 'value', ma.value) as member
    from users u
    join addresses ma on ma.organization_id = u.organization_id and ma.user_id = u.id
    join members m on m.organization_id = ma.organization_id and m.address_id = ma.id
    join distribution_lists l on l.organization_id = m.organization_id and l.id = m.list_id
    where u.organization_id = ${organizationId} and u.id = ${userId}
      and l.project_id = ${projectId} and l.name_key = ${listKey}
    order by m.active desc, m.id limit 1`,
  );
  return found;
}

/** Everybody, in the order of their ids. */
export async function listUsersAsRecipients(db: Db, organizationId: number, page: PageRequest): Promise<Person[]> {
  return run(
    db,
    sql`
    select u.id as position, ${person} from users u
    where u.organization_id = ${organizationId} and u.id > ${page.after} order by u.id limit ${page.limit}`,
  );
}

/** Those of the usernames that are users. */
export async function findRecipientsByName(db: Db, organizationId: number, usernames: string[]): Promise<Person[]> {
  return run(
    db,
    sql`
    select u.id as position, ${person} from users u
    where u.organization_id = ${organizationId} and u.username = any(${usernames}::text[]) order by u.id`,
  );
}

/** As they are now, at the moment of sending. */
export async function findRecipientsAcrossTenants(
  db: Db,
  wanted: { organizationId: number; userId: number }[],
): Promise<(Person & { organization_id: number })[]> {
  return run(
    db,
    sql`
    select u.organization_id, u.id as position, ${person}
    from unnest(${wanted.map(one => one.organizationId)}::bigint[], ${wanted.map(one => one.userId)}::bigint[])
      as wanted (organization_id, id)
    join users u on u.organization_id = wanted.organization_id and u.id = wanted.id`,
  );
}

async function run<T>(db: Db, query: RawBuilder<unknown>): Promise<T[]> {
  const { rows } = await query.execute(db);
  return rows as T[];
}
