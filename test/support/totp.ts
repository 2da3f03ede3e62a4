/** Simulates an authenticator app. */
import { Secret, TOTP } from 'otpauth';
import type { Browser } from './accounts.ts';

/** Returns the code `steps` × 30 s from now. A code works once, so a second sign-in within 30 s needs the next one. */
export function codeOf(secret: string, steps = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
}

/**
 * Adds an authenticator app to the signed-in account. Uses the code of the previous step, so that the current one is left. That
 * code is too old if the step ends before the service has read it: only then is there a second attempt.
 */
export async function enroll(browser: Browser): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { body: begun } = await browser.ask({ method: 'POST', path: '/api/session/totp/' });
  for (;;) {
    const code = codeOf(begun.secret, -1);
    const body = { token: begun.token, code };
    const answer = await browser.ask({ method: 'POST', path: '/api/session/totp/confirm/', body });
    if (answer.status === 200) return { secret: begun.secret, recoveryCodes: answer.body.recovery_codes };
    if (code === codeOf(begun.secret, -1)) throw new Error(`could not add the app: ${answer.text}`);
  }
}
