/** A new password by mail: a link that works once, for an hour. Who asks never learns whether there is an account. */
import { anonymous } from '../core/actor.ts';
import { AppError } from '../core/errors.ts';
import { fold } from '../core/text.ts';
import { generateToken, tokenHashOf } from '../core/tokens.ts';
import * as accounts from '../db/accounts.ts';
import * as resets from '../db/password-resets.ts';
import { deleteSessionsAcrossTenants } from '../db/sessions.ts';
import { forgetAttemptsAcrossTenants, takeAttemptAcrossTenants } from '../db/sign-in-limits.ts';
import type { Deps } from './deps.ts';
import { networkOf, type Visitor } from './lockout.ts';
import type { Mailer } from './mail.ts';
import { actorOf, hashPassword, mustBeGood, recordEverywhere } from './sessions.ts';

const lifeMs = 3_600_000;
/** To one address within a quarter of an hour: a mailbox must not be flooded by it. */
const mostMails = 3;

function requireMailer({ mailer }: Deps): Mailer {
  if (mailer) return mailer;
  const told = 'no mail server is set up (BELFRY_MAIL_URL): ask the operator for `belfry account reset-password`';
  throw new AppError('reset.unavailable', told);
}

/** Returns before anything is looked up, so that not even the time it takes tells who has an account. */
export function requestReset(deps: Deps, email: string, visitor: Visitor, link: (path: string) => string): void {
  const mailer = requireMailer(deps);
  const { resets: asked } = deps.signIn;
  const network = networkOf(visitor.origin);
  const now = Date.now();
  const waitMs = asked.waitMs(network, now);
  if (waitMs > 0) {
    const retryAfterSeconds = Math.ceil(waitMs / 1_000);
    const told = `too many password resets from your network: try again in ${retryAfterSeconds} seconds`;
    throw new AppError('reset.limited', told, { retryAfterSeconds });
  }
  asked.note(network, now);
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
  if (!account || (await takeAttemptAcrossTenants(deps.db, email, 'password reset', mostMails))) return;
  if (account.password_hash === null) {
    const values = { email, provider: deps.signIn.oidc?.name ?? 'your identity provider', link: link('/sign-in') };
    await mailer.send({ to: email, template: 'noPassword', values });
    return;
  }
  const { token, tokenHash } = generateToken();
  await deps.db.transaction().execute(async trx => {
    const expires_at = new Date(Date.now() + lifeMs);
    await resets.createResetAcrossTenants(trx, { token_hash: tokenHash, account_id: account.id, expires_at });
    const actor = { ...anonymous, origin: visitor.origin, requestId: visitor.requestId };
    await recordEverywhere({ ...deps, actor }, trx, account, 'ask for password reset');
  });
  await mailer.send({ to: email, template: 'reset', values: { email, link: link(`/reset-password/${token}`) } });
}

function unknownReset(): AppError {
  return new AppError('reset.not_found', 'the link is unknown, used or older than an hour: ask for a new one');
}

export async function readReset({ db }: Deps, token: string): Promise<{ id: number; email: string }> {
  const tokenHash = tokenHashOf(token);
  const found = tokenHash && (await resets.findResetAcrossTenants(db, tokenHash));
  if (!found) throw unknownReset();
  return found;
}

/** Ends all sessions. Nobody is signed in by it: a second factor is still asked for. */
export async function finishReset(deps: Deps, token: string, password: string, visitor: Visitor): Promise<void> {
  const account = await readReset(deps, token);
  mustBeGood(password, account.email);
  const password_hash = await hashPassword(deps, password);
  await deps.db.transaction().execute(async trx => {
    if (!(await resets.takeResetAcrossTenants(trx, account.id, tokenHashOf(token)!))) throw unknownReset();
    await setPassword({ ...deps, actor: actorOf(account, visitor) }, trx, account, password_hash);
    // Whoever reads the mail owns the mailbox.
    await accounts.updateAccountAcrossTenants(trx, account.id, { email_verified: true });
  });
}

/** By mail or by the operator: ends all sessions, and what a guesser may have locked is open again. */
export async function setPassword(
  deps: Deps,
  trx: Deps['db'],
  account: Pick<accounts.Account, 'id' | 'email'>,
  password_hash: string,
): Promise<void> {
  await accounts.updateAccountAcrossTenants(trx, account.id, { password_hash });
  await deleteSessionsAcrossTenants(trx, account.id);
  await forgetAttemptsAcrossTenants(trx, account.email);
  await recordEverywhere(deps, trx, account, 'reset password');
}
