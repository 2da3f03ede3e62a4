/** Authorizes recipients by the links in messages and by browser tokens. message-links.ts creates the links. */

import { AppError } from '../../core/errors.ts';
import {
  type Issuer,
  type LinkHolder,
  signPreferencesToken,
  signRecipientToken,
  verifyPreferencesToken,
  verifyRecipientToken,
  verifyUnsubscribeToken,
} from '../../core/message/recipient-links.ts';
import {
  findLinkedUser,
  incrementLinkGeneration,
  type LinkedUser,
  type TokenHolder,
} from '../../db/audience/recipient-links.ts';
import { requireHere } from '../configuration/paths/moves.ts';
import type { Deps } from '../deps.ts';
import { type Key, requireUsable } from '../identity/keys.ts';
import { permissionsIn, roleIn } from '../identity/sessions.ts';
import { record } from '../operations/audit.ts';

type LinkDeps = Pick<Deps, 'db' | 'signer' | 'tenantCache'>;

/** Returns undefined when the token is forged or revoked, or the user has been deleted. */
export async function findLinkHolder(deps: LinkDeps, token: string): Promise<LinkedUser | undefined> {
  return findCurrentOwner(deps, verifyPreferencesToken(token, deps.signer.isSigned));
}

export async function findUnsubscribeLink(
  deps: LinkDeps,
  token: string,
): Promise<{ user: LinkedUser; category: string; channelType: string } | undefined> {
  const link = verifyUnsubscribeToken(token, deps.signer.isSigned);
  const user = await findCurrentOwner(deps, link);
  return user && { user, category: link!.category, channelType: link!.channelType };
}

/** A recipient as authenticated by a token. */
interface TokenBearer extends TokenHolder {
  /** When the token or its issuer expires, in milliseconds since the epoch. */
  expiresAt: number;
  /** The API key that created the token, whose limits apply to it. */
  key?: Key;
  /** The account whose session created the token. */
  accountId?: number;
}

/**
 * Throws `token.invalid`, `token.expired` or `key.network`. A token ends with the key or session that created it. Everything
 * it depends on is cached until a change is announced.
 */
export async function authenticateRecipient(
  deps: LinkDeps,
  token: string,
  address: string,
  now: number,
): Promise<TokenBearer> {
  const claims = verifyRecipientToken(token, deps.signer.isSigned);
  if (!claims) throw invalidToken('the token is invalid or has been revoked');
  const expiresAt = claims.expiresAt * 1_000;
  if (expiresAt <= now) throw new AppError('token.expired', 'the token has expired: ask your server for a new one');
  await requireHere(deps, { id: claims.organizationId });
  const user = await deps.tenantCache.findRecipient(claims.organizationId, claims.userId);
  if (user?.link_generation !== claims.generation) throw invalidToken('the token is invalid or has been revoked');
  if (user.locked) throw invalidToken('the user is locked');
  const issuer = claims.issuer && (await requireIssuer(deps, claims.organizationId, claims.issuer, address, now));
  const ends = issuer?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
  return { ...user, expiresAt: Math.min(expiresAt, ends), key: issuer?.key, accountId: issuer?.accountId };
}

function invalidToken(why: string): AppError {
  return new AppError('token.invalid', `${why}: ask your server for a new one`);
}

/** Throws unless the key or session that created a token could still create one, and may be used from this address. */
async function requireIssuer(
  { tenantCache }: LinkDeps,
  organizationId: number,
  issuer: Issuer,
  address: string,
  now: number,
): Promise<{ key?: Key; accountId?: number; expiresAt: Date | null }> {
  if ('key' in issuer) {
    const key = await tenantCache.findKey(issuer.key);
    if (key?.organization_id !== organizationId) throw invalidToken('the API key of the token no longer exists');
    try {
      requireUsable(key, address, now);
    } catch (error) {
      if (error instanceof AppError && error.code === 'key.network') throw error;
      throw invalidToken('the API key of the token is no longer active');
    }
    return { key, expiresAt: key.expires_at };
  }
  const session = await tenantCache.findSession(issuer.session);
  const role = session && roleIn(session, organizationId);
  if (!role || session.expiresAt.getTime() <= now || !permissionsIn(session, role).includes('token:write')) {
    throw invalidToken('the session of the token has ended, or no longer has the permission token:write');
  }
  return { accountId: session.account.id, expiresAt: session.expiresAt };
}

async function findCurrentOwner(deps: LinkDeps, holder: LinkHolder | undefined): Promise<LinkedUser | undefined> {
  if (!holder) return undefined;
  await requireHere(deps, { id: holder.organizationId });
  const user = await findLinkedUser(deps.db, holder.organizationId, holder.userId);
  return user?.link_generation === holder.generation ? user : undefined;
}

/** Attributes changes to the holder of a link, who is not signed in. */
export function asVisitor(deps: Deps, { username }: LinkedUser): Deps {
  return { ...deps, actor: { ...deps.actor, kind: 'visitor', id: null, name: username } };
}

/** Returns the path of the user's hosted preference page. */
export function preferencesPath({ signer }: Pick<Deps, 'signer'>, user: LinkedUser): string {
  const holder = { organizationId: user.organization_id, userId: user.id, generation: user.link_generation };
  return `/preferences/${signPreferencesToken(holder, (text, purpose) => signer.sign(text, purpose))}`;
}

/** Like `preferencesPath`, by user id. Throws when the user does not exist. */
export async function getPreferencesPath(deps: Deps, organizationId: number, userId: number): Promise<string> {
  const user = await findLinkedUser(deps.db, organizationId, userId);
  if (!user) throw new AppError('user.not_found', 'the user has been deleted');
  return preferencesPath(deps, user);
}

/**
 * Creates a token for a user's browser. It grants access only to the user's own preferences and inbox, and ends with its issuer.
 */
export async function createRecipientToken(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  lifetimeMs: number,
  now: number,
  issuer?: Issuer,
): Promise<{ token: string; expires_at: string }> {
  const linked = await findLinkedUser(deps.db, organizationId, user.id);
  if (!linked) throw new AppError('user.not_found', 'the user has been deleted');
  const expiresAt = Math.floor((now + lifetimeMs) / 1_000);
  const holder = { organizationId, userId: user.id, generation: linked.link_generation, expiresAt, issuer };
  const token = signRecipientToken(holder, (text, purpose) => deps.signer.sign(text, purpose));
  return { token, expires_at: new Date(expiresAt * 1_000).toISOString() };
}

/** Invalidates all links and tokens created for the user so far. */
export async function revokeLinks(deps: Deps, organizationId: number, user: { id: number; username: string }) {
  await deps.db.transaction().execute(async trx => {
    await incrementLinkGeneration(trx, organizationId, user.id);
    await record(deps, trx, organizationId, { action: 'revoke', noun: 'token', path: user.username });
  });
}
