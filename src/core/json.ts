/**
 * Cleans and checks JSON from callers before it is stored. PostgreSQL rejects NUL and lone surrogates, and JSON cannot
 * represent the Infinity that 1e999 parses to: all of these are refused with the path of the field. Text becomes NFC.
 */
import type { FieldErrors } from './errors.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const maxJsonDepth = 32;
const maxErrors = 20;

/**
 * Returns whether `cleanJson` would change or refuse nothing, which holds for most requests: about three times faster,
 * because no paths are built. Returns false for any text that is not plain ASCII.
 */
export function isCleanJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return plain.test(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth > maxJsonDepth) return false;
  if (Array.isArray(value)) return value.every(item => isCleanJson(item, depth + 1));
  for (const key in value) {
    if (!plain.test(key) || !isCleanJson((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII but NUL
const plain = /^[\x01-\x7f]*$/;

/** Returns the value with its text in NFC; mistakes are added to `errors` under the path of the field. */
export function cleanJson(value: unknown, errors: FieldErrors, path = '', depth = 0): unknown {
  if (typeof value === 'string') return cleanText(value, errors, path);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) addError(errors, path, 'is too large a number');
    return value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Object.keys(errors).length >= maxErrors) return value;
  // A body of depth 1 holds context of depth 2: one level is the request's own.
  if (depth > maxJsonDepth) {
    addError(errors, path, `is nested more than ${maxJsonDepth} levels deep`);
    return value;
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      if (item !== null && typeof item !== 'boolean') value[i] = cleanJson(item, errors, `${path}/${i}`, depth + 1);
    }
    return value;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const cleanKey = cleanText(key, errors, path);
    const cleaned = cleanJson(object[key], errors, `${path}/${key}`, depth + 1);
    if (cleanKey !== key) delete object[key];
    else if (cleaned === object[key]) continue;
    object[cleanKey] = cleaned;
  }
  return object;
}

/** Applies a JSON merge patch (RFC 7396): deep, and null removes a key. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key) ?? null, value));
  }
  return Object.fromEntries(result);
}

/** Serializes a value so that equal values have equal texts, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join()}]`;
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join()}}`;
}

/**
 * Returns the value as PostgreSQL's `jsonb` would: the keys of an object by their length, then by their bytes. So a message
 * that is rendered from memory equals one that is rendered from the ledger.
 */
export function inStoredOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inStoredOrder);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  if (entries.length > 1) entries.sort(([a], [b]) => compareKeys(a, b));
  return Object.fromEntries(entries.map(([key, item]) => [key, inStoredOrder(item)]));
}

function compareKeys(a: string, b: string): number {
  if (plain.test(a) && plain.test(b)) return a.length - b.length || (a < b ? -1 : 1);
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length - right.length || Buffer.compare(left, right);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Text below U+0300 has no combining marks and is NFC as it is: checking it takes half the time. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but NUL
const latin = /^[\x01-\u02ff]*$/;

function cleanText(text: string, errors: FieldErrors, path: string): string {
  if (latin.test(text)) return text;
  if (text.includes('\0')) addError(errors, path, 'contains a NUL character');
  if (!text.isWellFormed()) addError(errors, path, 'contains half of a surrogate pair');
  if (hasLongMarkRun(text)) addError(errors, path, `contains more than ${maxMarks} combining marks in a row`);
  return toNfc(text);
}

/** The limit of Unicode's stream-safe text format (UAX #15), which no language needs. */
const maxMarks = 30;
const mark = /^\p{M}/u;
/** Whether a character is a combining mark, remembered: 0 unknown, 1 no, 2 yes. */
const kinds = new Uint8Array(0x20000);

function isMarkAt(text: string, index: number): boolean {
  // A low surrogate belongs to the character that begins before it.
  const unit = text.charCodeAt(index);
  const code = text.codePointAt(unit >= 0xdc00 && unit <= 0xdfff && index > 0 ? index - 1 : index)!;
  // Every combining mark is above U+02FF.
  if (code < 0x300) return false;
  // Beyond these there are only variation selectors.
  if (code >= kinds.length) return code >= 0xe0100 && code <= 0xe01ef;
  kinds[code] ||= mark.test(String.fromCodePoint(code)) ? 2 : 1;
  return kinds[code] === 2;
}

/**
 * Looks at every 31st position only, which a longer run of marks cannot avoid, and from there in both directions: 1 MiB of
 * emoji takes 3 ms instead of 100 ms by a regular expression.
 */
export function hasLongMarkRun(text: string): boolean {
  for (let i = maxMarks; i < text.length; i += maxMarks + 1) {
    if (text.charCodeAt(i) < 0x300 || !isMarkAt(text, i)) continue;
    let start = i;
    while (start > 0 && isMarkAt(text, start - 1)) start--;
    let end = start;
    for (let marks = 0; end < text.length && isMarkAt(text, end); end += text.codePointAt(end)! > 0xffff ? 2 : 1) {
      if (++marks > maxMarks) return true;
    }
    // The next run begins behind this one.
    i = end;
  }
  return false;
}

/** The characters whose canonical form is ASCII: the Kelvin sign (K), the Greek question mark (;) and the Greek varia (`). */
const asciiInNfc = /([\u212a\u037e\u1fef])/;

/**
 * Returns the text in NFC, or unchanged when it has more than 30 combining marks in a row: normalizing takes quadratic
 * time in the length of such a run, 2 s for 30,000 marks. A character that is not ASCII never becomes ASCII, so that text
 * which only looks like another one stays different from it.
 */
export function toNfc(text: string): string {
  if (hasLongMarkRun(text)) return text;
  const normalized = text.normalize('NFC');
  return normalized === text ? text : outside(asciiInNfc, text, part => part.normalize('NFC'));
}

/** Changes the text around the characters that a pattern captures, and keeps those. */
export function outside(pattern: RegExp, text: string, change: (part: string) => string): string {
  return text
    .split(pattern)
    .map((part, i) => (i % 2 === 0 ? change(part) : part))
    .join('');
}

function addError(errors: FieldErrors, path: string, message: string): void {
  const field = path.slice(1, 256).toWellFormed().replaceAll('\0', '\ufffd') || 'body';
  if (Object.keys(errors).length < maxErrors) errors[field] = [message];
}

/** Returns the index of the quote that ends a string in JSON text. Native search saves 3 ms per MiB. */
export function endOfString(text: string, start: number): number {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}
