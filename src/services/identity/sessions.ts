/** Sessions: passwords, signing in and out, and the permissions of the signed-in account. */
import { setTimeout } from 'node:timers/promises';
import { AppError, invalid } from '../../core/errors.ts';
import { type Actor, anonymous } from '../../core/identity/actor.ts';
import { passwordError } from '../../core/identity/passwords.ts';
import { instancePermissions } from '../../core/identity/permissions.ts';
import { permissionsOf, type Role } from '../../core/identity/roles.ts';
import { generateToken, tokenHashOf } from '../../core/identity/tokens.ts';
import type { JsonObject } from '../../core/json.ts';
import { fold } from '../../core/text/text.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import * as accounts from '../../db/identity/accounts.ts';
import * as sessions from '../../db/identity/sessions.ts';
import { PasswordQueueFullError } from '../../lib/secrets/passwords.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { countAttempt, deviceCookieFor, type Visitor } from './sign-in/lockout.ts';

export type { Session, SignInMethod } from '../../db/identity/sessions.ts';
export type { Visitor } from './sign-in/lockout.ts';

const dayMs = 86_400_000;
/** A session expires after `maxMs` in any case, and after `idleMs` without use. */
export const sessionLifetime = { maxMs: 30 * dayMs, idleMs: 7 * dayMs } as const;
/** Instance admins are owners of every organization. Stored secrets are not shown to them either. */
const instanceAdminRole: Role = 'owner';
const maxOrganizations = 1_000;
/** How long a confirmation of the user's identity counts as recent. */
const confirmedMs = 15 * 60_000;

/** Returns the session of a cookie, or undefined when it is not valid or has expired. */
export async function findSession(deps: Deps, token: string, now: number): Promise<sessions.Session | undefined> {
  const tokenHash = tokenHashOf(token);
  const session = tokenHash && (await deps.tenantCache.findSession(tokenHash));
  if (!session) return undefined;
  const used = Math.max(session.lastUsedAt.getTime(), deps.signIn.use.lastUse(session.tokenHash));
  if (session.expiresAt.getTime() <= now || used + sessionLifetime.idleMs <= now) return undefined;
  deps.signIn.use.note(session.tokenHash, now);
  return session;
}

/**
 * Whether the session satisfies a two-factor requirement. An account with a second factor cannot sign in without it. For an
 * identity provider, enforcing two factors is the provider's responsibility.
 */
export function isTwoFactor({ method, hasTwoFactor }: Pick<sessions.Session, 'method' | 'hasTwoFactor'>): boolean {
  return method === 'oidc' || hasTwoFactor;
}

/** Returns the account's role in an organization, or undefined when it has no access. */
export function roleIn({ account, roles }: sessions.Session, organizationId: number): Role | undefined {
  return account.admin ? instanceAdminRole : roles[organizationId];
}

/** Returns the permissions of the role and, for an instance admin, those that no role grants. */
export function permissionsIn({ account }: Pick<sessions.Session, 'account'>, role: Role): readonly string[] {
  return [...permissionsOf(role), ...(account.admin ? instancePermissions : [])];
}

/** Returns the account's permissions outside any organization. */
export function instancePermissionsOf({ account }: Pick<sessions.Session, 'account'>): readonly string[] {
  return ['organization:read', 'system:ping', ...(account.admin ? instancePermissions : [])];
}

export function csrfTokenOf({ signIn }: Deps, { tokenHash }: Pick<sessions.Session, 'tokenHash'>): string {
  return signIn.signer.sign(tokenHash.toString('base64'), 'csrf');
}

export function isCsrfToken({ signIn }: Deps, { tokenHash }: sessions.Session, token: string): boolean {
  return signIn.signer.isSigned(token, tokenHash.toString('base64'), 'csrf');
}

interface Credentials {
  email: string;
  password: string;
  /** Checks the code that was sent together with the password. */
  code?: (account: accounts.Account) => Promise<boolean>;
}

/** Returns the account with this email and password. Answers wrong and unknown ones alike, and equally slowly. */
export async function checkPassword(
  deps: Deps,
  { email, password, code }: Credentials,
  visitor: Visitor,
): Promise<accounts.Account> {
  const { passwords } = deps.signIn;
  const startedAt = performance.now();
  const name = fold(email);
  const account = await accounts.findAccountAcrossTenants(deps.db, name);
  const guess = { email: name, account, what: 'password', withCode: code !== undefined } as const;
  const attempt = await countAttempt(deps, visitor, guess);
  const isRight = await unavailableWhenBusy(passwords.verify(visitor.origin, password, account?.password_hash));
  if (!isRight || !account?.password_hash || (code && !(await code(account)))) {
    // In the background: the response time would reveal that the account exists.
    if (account) {
      deps.signIn.background.run(() => recordFailure(deps, account, visitor, code ? 'password or code' : 'password'));
    }
    // With a code, the time of its check would reveal that the password was right.
    if (code) await setTimeout(1_000 - ((performance.now() - startedAt) % 1_000));
    if (attempt.refusal) throw attempt.refusal;
    throw new AppError(
      'session.refused',
      `the email${code ? ', the password or the code' : ' or the password'} is wrong`,
    );
  }
  await attempt.succeeded();
  if (passwords.isOutdated(account.password_hash)) {
    const renewed = await hashPassword(deps, password);
    await accounts.replacePasswordHashAcrossTenants(deps.db, account.id, account.password_hash, renewed);
    return { ...account, password_hash: renewed };
  }
  return account;
}

