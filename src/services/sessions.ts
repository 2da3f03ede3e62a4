/** Signing in and out, and who is signed in. */
import { type Actor, anonymous } from '../core/actor.ts';
import { AppError, invalid } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { passwordMistake } from '../core/passwords.ts';
import { instancePermissions } from '../core/permissions.ts';
import { permissionsOf, type Role } from '../core/roles.ts';
import { fold } from '../core/text.ts';
import { generateToken, tokenHashOf } from '../core/tokens.ts';
import * as accounts from '../db/accounts.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import * as sessions from '../db/sessions.ts';
import { TooManyPasswords } from '../lib/passwords.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { deviceCookieFor, takeAttempt, type Visitor } from './lockout.ts';

export type { Session, SignInMethod } from '../db/sessions.ts';
export type { Visitor } from './lockout.ts';

const dayMs = 86_400_000;
/** However much it is used, and when nobody does. */
export const sessionLife = { wholeMs: 30 * dayMs, idleMs: 7 * dayMs } as const;
/** To an admin of the instance nothing is closed; somebody else's secrets stay sealed for them too. */
const roleOfAdmin: Role = 'owner';
const mostShown = 1_000;
/** How long a proof of who somebody is counts as recent. */
const confirmedMs = 15 * 60_000;

/** The session that a cookie stands for; undefined when it is none or over. */
export async function findSession(deps: Deps, token: string, now: number): Promise<sessions.Session | undefined> {
  const tokenHash = tokenHashOf(token);
  const session = tokenHash && (await deps.tenantCache.findSession(tokenHash));
  if (!session) return undefined;
  const used = Math.max(session.lastUsedAt.getTime(), deps.signIn.use.lastUse(session.tokenHash));
  if (session.expiresAt.getTime() <= now || used + sessionLife.idleMs <= now) return undefined;
  deps.signIn.use.note(session.tokenHash, now);
  return session;
}

/**
 * Whether somebody proved who they are in two ways. Of an identity provider that is the provider's own business; a
 * passkey and a password with a second factor are, for an account that has one.
 */
export function isTwoFactor({ method, hasTwoFactor }: Pick<sessions.Session, 'method' | 'hasTwoFactor'>): boolean {
  return method === 'oidc' || hasTwoFactor;
}

/** In an organization; undefined when the person has nothing to do with it. */
export function roleIn({ account, roles }: sessions.Session, organizationId: number): Role | undefined {
  return account.admin ? roleOfAdmin : roles[organizationId];
}

/** What a person with that role may do in an organization: admins also what no role allows. */
export function permissionsIn({ account }: Pick<sessions.Session, 'account'>, role: Role): readonly string[] {
  return [...permissionsOf(role), ...(account.admin ? instancePermissions : [])];
}

/** What a person may do outside any organization. */
export function instancePermissionsOf({ account }: Pick<sessions.Session, 'account'>): readonly string[] {
  return ['organization:read', 'system:ping', ...(account.admin ? instancePermissions : [])];
}

export function csrfTokenOf({ signIn }: Deps, { tokenHash }: Pick<sessions.Session, 'tokenHash'>): string {
  return signIn.signer.sign(tokenHash.toString('base64'), 'csrf');
}

export function isCsrfToken({ signIn }: Deps, { tokenHash }: sessions.Session, given: string): boolean {
  return signIn.signer.isSigned(given, tokenHash.toString('base64'), 'csrf');
}

interface Given {
  email: string;
  password: string;
  /** Checks what came along with the password, for somebody who must show both at once. */
  code?: (account: accounts.Account) => Promise<boolean>;
}

/** The account that an email and a password belong to. Wrong ones and unknown ones are answered alike, and slowly. */
export async function checkPassword(
  deps: Deps,
  { email, password, code }: Given,
  visitor: Visitor,
): Promise<accounts.Account> {
  const { passwords } = deps.signIn;
  const name = fold(email);
  const account = await accounts.findAccountAcrossTenants(deps.db, name);
  const guess = { email: name, accountId: account?.id, what: 'password', withCode: code !== undefined } as const;
  const attempt = await takeAttempt(deps, visitor, guess);
  const isRight = await patiently(passwords.verify(password, account?.password_hash));
  if (!isRight || !account?.password_hash || (code && !(await code(account)))) {
    attempt.failed();
    if (account) await recordFailure(deps, account, visitor, code ? 'password or code' : 'password');
    throw new AppError(
      'session.refused',
      `the email${code ? ', the password or the code' : ' or the password'} is wrong`,
    );
  }
  await attempt.succeeded();
  if (passwords.isOutdated(account.password_hash)) {
    const password_hash = await hashPassword(deps, password);
    await accounts.updateAccountAcrossTenants(deps.db, account.id, { password_hash });
  }
  return account;
}

