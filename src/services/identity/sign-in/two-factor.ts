/**
 * Second factors: an authenticator app, passkeys, and recovery codes for when both are lost. An account with an app or a
 * passkey never signs in with its password alone. There is no separate on/off switch.
 */
import { AppError, invalid } from '../../../core/errors.ts';
import { generateRecoveryCodes, recoveryCodeHash } from '../../../core/identity/recovery-codes.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { type Account, updateAccountAcrossTenants } from '../../../db/identity/accounts.ts';
import { listPasskeysAcrossTenants } from '../../../db/identity/passkeys.ts';
import { deleteResetsAcrossTenants } from '../../../db/identity/password-resets.ts';
import { endSessionsAcrossTenants } from '../../../db/identity/sessions.ts';
import * as factors from '../../../db/identity/two-factor.ts';
import { findTotpStep, generateTotpSecret, totpUri } from '../../../lib/secrets/totp.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { openSealed } from '../../../pipeline/channel-secrets.ts';
import type { Deps } from '../../deps.ts';
import { actorOf, lockOwnAccount, recordInAllOrganizations, requireConfirmed, type Session } from '../sessions.ts';
import { countAttempt, type Visitor } from './lockout.ts';
import { openState, sealState } from './sealed-state.ts';

type AccountIdentity = Pick<Account, 'id' | 'email'>;

/** Time to scan the QR code and enter a code. */
const enrollmentSeconds = 900;
const enrollmentPurpose = 'enrolling an authenticator app';
const totpPurpose = (accountId: number) => `totp of account ${accountId}`;

async function getTwoFactor(db: Db, accountId: number): Promise<factors.TwoFactor> {
  const found = await factors.getTwoFactorAcrossTenants(db, accountId);
  if (!found) throw new AppError('session.missing', 'the account no longer exists');
  return found;
}

/** Whether the password alone is not enough. */
export const isEnabled = ({ totp_secret, passkeys }: Pick<factors.TwoFactor, 'totp_secret' | 'passkeys'>) =>
  totp_secret !== null || passkeys > 0;

export async function describeTwoFactor({ db }: Deps, { account }: Session) {
  const found = await getTwoFactor(db, account.id);
  return {
    totp: found.totp_added_at,
    passkeys: await listPasskeysAcrossTenants(db, account.id),
    recovery_codes: found.recovery_codes,
  };
}

/** Returns a new secret for the app. Nothing is stored until a code of the app is confirmed. */
export async function beginTotp(deps: Deps, session: Session) {
  await requireConfirmed(deps, session);
  const { id, email } = session.account;
  const secret = generateTotpSecret();
  const token = sealState(deps, enrollmentPurpose, { id, secret }, enrollmentSeconds);
  return { token, secret, uri: totpUri(secret, 'Belfry', email) };
}

/** Adds the authenticator app, replacing a previous one. Returns recovery codes if it is the first second factor. */
export async function confirmTotp(
  deps: Deps,
  session: Session,
  { token, code }: { token: string; code: string },
): Promise<string[] | null> {
  const { id } = session.account;
  const state = openState<{ id: number; secret: string }>(deps, enrollmentPurpose, token);
  if (state?.id !== id) throw new AppError('session.expired', 'the QR code has expired: start again');
  const step = findTotpStep(state.secret, code.replaceAll(/\s/g, ''), currentTime());
  if (step === undefined) {
    throw invalid({ code: ['does not match: enter the current code, and check the clock of your phone'] });
  }
  return addFactor(deps, session, 'add authenticator app', trx =>
    factors.setTotpAcrossTenants(trx, id, sealTotpSecret(deps.cipher, state.secret, id), step),
  );
}

/**
 * Adds a second factor. The first one ends all other sessions, which were opened without it, and returns new recovery codes,
 * of which only hashes are stored. Later ones return null.
 */
export async function addFactor(
  deps: Deps,
  session: Session,
  action: string,
  add: (trx: Db) => Promise<void>,
): Promise<string[] | null> {
  const { account, tokenHash } = session;
  const codes = await deps.db.transaction().execute(async trx => {
    await lockOwnAccount(trx, session);
    const before = await getTwoFactor(trx, account.id);
    await add(trx);
    await recordInAllOrganizations(deps, trx, account, action);
    if (isEnabled(before)) return null;
    await endSessionsAcrossTenants(trx, account.id, tokenHash);
    return storeNewCodes(trx, account.id);
  });
  deps.tenantCache.invalidate(`account ${account.id}`);
  return codes;
}

async function storeNewCodes(trx: Db, accountId: number): Promise<string[]> {
  const codes = generateRecoveryCodes();
  const hashes = codes.map(code => recoveryCodeHash(code)!);
  await factors.replaceRecoveryCodesAcrossTenants(trx, accountId, hashes);
  return codes;
}

