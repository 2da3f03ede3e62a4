/** Invites to an organization: a link that works once and expires after a week. */
import { AppError, invalid } from '../../core/errors.ts';
import type { Role } from '../../core/identity/roles.ts';
import { generateToken, tokenHashOf } from '../../core/identity/tokens.ts';
import { fold, isEmail } from '../../core/text/text.ts';
import { getOrganization } from '../../db/configuration/organizations.ts';
import type { Db } from '../../db/connection/pool.ts';
import * as accounts from '../../db/identity/accounts.ts';
import * as invites from '../../db/identity/invites.ts';
import { addMember, findMemberByEmail } from '../../db/identity/memberships.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { type Granter, requireGrantable, requireUnlimited } from './key-rules.ts';
import {
  actorOf,
  checkPassword,
  hashPassword,
  lockOwnAccount,
  type OpenedSession,
  openSession,
  requireStrongPassword,
  type Session,
  type Visitor,
} from './sessions.ts';
import type { Site } from './sign-in/passkeys.ts';
import { requireSecondFactor } from './sign-in/sign-in.ts';

export type { ListedInvite } from '../../db/identity/invites.ts';

const lifetimeMs = 7 * 86_400_000;

/** Sends the link by mail. Returns it only when it could not be sent. */
export async function createInvite(
  deps: Deps,
  organizationId: number,
  input: { email: string; role: Role },
  own: Granter,
  link: (path: string) => string,
) {
  const email = fold(input.email);
  const { role } = input;
  if (!isEmail(input.email)) throw invalid({ email: ['is not a valid email address'] });
  requireGrantable(own, role);
  requireUnlimited(own);
  const { token, tokenHash } = generateToken();
  const expires_at = new Date(currentTime() + lifetimeMs);
  const id = await deps.db.transaction().execute(async trx => {
    const member = await findMemberByEmail(trx, organizationId, email);
    if (member) {
      const hint = member.linked
        ? ': if they can no longer sign in with the identity provider, unlink the account'
        : '';
      throw new AppError('resource.exists', `${email} is already a member of this organization${hint}`, {
        fields: { email: ['belongs to a member of this organization'] },
      });
    }
    const earlier = await invites.findInvitedRole(trx, organizationId, email);
    if (earlier) requireGrantable(own, earlier);
    const { kind, id: actorId, name: invited_by } = deps.actor;
    const inviter_key_id = kind === 'key' ? actorId : null;
    const fields = { token_hash: tokenHash, email, role, invited_by, inviter_key_id, expires_at };
    const created = await invites.createInvite(trx, organizationId, fields);
    const after = { role, expires_at: expires_at.toISOString() };
    await record(deps, trx, organizationId, { action: 'create', noun: 'invite', path: email, after });
    return created;
  });
  const invite = { id, email, role, expires_at, link: link(`/invite/${token}`) };
  const { mailed, mail_failure } = await mailInvite(deps, organizationId, invite);
  // Only the owner of the mailbox has a mailed link: using it proves that they own the address.
  if (mailed) await invites.markInviteMailed(deps.db, organizationId, id);
  return { ...invite, mailed, mail_failure, link: mailed ? null : invite.link };
}

