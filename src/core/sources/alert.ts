/**
 * What a monitoring system sends becomes alerts: each has a key, a state, a title, a severity and a context. A preset reads the
 * payload of one kind of sender; it is a pure function, and a mistake in one alert does not affect the others.
 */
import { createHash } from 'node:crypto';
import { endOfString, isObject, type JsonObject } from '../json.ts';
import { lookUp } from '../lookup.ts';
import { limits } from '../text/text.ts';

/** The most serious first. */
export const severities = ['critical', 'error', 'warning', 'info'] as const;
export type Severity = (typeof severities)[number];

export const alertStates = ['open', 'acknowledged', 'resolved'] as const;
export type AlertState = (typeof alertStates)[number];

/** What can become of an alert. */
export const alertOutcomes = [
  'opened',
  'repeated',
  'reopened',
  'acknowledged',
  'resolved',
  'noted',
  'unknown',
  'unrouted',
  'ignored',
  'outdated',
  'superseded',
  'limited',
  'rejected',
] as const;
export type AlertOutcome = (typeof alertOutcomes)[number];

export interface Alert {
  /** The same for all reports about the same problem. */
  key: string;
  state: AlertState;
  title: string;
  /** Null: the sender names none. */
  severity: Severity | null;
  /** What conditions, groups, filters and templates see, without the fields above. */
  context: JsonObject;
  /** When the sender says that it began, in ISO 8601. */
  time: string | null;
  /** Identifies the report: a repetition with the same one is ignored. Absent: repetitions are counted. */
  id?: string;
}

/** An alert that cannot be used, or that needs nothing to be done. */
export interface SkippedAlert {
  error?: string;
  note?: string;
  key?: string;
}

export interface ReadAlert {
  /** Where it is in the payload, such as `alerts/3`; empty: the payload itself. */
  at: string;
  /** Read on first use, so that other work can run between the alerts of a large payload. */
  readonly alert: Alert | SkippedAlert;
}

export interface SourceRequest {
  method: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The path and query as they were sent. */
  url: string;
  contentType: string;
  bytes: Buffer;
  /** The key of the alert that the path names, for requests about one alert. */
  key?: string;
}

export interface SourcePayload {
  /** Alerts in their order, at most `sourceLimits.alerts`. */
  alerts: ReadAlert[];
  /** What is remarkable about the whole payload, such as alerts that the sender left out. */
  note?: string;
}

export const sourceLimits = {
  /** Bytes of a payload. */
  bytes: 2 * 1024 * 1024,
  /** Alerts in a payload; further ones are reported as rejected. */
  alerts: 10_000,
  /** Characters of the contexts of a payload's alerts: each has a copy of what they share, which may be most of the payload. */
  contexts: 16 * 1024 * 1024,
  title: 500,
  /** Of the body that is kept after a payload was judged. */
  keptBytes: 64 * 1024,
  /** Payloads of a source that are kept. */
  keptPayloads: 200,
  keptDays: 7,
  /** Alerts are forgotten after this time without news. */
  keptAlertDays: 90,
  /** Sources of an application. */
  sources: 100,
  routes: 50,
  groupBy: 10,
} as const;

export interface SourcePreset {
  title: string;
  /** Throws an Error whose message continues "the payload" if the payload as a whole cannot be read. */
  read(request: SourceRequest): SourcePayload;
  /**
   * The status that makes this sender try again: Alertmanager's webhook retries 5xx only. `accept`: it never tries again, so the
   * payload is accepted and judged later.
   */
  limited?: 429 | 503 | 'accept';
}

export function isAlert(alert: Alert | SkippedAlert): alert is Alert {
  return 'state' in alert;
}

/** Returns alerts for the items of a list. An Error that `read` throws is reported for that item alone. */
export function readEach(
  items: readonly unknown[],
  at: string,
  read: (item: JsonObject) => Alert | SkippedAlert,
): ReadAlert[] {
  return items.map((item, i) => {
    const path = at === '' ? String(i) : `${at}/${i}`;
    if (i >= sourceLimits.alerts)
      return { at: path, alert: { error: `is beyond the first ${sourceLimits.alerts} alerts` } };
    return readLazily(path, () => (isObject(item) ? read(item) : { error: 'is not an object' }));
  });
}

/** An Error that `read` throws is reported for the alert. */
export function readLazily(at: string, read: () => Alert | SkippedAlert): ReadAlert {
  let alert: Alert | SkippedAlert | undefined;
  return {
    at,
    get alert() {
      alert ??= attempt(read);
      return alert;
    },
  };
}

