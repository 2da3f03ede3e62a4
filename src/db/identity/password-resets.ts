import { currentTime } from '../../lib/time/clock.ts';
import type { Db } from '../connection/pool.ts';

export async function createResetAcrossTenants(
  db: Db,
  reset: { token_hash: Buffer; account_id: number; expires_at: Date },
): Promise<void> {
  await db.insertInto('password_resets').values(reset).execute();
}

const pending = (db: Db, tokenHash: Buffer) =>
  db
    .selectFrom('password_resets as r')
    .innerJoin('accounts as a', 'a.id', 'r.account_id')
    .select(['a.id', 'a.email'])
    .where('r.token_hash', '=', tokenHash)
    .where('r.expires_at', '>', new Date(currentTime()));

/** Finds the account of a reset link, which does not name it. Ignores expired links. */
export async function findResetAcrossTenants(db: Db, tokenHash: Buffer) {
  return pending(db, tokenHash).executeTakeFirst();
}

/**
 * Consumes the link and deletes the account's other ones. Returns false when the link was used or deleted concurrently.
 */
export async function takeResetAcrossTenants(db: Db, accountId: number, tokenHash: Buffer): Promise<boolean> {
  const result = await db.deleteFrom('password_resets').where('token_hash', '=', tokenHash).executeTakeFirst();
  await deleteResetsAcrossTenants(db, accountId);
  return result.numDeletedRows === 1n;
}

/** Deletes all reset links of the account and returns how many there were. */
export async function deleteResetsAcrossTenants(db: Db, accountId: number): Promise<number> {
  const result = await db.deleteFrom('password_resets').where('account_id', '=', accountId).executeTakeFirst();
  return Number(result.numDeletedRows);
}

export async function deleteOldResetsAcrossTenants(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('password_resets').where('expires_at', '<', now).execute();
}
