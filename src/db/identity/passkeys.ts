import { sql } from 'kysely';
import type { Db, Row } from '../connection/pool.ts';

/** `rp_id` is the host name that it is bound to. Null: not recorded, when it was added. */
export type Passkey = Row<'passkeys'>;

export async function listPasskeysAcrossTenants(db: Db, accountId: number) {
  return db.selectFrom('passkeys').selectAll().where('account_id', '=', accountId).orderBy('id').execute();
}

/** The account is not known before the passkey is found. */
export async function findPasskeyAcrossTenants(db: Db, credentialId: Buffer) {
  return db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst();
}

type NewPasskey = Pick<
  Passkey,
  'account_id' | 'credential_id' | 'public_key' | 'counter' | 'transports' | 'name' | 'rp_id'
>;

/** Returns undefined when the passkey is already registered. */
export async function createPasskeyAcrossTenants(db: Db, passkey: NewPasskey) {
  return db
    .insertInto('passkeys')
    .values(passkey)
    .onConflict(conflict => conflict.column('credential_id').doNothing())
    .returningAll()
    .executeTakeFirst();
}

/**
 * Returns false when the passkey was removed since it was read, or when its stored counter is higher: then the
 * authenticator may have been cloned.
 */
export async function touchPasskeyAcrossTenants(db: Db, id: number, counter: number): Promise<boolean> {
  const result = await db
    .updateTable('passkeys')
    .set({ counter, last_used_at: sql`now()` })
    .where('id', '=', id)
    .where('counter', '<=', counter)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Returns undefined when the account has no such passkey. */
export async function renamePasskeyAcrossTenants(db: Db, accountId: number, id: number, name: string) {
  return db
    .updateTable('passkeys')
    .set({ name })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

export async function deletePasskeyAcrossTenants(db: Db, accountId: number, id: number) {
  return db
    .deleteFrom('passkeys')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returning('name')
    .executeTakeFirst();
}
