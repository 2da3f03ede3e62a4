/**
 * API keys look like bf_<id>_<secret>: the prefix lets secret scanners recognise them, the last six characters of the
 * secret are a checksum, so that a mistyped or invented key is refused without asking the database.
 */
import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const randomLength = 32; // 190 bits
const checksumLength = 6; // 62^6 holds any CRC-32

const form = new RegExp(
  `^bf_([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${randomLength}})([0-9A-Za-z]{${checksumLength}})$`,
);

export interface KeyParts {
  id: string;
  secretHash: Buffer;
}

export function generateKey(): KeyParts & { key: string } {
  const id = randomText(idLength);
  const random = randomText(randomLength);
  const secret = random + checksum(id, random);
  return { id, secretHash: sha256(secret), key: `bf_${id}_${secret}` };
}

/** Undefined when the text cannot be a key. */
export function parseKey(text: string): KeyParts | undefined {
  const [, id, random, sum] = form.exec(text) ?? [];
  if (!id || !random || !sum || checksum(id, random) !== sum) return undefined;
  return { id, secretHash: sha256(random + sum) };
}

export function sameSecret(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function checksum(id: string, random: string): string {
  let rest = crc32(`${id}_${random}`);
  let text = '';
  for (let i = 0; i < checksumLength; i++) {
    text = alphabet[rest % alphabet.length] + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
