/** Password reset by mail: a link that works once, for an hour. The caller never learns whether the account exists. */
import { AppError } from '../../core/errors.ts';
import { anonymous } from '../../core/identity/actor.ts';
import { generateToken, tokenHashOf } from '../../core/identity/tokens.ts';
import { fold } from '../../core/text/text.ts';
import * as accounts from '../../db/identity/accounts.ts';
import * as resets from '../../db/identity/password-resets.ts';
import { endSessionsAcrossTenants } from '../../db/identity/sessions.ts';
import { forgetAttemptsAcrossTenants, takeAttemptAcrossTenants } from '../../db/identity/sign-in-limits.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { claimByEmail } from './email-claims.ts';
import type { Mailer } from './mail.ts';
import { actorOf, hashPassword, recordInAllOrganizations, requireStrongPassword } from './sessions.ts';
import { networkOf, type Visitor } from './sign-in/lockout.ts';
import { removeCredentials } from './sign-in/two-factor.ts';

const lifetimeMs = 3_600_000;
/** Mails to one address within 15 minutes, so that a mailbox cannot be flooded. */
const maxMails = 3;

function requireMailer({ mailer }: Deps): Mailer {
  if (mailer) return mailer;
  throw new AppError(
    'reset.unavailable',
    'no mail server is configured (BELFRY_MAIL_URL): ask the operator to run `belfry account reset-password`',
  );
}

/** Returns before the account is looked up, so that the response time does not reveal whether it exists. */
export function requestReset(deps: Deps, email: string, visitor: Visitor, link: (path: string) => string): void {
  const mailer = requireMailer(deps);
  const { resets: requests } = deps.signIn;
  const network = networkOf(visitor.origin);
  const now = currentTime();
  const waitMs = requests.waitMs(network, now);
  if (waitMs > 0) {
    const retryAfterSeconds = Math.ceil(waitMs / 1_000);
    const detail = `too many password resets from your network: try again in ${retryAfterSeconds} seconds`;
    throw new AppError('reset.limited', detail, { retryAfterSeconds });
  }
  requests.record(network, now);
  mailer.sendLater(() => mailReset(deps, mailer, fold(email), visitor, link));
}

async function mailReset(
  deps: Deps,
  mailer: Mailer,
  email: string,
  visitor: Visitor,
  link: (path: string) => string,
): Promise<void> {
  const account = await accounts.findAccountAcrossTenants(deps.db, email);
  if (!account || (await takeAttemptAcrossTenants(deps.db, email, 'password reset', maxMails))) return;
  // Without either, the account waits for the proof of its address.
  if (account.password_hash === null && account.oidc_subject !== null) {
    const values = { email, provider: deps.signIn.oidc?.name ?? 'your identity provider', link: link('/sign-in') };
    await mailer.send({ to: email, template: 'noPassword', values });
    return;
  }
  const { token, tokenHash } = generateToken();
  await deps.db.transaction().execute(async trx => {
    const expires_at = new Date(currentTime() + lifetimeMs);
    await resets.createResetAcrossTenants(trx, { token_hash: tokenHash, account_id: account.id, expires_at });
    const actor = { ...anonymous, origin: visitor.origin, requestId: visitor.requestId };
    await recordInAllOrganizations({ ...deps, actor }, trx, account, 'ask for password reset');
  });
  await mailer.send({ to: email, template: 'reset', values: { email, link: link(`/reset-password/${token}`) } });
}

function unknownReset(): AppError {
  return new AppError(
    'reset.not_found',
    'this link does not exist, was already used, or has expired: request a new one',
  );
}

export async function readReset({ db }: Deps, token: string): Promise<{ id: number; email: string }> {
  const tokenHash = tokenHashOf(token);
  const found = tokenHash && (await resets.findResetAcrossTenants(db, tokenHash));
  if (!found) throw unknownReset();
  return found;
}

/**
 * Sets the password and ends all sessions. Does not sign in: a second factor is still required, unless this is the first
 * verification of the email, which removes the factors that were added before.
 */
export async function finishReset(deps: Deps, token: string, password: string, visitor: Visitor): Promise<void> {
  const { id, email } = await readReset(deps, token);
  requireStrongPassword(password, email);
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(async trx => {
    const account = await accounts.findAccountForUpdateAcrossTenants(trx, id);
    if (!account || !(await resets.takeResetAcrossTenants(trx, id, tokenHashOf(token)!))) throw unknownReset();
    const actingDeps = { ...deps, actor: actorOf(account, visitor) };
    // Only the owner of the mailbox has the link.
    await claimByEmail(actingDeps, trx, account, { by: 'password reset', isProof: true });
    await setPassword(actingDeps, trx, { ...account, email_verified: true }, password_hash);
  });
}

/**
 * Sets the password, after a reset by mail or by the operator. Ends all sessions and clears the lockout. Second factors are
 * kept, unless the email was never verified: then an attacker may have added them.
 */
export async function setPassword(
  deps: Deps,
  trx: Deps['db'],
  account: accounts.Account,
  password_hash: string,
): Promise<void> {
  const removed = account.email_verified ? undefined : await removeCredentials(trx, account);
  if (!removed) await endSessionsAcrossTenants(trx, account.id);
  await accounts.updateAccountAcrossTenants(trx, account.id, { password_hash });
  await forgetAttemptsAcrossTenants(trx, account.email);
  await recordInAllOrganizations(deps, trx, account, 'reset password', removed && { removed });
}
