/**
 * Where jobs call, as Healthchecks has it: `/ping/TOKEN`, with `/start`, `/fail`, `/log` or an exit status, and `/ping/KEY/SLUG` with the
 * key of a source of the same application. Also the heartbeats of Grafana OnCall. The answers are those of the original services.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { heartbeatLimits } from '../../../core/heartbeats/rhythm.ts';
import type { CallKind } from '../../../core/heartbeats/state.ts';
import { isUuid } from '../../../core/ids.ts';
import { createForSource } from '../../../services/history/heartbeats/by-source.ts';
import {
  findHeartbeatByToken,
  findHeartbeatOfSource,
  plainCall,
  type ReceivedCall,
  receiveCall,
  type StoredHeartbeat,
} from '../../../services/history/heartbeats/calls.ts';
import { findSourceByToken, openSource, type StoredSource } from '../../../services/history/sources/ingress.ts';
import { sendError } from '../../server/errors.ts';
import type { Ingress } from './common.ts';

/** The beginning of a body, and the size of the whole. */
export interface CallBody {
  start: Buffer;
  bytes: number;
}

/** An answer in the form of Healthchecks: a status and a short text. */
class PingRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const notFound = () => new PingRefusal(404, 'not found');

export function registerPings(app: FastifyInstance, ingress: Ingress): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_: FastifyRequest, payload: AsyncIterable<Buffer>) => readStart(payload));
  app.setErrorHandler(async (error: FastifyError | PingRefusal, request, reply) => {
    if (error instanceof PingRefusal) return answer(reply, error.code, error.message);
    if (error instanceof AppError && error.kind === 'unavailable') reply.header('retry-after', '1');
    return sendError(error, request, reply);
  });

  app.route<{ Params: { token: string } }>({
    method: ['GET', 'POST'],
    url: '/ping/:token',
    schema: { hide: true },
    handler: async (request, reply) => {
      const heartbeat = await findHeartbeatByToken(ingress.deps, request.params.token);
      if (!heartbeat) throw notFound();
      return take(ingress, heartbeat, request, reply, undefined);
    },
  });
  app.route<{ Params: { token: string; name: string } }>({
    method: ['GET', 'POST'],
    url: '/ping/:token/:name',
    schema: { hide: true },
    handler: async (request, reply) => {
      const { token, name } = request.params;
      const heartbeat = await findHeartbeatByToken(ingress.deps, token);
      if (heartbeat) return take(ingress, heartbeat, request, reply, name);
      return takeBySlug(ingress, request, reply, token, name, undefined);
    },
  });
  app.route<{ Params: { token: string; name: string; action: string } }>({
    method: ['GET', 'POST'],
    url: '/ping/:token/:name/:action',
    schema: { hide: true },
    handler: async (request, reply) => {
      const { token, name, action } = request.params;
      return takeBySlug(ingress, request, reply, token, name, action);
    },
  });
  app.route<{ Params: { token: string } }>({
    method: ['GET', 'POST'],
    url: '/integrations/v1/:type/:token/heartbeat',
    schema: { hide: true },
    handler: async (request, reply) => {
      const { token } = request.params;
      const heartbeat = (await findHeartbeatByToken(ingress.deps, token)) ?? (await findOnCall(ingress, token));
      if (heartbeat) await receiveCall(ingress.deps, heartbeat, describe(request, plainCall));
      return request.method === 'POST' ? reply.code(200).send() : reply.type('application/json').send('":)"');
    },
  });
}

/** An integration of OnCall has one heartbeat: here, the one with the slug of the source. */
async function findOnCall(ingress: Ingress, token: string): Promise<StoredHeartbeat | undefined> {
  const source = await findSource(ingress, token);
  return findHeartbeatOfSource(ingress.deps, source, source.slug);
}

async function findSource(ingress: Ingress, token: string): Promise<StoredSource> {
  const source = await findSourceByToken(ingress.deps, token);
  if (!source) throw notFound();
  if (openSource(ingress.deps, source).secret)
    throw new PingRefusal(403, 'the source has a secret, which a ping cannot prove');
  return source;
}

