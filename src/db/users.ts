import { sql } from 'kysely';
import type { JsonObject } from '../core/json.ts';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface User {
  id: number;
  email: string;
  username: string;
  first_name: string;
  last_name: string;
  locked: boolean;
}

const columns = ['id', 'email', 'username', 'first_name', 'last_name', 'locked'] as const;

export async function listUsers(db: Db, organizationId: number, page: PageRequest): Promise<User[]> {
  return db
    .selectFrom('users')
    .select(columns)
    .where('organization_id', '=', organizationId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function findUserByName(db: Db, organizationId: number, username: string): Promise<User | undefined> {
  return db
    .selectFrom('users')
    .select(columns)
    .where('organization_id', '=', organizationId)
    .where('username', '=', username)
    .executeTakeFirst();
}

export interface NewUser {
  username: string;
  email: string;
  first_name?: string;
  last_name?: string;
  custom_fields?: JsonObject;
}

/** Undefined when the username is taken. */
export async function createUser(db: Db, organizationId: number, user: NewUser): Promise<number | undefined> {
  const row = await db
    .insertInto('users')
    .values({ organization_id: organizationId, ...user, custom_fields: JSON.stringify(user.custom_fields ?? {}) })
    .onConflict(conflict => conflict.columns(['organization_id', 'username']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

/** Those of the users that did not exist yet; in the order of their names, so that two of these never wait crosswise. */
export async function createMissingUsers(db: Db, organizationId: number, users: NewUser[]): Promise<number> {
  const result = await sql`
    insert into users (organization_id, username, email)
    select ${organizationId}, username, email
    from unnest(${users.map(user => user.username)}::text[], ${users.map(user => user.email)}::text[])
      as given (username, email)
    order by username
    on conflict (organization_id, username) do nothing`.execute(db);
  return Number(result.numAffectedRows ?? 0);
}

/** Locks the row, so that a merge reads what it will replace. */
export async function findCustomFieldsForUpdate(
  db: Db,
  organizationId: number,
  id: number,
): Promise<JsonObject | undefined> {
  const row = await db
    .selectFrom('users')
    .select('custom_fields')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row?.custom_fields as JsonObject | undefined;
}

export interface UserChanges {
  first_name?: string;
  last_name?: string;
  locked?: boolean;
  custom_fields?: JsonObject;
}

export async function updateUser(
  db: Db,
  organizationId: number,
  id: number,
  { custom_fields, ...changes }: UserChanges,
): Promise<User & { custom_fields: JsonObject }> {
  const row = await db
    .updateTable('users')
    .set({
      ...changes,
      ...(custom_fields && { custom_fields: JSON.stringify(custom_fields) }),
      updated_at: sql`now()`,
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returning([...columns, 'custom_fields'])
    .executeTakeFirstOrThrow();
  return { ...row, custom_fields: row.custom_fields as JsonObject };
}
