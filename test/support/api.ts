/** A raw HTTP client: it normalizes, follows and adds nothing, so hostile requests are sent unchanged. */
import { Agent, request } from 'node:http';
import { expect } from 'vitest';
import { findUndocumented } from './api-statuses.ts';

export interface Asked {
  method?: string;
  path: string;
  key?: string;
  headers?: Record<string, string | string[]>;
  /** Text and bytes are sent as they are, other values as JSON. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the response of the server, for tests to inspect
  body: any;
}

export type Ask = (asked: Asked) => Promise<Answer>;

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export function asker(address: string, key?: string): Ask {
  return asked => ask(address, { key, ...asked });
}

export function ask(address: string, { method = 'GET', path, key, headers = {}, body }: Asked): Promise<Answer> {
  const { hostname, port } = new URL(address);
  const bytes =
    body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body ?? null);
  const all: Record<string, string | string[]> = {
    ...(key !== undefined && { authorization: `Key ${key}` }),
    ...(bytes !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(bytes)),
    }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, hostname, port, method, path, headers: all }, response => {
      const chunks: Buffer[] = [];
      response.on('data', chunk => chunks.push(chunk));
      response.on('error', reject);
      // A stream never ends, so its headers count as the response.
      const isEndless = /^text\/event-stream/.test(response.headers['content-type'] ?? '') && method !== 'HEAD';
      response.on(isEndless ? 'close' : 'end', () => {
        const text = Buffer.concat(chunks).toString();
        const body = /\bjson\b/.test(response.headers['content-type'] ?? '') && text ? JSON.parse(text) : undefined;
        const unlisted = findUndocumented(method, path, response.statusCode!);
        if (unlisted) reject(new Error(`${unlisted}\n${text.slice(0, 500)}`));
        resolve({ status: response.statusCode!, headers: response.headers as Record<string, string>, text, body });
      });
      if (isEndless) response.destroy();
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
}

export type Kind = 'string' | 'integer' | 'boolean' | 'object' | 'url';
export type Fields = Record<string, Kind>;

/** Expects exactly these fields with these types. */
export function expectFields(value: Record<string, unknown>, fields: Fields): void {
  const found = Object.entries(value).map(([name, item]) => [name, kindOf(item, fields[name])]);
  expect(Object.fromEntries(found)).toEqual(fields);
}

function kindOf(value: unknown, wanted: Kind | undefined): Kind | undefined {
  if (typeof value === 'string')
    return wanted === 'url' && /^https?:\/\/[^/]+\/api\/o\//.test(value) ? 'url' : 'string';
  if (Number.isSafeInteger(value)) return 'integer';
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? 'object' : undefined;
}

export const problemFields: Fields = {
  type: 'string',
  title: 'string',
  status: 'integer',
  detail: 'string',
  code: 'string',
  request_id: 'string',
};

/** Expects an RFC 9457 problem document with this status and code, and these field names in `errors`. */
export function expectProblem(answer: Answer, status: number, code?: string, fields?: string[]): void {
  const told = `${answer.status} ${answer.text.slice(0, 500)}`;
  expect(answer.status, told).toBe(status);
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json(;|$)/);
  const { errors, ...problem } = answer.body;
  expectFields(problem, problemFields);
  expect(problem.status).toBe(status);
  expect(answer.headers['x-request-id']).toBe(problem.request_id);
  if (code !== undefined) expect(problem.code, told).toBe(code);
  if (fields) expect(Object.keys(errors ?? {}), told).toEqual(fields);
  for (const messages of Object.values(errors ?? {})) expect(messages).toContainEqual(expect.any(String));
}