async function takeBySlug(
  ingress: Ingress,
  request: FastifyRequest,
  reply: FastifyReply,
  key: string,
  slug: string,
  action: string | undefined,
): Promise<FastifyReply> {
  if (slug !== slug.toLowerCase()) throw new PingRefusal(400, 'invalid url format');
  if (!/^[a-z0-9_-]+$/.test(slug)) throw notFound();
  const source = await findSource(ingress, key);
  const found = await findHeartbeatOfSource(ingress.deps, source, slug);
  if (found) return take(ingress, found, request, reply, action);
  if ((request.query as Record<string, unknown>).create !== '1') throw notFound();
  readCall(request, action);
  const made = await createForSource(ingress.depsFor(source, request), source, {
    name: slug,
    every: '1d',
    grace: '1h',
  });
  return take(ingress, made, request, reply, action, true);
}

async function take(
  ingress: Ingress,
  heartbeat: StoredHeartbeat,
  request: FastifyRequest,
  reply: FastifyReply,
  action: string | undefined,
  isNew = false,
): Promise<FastifyReply> {
  if (!(await receiveCall(ingress.deps, heartbeat, describe(request, readCall(request, action))))) throw notFound();
  return isNew ? answer(reply, 201, 'Created') : answer(reply, 200, 'OK');
}

function answer(reply: FastifyReply, code: number, text: string): FastifyReply {
  return reply
    .code(code)
    .headers({ 'ping-body-limit': String(heartbeatLimits.keptBytes), 'access-control-allow-origin': '*' })
    .type('text/plain; charset=utf-8')
    .send(text);
}

const kinds = new Set<string>(['start', 'fail', 'log']);

/** Reads the end of the path: nothing, what happened, or an exit status. */
function readCall(request: FastifyRequest, action: string | undefined): typeof plainCall {
  const { rid } = request.query as Record<string, unknown>;
  if (rid !== undefined && (typeof rid !== 'string' || !isUuid(rid))) throw new PingRefusal(400, 'invalid uuid format');
  const runId = typeof rid === 'string' ? rid.toLowerCase() : null;
  if (action === undefined) return { ...plainCall, runId };
  if (kinds.has(action)) return { kind: action as CallKind, runId, exitStatus: null };
  if (!/^\d{1,9}$/.test(action)) throw notFound();
  const exitStatus = Number(action);
  if (exitStatus > 255) throw new PingRefusal(400, 'invalid url format');
  return { kind: exitStatus === 0 ? 'success' : 'fail', runId, exitStatus };
}

const maxUserAgent = 200;
const nothing: CallBody = { start: Buffer.alloc(0), bytes: 0 };

export function describe(request: FastifyRequest, call: typeof plainCall, body?: CallBody): ReceivedCall {
  const { start, bytes } = body ?? (request.body as CallBody | undefined) ?? nothing;
  const userAgent = (request.headers['user-agent'] ?? '').toWellFormed().replaceAll('\0', '').slice(0, maxUserAgent);
  return { ...call, method: request.method, userAgent, body: start, bytes };
}

/** Reads a body to its end and keeps its beginning: a job may send all of its output. */
async function readStart(payload: AsyncIterable<Buffer>): Promise<CallBody> {
  const chunks: Buffer[] = [];
  let kept = 0;
  let bytes = 0;
  for await (const chunk of payload) {
    bytes += chunk.length;
    if (bytes > heartbeatLimits.bytes)
      throw new PingRefusal(413, `the body is larger than ${heartbeatLimits.bytes} bytes`);
    // A copy: a part would keep the whole chunk in memory.
    const part = Buffer.from(chunk.subarray(0, heartbeatLimits.keptBytes - kept));
    if (part.length > 0) chunks.push(part);
    kept += part.length;
  }
  return { start: Buffer.concat(chunks), bytes };
}
