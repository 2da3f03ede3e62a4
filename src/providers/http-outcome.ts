/**
 * What an HTTP answer, or the lack of one, means for a message. The rules are those of HTTP; where a provider has its
 * own, it says so with `sort`.
 */
import { type Outbound, OutboundError, type OutboundRequest, type OutboundResponse } from '../lib/outbound.ts';
import type { Outcome } from './sending.ts';

export type Failure = Extract<Outcome, { ok: false }>;

export interface Answer extends OutboundResponse {
  /** The body where it is JSON, else undefined. */
  json: unknown;
}

export interface HttpSend extends Omit<OutboundRequest, 'method'> {
  url: string;
  method?: OutboundRequest['method'];
  /** Taken out of any reason, in whatever form the provider may echo them. */
  secrets?: readonly (string | undefined)[];
  /** What the provider calls the message it has accepted. */
  id?: (answer: Answer) => string | undefined;
  /** The provider's own words for a refusal. */
  words?: (answer: Answer) => string | undefined;
  /** What differs from HTTP's rules: `{ ok: true }` and all else as given; undefined where nothing does. */
  sort?: (answer: Answer) => { ok: true } | Partial<Failure> | undefined;
}

const longestReason = 300;
const longestWaitSeconds = 24 * 60 * 60;

export async function sendHttp(outbound: Outbound, send: HttpSend): Promise<Outcome> {
  const { url, method = 'POST', secrets = [], id, words, sort, ...request } = send;
  let answer: Answer;
  try {
    const response = await outbound.request(url, { ...request, method });
    answer = { ...response, json: readJson(response.text) };
  } catch (error) {
    return fromError(error, secrets);
  }
  const own = sort?.(answer);
  // A garbled body changes nothing about a yes.
  if (own?.ok ?? (answer.status < 300 && !own)) {
    const name = id?.(answer);
    return name ? { ok: true, id: name } : { ok: true };
  }
  const failure = fromStatus(answer, secrets);
  const said = (own && 'reason' in own && own.reason) || words?.(answer);
  if (said) failure.reason = toReason(`${answer.status}: ${said}`, secrets);
  return { ...failure, ...own, ok: false, reason: failure.reason };
}

/** Of an answer that is no yes. */
export function fromStatus({ status, headers, text }: OutboundResponse, secrets: HttpSend['secrets'] = []): Failure {
  const retry = status >= 500 || status === 408 || status === 425 || status === 429;
  const wait = retry ? readRetryAfter(headers['retry-after']) : undefined;
  const words = withoutTags(text);
  const said = status >= 300 && status < 400 ? 'redirects are not followed' : words;
  return {
    ok: false,
    retry,
    ...(wait !== undefined && { retryAfterSeconds: wait }),
    reason: toReason(said ? `${status}: ${said}` : `${status}`, secrets),
  };
}

/** What is read of an answer for its words: more would not be shown. */
const longestAnswer = 16_384;

/**
 * Of the page that a proxy in between shows, only the words. One walk from sign to sign: a regular expression took the
 * square of the signs, and 64 KiB of `<` four seconds.
 */
function withoutTags(page: string): string {
  const text = page.slice(0, longestAnswer);
  let words = '';
  let at = 0;
  while (at < text.length) {
    const opening = text.indexOf('<', at);
    if (opening === -1) return `${words} ${text.slice(at)}`.trim();
    words += ` ${text.slice(at, opening)}`;
    const [, hidden] = /^<(style|script)\b/i.exec(text.slice(opening, opening + 8)) ?? [];
    const end = hidden ? endOf(text, hidden, opening) : text.indexOf('>', opening);
    if (end === -1) {
      // No tag ends here any more: the rest is text.
      return hidden ? words.trim() : `${words} ${text.slice(opening)}`.trim();
    }
    at = end + 1;
  }
  return words.trim();
}

/** Where the element ends that shows nothing of what is in it; -1 where it does not. */
function endOf(text: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, 'gi');
  closing.lastIndex = from;
  const found = closing.exec(text);
  return found ? text.indexOf('>', found.index) : -1;
}

/** Of a request without an answer; anything that is no OutboundError is a mistake in the program and is thrown on. */
export function fromError(error: unknown, secrets: HttpSend['secrets'] = []): Failure {
  if (!(error instanceof OutboundError)) throw error;
  const { kind, sent, message } = error;
  const reason = toReason(message, secrets);
  if (kind === 'refused') return { ok: false, retry: false, reason };
  return sent ? { ok: false, retry: true, unknown: true, reason } : { ok: false, retry: true, reason };
}

/** Seconds, or a date (RFC 9110, 10.2.3). At most a day: nobody means more, and a message would be forgotten. */
export function readRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const isDate = /^[A-Z][a-z]{2,8},? /.test(text); // else Date.parse takes a number for a year
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : isDate ? (Date.parse(text) - now) / 1000 : Number.NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), longestWaitSeconds);
}

/** One short line without secrets. */
export function toReason(text: string, secrets: HttpSend['secrets'] = []): string {
  let line = text;
  for (const secret of secrets) {
    if (!secret) continue;
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), toBase64(secret)];
    for (const form of forms) line = line.replaceAll(form, '•••');
  }
  line = line.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > longestReason ? `${line.slice(0, longestReason - 1)}…` : line;
}

export function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/** The value of the `Authorization` header for a name and a password. */
export function basic(user: string, password: string): string {
  return `Basic ${toBase64(`${user}:${password}`)}`;
}

/** What stands at a path in JSON of unknown form, if it is text or a number. */
export function pick(json: unknown, ...path: (string | number)[]): string | undefined {
  let value = json;
  for (const step of path) value = (value as Record<string | number, unknown> | null | undefined)?.[step];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
