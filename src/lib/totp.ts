/** Codes of authenticator apps (RFC 6238), in the one form that all of them understand: SHA-1, six digits, 30 seconds. */
import { Secret, TOTP } from 'otpauth';

const periodSeconds = 30;
/** Steps before and after now: clocks of phones differ, and people type slowly. */
const tolerance = 1;

/** 160 bits in base32, as RFC 4226 recommends. */
export function generateTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** What the QR code says. */
export function totpUri(secret: string, issuer: string, label: string): string {
  return new TOTP({ issuer, label, secret: Secret.fromBase32(secret), period: periodSeconds }).toString();
}

/** The time step that the code belongs to; undefined when it is of none around now. */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const totp = new TOTP({ secret: Secret.fromBase32(secret), period: periodSeconds });
  const delta = totp.validate({ token: code, timestamp: now, window: tolerance });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}