async function mailInvite(
  { db, mailer, actor }: Deps,
  organizationId: number,
  { email, role, expires_at, link }: { email: string; role: Role; expires_at: Date; link: string },
): Promise<{ mailed: boolean; mail_failure: string | null }> {
  const organization = mailer && (await getOrganization(db, organizationId));
  if (!organization) return { mailed: false, mail_failure: null };
  const until = `${expires_at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const values = { organization: organization.name, inviter: actor.name, role, until, link };
  const outcome = await mailer.send({ to: email, template: 'invite', values });
  return { mailed: outcome.ok, mail_failure: outcome.ok ? null : outcome.reason };
}

export async function withdrawInvite(
  deps: Deps,
  organizationId: number,
  { id }: { id: number },
  own: Granter,
  check: (current: invites.ListedInvite) => void,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    const invite = await invites.findInvite(trx, organizationId, id);
    if (!invite) throw unknownInvite();
    check(invite);
    requireGrantable(own, invite.role as Role);
    const { email, role } = invite;
    if (!(await invites.deleteInvite(trx, organizationId, id))) throw unknownInvite();
    await record(deps, trx, organizationId, { action: 'delete', noun: 'invite', path: email, before: { role } });
  });
}

function unknownInvite(): AppError {
  return new AppError(
    'invite.not_found',
    'this invite does not exist, was already used, or has expired: ask for a new one',
  );
}

export async function readInvite({ db }: Deps, token: string): Promise<invites.Invite> {
  const tokenHash = tokenHashOf(token);
  const invite = tokenHash && (await invites.findInviteAcrossTenants(db, tokenHash));
  if (!invite) throw unknownInvite();
  return invite;
}

/** Whether the account with this email has no password and signs in with the identity provider. */
export async function needsProvider({ db, signIn }: Deps, email: string): Promise<boolean> {
  const account = signIn.oidc && (await accounts.findAccountAcrossTenants(db, email));
  return account?.password_hash === null;
}

interface Acceptance {
  name?: string;
  password?: string;
}

/**
 * Accepts an invite. A user who is signed in with the invited email joins directly; an existing account needs its password;
 * otherwise an account is created, and its email counts as verified if the link came by mail. Accepting never verifies the
 * email of an existing account, because an attacker may know its password too.
 */
export async function acceptInvite(
  deps: Deps,
  token: string,
  { name, password }: Acceptance,
  visitor: Visitor,
  site: Site,
  session: Session | undefined,
): Promise<OpenedSession> {
  const invite = await readInvite(deps, token);
  const { email } = invite;
  if (session?.account.email === email) {
    const account = await deps.db.transaction().execute(async trx => {
      const current = await lockOwnAccount(trx, session);
      await addInvitedMember(trx, invite, current, visitor);
      return current;
    });
    return openSession(deps, account, visitor, session.method);
  }
  const existing = await accounts.findAccountAcrossTenants(deps.db, email);
  if (await needsProvider(deps, email)) {
    throw invalid({ password: [`does not exist for ${email}: sign in with ${deps.signIn.oidc!.name} to accept`] });
  }
  if (password === undefined) {
    throw invalid({ password: [existing ? `is required: the password of the account ${email}` : 'is required'] });
  }
  if (existing) {
    const account = await checkPassword(deps, { email, password }, visitor);
    // An account with a second factor finishes signing in first, and then accepts the invite.
    await requireSecondFactor(deps, account, site);
    await join(deps, invite, account, visitor);
    return openSession(deps, account, visitor, 'password');
  }
  if (!name) throw invalid({ name: ['is required for a new account'] });
  requireStrongPassword(password, email);
  const password_hash = await hashPassword(deps, password);
  const account = await deps.db.transaction().execute(async trx => {
    const fields = { email, email_verified: invite.mailed, name, password_hash, admin: false };
    const id = await accounts.createAccountAcrossTenants(trx, fields);
    const created = id !== undefined && (await accounts.findAccountByIdAcrossTenants(trx, id));
    if (!created) throw unknownInvite();
    await addInvitedMember(trx, invite, created, visitor);
    return created;
  });
  return openSession(deps, account, visitor, 'password');
}

type AccountIdentity = Pick<accounts.Account, 'id' | 'email'>;

function join(deps: Deps, invite: invites.Invite, account: AccountIdentity, visitor: Visitor): Promise<void> {
  return deps.db.transaction().execute(trx => addInvitedMember(trx, invite, account, visitor));
}

/** Consumes the invite and adds the member. When a link is used twice concurrently, only the first use succeeds. */
export async function addInvitedMember(
  trx: Db,
  { organization_id, id, role }: invites.Invite,
  account: AccountIdentity,
  visitor: Visitor,
): Promise<void> {
  if (!(await invites.takeInvite(trx, organization_id, id))) throw unknownInvite();
  if (!(await addMember(trx, organization_id, account.id, role))) return;
  const actor = actorOf(account, visitor);
  const after = { id: account.id, role };
  await record({ actor }, trx, organization_id, { action: 'join', noun: 'account', path: account.email, after });
}
