/** The people of an organization, and, for the operator, all of them. */
import { AppError, invalid } from '../core/errors.ts';
import { readablePassword } from '../core/passwords.ts';
import { mayGrant, type Role } from '../core/roles.ts';
import { fold, isEmail } from '../core/text.ts';
import * as accounts from '../db/accounts.ts';
import type { Member } from '../db/memberships.ts';
import * as memberships from '../db/memberships.ts';
import type { PageRequest } from '../db/page.ts';
import { deletePasskeyAcrossTenants, listPasskeysAcrossTenants } from '../db/passkeys.ts';
import type { Db } from '../db/pool.ts';
import { deleteSessionsAcrossTenants } from '../db/sessions.ts';
import { clearTotpAcrossTenants, replaceRecoveryCodesAcrossTenants } from '../db/two-factor.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { getOrganization } from './organizations.ts';
import { setPassword } from './password-resets.ts';
import { hashPassword, mustBeGood, recordEverywhere } from './sessions.ts';

export type { Member } from '../db/memberships.ts';

export interface AccountInput {
  email: string;
  name?: string;
  /** Without one, one is made up. */
  password?: string;
  admin?: boolean;
  /** Where it is a member from the beginning. */
  membership?: { organization: string; role: Role };
}

/** By the operator, who knows whose email it is. Answers with the password, which is kept nowhere. */
export async function createAccount(deps: Deps, input: AccountInput): Promise<{ id: number; password: string }> {
  const email = fold(input.email);
  if (!isEmail(email)) throw invalid({ email: ['is not a valid email address'] });
  const password = input.password ?? readablePassword();
  mustBeGood(password, email);
  const { membership } = input;
  const organization = membership && (await getOrganization(deps, membership.organization));
  const password_hash = await hashPassword(deps, password);
  const id = await deps.db.transaction().execute(async trx => {
    const fields = { email, name: input.name ?? '', admin: input.admin ?? false };
    const created = await accounts.createAccountAcrossTenants(trx, { ...fields, email_verified: true, password_hash });
    if (created === undefined) {
      throw new AppError('resource.exists', `there is an account ${email} already`, {
        fields: { email: ['belongs to an account already'] },
      });
    }
    if (organization) {
      await memberships.addMember(trx, organization.id, created, membership.role);
      const after = { id: created, name: fields.name, admin: fields.admin, role: membership.role };
      await record(deps, trx, organization.id, { action: 'create', noun: 'account', path: email, after });
    }
    return created;
  });
  return { id, password };
}

async function requireAccount(deps: Deps, email: string): Promise<accounts.Account> {
  const account = await accounts.findAccountAcrossTenants(deps.db, fold(email));
  if (!account) throw new AppError('account.not_found', `there is no account ${fold(email)}`);
  return account;
}

/** By the operator. Answers with the password, which is kept nowhere. */
export async function resetPassword(deps: Deps, email: string, given?: string): Promise<string> {
  const account = await requireAccount(deps, email);
  const password = given ?? readablePassword();
  mustBeGood(password, account.email);
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(trx => setPassword(deps, trx, account, password_hash));
  return password;
}

/** For somebody who has lost every second factor and the recovery codes: the password alone is enough again. */
export async function resetTwoFactor(deps: Deps, email: string): Promise<void> {
  const account = await requireAccount(deps, email);
  await deps.db.transaction().execute(async trx => {
    await clearTotpAcrossTenants(trx, account.id);
    await replaceRecoveryCodesAcrossTenants(trx, account.id, []);
    for (const { id } of await listPasskeysAcrossTenants(trx, account.id)) {
      await deletePasskeyAcrossTenants(trx, account.id, id);
    }
    await deleteSessionsAcrossTenants(trx, account.id);
    await recordEverywhere(deps, trx, account, 'reset two-factor');
  });
}

/** From the whole instance. */
export async function removeAccount(deps: Deps, email: string): Promise<void> {
  const account = await requireAccount(deps, email);
  await deps.db.transaction().execute(async trx => {
    const reached = await accounts.listReachedAcrossTenants(trx, account.id, false, { after: 0, limit: 100_000 });
    for (const organization of reached) await mustNotBeLast(trx, organization.id, account, organization.slug);
    await recordEverywhere(deps, trx, account, 'delete');
    await accounts.deleteAccountAcrossTenants(trx, account.id);
  });
}

/** Who may do less can do nothing about who may do more. */
function mustMatch(own: readonly string[], role: Role): void {
  if (mayGrant(own, role)) return;
  throw new AppError('role.permission', `the role ${role} may do more than you: it is not yours to give or to take`);
}

async function mustNotBeLast(
  trx: Db,
  organizationId: number,
  { id, email }: { id: number; email: string },
  where = '',
) {
  const owners = await memberships.lockOwners(trx, organizationId);
  if (owners.length !== 1 || owners[0] !== id) return;
  const what = where ? `the organization ${where}` : 'this organization';
  throw new AppError('account.last_owner', `${email} is the last owner of ${what}: make somebody else an owner first`);
}

/** `own` is what the caller may do; `check` looks at what is there now, and may refuse. */
export async function changeRole(
  deps: Deps,
  organizationId: number,
  { id }: { id: number },
  role: Role,
  own: readonly string[],
  check: (current: Member) => void,
): Promise<Member> {
  return deps.db.transaction().execute(async trx => {
    await memberships.lockOwners(trx, organizationId);
    const member = await requireMember(trx, organizationId, id);
    check(member);
    mustMatch(own, member.role);
    mustMatch(own, role);
    if (role === member.role) return member;
    if (member.role === 'owner') await mustNotBeLast(trx, organizationId, member);
    await memberships.setRole(trx, organizationId, id, role);
    const change = { before: { role: member.role }, after: { role } };
    await record(deps, trx, organizationId, { action: 'update', noun: 'account', path: member.email, ...change });
    return { ...member, role };
  });
}

/** From the organization: the account itself stays. */
export async function removeMember(
  deps: Deps,
  organizationId: number,
  { id }: { id: number },
  own: readonly string[],
  check: (current: Member) => void,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await memberships.lockOwners(trx, organizationId);
    const member = await requireMember(trx, organizationId, id);
    check(member);
    mustMatch(own, member.role);
    if (member.role === 'owner') await mustNotBeLast(trx, organizationId, member);
    await memberships.removeMember(trx, organizationId, id);
    const before = { id, role: member.role };
    await record(deps, trx, organizationId, { action: 'remove', noun: 'account', path: member.email, before });
  });
}

async function requireMember(trx: Db, organizationId: number, id: number): Promise<Member> {
  const member = await memberships.findMember(trx, organizationId, id);
  if (!member) throw new AppError('account.not_found', 'the account was removed just now');
  return member;
}

/** Of the whole instance, for its operator. */
export async function listAccounts({ db }: Deps) {
  return accounts.listAccountsAcrossTenants(db);
}

export async function findMember({ db }: Deps, organizationId: number, id: number) {
  return memberships.findMember(db, organizationId, id);
}

export async function listMembers({ db }: Deps, organizationId: number, page: PageRequest) {
  return memberships.listMembers(db, organizationId, page);
}
