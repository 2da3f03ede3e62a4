/** Second factors of accounts: authenticator apps, recovery codes and used passkey challenges. */
import { type NotNull, sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export interface TwoFactor {
  /** Encrypted. */
  totp_secret: Buffer | null;
  totp_added_at: Date | null;
  passkeys: number;
  recovery_codes: number;
}

export async function getTwoFactorAcrossTenants(db: Db, accountId: number) {
  return db
    .selectFrom('accounts as a')
    .select([
      'a.totp_secret',
      'a.totp_added_at',
      sql<number>`(select count(*)::int from passkeys p where p.account_id = a.id)`.as('passkeys'),
      sql<number>`(select count(*)::int from recovery_codes r where r.account_id = a.id)`.as('recovery_codes'),
    ])
    .where('a.id', '=', accountId)
    .executeTakeFirst();
}

export async function setTotpAcrossTenants(db: Db, accountId: number, secret: Buffer, step: number): Promise<void> {
  await db
    .updateTable('accounts')
    .set({ totp_secret: secret, totp_added_at: sql`now()`, totp_last_step: step })
    .where('id', '=', accountId)
    .execute();
}

/** Lists the encrypted secrets of all accounts with an authenticator app. */
export async function listSealedTotpAcrossTenants(db: Db, page: PageRequest) {
  return db
    .selectFrom('accounts')
    .select(['id', 'email', 'totp_secret'])
    .where('totp_secret', 'is not', null)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .$narrowType<{ totp_secret: NotNull }>()
    .execute();
}

/** Stores the same secret encrypted with another key. Returns false when it was changed or removed since it was read. */
export async function replaceTotpAcrossTenants(db: Db, accountId: number, { from, to }: { from: Buffer; to: Buffer }) {
  const result = await db
    .updateTable('accounts')
    .set({ totp_secret: to })
    .where('id', '=', accountId)
    .where('totp_secret', '=', from)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function clearTotpAcrossTenants(db: Db, accountId: number): Promise<void> {
  await db
    .updateTable('accounts')
    .set({ totp_secret: null, totp_added_at: null, totp_last_step: null })
    .where('id', '=', accountId)
    .execute();
}

/** Removes every second factor and returns what was removed. */
export async function removeFactorsAcrossTenants(
  db: Db,
  accountId: number,
): Promise<{ authenticator_app: boolean; passkeys: string[]; recovery_codes: number }> {
  const before = await getTwoFactorAcrossTenants(db, accountId);
  const passkeys = await db.deleteFrom('passkeys').where('account_id', '=', accountId).returning('name').execute();
  await clearTotpAcrossTenants(db, accountId);
  await replaceRecoveryCodesAcrossTenants(db, accountId, []);
  return {
    authenticator_app: (before?.totp_secret ?? null) !== null,
    passkeys: passkeys.map(({ name }) => name),
    recovery_codes: before?.recovery_codes ?? 0,
  };
}

/** Marks a time step as used. Returns false when a code of this or a later step was already used. */
export async function takeTotpStepAcrossTenants(db: Db, accountId: number, step: number): Promise<boolean> {
  const result = await db
    .updateTable('accounts')
    .set({ totp_last_step: step })
    .where('id', '=', accountId)
    .where(where => where.or([where('totp_last_step', 'is', null), where('totp_last_step', '<', step)]))
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function listRecoveryCodesAcrossTenants(db: Db, accountId: number): Promise<Buffer[]> {
  const rows = await db.selectFrom('recovery_codes').select('code_hash').where('account_id', '=', accountId).execute();
  return rows.map(({ code_hash }) => code_hash);
}

/** Replaces all recovery codes of the account. */
export async function replaceRecoveryCodesAcrossTenants(
  db: Db,
  accountId: number,
  hashes: readonly Buffer[],
): Promise<void> {
  await db.deleteFrom('recovery_codes').where('account_id', '=', accountId).execute();
  if (hashes.length === 0) return;
  const rows = hashes.map(code_hash => ({ account_id: accountId, code_hash }));
  await db.insertInto('recovery_codes').values(rows).execute();
}

/** Consumes a recovery code. Of two concurrent uses of the same code, only one gets true. */
export async function takeRecoveryCodeAcrossTenants(db: Db, accountId: number, hash: Buffer): Promise<boolean> {
  const result = await db
    .deleteFrom('recovery_codes')
    .where('account_id', '=', accountId)
    .where('code_hash', '=', hash)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** Marks a challenge as used. Returns false when it was already used. */
export async function takeChallengeAcrossTenants(db: Db, hash: Buffer, expiresAt: Date): Promise<boolean> {
  const result = await db
    .insertInto('used_challenges')
    .values({ challenge_hash: hash, expires_at: expiresAt })
    .onConflict(conflict => conflict.column('challenge_hash').doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export async function deleteOldChallengesAcrossTenants(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('used_challenges').where('expires_at', '<', now).execute();
}
