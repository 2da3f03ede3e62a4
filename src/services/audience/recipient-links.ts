/** Authorizes recipients by the links in messages and by browser tokens. message-links.ts creates the links. */

import { AppError } from '../../core/errors.ts';
import {
  type LinkHolder,
  signPreferencesToken,
  signRecipientToken,
  verifyPreferencesToken,
  verifyRecipientToken,
  verifyUnsubscribeToken,
} from '../../core/recipient-links.ts';
import { announceRevokedTokens } from '../../db/audience/inbox-changes.ts';
import { findLinkedUser, incrementLinkGeneration, type LinkedUser } from '../../db/audience/recipient-links.ts';
import { requireHere } from '../configuration/moves.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';

type LinkDeps = Pick<Deps, 'db' | 'signer' | 'tenantCache'>;

/** Returns undefined when the token is forged or revoked, or the user has been deleted. */
export async function findLinkHolder(deps: LinkDeps, token: string): Promise<LinkedUser | undefined> {
  return findCurrentOwner(deps, verifyPreferencesToken(token, deps.signer.isSigned));
}

export async function findUnsubscribeLink(
  deps: LinkDeps,
  token: string,
): Promise<{ person: LinkedUser; category: string; channelType: string } | undefined> {
  const link = verifyUnsubscribeToken(token, deps.signer.isSigned);
  const person = await findCurrentOwner(deps, link);
  return person && { person, category: link!.category, channelType: link!.channelType };
}

/** Throws `token.invalid` or `token.expired`. */
export async function authenticateRecipient(
  deps: LinkDeps,
  token: string,
  now: number,
): Promise<LinkedUser & { expiresAt: number }> {
  const claims = verifyRecipientToken(token, deps.signer.isSigned);
  if (claims && claims.expiresAt * 1_000 <= now)
    throw new AppError('token.expired', 'the token has expired: ask your server for a new one');
  const person = await findCurrentOwner(deps, claims);
  if (!person) throw new AppError('token.invalid', 'the token is invalid or has been revoked');
  return { ...person, expiresAt: claims!.expiresAt * 1_000 };
}

async function findCurrentOwner(deps: LinkDeps, holder: LinkHolder | undefined): Promise<LinkedUser | undefined> {
  if (!holder) return undefined;
  await requireHere(deps, { id: holder.organizationId });
  const person = await findLinkedUser(deps.db, holder.organizationId, holder.userId);
  return person?.link_generation === holder.generation ? person : undefined;
}

/** Returns the path of the user's hosted preference page. */
export function preferencesPath({ signer }: Pick<Deps, 'signer'>, person: LinkedUser): string {
  const holder = { organizationId: person.organization_id, userId: person.id, generation: person.link_generation };
  return `/preferences/${signPreferencesToken(holder, (text, purpose) => signer.sign(text, purpose))}`;
}

/** Like `preferencesPath`, by user id. Throws when the user does not exist. */
export async function getPreferencesPath(deps: Deps, organizationId: number, userId: number): Promise<string> {
  const person = await findLinkedUser(deps.db, organizationId, userId);
  if (!person) throw new AppError('user.not_found', 'the user has been deleted');
  return preferencesPath(deps, person);
}

/** Creates a token for a user's browser. It grants access only to the user's own preferences and inbox. */
export async function createRecipientToken(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  lifetimeMs: number,
  now: number,
): Promise<{ token: string; expires_at: string }> {
  const person = await findLinkedUser(deps.db, organizationId, user.id);
  if (!person) throw new AppError('user.not_found', 'the user has been deleted');
  const expiresAt = Math.floor((now + lifetimeMs) / 1_000);
  const holder = { organizationId, userId: user.id, generation: person.link_generation, expiresAt };
  const token = signRecipientToken(holder, (text, purpose) => deps.signer.sign(text, purpose));
  return { token, expires_at: new Date(expiresAt * 1_000).toISOString() };
}

/** Invalidates all links and tokens created for the user so far. */
export async function revokeLinks(deps: Deps, organizationId: number, user: { id: number; username: string }) {
  await deps.db.transaction().execute(async trx => {
    await incrementLinkGeneration(trx, organizationId, user.id);
    await announceRevokedTokens(trx, organizationId, user.id);
    await record(deps, trx, organizationId, { action: 'revoke', noun: 'token', path: user.username });
  });
}
