import type { Db } from './pool.ts';

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
    .where('r.expires_at', '>', new Date());

/** Whose password a link resets: it names nobody. */
export async function findResetAcrossTenants(db: Db, tokenHash: Buffer) {
  return pending(db, tokenHash).executeTakeFirst();
}

/** False when somebody else was faster. The other links of the account end with it. */
export async function takeResetAcrossTenants(db: Db, accountId: number, tokenHash: Buffer): Promise<boolean> {
  const result = await db.deleteFrom('password_resets').where('token_hash', '=', tokenHash).executeTakeFirst();
  await db.deleteFrom('password_resets').where('account_id', '=', accountId).execute();
  return result.numDeletedRows === 1n;
}

export async function deleteOldResetsAcrossTenants(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('password_resets').where('expires_at', '<', now).execute();
}
