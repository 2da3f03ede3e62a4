/**
 * Signing in, in one or two steps:
 *
 * | credentials            | account with a second factor          | account without |
 * | ---------------------- | ------------------------------------- | --------------- |
 * | password               | `session.second_factor` with a token  | a session       |
 * | password and code      | a session                             | refused         |
 * | token, code or passkey | a session                             |                 |
 * | passkey alone          | a session                             |                 |
 *
 * Between the steps the state of a sign-in is kept by the browser, encrypted.
 */
import { AppError } from '../../../core/errors.ts';
import { sha256 } from '../../../core/identity/tokens.ts';
import { type Account, findAccountByIdAcrossTenants } from '../../../db/identity/accounts.ts';
import type { Deps } from '../../deps.ts';
import { checkPassword, type OpenedSession, openSession, recordFailure, requestExpired } from '../sessions.ts';
import { countRefusedPasskey, type Visitor } from './lockout.ts';
import { ceremonySeconds, createRequestOptions, recordPasskeyUse, type Site, verifyPasskey } from './passkeys.ts';
import { openState, sealState } from './sealed-state.ts';
import { findSecondFactorMethods, takeCode } from './two-factor.ts';

const secondStepPurpose = 'the second step of a sign-in';
const passkeyPurpose = 'a sign-in with a passkey';

export async function signIn(
  deps: Deps,
  { email, password, code }: { email: string; password: string; code?: string },
  visitor: Visitor,
  site: Site,
): Promise<OpenedSession> {
  const account = await checkPassword(
    deps,
    { email, password, ...(code !== undefined && { code: owner => takeCodeQuietly(deps, owner, code, visitor) }) },
    visitor,
  );
  if (code === undefined) await requireSecondFactor(deps, account, site);
  return openSession(deps, account, visitor, 'password');
}

/** Treats a locked-out code like a wrong one: a different answer would reveal that the password is right. */
async function takeCodeQuietly(deps: Deps, account: Account, code: string, visitor: Visitor): Promise<boolean> {
  if (!(await findSecondFactorMethods(deps, account))) return false;
  return takeCode(deps, account, code, visitor).catch(error => {
    if (error instanceof AppError && error.code === 'session.locked') return false;
    throw error;
  });
}

interface PendingSignIn {
  id: number;
  /** Hash of the account's generation and password. If either changes, the first step is no longer valid. */
  stamp: string;
  challenge: string | null;
}

const stampOf = ({ password_hash, generation }: Account) =>
  sha256(`${generation} ${password_hash ?? ''}`).toString('base64url');

/** Throws `session.second_factor` for an account with a second factor, with everything the second step needs. */
export async function requireSecondFactor(deps: Deps, account: Account, site: Site): Promise<void> {
  const methods = await findSecondFactorMethods(deps, account);
  if (!methods) return;
  const options = methods.passkey ? await passkeyOptions(deps, site, account) : undefined;
  const state: PendingSignIn = { id: account.id, stamp: stampOf(account), challenge: options?.challenge ?? null };
  const token = sealState(deps, secondStepPurpose, state, ceremonySeconds);
  throw new AppError('session.second_factor', 'the password is correct: now send the second factor', {
    secondFactor: { token, methods: { ...methods, passkey: options !== undefined }, passkey: options ?? null },
  });
}

/** Returns undefined where passkeys are unavailable: the other methods still work. */
async function passkeyOptions(deps: Deps, site: Site, account: Account) {
  try {
    return await createRequestOptions(deps, site, account);
  } catch (error) {
    if (error instanceof AppError && error.code === 'passkey.unavailable') return undefined;
    throw error;
  }
}

export async function finishSignIn(
  deps: Deps,
  { token, code, passkey }: { token: string; code?: string; passkey?: object },
  visitor: Visitor,
  site: Site,
): Promise<OpenedSession> {
  const state = openState<PendingSignIn>(deps, secondStepPurpose, token);
  const account = state && (await findAccountByIdAcrossTenants(deps.db, state.id));
  if (!account || state.stamp !== stampOf(account)) throw requestExpired();
  if (passkey) {
    if (!state.challenge) throw requestExpired();
    await withRefusalCount(deps, visitor, account, async () => {
      const challenge = state.challenge!;
      const used = await verifyPasskey(deps, site, { response: passkey, challenge, isOnlyProof: false });
      if (used.passkey.account_id !== account.id) {
        throw new AppError('passkey.refused', 'this passkey belongs to another account');
      }
      await recordPasskeyUse(deps.db, used, challenge);
    });
  } else if (!(await takeCode(deps, account, code ?? '', visitor))) {
    await recordFailure(deps, account, visitor, 'code');
    throw new AppError('session.code', 'the code is wrong or was already used');
  }
  return openSession(deps, account, visitor, 'password');
}

/** Counts a refused passkey against the network, and records it when the account is known. */
async function withRefusalCount<T>(
  deps: Deps,
  visitor: Visitor,
  account: Account | undefined,
  prove: () => Promise<T>,
): Promise<T> {
  try {
    return await prove();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'passkey.refused') throw error;
    if (account) await recordFailure(deps, account, visitor, 'passkey');
    throw countRefusedPasskey(deps, visitor) ?? error;
  }
}

/** Begins a sign-in with a passkey alone: the browser offers the accounts it has passkeys for. */
export async function beginPasskey(deps: Deps, site: Site) {
  const options = await createRequestOptions(deps, site);
  return { token: sealState(deps, passkeyPurpose, { challenge: options.challenge }, ceremonySeconds), options };
}

export async function signInWithPasskey(
  deps: Deps,
  { token, response }: { token: string; response: object },
  visitor: Visitor,
  site: Site,
): Promise<OpenedSession> {
  const state = openState<{ challenge: string }>(deps, passkeyPurpose, token);
  if (!state) throw requestExpired();
  const account = await withRefusalCount(deps, visitor, undefined, async () => {
    const used = await verifyPasskey(deps, site, { response, challenge: state.challenge, isOnlyProof: true });
    const found = await findAccountByIdAcrossTenants(deps.db, used.passkey.account_id);
    if (!found) throw new AppError('passkey.refused', 'the account no longer exists');
    await recordPasskeyUse(deps.db, used, state.challenge);
    return found;
  });
  return openSession(deps, account, visitor, 'passkey');
}
