/** What the links in messages and the tokens of browsers let recipients do: see message-links.ts for how links are made. */

import { AppError } from '../core/errors.ts';
import {
  type LinkHolder,
  readPreferencesToken,
  readRecipientToken,
  readUnsubscribeToken,
  writePreferencesToken,
  writeRecipientToken,
} from '../core/recipient-links.ts';
import { announceRevokedTokens } from '../db/inbox-changes.ts';
import { findLinkedUser, type LinkedUser, raiseLinkGeneration } from '../db/recipient-links.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

type Reading = Pick<Deps, 'db' | 'signer'>;

/** Undefined for a token that was forged or revoked, and when the person has been deleted. */
export async function findLinkHolder({ db, signer }: Reading, token: string): Promise<LinkedUser | undefined> {
  return findCurrent({ db }, readPreferencesToken(token, signer.isSigned));
}

export async function findUnsubscribing(
  { db, signer }: Reading,
  token: string,
): Promise<{ person: LinkedUser; category: string; channelType: string } | undefined> {
  const link = readUnsubscribeToken(token, signer.isSigned);
  const person = await findCurrent({ db }, link);
  return person && { person, category: link!.category, channelType: link!.channelType };
}

/** Throws `token.invalid` or `token.expired`. */
export async function authenticateRecipient(
  { db, signer }: Reading,
  token: string,
  now: number,
): Promise<LinkedUser & { expiresAt: number }> {
  const given = readRecipientToken(token, signer.isSigned);
  if (given && given.expiresAt * 1_000 <= now) throw new AppError('token.expired', 'ask your server for a new token');
  const person = await findCurrent({ db }, given);
  if (!person) throw new AppError('token.invalid', 'the token was not given out here, or has been revoked');
  return { ...person, expiresAt: given!.expiresAt * 1_000 };
}

async function findCurrent({ db }: Pick<Deps, 'db'>, holder: LinkHolder | undefined): Promise<LinkedUser | undefined> {
  if (!holder) return undefined;
  const person = await findLinkedUser(db, holder.organizationId, holder.userId);
  return person?.link_generation === holder.generation ? person : undefined;
}

/** The link to the hosted page of a person. */
export function preferencesPath({ signer }: Pick<Deps, 'signer'>, person: LinkedUser): string {
  const holder = { organizationId: person.organization_id, userId: person.id, generation: person.link_generation };
  return `/preferences/${writePreferencesToken(holder, (text, purpose) => signer.sign(text, purpose))}`;
}

/** To be handed to the person; throws where there is none. */
export async function getPreferencesPath(deps: Deps, organizationId: number, userId: number): Promise<string> {
  const person = await findLinkedUser(deps.db, organizationId, userId);
  if (!person) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
  return preferencesPath(deps, person);
}

/** For the browser of a person: it may use their own preferences and inbox, and nothing else. */
export async function createRecipientToken(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  lifeMs: number,
  now: number,
): Promise<{ token: string; expires_at: string }> {
  const person = await findLinkedUser(deps.db, organizationId, user.id);
  if (!person) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
  const expiresAt = Math.floor((now + lifeMs) / 1_000);
  const holder = { organizationId, userId: user.id, generation: person.link_generation, expiresAt };
  const token = writeRecipientToken(holder, (text, purpose) => deps.signer.sign(text, purpose));
  return { token, expires_at: new Date(expiresAt * 1_000).toISOString() };
}

/** Every link and token that the person was given so far ends. */
export async function revokeLinks(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await raiseLinkGeneration(trx, organizationId, user.id);
    await announceRevokedTokens(trx, organizationId, user.id);
    await record(deps, trx, organizationId, { action: 'revoke', noun: 'token', path: user.username });
  });
}
