/**
 * Decides whether an account that was found by its email gets what belongs to that address: the only place that does.
 * docs/security.md lists everything that matches accounts by email.
 */
import type { Db } from '../../db/connection/pool.ts';
import { type Account, updateAccountAcrossTenants } from '../../db/identity/accounts.ts';
import type { Deps } from '../deps.ts';
import { recordInAllOrganizations } from './sessions.ts';
import { removeCredentials } from './sign-in/two-factor.ts';

/** How the address was claimed, and whether that proves it: by mail, by the identity provider, or by the operator. */
export interface EmailClaim {
  by: string;
  isProof: boolean;
}

/**
 * Must be called before an account gets anything because of its email. A verified account is left alone. Anyone may have
 * created an unverified one, with the link of an invite that was shown on a screen: it loses everything that could open it,
 * so that only the owner of the address can. A claim that is a proof also verifies the email. The caller must hold the lock
 * on the account. Returns whether the account was verified before.
 */
export async function claimByEmail(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  account: Account,
  { by, isProof }: EmailClaim,
): Promise<boolean> {
  if (account.email_verified) return true;
  const removed = await removeCredentials(trx, account);
  if (isProof) await updateAccountAcrossTenants(trx, account.id, { email_verified: true });
  const action = isProof ? 'verify email' : 'remove credentials';
  await recordInAllOrganizations(deps, trx, account, action, { proof: by, removed });
  return false;
}
