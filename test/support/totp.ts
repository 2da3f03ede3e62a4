/** What the authenticator app on somebody's phone does. */
import { Secret, TOTP } from 'otpauth';
import type { Browser } from './accounts.ts';

/** `steps` of 30 seconds from now: a code works once, so a second one within the same half minute is the next one's. */
export function codeOf(secret: string, steps = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
}

/** Adds an authenticator app to the account that is signed in. The code that it takes is that of the step before now. */
export async function enroll(browser: Browser): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { body: begun } = await browser.ask({ method: 'POST', path: '/api/session/totp/' });
  const body = { token: begun.token, code: codeOf(begun.secret, -1) };
  const answer = await browser.ask({ method: 'POST', path: '/api/session/totp/confirm/', body });
  if (answer.status !== 200) throw new Error(`could not add the app: ${answer.text}`);
  return { secret: begun.secret, recoveryCodes: answer.body.recovery_codes };
}
