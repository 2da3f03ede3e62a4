import { type RawBuilder, sql } from 'kysely';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';
import { addressEventsText } from './webhook-events.ts';

export interface Address {
  id: number;
  name: string;
  value: string;
}

export async function listAddresses(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageRequest,
): Promise<Address[]> {
  return db
    .selectFrom('addresses')
    .select(['id', 'name', 'value'])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export interface WholeAddress extends Address {
  disabled_at: Date | null;
  disabled_reason: string | null;
}

const whole = ['id', 'name', 'value', 'disabled_at', 'disabled_reason'] as const;

/** With what became of them. */
export async function listWholeAddresses(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageRequest,
): Promise<WholeAddress[]> {
  return db
    .selectFrom('addresses')
    .select(whole)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function findAddress(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
): Promise<WholeAddress | undefined> {
  return db
    .selectFrom('addresses')
    .select(whole)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Undefined when it is gone. What is off already keeps its time and reason. */
export async function setAddressEnabled(
  db: Db,
  organizationId: number,
  id: number,
  enabled: boolean,
  reason: string,
): Promise<WholeAddress | undefined> {
  if (!enabled) await disable(db, sql`a.organization_id = ${organizationId} and a.id = ${id}`, reason, 'person');
  else {
    await db
      .updateTable('addresses')
      .set({ disabled_at: null, disabled_reason: null })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute();
  }
  return db
    .selectFrom('addresses')
    .select(whole)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function countMembersBy(db: Db, organizationId: number, id: number): Promise<number> {
  const { count } = await db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('address_id', '=', id)
    .executeTakeFirstOrThrow();
  return count;
}

export async function deleteAddress(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('addresses').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

/** False when the user has it already: the same name and value again adds nothing. */
export async function addAddress(
  db: Db,
  organizationId: number,
  userId: number,
  address: { name: string; value: string },
): Promise<boolean> {
  const result = await db
    .insertInto('addresses')
    .values({ organization_id: organizationId, user_id: userId, ...address })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

/** Makes sure that each of these users has the address `email` with its own email. */
export async function addMissingEmails(db: Db, organizationId: number, usernames: string[]): Promise<void> {
  await sql`
    insert into addresses (organization_id, user_id, name, value)
    select organization_id, id, 'email', email from users
    where organization_id = ${organizationId} and username = any(${usernames}::text[])
    order by id
    on conflict do nothing`.execute(db);
}

export interface AddressOfUser {
  username: string;
  name: string;
  value: string;
}

export async function listAllAddresses(
  db: Db,
  organizationId: number,
): Promise<{ user_id: number; name: string; value: string }[]> {
  return db
    .selectFrom('addresses')
    .select(['user_id', 'name', 'value'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

/** Many at once, each user's in the order given. */
export async function addMissingAddresses(db: Db, organizationId: number, addresses: AddressOfUser[]): Promise<void> {
  await sql`
    insert into addresses (organization_id, user_id, name, value)
    select u.organization_id, u.id, given.name, given.value
    from ${unnest(addresses)}
    join users u on u.organization_id = ${organizationId} and u.username = given.username
    order by u.id, given.place
    on conflict do nothing`.execute(db);
}

export async function removeAddresses(db: Db, organizationId: number, addresses: AddressOfUser[]): Promise<void> {
  await sql`
    delete from addresses a
    using ${unnest(addresses)}, users u
    where a.organization_id = ${organizationId} and a.name = given.name and a.value = given.value
      and u.organization_id = a.organization_id and u.id = a.user_id and u.username = given.username`.execute(db);
}

function unnest(addresses: AddressOfUser[]) {
  const column = (field: keyof AddressOfUser) => sql`${addresses.map(address => address[field])}::text[]`;
  return sql`unnest(${column('username')}, ${column('name')}, ${column('value')})
    with ordinality as given (username, name, value, place)`;
}

/** The first user with an address of one of these values, other than the email that names the user. */
export async function findUsernameByAddress(
  db: Db,
  organizationId: number,
  values: string[],
): Promise<string | undefined> {
  const { rows } = await sql<{ username: string }>`
    select u.username from addresses a
    join users u on u.organization_id = a.organization_id and u.id = a.user_id
    where a.organization_id = ${organizationId} and a.name <> 'email' and a.value = any(${values}::text[])
    order by a.id limit 1`.execute(db);
  return rows[0]?.username;
}

/** It does not work any more: kept, so that people can see why, and no longer used. */
export async function disableAddress(
  db: Db,
  organizationId: number,
  userId: number,
  value: string,
  reason: string,
): Promise<void> {
  const these = sql`a.organization_id = ${organizationId} and a.user_id = ${userId} and a.value = ${value}`;
  await disable(db, these, reason, 'provider');
}

/** Those of them that are not yet; webhooks are told of each. */
async function disable(db: Db, these: RawBuilder<unknown>, reason: string, by: 'provider' | 'person'): Promise<void> {
  await sql`
    with disabled as (
      update addresses a set disabled_at = now(), disabled_reason = ${reason}
      where ${these} and a.disabled_at is null
      returning a.organization_id, a.id, a.user_id, a.name
    ), ${sql.raw(addressEventsText('disabled', by))}
    select from disabled`.execute(db);
}
