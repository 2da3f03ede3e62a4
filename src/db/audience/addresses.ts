import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import { addressEventsText } from '../ledger/webhooks/events.ts';

export interface Address {
  id: number;
  name: string;
  value: string;
}

export async function listAddresses(db: Db, organizationId: number, userId: number, page: PageRequest) {
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
  verified_at: Date | null;
  disabled_at: Date | null;
  disabled_reason: string | null;
}

const columnsWithStatus = ['id', 'name', 'value', 'verified_at', 'disabled_at', 'disabled_reason'] as const;

/** Lists addresses together with when and why each was disabled. */
export async function listWholeAddresses(db: Db, organizationId: number, userId: number, page: PageRequest) {
  return db
    .selectFrom('addresses')
    .select(columnsWithStatus)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function findAddress(db: Db, organizationId: number, userId: number, id: number) {
  return db
    .selectFrom('addresses')
    .select(columnsWithStatus)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Returns undefined when the address no longer exists. An address that is already disabled keeps its original time and
 * reason.
 */
export async function setAddressEnabled(db: Db, organizationId: number, id: number, enabled: boolean, reason: string) {
  if (!enabled) await disableMatching(db, sql`a.organization_id = ${organizationId} and a.id = ${id}`, reason);
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
    .select(columnsWithStatus)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Marks an address as verified or not, unless its name or value has changed. Returns whether that changed anything. */
export async function setAddressVerified(
  db: Db,
  organizationId: number,
  { id, name, value }: Address,
  verified: boolean,
): Promise<boolean> {
  const changed = await db
    .updateTable('addresses')
    .set({ verified_at: verified ? sql`now()` : null })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('name', '=', name)
    .where('value', '=', value)
    .where('verified_at', verified ? 'is' : 'is not', null)
    .executeTakeFirst();
  return changed.numUpdatedRows === 1n;
}

export async function countMembersByAddress(db: Db, organizationId: number, id: number): Promise<number> {
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

/** Returns false when the user already has an address with this name and value. */
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

/** Ensures that each of these users has an address named `email` with the user's own email. */
export async function addMissingEmails(db: Db, organizationId: number, usernames: string[]): Promise<void> {
  await sql`
    insert into addresses (organization_id, user_id, name, value)
    select organization_id, id, 'email', email from users
    where organization_id = ${organizationId} and username = any(${usernames}::text[])
    order by id
    on conflict do nothing`.execute(db);
}

interface UserAddress {
  username: string;
  name: string;
  value: string;
}

export async function listAllAddresses(db: Db, organizationId: number) {
  return db
    .selectFrom('addresses')
    .select(['user_id', 'name', 'value', 'verified_at'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

/** Adds many addresses at once, each user's in the order of the input. */
export async function addMissingAddresses(db: Db, organizationId: number, addresses: UserAddress[]): Promise<void> {
  await sql`
    insert into addresses (organization_id, user_id, name, value)
    select u.organization_id, u.id, given.name, given.value
    from ${unnest(addresses)}
    join users u on u.organization_id = ${organizationId} and u.username = given.username
    order by u.id, given.place
    on conflict do nothing`.execute(db);
}

/** Marks addresses as verified or not, where `verified` is set. */
export async function setAddressesVerified(
  db: Db,
  organizationId: number,
  addresses: (UserAddress & { verified?: boolean })[],
): Promise<void> {
  for (const verified of [true, false]) {
    const wanted = addresses.filter(address => address.verified === verified);
    if (wanted.length === 0) continue;
    await sql`
      update addresses a set verified_at = ${verified ? sql`coalesce(a.verified_at, now())` : null}
      from ${unnest(wanted)}, users u
      where a.organization_id = ${organizationId} and a.name = given.name and a.value = given.value
        and u.organization_id = a.organization_id and u.id = a.user_id and u.username = given.username`.execute(db);
  }
}

export async function removeAddresses(db: Db, organizationId: number, addresses: UserAddress[]): Promise<void> {
  await sql`
    delete from addresses a
    using ${unnest(addresses)}, users u
    where a.organization_id = ${organizationId} and a.name = given.name and a.value = given.value
      and u.organization_id = a.organization_id and u.id = a.user_id and u.username = given.username`.execute(db);
}

function unnest(addresses: UserAddress[]) {
  const column = (field: keyof UserAddress) => sql`${addresses.map(address => address[field])}::text[]`;
  return sql`unnest(${column('username')}, ${column('name')}, ${column('value')})
    with ordinality as given (username, name, value, place)`;
}

/** Returns the username of the first user with one of these address values, ignoring addresses named `email`. */
export async function findUsernameByAddress(db: Db, organizationId: number, values: string[]) {
  const { rows } = await sql<{ username: string }>`
    select u.username from addresses a
    join users u on u.organization_id = a.organization_id and u.id = a.user_id
    where a.organization_id = ${organizationId} and a.name <> 'email' and a.value = any(${values}::text[])
    order by a.id limit 1`.execute(db);
  return rows[0]?.username;
}

export interface AddressOwner {
  id: number;
  username: string;
  locale: string | null;
  /** Name of the address, from which its medium follows. */
  name: string;
}

/** Returns the users who have one of these values as an enabled address, except for addresses named `email`. Locked users are left out. */
export async function listAddressOwners(db: Db, organizationId: number, values: string[]): Promise<AddressOwner[]> {
  const { rows } = await sql<AddressOwner>`
    select u.id, u.username, u.locale, a.name from addresses a
    join users u on u.organization_id = a.organization_id and u.id = a.user_id
    where a.organization_id = ${organizationId} and a.name <> 'email' and a.value = any(${values}::text[])
      and a.disabled_at is null and not u.locked
    order by a.id limit 100`.execute(db);
  return rows;
}

/** Returns the addresses of other users with the same name and value. */
export async function listSameAddresses(
  db: Db,
  organizationId: number,
  userId: number,
  { name, value }: { name: string; value: string },
) {
  return (
    db
      .selectFrom('addresses as a')
      .innerJoin('users as u', join =>
        join.onRef('u.organization_id', '=', 'a.organization_id').onRef('u.id', '=', 'a.user_id'),
      )
      .select(['a.id', 'a.name', 'a.value', 'a.user_id', 'u.username'])
      .where('a.organization_id', '=', organizationId)
      // The index by value leaves these out.
      .where('a.name', '<>', 'email')
      .where('a.name', '=', name)
      .where('a.value', '=', value)
      .where('a.user_id', '<>', userId)
      .limit(100)
      .execute()
  );
}

/** The address of a user that no longer works, by its value. */
export interface GoneAddress {
  userId: number;
  value: string;
  reason: string;
}

const disableGone = `
  with disabled as (
    update addresses a set disabled_at = now(), disabled_reason = gone.reason
    from unnest($2::bigint[], $3::text[], $4::text[]) as gone (user_id, value, reason)
    where a.organization_id = $1 and a.user_id = gone.user_id and a.value = gone.value and a.disabled_at is null
    returning a.organization_id, a.id, a.user_id, a.name
  ), ${addressEventsText('disabled', 'provider')}
  select from disabled`;

/** Disables addresses that no longer work. They are kept so that the reason stays visible, but are no longer used. */
export async function disableAddresses(pool: pg.Pool, organizationId: number, gone: readonly GoneAddress[]) {
  const column = (field: keyof GoneAddress) => gone.map(one => one[field]);
  await pool.query({
    name: 'disable_addresses',
    text: disableGone,
    values: [organizationId, column('userId'), column('value'), column('reason')],
  });
}

/** Disables the matching addresses that are still enabled, and queues a webhook event for each. */
async function disableMatching(db: Db, condition: RawBuilder<unknown>, reason: string) {
  await sql`
    with disabled as (
      update addresses a set disabled_at = now(), disabled_reason = ${reason}
      where ${condition} and a.disabled_at is null
      returning a.organization_id, a.id, a.user_id, a.name
    ), ${sql.raw(addressEventsText('disabled', 'person'))}
    select from disabled`.execute(db);
}
