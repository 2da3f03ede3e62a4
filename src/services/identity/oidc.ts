/** Sign-in with an identity provider (OpenID Connect), for users who already have an account or an invite. */
import { AppError } from '../../core/errors.ts';
import { fold, isEmail, limits } from '../../core/text.ts';
import type { Db } from '../../db/connection/pool.ts';
import * as accounts from '../../db/identity/accounts.ts';
import { listInvitesForAcrossTenants } from '../../db/identity/invites.ts';
import type { Identity, Oidc, OidcState } from '../../lib/oidc.ts';
import type { Deps } from '../deps.ts';
import { claimByEmail } from './email-claims.ts';
import { addInvitedMember } from './invites.ts';
import { openState, sealState } from './sealed-state.ts';
import { actorOf, type OpenedSession, openSession, recordInAllOrganizations, type Visitor } from './sessions.ts';

const purpose = 'sign-in by an identity provider';
/** Time to sign in at the provider and return. */
export const oidcSeconds = 600;

function requireProvider({ signIn }: Deps): Oidc {
  if (!signIn.oidc) throw new AppError('path.not_found', 'no identity provider is configured: set OIDC_ISSUER');
  return signIn.oidc;
}

/** Returns the provider's URL, and the encrypted state that the browser keeps until it returns. */
export async function beginOidc(deps: Deps, redirectUri: string): Promise<{ url: string; sealed: string }> {
  const oidc = requireProvider(deps);
  const { url, state } = await oidc.begin(redirectUri).catch(error => {
    throw new AppError('oidc.unavailable', `cannot reach ${oidc.name}`, { cause: error });
  });
  return { url, sealed: sealState(deps, purpose, state, oidcSeconds) };
}

export async function finishOidc(
  deps: Deps,
  answered: URL,
  sealed: string | undefined,
  visitor: Visitor,
): Promise<OpenedSession> {
  const oidc = requireProvider(deps);
  const state = openState<OidcState>(deps, purpose, sealed ?? '');
  if (!state)
    throw new AppError('oidc.failed', 'this sign-in was not started in this browser, or has expired: start again');
  const identity = await oidc.finish(answered, state).catch(error => {
    throw new AppError('oidc.failed', `${oidc.name} did not complete the sign-in`, { cause: error });
  });
  const account = await deps.db.transaction().execute(trx => findOrCreateAccount(deps, trx, identity, visitor));
  return openSession(deps, account, visitor, 'oidc');
}

async function findOrCreateAccount(
  deps: Deps,
  trx: Db,
  identity: Identity,
  visitor: Visitor,
): Promise<accounts.Account> {
  const { issuer, subject } = identity;
  const email = identity.emailVerified && identity.email ? fold(identity.email) : undefined;
  const linked = await accounts.findAccountBySubjectAcrossTenants(trx, issuer, subject);
  if (linked) {
    if (linked.email === email) await acceptInvites(trx, linked, visitor);
    return linked;
  }
  if (email === undefined || !isEmail(identity.email!)) {
    throw new AppError('oidc.unverified', 'the identity provider did not return a verified email address');
  }
  const existing = await accounts.findAccountAcrossTenants(trx, email);
  const id = existing ? await link(deps, trx, existing, identity, visitor) : await create(trx, email, identity);
  const account = await accounts.findAccountByIdAcrossTenants(trx, id);
  if (!account) throw noAccount(email);
  await acceptInvites(trx, account, visitor);
  return account;
}

/** Links an account to the provider's identity. The provider's verified email proves the address. */
async function link(
  deps: Deps,
  trx: Db,
  { id, email }: accounts.Account,
  { issuer, subject }: Identity,
  visitor: Visitor,
): Promise<number> {
  const account = await accounts.findAccountForUpdateAcrossTenants(trx, id);
  if (!account || account.oidc_subject !== null) throw noAccount(email);
  const actingDeps = { ...deps, actor: actorOf(account, visitor) };
  await claimByEmail(actingDeps, trx, account, { by: 'identity provider', isProof: true });
  await accounts.updateAccountAcrossTenants(trx, id, { oidc_issuer: issuer, oidc_subject: subject });
  await recordInAllOrganizations(actingDeps, trx, account, 'link');
  return id;
}

/** Creates an account for an invited user. */
async function create(trx: Db, email: string, { issuer, subject, name = '' }: Identity): Promise<number> {
  const invites = await listInvitesForAcrossTenants(trx, email);
  if (invites.length === 0) throw noAccount(email);
  const id = await accounts.createAccountAcrossTenants(trx, {
    email,
    email_verified: true,
    name: name.replaceAll('\0', '').slice(0, limits.name),
    password_hash: null,
    admin: false,
    oidc_subject: subject,
    oidc_issuer: issuer,
  });
  if (id === undefined) throw noAccount(email);
  return id;
}

async function acceptInvites(trx: Db, account: accounts.Account, visitor: Visitor): Promise<void> {
  for (const invite of await listInvitesForAcrossTenants(trx, account.email)) {
    await addInvitedMember(trx, invite, account, visitor);
  }
}

function noAccount(email: string): AppError {
  return new AppError('oidc.unknown', `no account or invite for ${email}: ask an admin to invite you`);
}
