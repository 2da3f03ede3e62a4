/**
 * Optimistic concurrency control. A read returns an ETag; a change that sends it back as If-Match is rejected if the
 * resource has changed since. A change without If-Match is always made.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { Call } from './route.ts';

/** Returns the ETag of the complete representation. */
export function etagOf(value: unknown): string {
  return `"${createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, 22)}"`;
}

/** Sets the ETag and returns the value. `own` is the part of it that only a change by a caller alters. */
export function withEtag<T>({ reply }: Call, value: T, own: unknown = value): T {
  reply.header('etag', etagOf(own));
  return value;
}

/** Sets Location and ETag of a created resource and returns the value. */
export function asCreated<T>(call: Call, path: string, value: T, own: unknown = value): T {
  call.reply.header('location', call.link(path));
  return withEtag(call, value, own);
}

/**
 * Returns a check to call with the current state, inside the transaction of the change. `form` converts that state to the
 * representation that callers read, if they differ.
 */
export function ifMatch<T = unknown>(
  { request }: Call,
  form: (current: T) => unknown = current => current,
): (current: T) => void {
  const header = request.headers['if-match'];
  return current => {
    if (header === undefined || header.trim() === '*') return;
    const tags = header.split(',').map(tag => tag.trim().replace(/^W\//, ''));
    if (tags.includes(etagOf(form(current)))) return;
    throw new AppError('request.stale', 'it was changed after you read it: read it again and repeat your change');
  };
}
