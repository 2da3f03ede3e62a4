/**
 * Where monitoring systems post their alerts: `/in/TOKEN/`, the same paths as Grafana OnCall, and those of PagerDuty and Opsgenie.
 * Bodies are verified and kept as they were sent, so these are no endpoints of the API with a schema.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { callResultOf } from '../../../core/history/service-levels.ts';
import { sourceLimits } from '../../../core/sources/alert.ts';
import type { Deps } from '../../../services/deps.ts';
import { SignedDocuments } from '../../../services/history/feedback/requests.ts';
import {
  actorOf,
  findSourceByToken,
  openSource,
  type Receipt,
  receive,
  type StoredSource,
} from '../../../services/history/sources/ingress.ts';
import type { Resources } from '../../resolve.ts';
import { sendError } from '../../server/errors.ts';
import type { LargeBodies } from '../../server/large-bodies.ts';
import { type Ingress, keepTooLarge, routeOptions, toSourceRequest } from './common.ts';
import { registerOpsgenie } from './opsgenie.ts';
import { registerPagerDuty } from './pagerduty.ts';
import { registerPings } from './pings.ts';

interface IngressTools {
  deps: Deps;
  largeBodies: LargeBodies;
}

export async function registerIngress(app: FastifyInstance, { deps, largeBodies }: IngressTools): Promise<void> {
  const documents = new SignedDocuments(deps.outbound);
  const sources = new WeakMap<FastifyRequest, StoredSource>();
  const limited = new WeakSet<FastifyRequest>();
  const depsFor = (source: StoredSource, request: FastifyRequest): Deps => ({
    ...deps,
    actor: actorOf(source, request.ip, request.id),
  });
  const ingress: Ingress = {
    deps,
    admit(source, request, reply) {
      sources.set(request, source);
      const organization = { id: source.organization_id, slug: source.organization };
      request.admission = { resources: { organization } as Resources };
      largeBodies.admit(request, reply);
    },
    sourceOf: request => sources.get(request),
    noteLimited: request => void limited.add(request),
    depsFor,
    receive: (source, request, { byKey = false, key } = {}) =>
      receive(depsFor(source, request), source, toSourceRequest(request, key), { documents, byKey }),
  };
  await app.register(async scope => registerPings(scope, ingress));
  await app.register(async scope => {
    scope.addHook('onResponse', async (request, reply) => {
      const source = sources.get(request);
      if (!source || !isReport(request, source)) return;
      // A caller that hung up before it had sent everything has no one else to blame.
      if (!reply.raw.writableFinished && !request.raw.complete) return;
      const status = limited.has(request) ? 429 : reply.statusCode;
      deps.calls.add(source.organization_id, callResultOf(status, reply.raw.writableFinished));
    });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: sourceLimits.bytes },
      (request, bytes: Buffer, done) => largeBodies.run(request, bytes, () => done(null, bytes)),
    );
    await scope.register(async own => registerAddresses(own, ingress));
    await scope.register(async own => registerPagerDuty(own, ingress));
    await scope.register(async own => registerOpsgenie(own, ingress));
  });
}

/** Returns whether the sender reports something. With a GET, most only check that the address exists; Uptime Kuma can send its parameters. */
function isReport({ method, url }: FastifyRequest, { use }: StoredSource): boolean {
  if (method === 'GET') return use === 'uptime-kuma' && url.includes('?');
  return method !== 'HEAD' && method !== 'OPTIONS';
}

const onCallPath = '/integrations/v1/:type/:token';

/** The address of a source, and the same under the path that Grafana OnCall has for it. */
function registerAddresses(app: FastifyInstance, ingress: Ingress): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    const { token } = request.params as { token: string };
    const source = await findSourceByToken(ingress.deps, token);
    if (!source) throw new AppError('path.not_found', 'this is not the address of a source: copy it again');
    ingress.admit(source, request, reply);
  };
  const route = { ...routeOptions, onRequest };
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const source = ingress.sourceOf(request)!;
    const receipt = await ingress.receive(source, request);
    const status = statusOf(receipt);
    if (status === 429 || status === 503) reply.header('retry-after', '1');
    reply.code(status);
    // The answer of OnCall, which some senders compare.
    if (request.routeOptions.url === onCallPath && status < 300) return reply.type('text/plain').send('Ok.');
    return reply.send(showReceipt(receipt));
  };
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    await keepTooLarge(ingress, error, request);
    const source = ingress.sourceOf(request);
    return sendError(
      source ? asRetried(error, openSource(ingress.deps, source).compiled.limited) : error,
      request,
      reply,
    );
  });
  for (const path of ['/in/:token', onCallPath]) {
    app.post(path, route, handle);
    app.put(path, route, handle);
    app.get(path, route, async (request, reply) => {
      return isReport(request, ingress.sourceOf(request)!) ? handle(request, reply) : reply.send({ ok: true });
    });
    // CloudEvents' protection against abuse: the sender asks whether it may send here.
    app.options(path, route, async (request, reply) => {
      const origin = request.headers['webhook-request-origin'];
      reply.header('allow', 'GET, POST, PUT, OPTIONS');
      if (origin) reply.header('webhook-allowed-origin', String(origin)).header('webhook-allowed-rate', '*');
      return reply.code(200).send();
    });
  }
}

/** Alertmanager's webhook gives up after 429: a limit is 503 for it. */
function asRetried(error: unknown, limited: Receipt['limited']): unknown {
  if (limited !== 503 || !(error instanceof AppError) || error.kind !== 'rate_limited') return error;
  return new AppError('service.unavailable', error.message, error.details);
}

function statusOf({ state, limited }: Receipt): number {
  if (limited !== undefined && limited !== 'accept') return limited;
  if (state === 'received') return 202;
  return state === 'rejected' ? 400 : 200;
}

const maxShown = 50;

function showReceipt({ id, state, results, note }: Receipt) {
  const failed = results.filter(({ outcome }) => outcome === 'rejected' || outcome === 'limited');
  return {
    payload: id,
    state,
    alerts: results.length,
    taken: results.length - failed.length,
    rejected: failed.slice(0, maxShown).map(({ at, key, error }) => ({ at, key, error })),
    ...(note !== null && { note }),
  };
}
