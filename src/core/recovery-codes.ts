/** Codes on paper for somebody who has lost their phone: 80 bits each, without letters that look like others. */
import { randomInt } from 'node:crypto';
import { sha256 } from './tokens.ts';

const recoveryCodeCount = 10;
const alphabet = '23456789abcdefghjkmnpqrstuvwxyz';
const length = 16;

/** `k7pq-x2mf-9dth-wc4n` */
function generateCode(): string {
  const letters = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]!).join('');
  return letters.replace(/.{4}(?=.)/g, '$&-');
}

export function generateRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, generateCode);
}

/** However it was typed; undefined when it cannot be one. */
export function recoveryCodeHash(typed: string): Buffer | undefined {
  const plain = typed.toLowerCase().replaceAll(/[\s-]/g, '');
  return plain.length === length && /^[a-z0-9]+$/.test(plain) ? sha256(plain) : undefined;
}
