/** Checks who sent a webhook. All comparisons take the same time wherever the values differ. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { FeedbackRequest, Verification } from '../../core/feedback/event.ts';

export const genuine: Verification = { ok: true };

export function forged(reason: string): Verification {
  return { ok: false, reason };
}

/** For services that sign each attempt separately. */
export const shortWindowMs = 5 * 60_000;
/** For services that repeat an attempt unchanged until it succeeds, for up to a day. */
export const retryWindowMs = 24 * 60 * 60_000;
const maxSkewMs = 5 * 60_000;

/** Hashing first also hides the length. */
export function isSame(actual: string | undefined, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(actual ?? ''), digest(expected)) && actual !== undefined && expected !== '';
}

/** Returns until when `checkTime` accepts this time. */
export function acceptedUntil(seconds: string, windowMs: number): number {
  return Number(seconds) * 1_000 + windowMs;
}

/** Without a secret there is no signature, and nothing equals it. */
export function hmac(
  algorithm: 'sha1' | 'sha256',
  secret: string | Buffer,
  data: string | Buffer,
  form: 'hex' | 'base64' | 'base64url',
): string {
  return secret.length === 0 ? '' : createHmac(algorithm, secret).update(data).digest(form);
}

/** Returns what is wrong with the time of a request, if anything. */
export function checkTime(seconds: string | undefined, now: number, windowMs: number): Verification {
  const time = /^\d{9,11}$/.test(seconds ?? '') ? Number(seconds) * 1_000 : Number.NaN;
  if (Number.isNaN(time)) return forged('the timestamp is missing or invalid');
  if (time < now - windowMs) return forged('the request is too old: it may be a replay');
  return time > now + maxSkewMs ? forged('the timestamp is in the future') : genuine;
}

export function checkSignature(actual: string | undefined, expected: string, where: string): Verification {
  if (!actual) return forged(`${where} is missing`);
  return isSame(actual, expected) ? genuine : forged(`${where} does not match`);
}

/**
 * For services that sign nothing: the secret is `user:password` for basic authentication, or a token that comes as a bearer
 * token or as `?token=` in the URL.
 */
export function checkCredentials({ url, headers }: FeedbackRequest, secret: string): Verification {
  const [, scheme = '', value = ''] = /^(\w+) +(\S+)$/.exec(headers.authorization ?? '') ?? [];
  const query = new URL(url, 'http://localhost').searchParams.get('token') ?? undefined;
  const basic = scheme.toLowerCase() === 'basic' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
  const bearer = scheme.toLowerCase() === 'bearer' ? value : undefined;
  if ([basic, bearer, query].every(found => found === undefined)) return forged('the request carries no credentials');
  return [basic, bearer, query].some(found => isSame(found, secret)) ? genuine : forged('the credentials do not match');
}
