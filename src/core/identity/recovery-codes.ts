/** Recovery codes for users who have lost their second factor: about 80 bits each, without easily confused characters. */
import { randomInt } from 'node:crypto';
import { sha256 } from './tokens.ts';

const recoveryCodeCount = 10;
const alphabet = '23456789abcdefghjkmnpqrstuvwxyz';
const length = 16;

/** Generates a code such as `k7pq-x2mf-9dth-wc4n`. */
function generateCode(): string {
  const letters = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]!).join('');
  return letters.replace(/.{4}(?=.)/g, '$&-');
}

export function generateRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, generateCode);
}

/** Ignores case, spaces and hyphens. Returns undefined when the text cannot be a recovery code. */
export function recoveryCodeHash(typed: string): Buffer | undefined {
  const plain = typed.toLowerCase().replaceAll(/[\s-]/g, '');
  return plain.length === length && /^[a-z0-9]+$/.test(plain) ? sha256(plain) : undefined;
}
