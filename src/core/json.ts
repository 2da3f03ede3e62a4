/**
 * What may be stored of a caller's JSON. PostgreSQL refuses NUL and lone surrogates, and JSON has no word for the
 * Infinity that 1e999 is read as: all are refused here, by name, before anything is begun. Text becomes NFC.
 */
import type { FieldErrors } from './errors.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const deepest = 32;
const mostErrors = 20;

/**
 * Whether there is nothing to clean or to complain about, as in most of what comes: 0.4 µs for a small body instead of
 * 1.4, as cleaning names the path of every field. Text that is not plain ASCII is left to cleaning.
 */
export function isCleanJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return plain.test(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth > deepest) return false;
  if (Array.isArray(value)) return value.every(item => isCleanJson(item, depth + 1));
  for (const key in value) {
    if (!plain.test(key) || !isCleanJson((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII but NUL
const plain = /^[\x01-\x7f]*$/;

/** The value with its text in NFC; what is wrong is added to `errors` under the path of the field. */
export function cleanJson(value: unknown, errors: FieldErrors, path = '', depth = 0): unknown {
  if (typeof value === 'string') return cleanText(value, errors, path);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) complain(errors, path, 'is a number too large to keep');
    return value;
  }
  if (typeof value !== 'object' || value === null) return value;
  // A body of depth 1 holds context of depth 2: one level is the request's own.
  if (depth > deepest) {
    complain(errors, path, `is nested more than ${deepest} levels deep`);
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
    object[cleanKey] = cleaned;
  }
  return object;
}

/** RFC 7396: deep; null removes. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key) ?? null, value));
  }
  return Object.fromEntries(result);
}

/** One text for equal values, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join()}}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cleanText(text: string, errors: FieldErrors, path: string): string {
  if (text.includes('\0')) complain(errors, path, 'holds a NUL character');
  if (!text.isWellFormed()) complain(errors, path, 'holds half a surrogate pair, which is no character');
  return text.normalize('NFC');
}

function complain(errors: FieldErrors, path: string, message: string): void {
  const field = path.slice(1, 256).toWellFormed().replaceAll('\0', '\ufffd') || 'body';
  if (Object.keys(errors).length < mostErrors) errors[field] = [message];
}