/** Returns the only alert of a payload. */
export function readOne(read: () => Alert | SkippedAlert, at = ''): ReadAlert[] {
  return [{ at, alert: attempt(read) }];
}

/** Returns the only alert of a payload that is a JSON object. */
export function readObject(
  request: Pick<SourceRequest, 'bytes'>,
  read: (payload: JsonObject) => Alert | SkippedAlert,
): SourcePayload {
  const payload = parseObjectBody(request);
  return { alerts: readOne(() => read(payload)) };
}

function attempt(read: () => Alert | SkippedAlert): Alert | SkippedAlert {
  try {
    return read();
  } catch (error) {
    return { error: (error as Error).message };
  }
}

export function parseJsonBody({ bytes }: Pick<SourceRequest, 'bytes'>): unknown {
  const text = decode(bytes);
  refuseDeep(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('is not valid JSON');
  }
}

export function parseObjectBody(request: Pick<SourceRequest, 'bytes'>): JsonObject {
  const value = parseJsonBody(request);
  if (!isObject(value)) throw new Error('must be a JSON object');
  return value;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Error('is not valid UTF-8');
  }
}

const maxDepth = 100;
/** 1 MiB of empty arrays takes 0.15 s to parse. */
const maxValues = 200_000;

/** Bounds the time that parsing takes: nested brackets need the most. */
function refuseDeep(text: string): void {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) i = endOfString(text, i);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxDepth) throw new Error(`is nested more than ${maxDepth} levels deep`);
    } else if (code === 0x5d || code === 0x7d) depth--;
    else if (code === 0x2c && ++values > maxValues) throw new Error(`contains more than ${maxValues} values`);
  }
}

/** Returns the text of a scalar; undefined for anything else and for an empty text. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns a single line that is not too long. */
export function titleOf(...candidates: unknown[]): string {
  const text = candidates.map(textOf).find(one => one?.trim()) ?? 'Alert';
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, sourceLimits.title).toWellFormed();
}

/** Returns a key of limited length that is equal for equal texts. */
export function keyOf(text: string): string {
  return text.length <= limits.key ? text : createHash('sha256').update(text).digest('hex');
}

const severityNames: Record<string, Severity> = {
  ...Object.fromEntries(
    ['critical', 'crit', 'page', 'pager', 'fatal', 'emergency', 'disaster', 'alert', 'p1', 'sev1', 'high'].map(name => [
      name,
      'critical' as const,
    ]),
  ),
  ...Object.fromEntries(['error', 'err', 'major', 'p2', 'sev2', 'average'].map(name => [name, 'error' as const])),
  ...Object.fromEntries(
    ['warning', 'warn', 'minor', 'ticket', 'p3', 'sev3', 'moderate', 'medium'].map(name => [name, 'warning' as const]),
  ),
  ...Object.fromEntries(
    ['info', 'information', 'informational', 'notice', 'none', 'low', 'debug', 'ok', 'p4', 'p5', 'sev4', 'sev5'].map(
      name => [name, 'info' as const],
    ),
  ),
};

/** Reads a severity by the names that monitoring systems use. Null: there is none, or it is not one of them. */
export function severityOf(value: unknown): Severity | null {
  return lookUp(severityNames, textOf(value)?.trim().toLowerCase() ?? '') ?? null;
}

/** Returns an ISO time; null if there is none. Alertmanager sends the year 1 for "not yet". */
export function timeOf(value: unknown): string | null {
  const number = typeof value === 'number' ? value : /^\d{9,13}$/.test(String(value)) ? Number(value) : undefined;
  const time = number === undefined ? new Date(String(value ?? '')) : new Date(number < 1e11 ? number * 1_000 : number);
  const year = time.getUTCFullYear();
  return year >= 1971 && year <= 9_999 ? time.toISOString() : null;
}

const resolvedWords = new Set([
  'ok',
  'up',
  'resolved',
  'resolve',
  'closed',
  'close',
  'recovered',
  'recovery',
  'normal',
  'success',
  'cleared',
  'inactive',
]);
const acknowledgedWords = new Set(['acknowledged', 'acknowledge', 'ack', 'acked']);

/** Reads the state by the words that senders without a fixed format use: whatever is neither ended nor acknowledged is open. */
export function stateOf(value: unknown): AlertState {
  const word = textOf(value)?.trim().toLowerCase() ?? '';
  if (resolvedWords.has(word)) return 'resolved';
  return acknowledgedWords.has(word) ? 'acknowledged' : 'open';
}