/** Whoever it was did not get in: the log tells where they tried from, not who they are. */
export async function recordFailure(
  deps: Deps,
  account: Pick<accounts.Account, 'id' | 'email'>,
  { origin, requestId }: Visitor,
  wrong: string,
): Promise<void> {
  const actor = { ...anonymous, origin, requestId };
  await recordEverywhere({ ...deps, actor }, deps.db, account, 'sign in failed', { wrong });
}

async function patiently<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof TooManyPasswords)) throw error;
    throw new AppError('service.unavailable', 'too many people sign in at once: try again', { retryAfterSeconds: 2 });
  }
}

export function hashPassword({ signIn }: Deps, password: string): Promise<string> {
  return patiently(signIn.passwords.hash(password));
}

export interface Opened {
  /** For the cookie. */
  token: string;
  /** For the cookie that tells this device from strangers. */
  device: string;
  session: sessions.Session;
}

/** For somebody whose identity is sure. */
export async function openSession(
  deps: Deps,
  account: Pick<accounts.Account, 'id' | 'email'>,
  visitor: Visitor,
  method: sessions.SignInMethod,
): Promise<Opened> {
  const { token, tokenHash } = generateToken();
  await deps.db.transaction().execute(async trx => {
    await sessions.createSessionAcrossTenants(trx, {
      token_hash: tokenHash,
      account_id: account.id,
      expires_at: new Date(Date.now() + sessionLife.wholeMs),
      user_agent: visitor.userAgent?.slice(0, 255) ?? null,
      origin: visitor.origin,
      method,
    });
    await recordEverywhere({ ...deps, actor: actorOf(account, visitor) }, trx, account, 'sign in', { method });
  });
  const session = await sessions.findSessionAcrossTenants(deps.db, tokenHash);
  if (!session) throw new AppError('session.missing', 'the account was removed just now');
  return { token, session, device: deviceCookieFor(deps, visitor, account.id) };
}

export function actorOf({ id, email }: Pick<accounts.Account, 'id' | 'email'>, visitor: Visitor): Actor {
  return { kind: 'account', id: String(id), name: email, origin: visitor.origin, requestId: visitor.requestId };
}

/** In the log of every organization that the account is a member of. */
export async function recordEverywhere(
  deps: Deps,
  trx: Db,
  { id, email }: Pick<accounts.Account, 'id' | 'email'>,
  action: string,
  after: JsonObject = {},
): Promise<void> {
  const memberships = await accounts.listReachedAcrossTenants(trx, id, false, { after: 0, limit: mostShown });
  for (const organization of memberships) {
    await record(deps, trx, organization.id, { action, noun: 'account', path: email, after: { id, ...after } });
  }
}

export async function signOut(deps: Deps, { tokenHash, account }: sessions.Session): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await sessions.deleteSessionAcrossTenants(trx, tokenHash);
    await recordEverywhere(deps, trx, account, 'sign out');
  });
}

/** Whatever it was: the cookie is about to hold another. */
export async function forgetSession({ db }: Deps, token: string): Promise<void> {
  const tokenHash = tokenHashOf(token);
  if (tokenHash) await sessions.deleteSessionAcrossTenants(db, tokenHash);
}

/** What the console is told of who is signed in. */
export async function describeSession(deps: Deps, session: sessions.Session) {
  const { id, email, name, admin } = session.account;
  const reached = await accounts.listReachedAcrossTenants(deps.db, id, admin, { after: 0, limit: mostShown });
  return {
    account: { id, email, name, admin, two_factor: isTwoFactor(session) },
    organizations: reached.map(({ slug, name, two_factor_required, role: own }) => {
      const role = admin ? roleOfAdmin : own!;
      return { slug, name, role, permissions: [...permissionsOf(role)], two_factor_required };
    }),
    csrf_token: csrfTokenOf(deps, session),
  };
}

