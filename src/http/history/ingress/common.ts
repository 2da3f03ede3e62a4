/** What the routes of all kinds of senders share. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type SourceRequest, sourceLimits } from '../../../core/sources/alert.ts';
import type { Deps } from '../../../services/deps.ts';
import { keepRefused, type Receipt, type StoredSource } from '../../../services/history/sources/ingress.ts';

/** What the routes of one kind of sender use. */
export interface Ingress {
  deps: Deps;
  /** Remembers the source of a request, once it is known, and reserves memory for its body. */
  admit(source: StoredSource, request: FastifyRequest, reply: FastifyReply): void;
  sourceOf(request: FastifyRequest): StoredSource | undefined;
  /** Remembers that a limit was reached, where the status does not say so. */
  noteLimited(request: FastifyRequest): void;
  receive(source: StoredSource, request: FastifyRequest, options?: { byKey?: boolean; key?: string }): Promise<Receipt>;
  depsFor(source: StoredSource, request: FastifyRequest): Deps;
}

export const routeOptions = { schema: { hide: true }, bodyLimit: sourceLimits.bytes };

export function toSourceRequest(request: FastifyRequest, key?: string): SourceRequest {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
  return {
    method: request.method,
    url: request.raw.url ?? '',
    contentType: request.headers['content-type'] ?? '',
    headers: Object.fromEntries(headers),
    bytes: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
    ...(key !== undefined && { key }),
  };
}

/** Keeps what is left of a request whose body is not read because of its size. Returns whether it was too large. */
export async function keepTooLarge(ingress: Ingress, error: FastifyError, request: FastifyRequest): Promise<boolean> {
  if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return false;
  const source = ingress.sourceOf(request);
  if (!source) return true;
  const empty = { ...toSourceRequest(request), bytes: Buffer.alloc(0) };
  await keepRefused(ingress.deps, source, empty, `the payload is larger than ${sourceLimits.bytes} bytes`);
  return true;
}
