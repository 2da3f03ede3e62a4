/** Codes of authenticator apps (RFC 6238), in the one variant that all of them support: SHA-1, six digits, 30 seconds. */
import { Secret, TOTP } from 'otpauth';

const periodSeconds = 30;
/** Accepted time steps before and after the current one: phones' clocks differ, and typing takes time. */
const tolerance = 1;

/** 160 bits in base32, as RFC 4226 recommends. */
export function generateTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** Returns the content of the QR code. */
export function totpUri(secret: string, issuer: string, label: string): string {
  return new TOTP({ issuer, label, secret: Secret.fromBase32(secret), period: periodSeconds }).toString();
}

/** Returns the time step of a valid code, or undefined if it matches no step around now. */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const totp = new TOTP({ secret: Secret.fromBase32(secret), period: periodSeconds });
  const delta = totp.validate({ token: code, timestamp: now, window: tolerance });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}
