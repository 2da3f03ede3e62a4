/** Reads the bodies of webhooks: JSON, lists of events in JSON, and forms. */

import type { FeedbackBody, FeedbackReason } from '../../core/feedback/event.ts';
import { type Form, parseForm } from '../../core/feedback/form.ts';
import { type Cause, classify } from '../../core/feedback/wording/classify.ts';
import { isObject } from '../../core/json.ts';
import { pick } from '../http-outcome.ts';

export { pick };

export type Fields = Record<string, unknown>;

/** More than any service sends in one request. */
const maxEvents = 10_000;

export function parseJson({ bytes }: Pick<FeedbackBody, 'bytes'>, reviver?: JsonReviver): unknown {
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''), reviver as Parameters<typeof JSON.parse>[1]);
  } catch {
    throw new Error('is not valid JSON');
  }
}

type JsonReviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** Keeps the digits of ids above 2^53, which as numbers would be rounded. */
export const keepLongIds: JsonReviver = (_, value, { source }) =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value;

export function parseObject(body: Pick<FeedbackBody, 'bytes'>): Fields {
  const value = parseJson(body);
  if (!isObject(value)) throw new Error('must be a JSON object');
  return value;
}

/** Returns the objects of a JSON array. A single object counts as an array of one. */
export function toEvents(value: unknown): Fields[] {
  const list = Array.isArray(value) ? value : [value];
  if (list.length > maxEvents) throw new Error(`has more than ${maxEvents} events`);
  const wrong = list.findIndex(item => !isObject(item));
  if (wrong >= 0)
    throw new Error(list === value ? `event ${wrong + 1} is not an object` : 'must be a JSON object or array');
  return list as Fields[];
}

/** Reads a form. Without a content type, its kind shows in the body. */
export function readForm(body: FeedbackBody): Form {
  return parseForm(body.bytes, body.contentType);
}

export function isJson({ contentType, bytes }: FeedbackBody): boolean {
  return (
    /\bjson\b/i.test(contentType) || (!/form/i.test(contentType) && /^\s*[[{]/.test(bytes.toString('latin1', 0, 64)))
  );
}

/** Reasons that contradict a service which calls a bounce permanent: the address exists. */
const notTheAddress: readonly FeedbackReason[] = [
  'mailbox_full',
  'size',
  'content',
  'authentication',
  'blocked',
  'policy',
  'relay_denied',
  'rate_limited',
  'network',
  'expired',
];

/** Combines what the service says with what the receiving server said. */
export function causeOf(isPermanent: boolean, words: string | undefined, reason?: FeedbackReason): Cause {
  const cause = reason ?? classify([words ?? '']).reason;
  return { reason: cause, permanent: isPermanent && !notTheAddress.includes(cause) };
}

/** Returns the address in `Jane <jane@acme.test>`. */
export function toAddress(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  return /<([^<>]{1,320})>\s*$/.exec(value.slice(0, 1_000))?.[1] ?? value;
}
