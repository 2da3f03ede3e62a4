/**
 * Moves the members of an organization to another cell, where some of them have an account already. What that account gets
 * depends on whether its email is verified; docs/security.md has the table.
 */
import { AppError } from '../../core/errors.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Account } from '../../db/identity/accounts.ts';
import { listPasskeysAcrossTenants, type Passkey } from '../../db/identity/passkeys.ts';
import { endSessionsAcrossTenants } from '../../db/identity/sessions.ts';
import { getTwoFactorAcrossTenants, listRecoveryCodesAcrossTenants } from '../../db/identity/two-factor.ts';
import * as moved from '../../db/operations/organization-accounts.ts';
import type { Cipher } from '../../lib/secrets/cipher.ts';
import type { Deps } from '../deps.ts';
import { claimByEmail } from '../identity/email-claims.ts';
import { recordInAllOrganizations } from '../identity/sessions.ts';
import { isEnabled, openTotpSecret, sealTotpSecret } from '../identity/sign-in/two-factor.ts';

interface Member extends Omit<moved.MemberAccount, 'totp_secret'> {
  /** The secret of the authenticator app, which each cell encrypts with its own key. */
  totp: string | null;
  passkeys: Passkey[];
  recovery_codes: Buffer[];
}

export async function readMembers(source: Db, organizationId: number, cipher: Cipher): Promise<Member[]> {
  const members: Member[] = [];
  for (const { totp_secret, ...account } of await moved.listMemberAccounts(source, organizationId)) {
    members.push({
      ...account,
      totp: totp_secret && openTotpSecret(cipher, totp_secret, account.id),
      passkeys: await listPasskeysAcrossTenants(source, account.id),
      recovery_codes: await listRecoveryCodesAcrossTenants(source, account.id),
    });
  }
  return members;
}

/** Replaces the members at the target. Can be repeated. */
export async function storeMembers(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  members: readonly Member[],
  cipher: Cipher,
): Promise<void> {
  await moved.removeMembers(trx, organizationId);
  for (const member of members) {
    const existing = await moved.findSameAccountAcrossTenants(trx, member);
    if (existing) await match(deps, trx, existing, member, cipher);
    else {
      await moved.createMovedAccountAcrossTenants(trx, member);
      await giveEverything(trx, member.id, member, cipher);
    }
    await moved.storeMember(trx, organizationId, existing?.id ?? member.id, member);
  }
}

/** Decides what an existing account gets besides the membership. */
async function match(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  existing: Account,
  member: Member,
  cipher: Cipher,
): Promise<void> {
  // Only copies of the same account, after a move in the other direction, have the same salted hash.
  const isCopy = !existing.email_verified && isSamePassword(existing, member);
  if (isCopy && !member.email_verified) return;
  const claim = { by: 'move', isProof: member.email_verified };
  const wasVerified = await claimByEmail(deps, trx, existing, claim);
  if (!member.email_verified) return;
  if (!wasVerified) return giveEverything(trx, existing.id, member, cipher);
  const factors = await getTwoFactorAcrossTenants(trx, existing.id);
  if (!hasFactors(member) || !factors || isEnabled(factors)) return;
  // The password alone must not open what needed a second factor before.
  await giveFactors(trx, existing.id, member, cipher);
  await endSessionsAcrossTenants(trx, existing.id);
  await recordInAllOrganizations(deps, trx, existing, 'add second factors', { by: 'move' });
}

const isSamePassword = (a: Pick<Account, 'password_hash'>, b: Pick<Account, 'password_hash'>) =>
  a.password_hash !== null && a.password_hash === b.password_hash;

const hasFactors = ({ totp, passkeys }: Member) => totp !== null || passkeys.length > 0;

async function giveEverything(trx: Db, id: number, member: Member, cipher: Cipher): Promise<void> {
  await moved.setMovedIdentityAcrossTenants(trx, id, member);
  await giveFactors(trx, id, member, cipher);
}

async function giveFactors(trx: Db, id: number, member: Member, cipher: Cipher): Promise<void> {
  const { totp: secret, totp_added_at, totp_last_step, passkeys, recovery_codes } = member;
  const totp =
    secret === null ? null : { totp_secret: sealTotpSecret(cipher, secret, id), totp_added_at, totp_last_step };
  if (await moved.addMovedFactorsAcrossTenants(trx, id, { totp, passkeys, recovery_codes })) return;
  throw new AppError(
    'move.refused',
    `a passkey of ${member.email} belongs to another account in the other cell: remove it from one of them`,
  );
}

/** Lists the members who have passkeys only, none of them for this host: they sign in with a recovery code. */
export function membersWithoutPasskeyFor(members: readonly Member[], host: string): string[] {
  return members
    .filter(({ totp, passkeys }) => totp === null && passkeys.length > 0)
    .filter(({ passkeys }) => passkeys.every(({ rp_id }) => rp_id !== null && rp_id !== host))
    .map(({ email }) => email);
}
