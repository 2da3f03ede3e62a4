/**
 * Optimistic concurrency: what is read carries an ETag, and a change that sends it back as If-Match is refused when
 * somebody else was faster. A change without If-Match is made in any case.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { canonicalJson } from '../core/json.ts';
import type { Call } from './route.ts';

/** Of everything that a change could have read. */
export function etagOf(value: unknown): string {
  return `"${createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, 22)}"`;
}

/** Answers with the value and its tag: of the whole, or of what in it does not change by itself. */
export function tagged<T>({ reply }: Call, value: T, own: unknown = value): T {
  reply.header('etag', etagOf(own));
  return value;
}

/** The same for what has just been created, and where it is. */
export function created<T>(call: Call, path: string, value: T, own: unknown = value): T {
  call.reply.header('location', call.link(path));
  return tagged(call, value, own);
}

/**
 * To be called with what is there now, inside the transaction that changes it. `form` is what a caller reads of it, where
 * that is another form.
 */
export function ifMatch<T = unknown>(
  { request }: Call,
  form: (current: T) => unknown = current => current,
): (current: T) => void {
  const given = request.headers['if-match'];
  return current => {
    if (given === undefined || given.trim() === '*') return;
    const tags = given.split(',').map(tag => tag.trim().replace(/^W\//, ''));
    if (tags.includes(etagOf(form(current)))) return;
    throw new AppError('request.stale', 'somebody changed it after you read it: read it again and repeat your change');
  };
}
