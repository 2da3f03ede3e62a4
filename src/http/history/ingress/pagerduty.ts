/** The paths of PagerDuty's Events API, versions 1 and 2, answered as PagerDuty does. The key in the body names the source. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { objectOf, parseObjectBody, textOf } from '../../../core/sources/alert.ts';
import {
  findSourceByToken,
  keep,
  requireNoSecret,
  type StoredSource,
} from '../../../services/history/sources/ingress.ts';
import { statuses } from '../../server/errors.ts';
import { type Ingress, keepTooLarge, routeOptions, toSourceRequest } from './common.ts';

/** An answer in PagerDuty's form. */
class Refusal extends Error {
  readonly code: number;
  readonly status: string;
  readonly errors: string[];

  constructor(code: number, status: string, message: string, errors: string[]) {
    super(message);
    this.code = code;
    this.status = status;
    this.errors = errors;
  }
}

const invalidEvent = (errors: string[]) => new Refusal(400, 'invalid event', 'Event object is invalid', errors);

interface Version {
  path: string;
  keyField: 'routing_key' | 'service_key';
  dedupField: 'dedup_key' | 'incident_key';
  ok: 200 | 202;
  /** How a limit is answered: clients of version 1 retry 403. */
  limited: 403 | 429;
}

const v2: Version = { path: '/v2/enqueue', keyField: 'routing_key', dedupField: 'dedup_key', ok: 202, limited: 429 };
const v1: Version = {
  path: '/generic/2010-04-15/create_event.json',
  keyField: 'service_key',
  dedupField: 'incident_key',
  ok: 200,
  limited: 403,
};

export function registerPagerDuty(app: FastifyInstance, ingress: Ingress): void {
  app.setErrorHandler(async (error: FastifyError | Refusal, request, reply) => {
    const isTooLarge = !(error instanceof Refusal) && (await keepTooLarge(ingress, error, request));
    const refusal = isTooLarge
      ? new Refusal(413, 'invalid event', 'Event object is too large', ['the event is too large'])
      : toRefusal(error, request.routeOptions.url === v1.path ? v1.limited : v2.limited);
    if (refusal.code >= 500) request.log.error({ err: error, request_id: request.id }, 'request failed');
    const { code, status, message, errors } = refusal;
    if (status === 'throttle exceeded') ingress.noteLimited(request);
    if (code === 429 || code === 503) reply.header('retry-after', '1');
    return reply.code(code).send({ status, message, errors });
  });
  for (const version of [v1, v2]) {
    app.post(version.path, routeOptions, async (request, reply) => {
      const { source, event } = await find(ingress, request, reply, version.keyField);
      const { results, limited } = await ingress.receive(source, request, { byKey: true });
      const [result] = results;
      if (limited !== undefined)
        throw new Refusal(
          version.limited,
          'throttle exceeded',
          'Requests for this service are arriving too quickly',
          [],
        );
      if (result?.outcome === 'rejected') throw invalidEvent(result.error?.split('; ') ?? []);
      const key = textOf(event[version.dedupField]) ?? result?.key;
      return reply.code(version.ok).send({ status: 'success', message: 'Event processed', [version.dedupField]: key });
    });
  }
  app.post('/v2/change/enqueue', routeOptions, async (request, reply) => {
    const { source, event } = await find(ingress, request, reply, v2.keyField);
    await requireNoSecret(ingress.depsFor(source, request), source, toSourceRequest(request));
    if (!textOf(objectOf(event.payload).summary)) throw invalidEvent(["'payload.summary' is missing or blank"]);
    await keep(
      ingress.depsFor(source, request),
      source,
      toSourceRequest(request),
      'taken',
      'a change event: it is kept, and notifies no one',
    );
    return reply.code(202).send({ status: 'success', message: 'Change event processed' });
  });
}

async function find(
  ingress: Ingress,
  request: FastifyRequest,
  reply: FastifyReply,
  keyField: Version['keyField'],
): Promise<{ source: StoredSource; event: JsonObject }> {
  let event: JsonObject;
  try {
    event = parseObjectBody(toSourceRequest(request));
  } catch {
    throw new Refusal(400, 'Unrecognized object', 'Event object format is unrecognized', ['JSON parse error']);
  }
  const key = textOf(event[keyField]) ?? textOf(request.headers['x-routing-key']);
  const source = key && (await findSourceByToken(ingress.deps, key));
  if (!source)
    throw invalidEvent([key ? `Invalid ${keyField.replace('_', ' ')}` : `'${keyField}' is missing or blank`]);
  ingress.admit(source, request, reply);
  return { source, event };
}

function toRefusal(error: unknown, limited: Version['limited']): Refusal {
  if (error instanceof Refusal) return error;
  if (!(error instanceof AppError)) return new Refusal(500, 'error', 'Internal server error', []);
  if (error.kind === 'rate_limited') return new Refusal(limited, 'throttle exceeded', error.message, []);
  const code = statuses[error.kind];
  return new Refusal(
    code,
    code < 500 ? 'invalid event' : 'error',
    code === 500 ? 'Internal server error' : error.message,
    [error.message],
  );
}
