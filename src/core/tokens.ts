/** Secrets that are given away once (in a cookie, in a link) and of which only a SHA-256 is kept. */
import { hash, randomBytes } from 'node:crypto';

export function generateToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: sha256(token) };
}

/** Undefined when the text cannot be a token. */
export function tokenHashOf(text: string): Buffer | undefined {
  return /^[\w-]{43}$/.test(text) ? sha256(text) : undefined;
}

export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
