/** Sign-in with an identity provider (OpenID Connect), for users who already have an account or an invite. */
import { AppError } from '../../../core/errors.ts';
import { consolePathOf } from '../../../core/identity/console-path.ts';
import { fold, isEmail, limits } from '../../../core/text/text.ts';
import type { Db } from '../../../db/connection/pool.ts';
import * as accounts from '../../../db/identity/accounts.ts';
import { listInvitesForAcrossTenants } from '../../../db/identity/invites.ts';
import { confirmSessionAcrossTenants } from '../../../db/identity/sessions.ts';
import type { Identity, Oidc, OidcState } from '../../../lib/secrets/oidc.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { claimByEmail } from '../email-claims.ts';
import { addInvitedMember } from '../invites.ts';
import {
  actorOf,
  type OpenedSession,
  openSession,
  recordFailure,
  recordInAllOrganizations,
  type Session,
  type Visitor,
} from '../sessions.ts';
import { openState, sealState } from './sealed-state.ts';

const purpose = 'sign-in by an identity provider';
/** Time to sign in at the provider and return. */
export const oidcSeconds = 600;
/** How far the provider's clock may be behind. */
const clockSkewMs = 60_000;

/** What the browser keeps, encrypted, until it returns from the provider. */
interface BegunOidc extends OidcState {
  /** The path of the console to open afterwards. */
  to: string;
  /** Set if a signed-in user confirms their identity: the session, and when that began. */
  confirms?: { tokenHash: string; startedAt: number };
}

function requireProvider({ signIn }: Deps): Oidc {
  if (!signIn.oidc) throw new AppError('path.not_found', 'no identity provider is configured: set OIDC_ISSUER');
  return signIn.oidc;
}

/**
 * Returns the provider's URL, and the encrypted state that the browser keeps until it returns. With `confirming`, the provider
 * asks for the credentials again, and the session counts as confirmed afterwards.
 */
export async function beginOidc(
  deps: Deps,
  redirectUri: string,
  { to, confirming }: { to?: string | undefined; confirming?: Session | undefined } = {},
): Promise<{ url: string; sealed: string }> {
  const oidc = requireProvider(deps);
  const { url, state } = await oidc.begin(redirectUri, { again: confirming !== undefined }).catch(error => {
    throw new AppError('oidc.unavailable', `cannot reach ${oidc.name}`, { cause: error });
  });
  const confirms = confirming && { tokenHash: confirming.tokenHash.toString('base64'), startedAt: currentTime() };
  const begun: BegunOidc = { ...state, to: consolePathOf(to), ...(confirms && { confirms }) };
  return { url, sealed: sealState(deps, purpose, begun, oidcSeconds) };
}

/** Returns undefined when this browser did not begin a sign-in, or too long ago. */
export function openOidc(deps: Deps, sealed: string | undefined): BegunOidc | undefined {
  return openState<BegunOidc>(deps, purpose, sealed ?? '');
}

/** Returns the opened session, or undefined when the user confirmed the identity of `session`. */
export async function finishOidc(
  deps: Deps,
  answered: URL,
  begun: BegunOidc | undefined,
  visitor: Visitor,
  session: Session | undefined,
): Promise<OpenedSession | undefined> {
  const oidc = requireProvider(deps);
  if (!begun)
    throw new AppError('oidc.failed', 'this sign-in was not started in this browser, or has expired: start again');
  const { exchanges } = deps.signIn;
  if (!exchanges.take(visitor.origin, 1)) {
    throw new AppError('oidc.unavailable', `too many sign-ins wait for ${oidc.name}: try again`);
  }
  const identity = await oidc
    .finish(answered, begun)
    .catch(error => {
      throw new AppError('oidc.failed', `${oidc.name} did not complete the sign-in`, { cause: error });
    })
    .finally(() => exchanges.release(visitor.origin, 1));
  if (begun.confirms) return confirm(deps, identity, begun.confirms, session);
  const account = await deps.db.transaction().execute(trx => findOrCreateAccount(deps, trx, identity, visitor));
  return openSession(deps, account, visitor, 'oidc');
}

/** Throws unless the user of the session has just entered their credentials at the provider. */
async function confirm(
  deps: Deps,
  { issuer, subject, authenticatedAt }: Identity,
  { tokenHash, startedAt }: NonNullable<BegunOidc['confirms']>,
  session: Session | undefined,
): Promise<undefined> {
  const linked = await accounts.findAccountBySubjectAcrossTenants(deps.db, issuer, subject);
  if (!session || session.tokenHash.toString('base64') !== tokenHash || linked?.id !== session.account.id) {
    throw new AppError('oidc.unconfirmed', 'this is not the user who began the confirmation');
  }
  // A provider that ignores the request answers for the user who left this browser unattended.
  if (authenticatedAt === undefined || authenticatedAt < startedAt - clockSkewMs) {
    throw new AppError('oidc.unconfirmed', 'the identity provider did not ask for the credentials again');
  }
  await confirmSessionAcrossTenants(deps.db, session.tokenHash);
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
  if (!account) throw noAccount(email);
  if (account.oidc_subject !== null) {
    // In the background: this transaction is rolled back.
    deps.signIn.background.run(() => recordFailure(deps, account, visitor, 'identity'));
    const other =
      account.oidc_issuer === issuer ? `another identity at ${issuer}` : `an identity at ${account.oidc_issuer}`;
    throw new AppError('oidc.linked', `the account ${email} is linked to ${other}: unlink it to link this identity`);
  }
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
