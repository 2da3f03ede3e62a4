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

/** A row for each of a person's addresses, or one without any. Written as JSON, the addresses took as long as all the rest. */
interface Flat extends Omit<Person, 'addresses' | 'member'> {
  organization_id: number;
  member_active?: boolean;
  member_name: string;
  member_value: string;
  address_id: number | null;
  address_name: string;
  address_value: string;
  address_disabled: boolean;
}

const person = sql`
  u.organization_id, u.id as user_id, u.username, u.email, u.first_name, u.last_name, u.locked, u.locale, u.custom_fields,
  u.version`;

const member = sql`m.active as member_active, ma.name as member_name, ma.value as member_value`;

/** The people that a query finds, in the order of their positions, with their addresses. */
async function read<T extends Person>(db: Db, people: RawBuilder<unknown>): Promise<T[]> {
  const { rows } = await sql<Flat>`
    select p.*, a.* from (${people}) p
    left join lateral (
      select id as address_id, name as address_name, value as address_value, disabled_at is not null as address_disabled
      from addresses where organization_id = p.organization_id and user_id = p.user_id order by id
    ) a on true
    order by p.position, a.address_id`.execute(db);
  const found: T[] = [];
  for (const row of rows) {
    const { address_id, address_name: name, address_value: value, address_disabled: disabled } = row;
    let last = found.at(-1);
    if (last?.position !== row.position) {
      last = toPerson(row) as T;
      found.push(last);
    }
    if (address_id !== null) last.addresses.push({ name, value, disabled });
  }
  return found;
}

/** Field by field: taken apart and spread, it took three times as long. */
function toPerson(row: Flat): Person {
  const made: Person & { organization_id: number } = {
    organization_id: row.organization_id,
    position: row.position,
    user_id: row.user_id,
    username: row.username,
    email: row.email,
    first_name: row.first_name,
    last_name: row.last_name,
    locked: row.locked,
    locale: row.locale,
    custom_fields: row.custom_fields,
    version: row.version,
    addresses: [],
  };
  const { member_active: active, member_name: name, member_value: value } = row;
  if (active !== undefined) made.member = { active, name, value };
  return made;
}

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
  return read(
    db,
    sql`
    select m.id as position, ${person}, ${member}
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
  const [found] = await read(
    db,
    sql`
    select m.id as position, ${person}, ${member}
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
  return read(
    db,
    sql`
    select u.id as position, ${person} from users u
    where u.organization_id = ${organizationId} and u.id > ${page.after} order by u.id limit ${page.limit}`,
  );
}

/** Those of the usernames that are users. */
export async function findRecipientsByName(db: Db, organizationId: number, usernames: string[]): Promise<Person[]> {
  return read(
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
  return read(
    db,
    sql`
    select u.id as position, ${person}
    from unnest(${wanted.map(one => one.organizationId)}::bigint[], ${wanted.map(one => one.userId)}::bigint[])
      as wanted (organization_id, id)
    join users u on u.organization_id = wanted.organization_id and u.id = wanted.id`,
  );
}