export async function rename(deps: Deps, session: sessions.Session, name: string): Promise<sessions.Session> {
  const { account } = session;
  await deps.db.transaction().execute(async trx => {
    await accounts.updateAccountAcrossTenants(trx, account.id, { name });
    await recordEverywhere(deps, trx, account, 'update');
  });
  return { ...session, account: { ...account, name } };
}

/** Whoever else is signed in with the old password is so no longer. */
export async function changePassword(
  deps: Deps,
  session: sessions.Session,
  { current, password }: { current: string; password: string },
  visitor: Visitor,
): Promise<void> {
  const { account, tokenHash } = session;
  mustBeGood(password, account.email);
  await checkOwnPassword(deps, session, current, visitor, 'current');
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(async trx => {
    await accounts.updateAccountAcrossTenants(trx, account.id, { password_hash });
    await sessions.deleteSessionsAcrossTenants(trx, account.id, tokenHash);
    await recordEverywhere(deps, trx, account, 'change password');
  });
}

async function checkOwnPassword(
  deps: Deps,
  { account }: sessions.Session,
  password: string,
  visitor: Visitor,
  field: string,
): Promise<void> {
  await checkPassword(deps, { email: account.email, password }, visitor).catch(error => {
    if (!(error instanceof AppError) || error.code !== 'session.refused') throw error;
    throw invalid({ [field]: ['is not the password of this account'] });
  });
}

/** Proves once more who they are, for what asks for a recent proof. */
export async function confirmSession(
  deps: Deps,
  session: sessions.Session,
  password: string,
  visitor: Visitor,
): Promise<void> {
  await checkOwnPassword(deps, session, password, visitor, 'password');
  await sessions.confirmSessionAcrossTenants(deps.db, session.tokenHash);
}

/** A browser that somebody left open must not be enough to change how they sign in. */
export async function requireConfirmed({ db }: Deps, { tokenHash }: sessions.Session): Promise<void> {
  const at = await sessions.getConfirmationAcrossTenants(db, tokenHash);
  if (at && at.getTime() + confirmedMs > Date.now()) return;
  throw new AppError(
    'session.unconfirmed',
    'it is a while since you signed in: send your password to POST /api/session/confirm/, or sign in again',
  );
}

/** Of one's own, with when each was last used. */
export async function listSessions(deps: Deps, { account, tokenHash }: sessions.Session, page: PageRequest) {
  const now = Date.now();
  const lives = { now: new Date(now), usedSince: new Date(now - sessionLife.idleMs) };
  const rows = await sessions.listSessionsAcrossTenants(deps.db, account.id, lives, page);
  return rows.map(({ token_hash, last_used_at, ...row }) => {
    const used = Math.max(last_used_at.getTime(), deps.signIn.use.lastUse(token_hash));
    return { ...row, last_used_at: new Date(used), current: token_hash.equals(tokenHash) };
  });
}

/** Answers whether it was the one that asks. */
export async function endSession(deps: Deps, { account, tokenHash }: sessions.Session, id: number): Promise<boolean> {
  return deps.db.transaction().execute(async trx => {
    const ended = await sessions.endSessionAcrossTenants(trx, account.id, id);
    if (!ended) throw new AppError('session.not_found', 'there is no such session of yours, or it has ended');
    await recordEverywhere(deps, trx, account, 'end session');
    return ended.token_hash.equals(tokenHash);
  });
}

/** All but the one that asks. */
export async function endOtherSessions(deps: Deps, { account, tokenHash }: sessions.Session): Promise<number> {
  return deps.db.transaction().execute(async trx => {
    const ended = await sessions.deleteSessionsAcrossTenants(trx, account.id, tokenHash);
    if (ended > 0) await recordEverywhere(deps, trx, account, 'end session', { ended });
    return ended;
  });
}

export function mustBeGood(password: string, email: string): void {
  const mistake = passwordMistake(password, email);
  if (mistake) throw invalid({ password: [mistake] });
}
