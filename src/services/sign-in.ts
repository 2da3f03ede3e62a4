/**
 * Signing in, in one step or two:
 *
 * | given                  | the account has a second factor       | it has none     |
 * | ---------------------- | ------------------------------------- | --------------- |
 * | password               | `session.second_factor` with a token  | a session       |
 * | password and code      | a session                             | refused         |
 * | token, code or passkey | a session                             |                 |
 * | passkey alone          | a session                             |                 |
 *
 * Until it is done, what there is of a sign-in is with the browser alone, sealed.
 */
import { AppError } from '../core/errors.ts';
import { sha256 } from '../core/tokens.ts';
import { type Account, findAccountByIdAcrossTenants } from '../db/accounts.ts';
import type { Deps } from './deps.ts';
import type { Visitor } from './lockout.ts';
import { ceremonySeconds, requestOptions, type Site, takePasskey, tooLate, verifyPasskey } from './passkeys.ts';
import { openState, sealState } from './sealed-state.ts';
import { checkPassword, type Opened, openSession, recordFailure } from './sessions.ts';
import { checkCode, findMethods } from './two-factor.ts';

const secondStep = 'the second step of a sign-in';
const withPasskey = 'a sign-in with a passkey';

export async function signIn(
  deps: Deps,
  { email, password, code }: { email: string; password: string; code?: string },
  visitor: Visitor,
  site: Site,
): Promise<Opened> {
  const account = await checkPassword(
    deps,
    { email, password, ...(code !== undefined && { code: of => isRightCode(deps, of, code, visitor) }) },
    visitor,
  );
  if (code === undefined) await requireSecondFactor(deps, account, site);
  return openSession(deps, account, visitor, 'password');
}

/** Whether it was wrong or there were too many is not told: that would tell that the password is right. */
async function isRightCode(deps: Deps, account: Account, code: string, visitor: Visitor): Promise<boolean> {
  if (!(await findMethods(deps, account))) return false;
  return checkCode(deps, account, code, visitor).catch(error => {
    if (error instanceof AppError && error.code === 'session.locked') return false;
    throw error;
  });
}

interface Begun {
  id: number;
  /** Of the password: with another one, the first step was not this one. */
  stamp: string;
  challenge: string | null;
}

const stampOf = ({ password_hash }: Account) => sha256(password_hash ?? '').toString('base64url');

/** Throws for an account that has one, with all that the second step takes. */
export async function requireSecondFactor(deps: Deps, account: Account, site: Site): Promise<void> {
  const methods = await findMethods(deps, account);
  if (!methods) return;
  const options = methods.passkey ? await passkeyOptions(deps, site, account) : undefined;
  const begun: Begun = { id: account.id, stamp: stampOf(account), challenge: options?.challenge ?? null };
  const token = sealState(deps, secondStep, begun, ceremonySeconds);
  throw new AppError('session.second_factor', 'the password is right; now send the second factor', {
    secondFactor: { token, methods: { ...methods, passkey: options !== undefined }, passkey: options ?? null },
  });
}

/** Where passkeys do not work, the other ways do. */
async function passkeyOptions(deps: Deps, site: Site, account: Account) {
  try {
    return await requestOptions(deps, site, account);
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
): Promise<Opened> {
  const begun = openState<Begun>(deps, secondStep, token);
  const account = begun && (await findAccountByIdAcrossTenants(deps.db, begun.id));
  if (!account || begun.stamp !== stampOf(account)) throw tooLate();
  if (passkey) {
    if (!begun.challenge) throw tooLate();
    const used = await proven(deps, account, visitor, () =>
      verifyPasskey(deps, site, { response: passkey, challenge: begun.challenge!, isOnlyProof: false }),
    );
    if (used.passkey.account_id !== account.id) {
      throw new AppError('passkey.refused', 'this passkey belongs to another account');
    }
    await takePasskey(deps.db, used, begun.challenge);
  } else if (!(await checkCode(deps, account, code ?? '', visitor))) {
    await recordFailure(deps, account, visitor, 'code');
    throw new AppError('session.code', 'the code is wrong, or was used already');
  }
  return openSession(deps, account, visitor, 'password');
}

async function proven<T>(deps: Deps, account: Account, visitor: Visitor, prove: () => Promise<T>): Promise<T> {
  try {
    return await prove();
  } catch (error) {
    if (error instanceof AppError && error.code === 'passkey.refused') {
      await recordFailure(deps, account, visitor, 'passkey');
    }
    throw error;
  }
}

/** For whoever has a passkey: the browser knows whose. */
export async function beginPasskey(deps: Deps, site: Site) {
  const options = await requestOptions(deps, site);
  return { token: sealState(deps, withPasskey, { challenge: options.challenge }, ceremonySeconds), options };
}

export async function signInWithPasskey(
  deps: Deps,
  { token, response }: { token: string; response: object },
  visitor: Visitor,
  site: Site,
): Promise<Opened> {
  const begun = openState<{ challenge: string }>(deps, withPasskey, token);
  if (!begun) throw tooLate();
  const used = await verifyPasskey(deps, site, { response, challenge: begun.challenge, isOnlyProof: true });
  const account = await findAccountByIdAcrossTenants(deps.db, used.passkey.account_id);
  if (!account) throw new AppError('passkey.refused', 'the account was removed just now');
  await takePasskey(deps.db, used, begun.challenge);
  return openSession(deps, account, visitor, 'passkey');
}