/** Records a failed sign-in. The actor is anonymous: only the origin of the attempt is known. */
export async function recordFailure(
  deps: Deps,
  account: Pick<accounts.Account, 'id' | 'email'>,
  { origin, requestId }: Visitor,
  wrong: string,
): Promise<void> {
  const actor = { ...anonymous, origin, requestId };
  await recordInAllOrganizations({ ...deps, actor }, deps.db, account, 'sign in failed', { wrong });
}

async function unavailableWhenBusy<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof PasswordQueueFullError)) throw error;
    throw new AppError('service.unavailable', 'too many sign-ins at the same time: try again', {
      retryAfterSeconds: 2,
    });
  }
}

export function hashPassword({ signIn, actor }: Deps, password: string): Promise<string> {
  return unavailableWhenBusy(signIn.passwords.hash(actor.origin ?? actor.name, password));
}

export interface OpenedSession {
  /** For the session cookie. */
  token: string;
  /** For the device cookie, by which the lockout recognizes this device. */
  device: string;
  session: sessions.Session;
}

/**
 * Opens a session for an authenticated account. `account` must have been read before it was authenticated: if its sessions
 * were ended since then, the credentials may no longer be valid, and no session is opened.
 */
export async function openSession(
  deps: Deps,
  account: accounts.Account,
  visitor: Visitor,
  method: sessions.SignInMethod,
): Promise<OpenedSession> {
  const { token, tokenHash } = generateToken();
  await deps.db.transaction().execute(async trx => {
    const current = await accounts.findAccountForUpdateAcrossTenants(trx, account.id);
    if (current?.generation !== account.generation) throw requestExpired();
    await sessions.createSessionAcrossTenants(trx, {
      token_hash: tokenHash,
      account_id: account.id,
      expires_at: new Date(currentTime() + sessionLifetime.maxMs),
      user_agent: visitor.userAgent?.slice(0, 255) ?? null,
      origin: visitor.origin,
      method,
    });
    await recordInAllOrganizations({ ...deps, actor: actorOf(account, visitor) }, trx, account, 'sign in', { method });
  });
  const session = await sessions.findSessionAcrossTenants(deps.db, tokenHash);
  if (!session) throw new AppError('session.missing', 'the account no longer exists');
  return { token, session, device: deviceCookieFor(deps, visitor, account) };
}

export function requestExpired(): AppError {
  return new AppError('session.expired', 'your sign-in timed out: sign in again');
}

/**
 * Locks the account, for a change to how it signs in. Throws when the session has ended since the request was authenticated.
 */
export async function lockOwnAccount(trx: Db, { account, tokenHash }: sessions.Session): Promise<accounts.Account> {
  const current = await accounts.findAccountForUpdateAcrossTenants(trx, account.id);
  if (current && (await sessions.hasSessionAcrossTenants(trx, tokenHash))) return current;
  throw new AppError('session.missing', 'the session has ended: sign in again');
}

export function actorOf({ id, email }: Pick<accounts.Account, 'id' | 'email'>, visitor: Visitor): Actor {
  return { kind: 'account', id: String(id), name: email, origin: visitor.origin, requestId: visitor.requestId };
}

/** Records an action in the audit log of every organization that the account is a member of. */
export async function recordInAllOrganizations(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  { id, email }: Pick<accounts.Account, 'id' | 'email'>,
  action: string,
  after: JsonObject = {},
): Promise<void> {
  const memberships = await accounts.listAccessibleOrganizationsAcrossTenants(trx, id, false, {
    after: 0,
    limit: maxOrganizations,
  });
  for (const organization of memberships) {
    await record(deps, trx, organization.id, { action, noun: 'account', path: email, after: { id, ...after } });
  }
}

export async function signOut(deps: Deps, { tokenHash, account }: sessions.Session): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await sessions.deleteSessionAcrossTenants(trx, tokenHash);
    await recordInAllOrganizations(deps, trx, account, 'sign out');
  });
}

/** Deletes the session of a cookie that is about to be replaced, if there is one. */
export async function forgetSession({ db }: Deps, token: string): Promise<void> {
  const tokenHash = tokenHashOf(token);
  if (tokenHash) await sessions.deleteSessionAcrossTenants(db, tokenHash);
}

