/**
 * API keys have the form bf_<id>_<secret>. The prefix lets secret scanners recognize them. The last six characters of the
 * secret are a checksum, so that mistyped or made-up keys are rejected without a database query.
 */
import { randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { sha256 } from './tokens.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const randomLength = 32; // 190 bits
const checksumLength = 6; // 62^6 holds any CRC-32

const keyPattern = new RegExp(
  `^bf_([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${randomLength}})([0-9A-Za-z]{${checksumLength}})$`,
);

interface KeyParts {
  id: string;
  secretHash: Buffer;
}

export function generateKey(): KeyParts & { key: string } {
  const id = randomText(idLength);
  const random = randomText(randomLength);
  const secret = random + checksum(id, random);
  return { id, secretHash: sha256(secret), key: `bf_${id}_${secret}` };
}

/** Returns undefined when the text cannot be a key. */
export function parseKey(text: string): KeyParts | undefined {
  const [, id, random, sum] = keyPattern.exec(text) ?? [];
  if (!id || !random || !sum || checksum(id, random) !== sum) return undefined;
  return { id, secretHash: sha256(random + sum) };
}

export function secretsMatch(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function checksum(id: string, random: string): string {
  let remainder = crc32(`${id}_${random}`);
  let text = '';
  for (let i = 0; i < checksumLength; i++) {
    text = alphabet[remainder % alphabet.length] + text;
    remainder = Math.floor(remainder / alphabet.length);
  }
  return text;
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
