/**
 * Turns an HTTP response, or the lack of one, into the outcome of an attempt, by the rules of HTTP. A provider with its
 * own rules passes `classify`.
 */

import { type Outbound, OutboundError, type OutboundRequest, type OutboundResponse } from '../lib/network/outbound.ts';
import { currentTime } from '../lib/time/clock.ts';
import { httpSender, type Outcome, type Outgoing, type Sender, type Tools } from './sending.ts';

export type Failure = Extract<Outcome, { ok: false }>;

export interface ProviderAnswer extends OutboundResponse {
  /** The body if it is JSON, else undefined. */
  json: unknown;
}

export interface HttpSend extends Omit<OutboundRequest, 'method'> {
  url: string;
  method?: OutboundRequest['method'];
  /** The body, sent as JSON. */
  json?: object | undefined;
  /** The body, sent as fields of a form. */
  form?: Record<string, string>;
  /** Removed from any reason, in every encoding in which the provider may echo them. */
  secrets?: readonly (string | undefined)[];
  /** Returns the provider's id of an accepted message. */
  id?: (answer: ProviderAnswer) => string | undefined;
  /** Returns the provider's error message. */
  errorText?: (answer: ProviderAnswer) => string | undefined;
  /** Whether the server belongs to the recipient's address, so that temporary failures say nothing about the provider. */
  isOfRecipient?: boolean;
  /** Returns what differs from the rules of HTTP: success, or fields of the failure; undefined if nothing does. */
  classify?: (answer: ProviderAnswer) => { ok: true } | Partial<Failure> | undefined;
}

const maxReasonLength = 300;
const maxWaitSeconds = 24 * 60 * 60;

export async function sendHttp(outbound: Outbound, send: HttpSend): Promise<Outcome> {
  const outcome = await sendOnce(outbound, send);
  return send.isOfRecipient && !outcome.ok && outcome.retry ? { ...outcome, ofRecipient: true } : outcome;
}

async function sendOnce(outbound: Outbound, send: HttpSend): Promise<Outcome> {
  const {
    url,
    method = 'POST',
    secrets = [],
    id,
    errorText,
    classify,
    isOfRecipient: _,
    json,
    form,
    ...request
  } = send;
  let answer: ProviderAnswer;
  try {
    const response = await outbound.request(url, { ...request, ...encode(send), method });
    answer = { ...response, json: readJson(response.text) };
  } catch (error) {
    return fromError(error, secrets);
  }
  const classified = classify?.(answer);
  // An unreadable body does not turn a success into a failure.
  if (classified?.ok ?? (answer.status < 300 && !classified)) {
    const name = id?.(answer);
    return name ? { ok: true, id: name } : { ok: true };
  }
  const failure = fromStatus(answer, secrets);
  const detail = (classified && 'reason' in classified && classified.reason) || errorText?.(answer);
  if (detail) failure.reason = toReason(`${answer.status}: ${detail}`, secrets);
  return { ...failure, ...classified, ok: false, reason: failure.reason };
}

/** Returns the `open` of a provider that makes one request for each message. */
export function requestSender<Settings extends { timeout_ms?: number }>(
  toRequest: (outgoing: Outgoing, settings: Settings) => HttpSend,
): (settings: Settings, tools: Pick<Tools, 'outbound'>) => Sender {
  return (settings, { outbound }) =>
    httpSender(outgoing => sendHttp(outbound, { timeoutMs: settings.timeout_ms, ...toRequest(outgoing, settings) }));
}

function encode({ json, form, headers }: HttpSend): Pick<OutboundRequest, 'headers' | 'body'> {
  const as = (type: string, body: string) => ({ headers: { 'content-type': type, ...headers }, body });
  if (json) return as('application/json', JSON.stringify(json));
  return form ? as('application/x-www-form-urlencoded', new URLSearchParams(form).toString()) : {};
}

/** Returns the outcome of a response that is not a success. */
export function fromStatus({ status, headers, text }: OutboundResponse, secrets: HttpSend['secrets'] = []): Failure {
  const retry = status >= 500 || status === 408 || status === 425 || status === 429;
  const wait = retry ? readRetryAfter(headers['retry-after']) : undefined;
  const body = stripTags(text);
  const detail = status >= 300 && status < 400 ? 'redirects are not followed' : body;
  return {
    ok: false,
    retry,
    ...(wait !== undefined && { retryAfterSeconds: wait }),
    ...(status === 401 && { denied: true as const }),
    reason: toReason(detail ? `${status}: ${detail}` : `${status}`, secrets),
  };
}

/** Characters of a response that are read for its error message; more would not be shown. */
const maxAnswerLength = 16_384;

/**
 * Returns the text of an HTML error page, as proxies send them. A single pass: a regular expression was quadratic, and took
 * four seconds for 64 KiB of `<`.
 */
