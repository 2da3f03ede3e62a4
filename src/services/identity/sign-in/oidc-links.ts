/**
 * Unlinking: an account whose identity at the identity provider was created again, or whose provider has changed, is linked to
 * an identity that no longer exists. Without the link, the next sign-in with the provider links the identity that has the
 * account's verified email.
 */
import { AppError } from '../../../core/errors.ts';
import type { Db } from '../../../db/connection/pool.ts';
import * as accounts from '../../../db/identity/accounts.ts';
import type { Member } from '../../../db/identity/memberships.ts';
import { endSessionsAcrossTenants } from '../../../db/identity/sessions.ts';
import type { Deps } from '../../deps.ts';
import { requireAccount, requireMember } from '../accounts.ts';
import { type Granter, requireGrantable, requireUnlimited } from '../key-rules.ts';
import { recordInAllOrganizations } from '../sessions.ts';

/**
 * Unlinks a member. The link protects the account against another identity with the same email, so removing it takes
 * authority over everything that the account can open: all of its organizations.
 */
export async function unlinkMember(
  deps: Deps,
  organizationId: number,
  { id }: { id: number },
  own: Granter,
  check: (current: Member) => void,
): Promise<Member> {
  return deps.db.transaction().execute(async trx => {
    const account = await accounts.findAccountForUpdateAcrossTenants(trx, id);
    const member = await requireMember(trx, organizationId, id);
    check(member);
    requireGrantable(own, member.role);
    requireUnlimited(own);
    const isInstanceAdmin = own.grant.allowsRoute('organization:create');
    if (!isInstanceAdmin && (account!.admin || (await accounts.countMembershipsAcrossTenants(trx, id)) > 1)) {
      throw new AppError(
        'account.shared',
        `${member.email} belongs to other organizations or is an instance admin: ask the operator to run ` +
          `\`belfry account unlink --email ${member.email}\``,
      );
    }
    await unlink(deps, trx, account!);
    return { ...member, linked: false };
  });
}

/** Unlinks an account for the operator. Returns false, without changes, when it is not linked. */
export async function unlinkAccount(deps: Deps, email: string): Promise<boolean> {
  const { id } = await requireAccount(deps, email);
  return unlinkById(deps, id);
}

/** Unlinks all accounts of an identity provider that is no longer used. Returns how many there were. */
export async function unlinkIssuer(deps: Deps, issuer: string): Promise<number> {
  let count = 0;
  for (const { id } of await accounts.listAccountsOfIssuerAcrossTenants(deps.db, issuer)) {
    if (await unlinkById(deps, id, issuer)) count++;
  }
  return count;
}

function unlinkById(deps: Deps, id: number, issuer?: string): Promise<boolean> {
  return deps.db.transaction().execute(async trx => {
    const account = await accounts.findAccountForUpdateAcrossTenants(trx, id);
    if (!account || (issuer !== undefined && account.oidc_issuer !== issuer)) return false;
    return unlink(deps, trx, account);
  });
}

/** Ends the sessions too: the previous identity may be that of a person who had the address before. */
async function unlink(deps: Deps, trx: Db, account: accounts.Account): Promise<boolean> {
  const { id, oidc_issuer: issuer, oidc_subject } = account;
  if (oidc_subject === null) return false;
  await accounts.updateAccountAcrossTenants(trx, id, { oidc_issuer: null, oidc_subject: null });
  await endSessionsAcrossTenants(trx, id);
  await recordInAllOrganizations(deps, trx, account, 'unlink', { issuer });
  return true;
}
