/**
 * Second factors: an authenticator app, passkeys, and codes on paper for when both are lost. An account with one of the
 * first two never signs in with its password alone; which of them it has decides, there is no switch besides.
 */
import { AppError, invalid } from '../core/errors.ts';
import { generateRecoveryCodes, recoveryCodeHash } from '../core/recovery-codes.ts';
import type { Account } from '../db/accounts.ts';
import { listPasskeysAcrossTenants } from '../db/passkeys.ts';
import type { Db } from '../db/pool.ts';
import { deleteSessionsAcrossTenants } from '../db/sessions.ts';
import * as factors from '../db/two-factor.ts';
import { findTotpStep, generateTotpSecret, totpUri } from '../lib/totp.ts';
import type { Deps } from './deps.ts';
import { takeAttempt, type Visitor } from './lockout.ts';
import { openState, sealState } from './sealed-state.ts';
import { actorOf, recordEverywhere, requireConfirmed, type Session } from './sessions.ts';

type Person = Pick<Account, 'id' | 'email'>;

/** To scan a code and type another. */
const enrollmentSeconds = 900;
const enrollment = 'enrolling an authenticator app';
const stored = (accountId: number) => `totp of account ${accountId}`;

async function getTwoFactor(db: Db, accountId: number): Promise<factors.TwoFactor> {
  const found = await factors.getTwoFactorAcrossTenants(db, accountId);
  if (!found) throw new AppError('session.missing', 'the account was removed just now');
  return found;
}

const isEnabled = ({ totp_secret, passkeys }: factors.TwoFactor) => totp_secret !== null || passkeys > 0;

export async function describeTwoFactor({ db }: Deps, { account }: Session) {
  const found = await getTwoFactor(db, account.id);
  return {
    totp: found.totp_added_at,
    passkeys: await listPasskeysAcrossTenants(db, account.id),
    recovery_codes: found.recovery_codes,
  };
}

/** What an app needs to show codes; nothing is stored before one of them has come back. */
export async function beginTotp(deps: Deps, session: Session) {
  await requireConfirmed(deps, session);
  const { id, email } = session.account;
  const secret = generateTotpSecret();
  const token = sealState(deps, enrollment, { id, secret }, enrollmentSeconds);
  return { token, secret, uri: totpUri(secret, 'Belfry', email) };
}

/** Takes the place of an app that there was. */
export async function confirmTotp(
  deps: Deps,
  session: Session,
  { token, code }: { token: string; code: string },
): Promise<string[] | null> {
  const { id } = session.account;
  const begun = openState<{ id: number; secret: string }>(deps, enrollment, token);
  if (begun?.id !== id) throw new AppError('session.expired', 'scanning the QR code took too long: begin again');
  const step = findTotpStep(begun.secret, code.replaceAll(/\s/g, ''), Date.now());
  if (step === undefined) {
    throw invalid({ code: ['is not the one that the app shows now: check that the clock of the phone is right'] });
  }
  return addFactor(deps, session, 'add authenticator app', trx =>
    factors.setTotpAcrossTenants(trx, id, sealTotpSecret(deps.cipher, begun.secret, id), step),
  );
}

/**
 * The first one comes with recovery codes, and ends the other sessions: they were opened with less. Answers with the
 * codes, which are kept nowhere; null when there were some already.
 */
export async function addFactor(
  deps: Deps,
  { account, tokenHash }: Session,
  action: string,
  add: (trx: Db) => Promise<void>,
): Promise<string[] | null> {
  const codes = await deps.db.transaction().execute(async trx => {
    await factors.lockAccountAcrossTenants(trx, account.id);
    const before = await getTwoFactor(trx, account.id);
    await add(trx);
    await recordEverywhere(deps, trx, account, action);
    if (isEnabled(before)) return null;
    await deleteSessionsAcrossTenants(trx, account.id, tokenHash);
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

/** With the last one the recovery codes go too: there is nothing left to recover. */
export async function removeFactor(
  deps: Deps,
  { account }: Session,
  action: string,
  remove: (trx: Db) => Promise<void>,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await factors.lockAccountAcrossTenants(trx, account.id);
    await remove(trx);
    if (!isEnabled(await getTwoFactor(trx, account.id)))
      await factors.replaceRecoveryCodesAcrossTenants(trx, account.id, []);
    await recordEverywhere(deps, trx, account, action);
  });
  deps.tenantCache.invalidate(`account ${account.id}`);
}

/** Those from before work no longer. */
export async function renewRecoveryCodes(deps: Deps, session: Session): Promise<string[]> {
  await requireConfirmed(deps, session);
  const { account } = session;
  return deps.db.transaction().execute(async trx => {
    await factors.lockAccountAcrossTenants(trx, account.id);
    if (!isEnabled(await getTwoFactor(trx, account.id))) {
      throw new AppError('account.two_factor_missing', 'recovery codes are for accounts with a second factor');
    }
    await recordEverywhere(deps, trx, account, 'renew recovery codes');
    return storeNewCodes(trx, account.id);
  });
}

export interface Methods {
  totp: boolean;
  passkey: boolean;
  recovery_code: boolean;
}

/** Undefined when the password alone is enough. */
export async function findMethods({ db }: Deps, { id }: Person): Promise<Methods | undefined> {
  const found = await getTwoFactor(db, id);
  if (!isEnabled(found)) return undefined;
  return { totp: found.totp_secret !== null, passkey: found.passkeys > 0, recovery_code: found.recovery_codes > 0 };
}

/** Of the app, or from the paper. Each works once; throws when there were too many wrong ones. */
export async function checkCode(deps: Deps, person: Person, code: string, visitor: Visitor): Promise<boolean> {
  const typed = code.replaceAll(/\s/g, '');
  const isTotp = /^\d{6}$/.test(typed);
  const guess = { email: person.email, accountId: person.id, what: 'second factor', isUnguessable: !isTotp } as const;
  const attempt = await takeAttempt(deps, visitor, guess);
  const isRight = isTotp ? await takeTotp(deps, person, typed) : await takeRecoveryCode(deps, person, typed, visitor);
  if (isRight) await attempt.succeeded();
  else attempt.failed();
  return isRight;
}

async function takeTotp({ db, cipher }: Deps, { id }: Person, code: string): Promise<boolean> {
  const { totp_secret } = await getTwoFactor(db, id);
  if (!totp_secret) return false;
  const step = findTotpStep(openTotpSecret(cipher, totp_secret, id), code, Date.now());
  return step !== undefined && factors.takeTotpStepAcrossTenants(db, id, step);
}

export function sealTotpSecret(cipher: Deps['cipher'], secret: string, accountId: number): Buffer {
  return cipher.seal(secret, stored(accountId));
}

export function openTotpSecret(cipher: Deps['cipher'], sealed: Buffer, accountId: number): string {
  try {
    return cipher.open(sealed, stored(accountId));
  } catch (error) {
    const told = `the authenticator app of account ${accountId} was added under another BELFRY_SECRET_KEY`;
    throw new AppError('secret.unreadable', told, { cause: error });
  }
}

async function takeRecoveryCode(deps: Deps, person: Person, code: string, visitor: Visitor): Promise<boolean> {
  const hash = recoveryCodeHash(code);
  if (!hash) return false;
  return deps.db.transaction().execute(async trx => {
    if (!(await factors.takeRecoveryCodeAcrossTenants(trx, person.id, hash))) return false;
    const actor = actorOf(person, visitor);
    await recordEverywhere({ ...deps, actor }, trx, person, 'use recovery code');
    return true;
  });
}
