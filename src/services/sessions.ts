/** Signing in and out, and who is signed in. */
import { isIPv6 } from 'node:net';
import type { Actor } from '../core/actor.ts';
import { AppError, invalid } from '../core/errors.ts';
import { passwordMistake } from '../core/passwords.ts';
import { instancePermissions } from '../core/permissions.ts';
import { permissionsOf, type Role } from '../core/roles.ts';
import { fold } from '../core/text.ts';
import { generateToken, tokenHashOf } from '../core/tokens.ts';
import * as accounts from '../db/accounts.ts';
import type { Db } from '../db/pool.ts';
import * as sessions from '../db/sessions.ts';
import { FailureCount } from '../lib/failure-count.ts';
import { LastUses } from '../lib/last-uses.ts';
import type { Oidc } from '../lib/oidc.ts';
import { Passwords, TooManyPasswords } from '../lib/passwords.ts';
import type { Signer } from '../lib/signer.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export type { Session } from '../db/sessions.ts';

const dayMs = 86_400_000;
/** However much it is used, and when nobody does. */
export const sessionLife = { wholeMs: 30 * dayMs, idleMs: 7 * dayMs } as const;
/** Many people may share a network address; no person mistypes so often. */
const failuresOfAddress = 100;
const failureWindowMs = 15 * 60_000;
/** To an admin of the instance nothing is closed; somebody else's secrets stay sealed for them too. */
const roleOfAdmin: Role = 'owner';
const mostShown = 1_000;

/** What signing in needs besides the database; one for each process. */
export interface SignIn {
  signer: Signer;
  passwords: Passwords;
  /** By network address. */
  failures: FailureCount;
  use: SessionUse;
  /** If there is an identity provider. */
  oidc: Oidc | undefined;
}

export function createSignIn(signer: Signer, oidc?: Oidc): SignIn {
  const failures = new FailureCount(failuresOfAddress, failureWindowMs);
  return { signer, passwords: new Passwords(), failures, use: new SessionUse(), oidc };
}

/** Remembers which sessions were used when, and writes it down now and then instead of on every request. */
export class SessionUse {
  readonly #uses = new LastUses();

  note(tokenHash: Buffer, at: number): void {
    this.#uses.note(tokenHash.toString('base64'), at);
  }

  lastUse(tokenHash: Buffer): number {
    return this.#uses.lastUse(tokenHash.toString('base64'));
  }

  flush(db: Db): Promise<void> {
    return this.#uses.flush(used =>
      sessions.touchSessionsAcrossTenants(
        db,
        used.map(([hash, at]) => ({ tokenHash: Buffer.from(hash, 'base64'), at: new Date(at) })),
      ),
    );
  }
}

/** Where somebody signs in from. */
export interface Visitor {
  origin: string;
  userAgent: string | undefined;
  requestId: string;
}

/** The session that a cookie stands for; undefined when it is none or over. */
export async function findSession(deps: Deps, token: string, now: number): Promise<sessions.Session | undefined> {
  const tokenHash = tokenHashOf(token);
  const session = tokenHash && (await deps.directory.findSession(tokenHash));
  if (!session) return undefined;
  const used = Math.max(session.lastUsedAt.getTime(), deps.signIn.use.lastUse(session.tokenHash));
  if (session.expiresAt.getTime() <= now || used + sessionLife.idleMs <= now) return undefined;
  deps.signIn.use.note(session.tokenHash, now);
  return session;
}

/** In an organization; undefined when the person has nothing to do with it. */
export function roleIn({ account, roles }: sessions.Session, organizationId: number): Role | undefined {
  return account.admin ? roleOfAdmin : roles[organizationId];
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

/** The account that an email and a password belong to. Wrong ones and unknown ones are answered alike, and slowly. */
export async function checkPassword(
  deps: Deps,
  email: string,
  password: string,
  origin: string,
): Promise<accounts.Account> {
  const { failures, passwords } = deps.signIn;
  const address = networkOf(origin);
  const now = Date.now();
  const waitMs = failures.waitMs(address, now);
  if (waitMs > 0) throw locked(waitMs);
  const name = fold(email);
  const lockedUntil = await accounts.takeAttemptAcrossTenants(deps.db, name);
  if (lockedUntil) throw locked(lockedUntil.getTime() - now);

  const account = await accounts.findAccountAcrossTenants(deps.db, name);
  if (!(await patiently(passwords.verify(password, account?.password_hash))) || !account?.password_hash) {
    failures.note(address, now);
    throw new AppError('session.refused', 'the email or the password is wrong');
  }
  await accounts.forgetAttemptsAcrossTenants(deps.db, name);
  if (passwords.isOutdated(account.password_hash)) {
    const password_hash = await hashPassword(deps, password);
    await accounts.updateAccountAcrossTenants(deps.db, account.id, { password_hash });
  }
  return account;
}

function locked(waitMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new AppError('session.locked', `too many wrong passwords: try again in ${retryAfterSeconds} seconds`, {
    retryAfterSeconds,
  });
}

/** What one customer of a network provider can have many of counts as one. */
function networkOf(origin: string): string {
  if (!isIPv6(origin) || origin.startsWith('::ffff:')) return origin;
  const [before = [], after = []] = origin.split('::').map(part => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
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
  session: sessions.Session;
}

export async function signIn(
  deps: Deps,
  { email, password }: { email: string; password: string },
  visitor: Visitor,
): Promise<Opened> {
  const account = await checkPassword(deps, email, password, visitor.origin);
  return openSession(deps, account, visitor);
}

/** For somebody whose identity is sure. */
export async function openSession(
  deps: Deps,
  account: Pick<accounts.Account, 'id' | 'email'>,
  visitor: Visitor,
): Promise<Opened> {
  const { token, tokenHash } = generateToken();
  await deps.db.transaction().execute(async trx => {
    await sessions.createSessionAcrossTenants(trx, {
      token_hash: tokenHash,
      account_id: account.id,
      expires_at: new Date(Date.now() + sessionLife.wholeMs),
      user_agent: visitor.userAgent?.slice(0, 255) ?? null,
      origin: visitor.origin,
    });
    await recordEverywhere({ ...deps, actor: actorOf(account, visitor) }, trx, account, 'sign in');
  });
  const session = await sessions.findSessionAcrossTenants(deps.db, tokenHash);
  if (!session) throw new AppError('session.missing', 'the account was removed just now');
  return { token, session };
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
): Promise<void> {
  const memberships = await accounts.listReachedAcrossTenants(trx, id, false, { after: 0, limit: mostShown });
  for (const organization of memberships) {
    await record(deps, trx, organization.id, { action, noun: 'account', path: email, after: { id } });
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
    account: { id, email, name, admin },
    organizations: reached.map(({ slug, name, role: own }) => {
      const role = admin ? roleOfAdmin : own!;
      return { slug, name, role, permissions: [...permissionsOf(role)] };
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
  origin: string,
): Promise<void> {
  const { account, tokenHash } = session;
  mustBeGood(password, account.email);
  await checkPassword(deps, account.email, current, origin).catch(error => {
    if (!(error instanceof AppError) || error.code !== 'session.refused') throw error;
    throw invalid({ current: ['is not the password of this account'] });
  });
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(async trx => {
    await accounts.updateAccountAcrossTenants(trx, account.id, { password_hash });
    await sessions.deleteSessionsAcrossTenants(trx, account.id, tokenHash);
    await recordEverywhere(deps, trx, account, 'change password');
  });
}

export function mustBeGood(password: string, email: string): void {
  const mistake = passwordMistake(password, email);
  if (mistake) throw invalid({ password: [mistake] });
}
