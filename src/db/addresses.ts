import { sql } from 'kysely';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

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

/** The same name and value again adds nothing. */
export async function addAddress(
  db: Db,
  organizationId: number,
  userId: number,
  address: { name: string; value: string },
): Promise<void> {
  await db
    .insertInto('addresses')
    .values({ organization_id: organizationId, user_id: userId, ...address })
    .onConflict(conflict => conflict.doNothing())
    .execute();
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
