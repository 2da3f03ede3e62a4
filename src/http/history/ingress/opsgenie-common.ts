/** What the routes of Opsgenie's alert API and of its heartbeat API share. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FieldErrors } from '../../../core/errors.ts';
import { cleanJson, isCleanJson, type JsonObject } from '../../../core/json.ts';
import { parseObjectBody } from '../../../core/sources/alert.ts';
import { keepRefused, type StoredSource } from '../../../services/history/sources/ingress.ts';
import { type Ingress, toSourceRequest } from './common.ts';

/** An answer in Opsgenie's form. */
export class Refusal extends Error {
  readonly code: number;
  readonly errors: Record<string, string> | undefined;

  constructor(code: number, message: string, errors?: Record<string, string>) {
    super(message);
    this.code = code;
    this.errors = errors;
  }
}

/** The second one is that of Jira Service Management. */
export const prefixes = ['', '/jsm/ops/integration'];

export function sourceOf(ingress: Ingress, request: FastifyRequest): StoredSource {
  return ingress.sourceOf(request)!;
}

export async function bodyOf(ingress: Ingress, request: FastifyRequest): Promise<JsonObject> {
  const { bytes } = toSourceRequest(request);
  if (bytes.length === 0) return {};
  let body: JsonObject;
  try {
    body = parseObjectBody({ bytes });
  } catch (error) {
    const { message } = error as Error;
    await keepUnusable(ingress, request, message);
    throw new Refusal(400, `Request body ${message}.`);
  }
  if (isCleanJson(body)) return body;
  const errors: FieldErrors = {};
  const cleaned = cleanJson(body, errors) as JsonObject;
  const mistakes = Object.entries(errors).map(([path, texts]) => [path, texts[0]!] as const);
  if (mistakes.length === 0) return cleaned;
  await keepUnusable(ingress, request, `cannot be stored: ${mistakes[0]!.join(' ')}`);
  throw notProcessable(Object.fromEntries(mistakes));
}

/** Keeps a request that cannot be used with the payloads of its source. */
export async function keepUnusable(ingress: Ingress, request: FastifyRequest, reason: string): Promise<void> {
  await keepRefused(ingress.deps, sourceOf(ingress, request), toSourceRequest(request), `the payload ${reason}`);
}

/** What every answer ends with; `took` is in seconds. The SDK for Go reads the same from headers, and prefers those. */
export function tail(reply: FastifyReply, requestId: string = reply.request.id) {
  const took = Math.max(1, Math.round(reply.elapsedTime)) / 1_000;
  reply.headers({ 'x-request-id': requestId, 'x-response-time': String(took), 'x-ratelimit-state': 'OK' });
  return { took, requestId };
}

export function notProcessable(errors: Record<string, string>): Refusal {
  return new Refusal(422, 'Request body is not processable. Please check the errors.', errors);
}