export async function removeTotp(deps: Deps, session: Session): Promise<void> {
  await requireConfirmed(deps, session);
  await removeFactor(deps, session, 'remove authenticator app', trx =>
    factors.clearTotpAcrossTenants(trx, session.account.id),
  );
}

/** Removes a second factor. The recovery codes are deleted with the last one. */
export async function removeFactor(
  deps: Deps,
  session: Session,
  action: string,
  remove: (trx: Db) => Promise<void>,
): Promise<void> {
  const { account } = session;
  await deps.db.transaction().execute(async trx => {
    await lockOwnAccount(trx, session);
    await remove(trx);
    if (!isEnabled(await getTwoFactor(trx, account.id)))
      await factors.replaceRecoveryCodesAcrossTenants(trx, account.id, []);
    await recordInAllOrganizations(deps, trx, account, action);
  });
  deps.tenantCache.invalidate(`account ${account.id}`);
}

/** Replaces the recovery codes: previous ones stop working. */
export async function renewRecoveryCodes(deps: Deps, session: Session): Promise<string[]> {
  await requireConfirmed(deps, session);
  const { account } = session;
  return deps.db.transaction().execute(async trx => {
    await lockOwnAccount(trx, session);
    if (!isEnabled(await getTwoFactor(trx, account.id))) {
      throw new AppError(
        'account.two_factor_missing',
        'recovery codes require a second factor: add an authenticator app or a passkey first',
      );
    }
    await recordInAllOrganizations(deps, trx, account, 'renew recovery codes');
    return storeNewCodes(trx, account.id);
  });
}

/** Removes all credentials and sessions of an account. Returns what was removed, for the audit log. */
export async function removeCredentials(trx: Db, { id, password_hash }: Account): Promise<JsonObject> {
  const removed = await factors.removeFactorsAcrossTenants(trx, id);
  const reset_links = await deleteResetsAcrossTenants(trx, id);
  const sessions = await endSessionsAcrossTenants(trx, id);
  await updateAccountAcrossTenants(trx, id, { password_hash: null });
  return { password: password_hash !== null, ...removed, sessions, reset_links };
}

/** Returns the second factors of an account, or undefined when the password alone is enough. */
export async function findSecondFactorMethods({ db }: Deps, { id }: AccountIdentity) {
  const found = await getTwoFactor(db, id);
  if (!isEnabled(found)) return undefined;
  return { totp: found.totp_secret !== null, passkey: found.passkeys > 0, recovery_code: found.recovery_codes > 0 };
}

/** Checks a code of the app or a recovery code. Each works once. Throws when there were too many failed attempts. */
export async function takeCode(deps: Deps, account: Account, code: string, visitor: Visitor): Promise<boolean> {
  const typed = code.replaceAll(/\s/g, '');
  const isTotp = /^\d{6}$/.test(typed);
  const guess = { email: account.email, account, what: 'second factor', isUnguessable: !isTotp } as const;
  const attempt = await countAttempt(deps, visitor, guess);
  const isRight = isTotp ? await takeTotp(deps, account, typed) : await takeRecoveryCode(deps, account, typed, visitor);
  if (isRight) await attempt.succeeded();
  return isRight;
}

async function takeTotp({ db, cipher }: Deps, { id }: AccountIdentity, code: string): Promise<boolean> {
  const { totp_secret } = await getTwoFactor(db, id);
  if (!totp_secret) return false;
  const step = findTotpStep(openTotpSecret(cipher, totp_secret, id), code, currentTime());
  return step !== undefined && factors.takeTotpStepAcrossTenants(db, id, step);
}

export function sealTotpSecret(cipher: Deps['cipher'], secret: string, accountId: number): Buffer {
  return cipher.seal(secret, totpPurpose(accountId));
}

export function openTotpSecret(cipher: Deps['cipher'], sealed: Buffer, accountId: number): string {
  const message = `the authenticator app of account ${accountId} was encrypted with another BELFRY_SECRET_KEY`;
  return openSealed(cipher, sealed, totpPurpose(accountId), message);
}

async function takeRecoveryCode(
  deps: Deps,
  account: AccountIdentity,
  code: string,
  visitor: Visitor,
): Promise<boolean> {
  const hash = recoveryCodeHash(code);
  if (!hash) return false;
  return deps.db.transaction().execute(async trx => {
    if (!(await factors.takeRecoveryCodeAcrossTenants(trx, account.id, hash))) return false;
    const actor = actorOf(account, visitor);
    await recordInAllOrganizations({ ...deps, actor }, trx, account, 'use recovery code');
    return true;
  });
}
