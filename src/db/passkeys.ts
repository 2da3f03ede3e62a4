import { sql } from 'kysely';
import type { Db } from './pool.ts';

export interface Passkey {
  id: number;
  account_id: number;
  credential_id: Buffer;
  public_key: Buffer;
  counter: number;
  transports: string[];
  name: string;
  created_at: Date;
  last_used_at: Date | null;
}

const columns = [
  'id',
  'account_id',
  'credential_id',
  'public_key',
  'counter',
  'transports',
  'name',
  'created_at',
  'last_used_at',
] as const;

export async function listPasskeysAcrossTenants(db: Db, accountId: number): Promise<Passkey[]> {
  return db.selectFrom('passkeys').select(columns).where('account_id', '=', accountId).orderBy('id').execute();
}

/** A passkey is presented before anyone knows whose it is. */
export async function findPasskeyAcrossTenants(db: Db, credentialId: Buffer): Promise<Passkey | undefined> {
  return db.selectFrom('passkeys').select(columns).where('credential_id', '=', credentialId).executeTakeFirst();
}

export type NewPasskey = Pick<
  Passkey,
  'account_id' | 'credential_id' | 'public_key' | 'counter' | 'transports' | 'name'
>;

/** Undefined when it is registered already. */
export async function createPasskeyAcrossTenants(db: Db, passkey: NewPasskey): Promise<Passkey | undefined> {
  return db
    .insertInto('passkeys')
    .values(passkey)
    .onConflict(conflict => conflict.column('credential_id').doNothing())
    .returning(columns)
    .executeTakeFirst();
}

export async function touchPasskeyAcrossTenants(db: Db, id: number, counter: number): Promise<void> {
  await db.updateTable('passkeys').set({ counter, last_used_at: sql`now()` }).where('id', '=', id).execute();
}

/** Undefined when the account has no such passkey. */
export async function renamePasskeyAcrossTenants(
  db: Db,
  accountId: number,
  id: number,
  name: string,
): Promise<Passkey | undefined> {
  return db
    .updateTable('passkeys')
    .set({ name })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

export async function deletePasskeyAcrossTenants(
  db: Db,
  accountId: number,
  id: number,
): Promise<{ name: string } | undefined> {
  return db
    .deleteFrom('passkeys')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returning('name')
    .executeTakeFirst();
}