function stripTags(page: string): string {
  const text = page.slice(0, maxAnswerLength);
  let stripped = '';
  let at = 0;
  while (at < text.length) {
    const opening = text.indexOf('<', at);
    if (opening === -1) return `${stripped} ${text.slice(at)}`.trim();
    stripped += ` ${text.slice(at, opening)}`;
    const [, hidden] = /^<(style|script)\b/i.exec(text.slice(opening, opening + 8)) ?? [];
    const end = hidden ? findElementEnd(text, hidden, opening) : text.indexOf('>', opening);
    if (end === -1) {
      // No further tag is closed: the rest is text.
      return hidden ? stripped.trim() : `${stripped} ${text.slice(opening)}`.trim();
    }
    at = end + 1;
  }
  return stripped.trim();
}

/** Returns the end of an element whose content is not shown, or -1. */
function findElementEnd(text: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, 'gi');
  closing.lastIndex = from;
  const found = closing.exec(text);
  return found ? text.indexOf('>', found.index) : -1;
}

/** Returns the outcome of a request without a response. Any other error than an OutboundError is a bug and is rethrown. */
function fromError(error: unknown, secrets: HttpSend['secrets'] = []): Failure {
  if (!(error instanceof OutboundError)) throw error;
  const { kind, sent, message, isFinal } = error;
  const reason = toReason(message, secrets);
  if (isFinal) return { ok: false, retry: false, reason };
  if (kind === 'local') return { ok: false, retry: true, local: true, reason };
  return sent ? { ok: false, retry: true, unknown: true, reason } : { ok: false, retry: true, reason };
}

/** Reads seconds or a date (RFC 9110, 10.2.3), and limits the wait to a day: no provider means more. */
export function readRetryAfter(value: string | undefined, now = currentTime()): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const isDate = /^[A-Z][a-z]{2,8},? /.test(text); // otherwise Date.parse reads a number as a year
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : isDate ? (Date.parse(text) - now) / 1000 : Number.NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), maxWaitSeconds);
}

/** Returns the wait until a time in seconds since 1970, as some services name the end of a rate limit. */
export function readResetTime(value: string | undefined, now = currentTime()): number | undefined {
  const resetAt = Number(value);
  return resetAt > 0 ? readRetryAfter(Math.max(resetAt - now / 1_000, 0).toFixed(3)) : undefined;
}

/** Returns a temporary failure with the wait that the service asked for, if it did. */
export function busy(retryAfterSeconds: number | undefined): Partial<Failure> {
  return { retry: true, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

/** Returns one short line without secrets. */
export function toReason(text: string, secrets: HttpSend['secrets'] = []): string {
  let line = text;
  for (const secret of secrets) {
    if (!secret) continue;
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), toBase64(secret)];
    for (const form of forms) line = line.replaceAll(form, '•••');
  }
  line = line.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength - 1)}…` : line;
}

export function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

type Authorization = Pick<HttpSend, 'secrets'> & { headers: { authorization: string } };

/** Authenticates a request by a token, as OAuth 2.0 does; some services have another word for it. */
export function bearer(token: string, scheme = 'Bearer'): Authorization {
  return { headers: { authorization: `${scheme} ${token}` }, secrets: [token] };
}

/** Authenticates a request by HTTP Basic authentication. */
export function basic(user: string, password: string): Authorization {
  const credentials = toBase64(`${user}:${password}`);
  return { headers: { authorization: `Basic ${credentials}` }, secrets: [password, credentials] };
}

/** Returns the text or number at a path in JSON of unknown shape. */
export function pick(json: unknown, ...path: (string | number)[]): string | undefined {
  let value = json;
  for (const step of path) value = (value as Record<string | number, unknown> | null | undefined)?.[step];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Returns the texts of `errors`, as several services list them. */
export function errorsOf(json: unknown): string[] {
  const { errors } = (json ?? {}) as { errors?: unknown };
  return Array.isArray(errors) ? errors.map(String) : [];
}

/** Returns what reads the text or number at a path in the JSON of an answer. */
export function field(...path: (string | number)[]): (answer: ProviderAnswer) => string | undefined {
  return ({ json }) => pick(json, ...path);
}

/** Returns an id that finds a message again: its own, and that of the room it is in. */
export function idInRoom(room: string | undefined, id: string | undefined): string | undefined {
  return room && id ? `${room}:${id}` : id;
}

/** Splits an id of `idInRoom`. Messages of earlier versions have no room in it. */
export function splitIdInRoom(messageId: string, defaultRoom: string): [room: string, id: string] {
  const at = messageId.indexOf(':');
  return at < 0 ? [defaultRoom, messageId] : [messageId.slice(0, at), messageId.slice(at + 1)];
}

function readJson(text: string): unknown {
  // An exception for each of the empty responses of APNs took 4 % of the time of a campaign.
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
