/** Accounts: the members of an organization and, for the operator, all accounts of the instance. */
import { AppError, invalid } from '../../core/errors.ts';
import { generateReadablePassword } from '../../core/identity/passwords.ts';
import { includesRole, type Role } from '../../core/identity/roles.ts';
import { fold, isEmail } from '../../core/text/text.ts';
import type { Db } from '../../db/connection/pool.ts';
import * as accounts from '../../db/identity/accounts.ts';
import type { Member } from '../../db/identity/memberships.ts';
import * as memberships from '../../db/identity/memberships.ts';
import { endSessionsAcrossTenants } from '../../db/identity/sessions.ts';
import { removeFactorsAcrossTenants } from '../../db/identity/two-factor.ts';
import { getOrganization } from '../configuration/organizations.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { type Granter, requireGrantable, requireUnlimited } from './key-rules.ts';
import { setPassword } from './password-resets.ts';
import { hashPassword, recordInAllOrganizations, requireStrongPassword } from './sessions.ts';

export type { Member } from '../../db/identity/memberships.ts';

export interface AccountInput {
  email: string;
  name?: string;
  /** Generated when absent. */
  password?: string;
  admin?: boolean;
  /** An organization that the account joins at once. */
  membership?: { organization: string; role: Role };
}

/**
 * Creates an account for the operator, who vouches for the email address. Returns the password, which is only stored as a
 * hash.
 */
export async function createAccount(deps: Deps, input: AccountInput): Promise<{ id: number; password: string }> {
  const email = fold(input.email);
  if (!isEmail(input.email)) throw invalid({ email: ['is not a valid email address'] });
  const password = input.password ?? generateReadablePassword();
  requireStrongPassword(password, email);
  const { membership } = input;
  const organization = membership && (await getOrganization(deps, membership.organization));
  const password_hash = await hashPassword(deps, password);
  const id = await deps.db.transaction().execute(async trx => {
    const fields = { email, name: input.name ?? '', admin: input.admin ?? false };
    const created = await accounts.createAccountAcrossTenants(trx, { ...fields, email_verified: true, password_hash });
    if (created === undefined) {
      throw new AppError('resource.exists', `an account with the email ${email} already exists`, {
        fields: { email: ['is already used by another account'] },
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

export async function requireAccount(deps: Deps, email: string): Promise<accounts.Account> {
  const account = await accounts.findAccountAcrossTenants(deps.db, fold(email));
  if (!account) throw new AppError('account.not_found', `no account with the email ${fold(email)}`);
  return account;
}

/** Resets a password for the operator. Returns the password, which is only stored as a hash. */
export async function resetPassword(deps: Deps, email: string, newPassword?: string): Promise<string> {
  const account = await requireAccount(deps, email);
  const password = newPassword ?? generateReadablePassword();
  requireStrongPassword(password, account.email);
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(async trx => {
    const current = await accounts.findAccountForUpdateAcrossTenants(trx, account.id);
    await setPassword(deps, trx, current ?? account, password_hash);
  });
  return password;
}

/** Removes every second factor of a user who has lost them all: the password alone is enough again. */
export async function resetTwoFactor(deps: Deps, email: string): Promise<void> {
  const account = await requireAccount(deps, email);
  await deps.db.transaction().execute(async trx => {
    await accounts.findAccountForUpdateAcrossTenants(trx, account.id);
    await removeFactorsAcrossTenants(trx, account.id);
    await endSessionsAcrossTenants(trx, account.id);
    await recordInAllOrganizations(deps, trx, account, 'reset two-factor');
  });
}

/** Deletes the account from the whole instance. */
export async function removeAccount(deps: Deps, email: string): Promise<void> {
  const account = await requireAccount(deps, email);
  await deps.db.transaction().execute(async trx => {
    const organizations = await accounts.listAccessibleOrganizationsAcrossTenants(trx, account.id, false, {
      after: 0,
      limit: 100_000,
    });
    for (const organization of organizations)
      await requireAnotherOwner(trx, organization.id, account, organization.slug);
    await recordInAllOrganizations(deps, trx, account, 'delete');
    await accounts.deleteAccountAcrossTenants(trx, account.id);
  });
}

async function requireAnotherOwner(
  trx: Db,
  organizationId: number,
  { id, email }: { id: number; email: string },
  slug?: string,
) {
  const owners = await memberships.lockOwners(trx, organizationId);
  if (owners.length !== 1 || owners[0] !== id) return;
  const organization = slug === undefined ? 'this organization' : `the organization ${slug}`;
  throw new AppError(
    'account.last_owner',
    `${email} is the last owner of ${organization}: make another account an owner first`,
  );
}

/** `check` receives the current member and may throw, for example when it has changed since the caller read it. */
export async function changeRole(
  deps: Deps,
  organizationId: number,
  { id }: { id: number },
  role: Role,
  own: Granter,
  check: (current: Member) => void,
): Promise<Member> {
  return deps.db.transaction().execute(async trx => {
    await memberships.lockOwners(trx, organizationId);
    const member = await requireMember(trx, organizationId, id);
    check(member);
    requireGrantable(own, member.role);
    requireGrantable(own, role);
    if (role === member.role) return member;
    if (!includesRole(member.role, role)) requireUnlimited(own);
    if (member.role === 'owner') await requireAnotherOwner(trx, organizationId, member);
    await memberships.setRole(trx, organizationId, id, role);
    const change = { before: { role: member.role }, after: { role } };
    await record(deps, trx, organizationId, { action: 'update', noun: 'account', path: member.email, ...change });
    return { ...member, role };
  });
}

/** Removes an account from the organization. The account itself is kept. */
export async function removeMember(
  deps: Deps,
  organizationId: number,
  { id }: { id: number },
  own: Granter,
  check: (current: Member) => void,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await memberships.lockOwners(trx, organizationId);
    const member = await requireMember(trx, organizationId, id);
    check(member);
    requireGrantable(own, member.role);
    if (member.role === 'owner') await requireAnotherOwner(trx, organizationId, member);
    await memberships.removeMember(trx, organizationId, id);
    const before = { id, role: member.role };
    await record(deps, trx, organizationId, { action: 'remove', noun: 'account', path: member.email, before });
  });
}

export async function requireMember(trx: Db, organizationId: number, id: number): Promise<Member> {
  const member = await memberships.findMember(trx, organizationId, id);
  if (!member) throw new AppError('account.not_found', 'the account no longer exists');
  return member;
}

/** Lists all accounts of the instance, for its operator. */
export async function listAccounts({ db }: Deps) {
  return accounts.listAccountsAcrossTenants(db);
}
