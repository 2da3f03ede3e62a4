/**
 * People as the engine sees them: what decides whether and where they are reached, and what messages say of them. Every
 * claim of the engine reads some, so these are prepared statements. They sort nothing that an index does not have in
 * order already: the engine's connections would rather walk through a whole index than sort (see `byIndexAlone`).
 */
import type pg from 'pg';
import type { Recipient } from '../core/decide.ts';
import type { JsonObject } from '../core/json.ts';
import type { PageRequest } from './page.ts';

/** By the id of an application: what it has registered of a person. */
export type Memberships = Record<string, JsonObject>;

export interface Person extends Recipient {
  organization_id: number;
  /** What the next page comes after. */
  position: number;
  first_name: string;
  last_name: string;
  locale: string | null;
  custom_fields: JsonObject;
  memberships: Memberships | null;
  link_generation: number;
  /** Of the user: goes up whenever something changes that a message may say of them. */
  version: number;
}

/** A row for each of a person's addresses, or one without any. Written as JSON, the addresses took as long as all the rest. */
interface Flat extends Omit<Person, 'addresses' | 'member'> {
  member_active?: boolean;
  member_name: string;
  member_value: string;
  address_id: number | null;
  address_name: string;
  address_value: string;
  address_disabled: boolean;
}

const person = `
  u.organization_id, u.id as user_id, u.username, u.email, u.first_name, u.last_name, u.locked, u.locale, u.custom_fields,
  u.memberships, u.version, u.chosen as choices, u.link_generation, u.timezone, u.quiet_hours`;

const member = 'm.active as member_active, ma.name as member_name, ma.value as member_value';

interface Statement {
  name: string;
  text: string;
}

/** The people that a query finds, with their addresses. */
function peopleStatement(name: string, people: string): Statement {
  const text = `
    select p.*, a.id as address_id, a.name as address_name, a.value as address_value,
      a.disabled_at is not null as address_disabled
    from (${people}) p
    left join addresses a on a.organization_id = p.organization_id and a.user_id = p.user_id`;
  return { name, text };
}

/** In the order of their positions, each with the oldest address first. */
async function readPeople(pool: pg.Pool, statement: Statement, values: unknown[]): Promise<Person[]> {
  const { rows } = await pool.query<Flat>({ ...statement, values });
  const found = new Map<number, { person: Person; addresses: Flat[] }>();
  for (const row of rows) {
    let entry = found.get(row.position);
    if (!entry) {
      entry = { person: toPerson(row), addresses: [] };
      found.set(row.position, entry);
    }
    if (row.address_id !== null) entry.addresses.push(row);
  }
  const people = [...found.values()].map(({ person, addresses }) => {
    if (addresses.length > 1) addresses.sort((a, b) => a.address_id! - b.address_id!);
    for (const { address_name: name, address_value: value, address_disabled: disabled } of addresses) {
      person.addresses.push({ name, value, disabled });
    }
    return person;
  });
  return people.sort((a, b) => a.position - b.position);
}

/** Field by field: taken apart and spread, it took three times as long. */
function toPerson(row: Flat): Person {
  const made: Person = {
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
    memberships: row.memberships,
    version: row.version,
    choices: row.choices,
    link_generation: row.link_generation,
    timezone: row.timezone,
    quiet_hours: row.quiet_hours,
    addresses: [],
  };
  const { member_active: active, member_name: name, member_value: value } = row;
  if (active !== undefined) made.member = { active, name, value };
  return made;
}

// The list is looked up first: joined, it led the planner past the members of all other lists (20,000 rows for a page of
// 500). `offset 0` keeps the order of the joins: while statistics knew little of a new organization, the planner paired each
// member with all of its users (10 s for a page of 500 of 2,300).
const ofList = peopleStatement(
  'recipients_of_list',
  `select m.id as position, ${person}, ${member}
    from (
      select id, address_id, active from members
      where organization_id = $1 and id > $4 and list_id = (
        select id from distribution_lists where organization_id = $1 and project_id = $2 and name_key = $3)
      order by id limit $5
    ) m,
    lateral (select user_id, name, value from addresses where organization_id = $1 and id = m.address_id offset 0) ma,
    lateral (select * from users where organization_id = $1 and id = ma.user_id offset 0) u`,
);

/** Of a list by its folded name, in the order of the memberships; nobody when there is no such list. */
export async function listMembersAsRecipients(
  pool: pg.Pool,
  organizationId: number,
  projectId: number,
  listKey: string,
  page: PageRequest,
): Promise<Person[]> {
  return readPeople(pool, ofList, [organizationId, projectId, listKey, page.after, page.limit]);
}

const memberOfList = peopleStatement(
  'recipient_of_list',
  `select m.id as position, ${person}, ${member}
    from users u
    join addresses ma on ma.organization_id = u.organization_id and ma.user_id = u.id
    join members m on m.organization_id = ma.organization_id and m.address_id = ma.id
    join distribution_lists l on l.organization_id = m.organization_id and l.id = m.list_id
    where u.organization_id = $1 and u.id = $4 and l.project_id = $2 and l.name_key = $3
    order by m.active desc, m.id limit 1`,
);

/** One user as a member of that list; undefined when they are none. */
export async function findMemberAsRecipient(
  pool: pg.Pool,
  organizationId: number,
  projectId: number,
  listKey: string,
  userId: number,
): Promise<Person | undefined> {
  const [found] = await readPeople(pool, memberOfList, [organizationId, projectId, listKey, userId]);
  return found;
}

const everybody = peopleStatement(
  'recipients_of_organization',
  `select u.id as position, ${person} from users u
    where u.organization_id = $1 and u.id > $2 order by u.id limit $3`,
);

/** Everybody, in the order of their ids. */
export async function listUsersAsRecipients(
  pool: pg.Pool,
  organizationId: number,
  page: PageRequest,
): Promise<Person[]> {
  return readPeople(pool, everybody, [organizationId, page.after, page.limit]);
}

const byUsername = peopleStatement(
  'recipients_by_username',
  `select u.id as position, ${person}
    from unnest($1::bigint[], $2::text[]) as wanted (organization_id, username)
    join users u on u.organization_id = wanted.organization_id and u.username = wanted.username`,
);

/** Those of the usernames that are users. */
export async function findRecipientsByNameAcrossTenants(
  pool: pg.Pool,
  wanted: { organizationId: number; username: string }[],
): Promise<Person[]> {
  return readPeople(pool, byUsername, [wanted.map(one => one.organizationId), wanted.map(one => one.username)]);
}

export async function findRecipientByName(
  pool: pg.Pool,
  organizationId: number,
  username: string,
): Promise<Person | undefined> {
  const [found] = await findRecipientsByNameAcrossTenants(pool, [{ organizationId, username }]);
  return found;
}

const byId = peopleStatement(
  'recipients_by_id',
  `select u.id as position, ${person}
    from unnest($1::bigint[], $2::bigint[]) as wanted (organization_id, id)
    join users u on u.organization_id = wanted.organization_id and u.id = wanted.id`,
);

/** As they are now, at the moment of sending. */
export async function findRecipientsAcrossTenants(
  pool: pg.Pool,
  wanted: { organizationId: number; userId: number }[],
): Promise<Person[]> {
  return readPeople(pool, byId, [wanted.map(one => one.organizationId), wanted.map(one => one.userId)]);
}
