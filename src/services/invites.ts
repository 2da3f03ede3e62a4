/** How people come into an organization: a link that works once, for a week. */
import { AppError, invalid } from '../core/errors.ts';
import { mayGrant, type Role } from '../core/roles.ts';
import { fold, isEmail } from '../core/text.ts';
import { generateToken, tokenHashOf } from '../core/tokens.ts';
import * as accounts from '../db/accounts.ts';
import * as invites from '../db/invites.ts';
import { addMember, isMember } from '../db/memberships.ts';
import { getOrganization } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import type { Site } from './passkeys.ts';
import {
  actorOf,
  checkPassword,
  hashPassword,
  mustBeGood,
  type Opened,
  openSession,
  type Session,
  type Visitor,
} from './sessions.ts';
import { requireSecondFactor } from './sign-in.ts';

export type { ListedInvite } from '../db/invites.ts';

const lifeMs = 7 * 86_400_000;

/** The token is in this answer and nowhere else. `own` is what the caller may do. */
export async function createInvite(
  deps: Deps,
  organizationId: number,
  input: { email: string; role: Role },
  own: readonly string[],
  link: (path: string) => string,
) {
  const email = fold(input.email);
  const { role } = input;
  if (!isEmail(email)) throw invalid({ email: ['is not a valid email address'] });
  if (!mayGrant(own, role)) {
    throw new AppError('role.permission', `the role ${role} may do more than you: it is not yours to give`);
  }
  const { token, tokenHash } = generateToken();
  const expires_at = new Date(Date.now() + lifeMs);
  const id = await deps.db.transaction().execute(async trx => {
    if (await isMember(trx, organizationId, email)) {
      throw new AppError('resource.exists', `${email} is a member of this organization already`, {
        fields: { email: ['belongs to a member of this organization'] },
      });
    }
    const fields = { token_hash: tokenHash, email, role, invited_by: deps.actor.name, expires_at };
    const created = await invites.createInvite(trx, organizationId, fields);
    const after = { role, expires_at: expires_at.toISOString() };
    await record(deps, trx, organizationId, { action: 'create', noun: 'invite', path: email, after });
    return created;
  });
  const invite = { id, email, role, expires_at, link: link(`/invite/${token}`) };
  return { ...invite, ...(await mailInvite(deps, organizationId, invite)) };
}

/** The link is there in any case: a mail that did not go out is no reason to invite again. */
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
  check: (current: invites.ListedInvite) => void,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    const invite = await invites.findInvite(trx, organizationId, id);
    if (!invite) throw unknownInvite();
    check(invite);
    const { email, role } = invite;
    if (!(await invites.deleteInvite(trx, organizationId, id))) throw unknownInvite();
    await record(deps, trx, organizationId, { action: 'delete', noun: 'invite', path: email, before: { role } });
  });
}

function unknownInvite(): AppError {
  return new AppError('invite.not_found', 'the invite is unknown, used or older than a week: ask for a new one');
}

export async function readInvite({ db }: Deps, token: string): Promise<invites.Invite> {
  const tokenHash = tokenHashOf(token);
  const invite = tokenHash && (await invites.findInviteAcrossTenants(db, tokenHash));
  if (!invite) throw unknownInvite();
  return invite;
}

interface Acceptance {
  name?: string;
  password?: string;
}

/**
 * Whoever is signed in with the invited email just comes in; whoever has an account shows its password; anybody else
 * gets an account.
 */
export async function acceptInvite(
  deps: Deps,
  token: string,
  { name, password }: Acceptance,
  visitor: Visitor,
  site: Site,
  session: Session | undefined,
): Promise<Opened> {
  const invite = await readInvite(deps, token);
  const { email } = invite;
  if (session?.account.email === email) {
    await join(deps, invite, session.account, visitor);
    return openSession(deps, session.account, visitor, session.method);
  }
  const known = await accounts.findAccountAcrossTenants(deps.db, email);
  if (password === undefined) throw invalid({ password: [known ? `of the account ${email} is needed` : 'is needed'] });
  if (known) {
    const account = await checkPassword(deps, { email, password }, visitor);
    // With one they finish signing in first, and come back.
    await requireSecondFactor(deps, account, site);
    await join(deps, invite, account, visitor);
    return openSession(deps, account, visitor, 'password');
  }
  if (!name) throw invalid({ name: ['is needed for a new account'] });
  mustBeGood(password, email);
  const password_hash = await hashPassword(deps, password);
  const account = await deps.db.transaction().execute(async trx => {
    const fields = { email, email_verified: false, name, password_hash, admin: false };
    const id = await accounts.createAccountAcrossTenants(trx, fields);
    if (id === undefined) throw unknownInvite();
    await joinWith(trx, invite, { id, email }, visitor);
    return { id, email };
  });
  return openSession(deps, account, visitor, 'password');
}

type Person = Pick<accounts.Account, 'id' | 'email'>;

function join(deps: Deps, invite: invites.Invite, person: Person, visitor: Visitor): Promise<void> {
  return deps.db.transaction().execute(trx => joinWith(trx, invite, person, visitor));
}

/** Of two who use a link at the same time, the first comes in. */
export async function joinWith(
  trx: Db,
  { organization_id, id, role }: invites.Invite,
  person: Person,
  visitor: Visitor,
): Promise<void> {
  if (!(await invites.deleteInvite(trx, organization_id, id))) throw unknownInvite();
  if (!(await addMember(trx, organization_id, person.id, role))) return;
  const actor = actorOf(person, visitor);
  const after = { id: person.id, role };
  await record({ actor }, trx, organization_id, { action: 'join', noun: 'account', path: person.email, after });
}

export async function findInvite({ db }: Deps, organizationId: number, id: number) {
  return invites.findInvite(db, organizationId, id);
}

export async function listInvites({ db }: Deps, organizationId: number, page: PageRequest) {
  return invites.listInvites(db, organizationId, page);
}
