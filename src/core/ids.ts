/**
 * Occurrence identifiers: UUIDv7 (RFC 9562), 48 bits of milliseconds followed by randomness. They sort by time, and a
 * range of ids is a span of time.
 */
import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafe(16 * 256);
let used = pool.length;

export function uuidv7(milliseconds: number): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.subarray(used, used + 16);
  used += 16;
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return toUuid(bytes.toString('hex'));
}

/**
 * Returns the lowest identifier of a millisecond, which is where a time partition begins. A time outside the range of
 * identifiers counts as the nearest one inside.
 */
export function lowestUuidAt(milliseconds: number): string {
  const held = Math.min(Math.max(0, milliseconds), 2 ** 48 - 1);
  return toUuid(held.toString(16).padStart(12, '0').padEnd(32, '0'));
}

/** Returns the creation time in milliseconds. */
export function timeOfUuid(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16);
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** Returns the range of identifiers that start with the prefix; undefined when none can. */
export function uuidRange(prefix: string): { from: string; to: string } | undefined {
  const text = prefix.toLowerCase();
  const form = '00000000-0000-0000-0000-000000000000';
  const fits = [...text].every((character, i) => (form[i] === '-' ? character === '-' : /[0-9a-f]/.test(character)));
  if (text === '' || text.length > form.length || !fits) return undefined;
  const rest = form.slice(text.length);
  return { from: text + rest, to: text + rest.replaceAll('0', 'f') };
}

/** Formats 32 hexadecimal digits as a UUID. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
