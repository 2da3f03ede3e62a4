/** Signing in by an identity provider: only for people who are known or invited here already. */
import { AppError } from '../core/errors.ts';
import { fold, isEmail, limits } from '../core/text.ts';
import * as accounts from '../db/accounts.ts';
import { listInvitesForAcrossTenants } from '../db/invites.ts';
import type { Db } from '../db/pool.ts';
import { deleteSessionsAcrossTenants } from '../db/sessions.ts';
import type { Identity, Oidc, OidcState } from '../lib/oidc.ts';
import type { Deps } from './deps.ts';
import { joinWith } from './invites.ts';
import { openState, sealState } from './sealed-state.ts';
import { actorOf, type Opened, openSession, recordEverywhere, type Visitor } from './sessions.ts';

const purpose = 'sign-in by an identity provider';
/** To come back from the provider. */
export const oidcSeconds = 600;

function provider({ signIn }: Deps): Oidc {
  if (!signIn.oidc) throw new AppError('path.not_found', 'no identity provider is set up here: see OIDC_ISSUER');
  return signIn.oidc;
}

/** Where to go, and what to remember until somebody comes back: sealed, so that nobody else can make it. */
export async function beginOidc(deps: Deps, redirectUri: string): Promise<{ url: string; sealed: string }> {
  const oidc = provider(deps);
  const { url, state } = await oidc.begin(redirectUri).catch(error => {
    throw new AppError('oidc.unavailable', `${oidc.name} cannot be reached`, { cause: error });
  });
  return { url, sealed: sealState(deps, purpose, state, oidcSeconds) };
}

export async function finishOidc(
  deps: Deps,
  answered: URL,
  sealed: string | undefined,
  visitor: Visitor,
): Promise<Opened> {
  const oidc = provider(deps);
  const state = openState<OidcState>(deps, purpose, sealed ?? '');
  if (!state) throw new AppError('oidc.failed', 'this sign-in was not begun here, or took too long: begin again');
  const identity = await oidc.finish(answered, state).catch(error => {
    throw new AppError('oidc.failed', `${oidc.name} did not sign anybody in`, { cause: error });
  });
  const account = await deps.db.transaction().execute(trx => recognize(deps, trx, identity, visitor));
  return openSession(deps, account, visitor, 'oidc');
}

type Person = Pick<accounts.Account, 'id' | 'email'>;

async function recognize(deps: Deps, trx: Db, identity: Identity, visitor: Visitor): Promise<Person> {
  const { issuer, subject } = identity;
  const email = identity.emailVerified && identity.email ? fold(identity.email) : undefined;
  const linked = await accounts.findAccountBySubjectAcrossTenants(trx, issuer, subject);
  if (linked) {
    if (linked.email === email) await joinAll(trx, linked, visitor);
    return linked;
  }
  if (email === undefined || !isEmail(email)) {
    throw new AppError('oidc.unverified', 'the provider does not vouch for an email address of yours');
  }
  const known = await accounts.findAccountAcrossTenants(trx, email);
  const account = known ? await link(deps, trx, known, identity, visitor) : await create(trx, email, identity);
  await joinAll(trx, account, visitor);
  return account;
}

/**
 * Whoever made the account by an invite may have had the link alone and not the mailbox: from now on the provider knows
 * better, and a password from before opens nothing.
 */
async function link(
  deps: Deps,
  trx: Db,
  account: accounts.Account,
  { issuer, subject }: Identity,
  visitor: Visitor,
): Promise<Person> {
  if (account.oidc_subject !== null) throw unknown(account.email);
  const fields = { oidc_issuer: issuer, oidc_subject: subject, email_verified: true };
  await accounts.updateAccountAcrossTenants(trx, account.id, {
    ...fields,
    ...(!account.email_verified && { password_hash: null }),
  });
  if (!account.email_verified) await deleteSessionsAcrossTenants(trx, account.id);
  await recordEverywhere({ ...deps, actor: actorOf(account, visitor) }, trx, account, 'link');
  return account;
}

/** Only for somebody who is invited. */
async function create(trx: Db, email: string, { issuer, subject, name = '' }: Identity): Promise<Person> {
  const invites = await listInvitesForAcrossTenants(trx, email);
  if (invites.length === 0) throw unknown(email);
  const id = await accounts.createAccountAcrossTenants(trx, {
    email,
    email_verified: true,
    name: name.replaceAll('\0', '').slice(0, limits.name),
    password_hash: null,
    admin: false,
    oidc_subject: subject,
    oidc_issuer: issuer,
  });
  if (id === undefined) throw unknown(email);
  return { id, email };
}

async function joinAll(trx: Db, account: Person, visitor: Visitor): Promise<void> {
  for (const invite of await listInvitesForAcrossTenants(trx, account.email)) {
    await joinWith(trx, invite, account, visitor);
  }
}

function unknown(email: string): AppError {
  return new AppError('oidc.unknown', `there is no account for ${email} here, and no invite: ask for one`);
}
