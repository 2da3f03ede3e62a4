/** What an account signs in with besides its password. */
import { type NotNull, sql } from 'kysely';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface TwoFactor {
  /** Sealed. */
  totp_secret: Buffer | null;
  totp_added_at: Date | null;
  passkeys: number;
  recovery_codes: number;
}

export async function getTwoFactorAcrossTenants(db: Db, accountId: number): Promise<TwoFactor | undefined> {
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

/** Held until the transaction ends: of two that add the first factor at the same time, the second sees the first. */
export async function lockAccountAcrossTenants(db: Db, accountId: number): Promise<void> {
  await sql`select 1 from accounts where id = ${accountId} for update`.execute(db);
}

export async function setTotpAcrossTenants(db: Db, accountId: number, secret: Buffer, step: number): Promise<void> {
  await db
    .updateTable('accounts')
    .set({ totp_secret: secret, totp_added_at: sql`now()`, totp_last_step: step })
    .where('id', '=', accountId)
    .execute();
}

/** Those with an authenticator app. */
export async function listSealedTotpAcrossTenants(
  db: Db,
  page: PageRequest,
): Promise<{ id: number; email: string; totp_secret: Buffer }[]> {
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

/** The same secret, sealed otherwise. False when it has been changed or removed since it was read. */
export async function replaceTotpAcrossTenants(
  db: Db,
  accountId: number,
  { from, to }: { from: Buffer; to: Buffer },
): Promise<boolean> {
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

/** False when a code of this time step, or of a later one, was used already. */
export async function takeTotpStepAcrossTenants(db: Db, accountId: number, step: number): Promise<boolean> {
  const result = await db
    .updateTable('accounts')
    .set({ totp_last_step: step })
    .where('id', '=', accountId)
    .where(where => where.or([where('totp_last_step', 'is', null), where('totp_last_step', '<', step)]))
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** In the place of those there were. */
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

/** Each works once: of two at the same time one gets true. */
export async function takeRecoveryCodeAcrossTenants(db: Db, accountId: number, hash: Buffer): Promise<boolean> {
  const result = await db
    .deleteFrom('recovery_codes')
    .where('account_id', '=', accountId)
    .where('code_hash', '=', hash)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** False when it was used before. */
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