/** Describes the signed-in account for the console. */
export async function describeSession(deps: Deps, session: sessions.Session) {
  const { id, email, name, admin } = session.account;
  const organizations = await accounts.listAccessibleOrganizationsAcrossTenants(deps.db, id, admin, {
    after: 0,
    limit: maxOrganizations,
  });
  const stored = await accounts.findAccountByIdAcrossTenants(deps.db, id);
  const has_password = typeof stored?.password_hash === 'string';
  const moved = await accounts.listMovedOrganizationsAcrossTenants(deps.db, id, maxOrganizations);
  return {
    account: { id, email, name, admin, two_factor: isTwoFactor(session), has_password },
    organizations: organizations.map(({ slug, name, two_factor_required, role: own }) => {
      const role = admin ? instanceAdminRole : own!;
      return { slug, name, role, permissions: [...permissionsOf(role)], two_factor_required };
    }),
    moved_organizations: moved,
    csrf_token: csrfTokenOf(deps, session),
  };
}

export async function renameAccount(deps: Deps, session: sessions.Session, name: string): Promise<sessions.Session> {
  const { account } = session;
  await deps.db.transaction().execute(async trx => {
    await accounts.updateAccountAcrossTenants(trx, account.id, { name });
    await recordInAllOrganizations(deps, trx, account, 'update');
  });
  return { ...session, account: { ...account, name } };
}

/** Changes the password and ends all other sessions of the account. */
export async function changePassword(
  deps: Deps,
  session: sessions.Session,
  { current, password }: { current: string; password: string },
  visitor: Visitor,
): Promise<void> {
  const { account, tokenHash } = session;
  requireStrongPassword(password, account.email);
  await checkOwnPassword(deps, session, current, visitor, 'current');
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(async trx => {
    await lockOwnAccount(trx, session);
    await accounts.updateAccountAcrossTenants(trx, account.id, { password_hash });
    await sessions.endSessionsAcrossTenants(trx, account.id, tokenHash);
    await recordInAllOrganizations(deps, trx, account, 'change password');
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

/** Confirms the user's identity by password, for actions that require a recent confirmation. */
export async function confirmSession(
  deps: Deps,
  session: sessions.Session,
  password: string,
  visitor: Visitor,
): Promise<void> {
  await checkOwnPassword(deps, session, password, visitor, 'password');
  await sessions.confirmSessionAcrossTenants(deps.db, session.tokenHash);
}

/** Throws unless the identity was confirmed recently: an unattended browser must not be enough to change credentials. */
export async function requireConfirmed({ db }: Deps, { tokenHash }: sessions.Session): Promise<void> {
  const at = await sessions.getConfirmationAcrossTenants(db, tokenHash);
  if (at && at.getTime() + confirmedMs > currentTime()) return;
  throw new AppError(
    'session.unconfirmed',
    'confirm your identity first: send your password to POST /api/session/confirm/, open /api/session/oidc/?confirm=true, ' +
      'or sign in again',
  );
}

/** Lists the account's own sessions with the time of their last use. */
export async function listSessions(deps: Deps, { account, tokenHash }: sessions.Session, page: PageRequest) {
  const now = currentTime();
  const range = { now: new Date(now), usedSince: new Date(now - sessionLifetime.idleMs) };
  const rows = await sessions.listSessionsAcrossTenants(deps.db, account.id, range, page);
  return rows.map(({ token_hash, last_used_at, ...row }) => {
    const used = Math.max(last_used_at.getTime(), deps.signIn.use.lastUse(token_hash));
    return { ...row, last_used_at: new Date(used), current: token_hash.equals(tokenHash) };
  });
}

/** Ends one of the account's sessions. Returns whether it was the current one. */
export async function endSession(deps: Deps, { account, tokenHash }: sessions.Session, id: number): Promise<boolean> {
  return deps.db.transaction().execute(async trx => {
    const ended = await sessions.endSessionAcrossTenants(trx, account.id, id);
    if (!ended) throw new AppError('session.not_found', 'session not found: it may have ended already');
    await recordInAllOrganizations(deps, trx, account, 'end session');
    return ended.token_hash.equals(tokenHash);
  });
}

/** Ends all sessions of the account except the current one. */
export async function endOtherSessions(deps: Deps, { account, tokenHash }: sessions.Session): Promise<number> {
  return deps.db.transaction().execute(async trx => {
    const ended = await sessions.endSessionsAcrossTenants(trx, account.id, tokenHash);
    if (ended > 0) await recordInAllOrganizations(deps, trx, account, 'end session', { ended });
    return ended;
  });
}

export function requireStrongPassword(password: string, email: string): void {
  const mistake = passwordError(password, email);
  if (mistake) throw invalid({ password: [mistake] });
}
