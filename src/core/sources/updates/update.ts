/**
 * What the sender of an alert is sent after a person has acknowledged or resolved it here. A preset knows the requests of one kind of
 * sender; any other sender has its own request for each state.
 */
import { isObject, type JsonObject } from '../../json.ts';
import type { CheckTemplate } from '../../render/compile.ts';

export const updateStates = ['acknowledged', 'unacknowledged', 'resolved'] as const;
export type UpdateState = (typeof updateStates)[number];

export interface CustomRequest {
  method?: string;
  url: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The field `update` of a source. */
export interface SourceUpdate extends Partial<Record<UpdateState, CustomRequest>> {
  use?: string;
  url?: string;
  silence_for?: string;
}

/** The change of one alert. */
export interface AlertUpdate {
  state: UpdateState;
  by: string;
  key: string;
  title: string;
  context: JsonObject;
  /** What an earlier request has created at the sender. */
  reference: string | null;
  /** The page of the occurrence. */
  link: string;
}

/** A request as it is sent; the texts of `secrets` are removed from what is kept about it. */
export interface UpdateRequest {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET';
  url: string;
  headers: Record<string, string>;
  json?: object;
}

/** Nothing has to be sent. */
export interface NoRequest {
  nothing: string;
}

export interface UpdateAnswer {
  status: number;
  text: string;
  json: unknown;
}

export interface UpdatePreset {
  title: string;
  /** Throws an Error with the reason if there can be no request. `now` is in milliseconds. */
  toRequest(
    update: AlertUpdate,
    settings: SourceUpdate,
    secret: string | undefined,
    now: number,
  ): UpdateRequest | NoRequest;
  /** Returns what differs from the rules of HTTP; undefined if nothing does. */
  classify?(answer: UpdateAnswer): { ok: true } | { retry: boolean; reason: string } | undefined;
  /** Returns what the request has created. */
  referenceOf?(answer: UpdateAnswer): string | undefined;
}

export const sourceUpdateLimits = {
  /** Alerts of an occurrence whose sender gets a request. */
  alerts: 1_000,
  /** Attempts that are kept for each alert. */
  keptEntries: 20,
  headers: 20,
  url: 2_048,
  /** A context that is longer as JSON is not kept: the request then sees that of the occurrence. */
  contextBytes: 16 * 1024,
} as const;

/** Returns the servers that get the secret, which is not sent to others without being provided again. */
export function destinationsOf(update: SourceUpdate | null | undefined): string {
  if (!update) return '';
  const urls = [update.url, ...updateStates.map(state => update[state]?.url)];
  return [...new Set(urls.map(originOf))].filter(Boolean).sort().join(' ');
}

/** Returns the part of a URL that names the server; templates cannot be in it. */
export function originOf(url: string | undefined): string {
  return /^https?:\/\/[^/?#]+/i.exec(url ?? '')?.[0].toLowerCase() ?? '';
}

/** Returns the mistakes that a schema cannot find, by their path in `update`. */
export function findUpdateMistakes(update: JsonObject, check?: CheckTemplate): { at: string; message: string }[] {
  const mistakes: { at: string; message: string }[] = [];
  const add = (at: string, message: string) => mistakes.push({ at, message });
  const own = updateStates.filter(state => update[state] !== undefined);
  if (update.use !== undefined) {
    if (update.url === undefined) add('url', 'is required with use');
    for (const state of own) add(state, 'must be absent with use: the preset knows the requests');
  } else {
    if (update.url !== undefined) add('url', 'must be absent without use: each request has its own');
    if (own.length === 0) add('use', `is required unless there is a request for ${updateStates.join(', ')}`);
  }
  if (update.silence_for !== undefined && update.use !== 'alertmanager')
    add('silence_for', 'must be absent unless use is alertmanager');
  for (const state of own) {
    const request = update[state];
    if (!isObject(request)) continue;
    const { url, headers, body } = request;
    const texts = { url, body, ...prefixed('headers', isObject(headers) ? headers : {}) };
    for (const [field, text] of Object.entries(texts)) {
      const mistake = typeof text === 'string' ? check?.(text) : undefined;
      if (mistake) add(`${state}/${field}`, `line ${mistake.line}, column ${mistake.column}: ${mistake.message}`);
    }
    if (typeof body === 'string' && !/^\s*[[{]/.test(body))
      add(`${state}/body`, 'must be JSON, with { or [ at its start');
  }
  return mistakes;
}

function prefixed(name: string, values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${name}/${key}`, value]));
}

/**
 * Returns one template for the whole request, whose result is JSON: a value can then change neither the server nor the structure of the
 * body, and cannot add a header.
 */
export function requestTemplateOf({ url, headers = {}, body = 'null' }: CustomRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: "${value}"`);
  return `{"url": "${url}", "headers": {${lines.join(', ')}}, "body": ${body}}`;
}

/** Reads what `requestTemplateOf` has become. Throws an Error with the reason. */
export function readRequestOf(request: CustomRequest, rendered: unknown): UpdateRequest {
  const { url, headers, body } = isObject(rendered) ? rendered : {};
  if (typeof url !== 'string' || !isObject(headers))
    throw new Error('the body is not valid JSON once its values are filled in');
  if (originOf(url) !== originOf(request.url)) throw new Error('a value has changed the server in the URL');
  const values = Object.entries(headers).map(([name, value]) => [name, String(value).replaceAll(/[\r\n\0]+/g, ' ')]);
  return {
    method: (request.method ?? 'POST') as UpdateRequest['method'],
    url,
    headers: Object.fromEntries(values),
    ...(isObject(body) || Array.isArray(body) ? { json: body } : {}),
  };
}
