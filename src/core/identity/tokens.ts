/** Secrets that are handed out once, in a cookie or a link. Only their SHA-256 hash is stored. */
import { hash, randomBytes } from 'node:crypto';

export function generateToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: sha256(token) };
}

/** Returns undefined when the text cannot be a token. */
export function tokenHashOf(text: string): Buffer | undefined {
  return /^[\w-]{43}$/.test(text) ? sha256(text) : undefined;
}

export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
