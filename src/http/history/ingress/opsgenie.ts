/**
 * Opsgenie's alert API, also under the path of its successor, Jira Service Management. Every write is answered with 202 and the id of
 * a request; what became of it is read with that id, as Zabbix does.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { isObject, type Json, type JsonObject } from '../../../core/json.ts';
import { keyOf, textOf } from '../../../core/sources/alert.ts';
import { findCreationMistakes } from '../../../core/sources/presets/opsgenie.ts';
import type { AlertView } from '../../../db/history/sources/alerts.ts';
import {
  findSourceByToken,
  keep,
  requireNoSecret,
  type StoredSource,
} from '../../../services/history/sources/ingress.ts';
import * as alerts from '../../../services/history/sources/opsgenie.ts';
import { statuses } from '../../server/errors.ts';
import { type Ingress, keepTooLarge, routeOptions, toSourceRequest } from './common.ts';
import { bodyOf, keepUnusable, notProcessable, prefixes, Refusal, sourceOf, tail } from './opsgenie-common.ts';
import { registerHeartbeats } from './opsgenie-heartbeats.ts';

const maxPage = 100;
const defaultPage = 20;

export function registerOpsgenie(app: FastifyInstance, ingress: Ingress): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    const [, key] = /^GenieKey +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (key === undefined) throw new Refusal(401, 'Authorization header should be in the form: GenieKey <key>');
    const source = await findSourceByToken(ingress.deps, key);
    if (!source) throw new Refusal(401, 'Could not authenticate');
    ingress.admit(source, request, reply);
  };
  const preHandler = async (request: FastifyRequest) => {
    const source = sourceOf(ingress, request);
    await requireNoSecret(ingress.depsFor(source, request), source, toSourceRequest(request));
  };
  const route = { ...routeOptions, onRequest, preHandler };
  app.setErrorHandler(async (error: FastifyError | Refusal, request, reply) => {
    const isTooLarge = !(error instanceof Refusal) && (await keepTooLarge(ingress, error, request));
    const refusal = isTooLarge ? new Refusal(413, 'Request body is too large.') : toRefusal(error);
    if (refusal.code >= 500) request.log.error({ err: error, request_id: request.id }, 'request failed');
    const { code, message, errors } = refusal;
    const end = tail(reply);
    if (code === 429) {
      reply.headers({
        'x-ratelimit-state': 'THROTTLED',
        'x-ratelimit-reason': 'ACCOUNT',
        'x-ratelimit-period-in-sec': '1',
      });
    }
    if (code === 429 || code === 503) reply.header('retry-after', '1');
    return reply.code(code).send({ message, ...(errors && { errors }), ...end });
  });

  registerHeartbeats(app, ingress, route);
  for (const prefix of prefixes) {
    const at = `${prefix}/v2/alerts`;
    app.post(at, route, async (request, reply) => {
      const mistakes = findCreationMistakes(await bodyOf(ingress, request));
      if (Object.keys(mistakes).length > 0) {
        await keepUnusable(ingress, request, `is no alert: ${Object.values(mistakes).join(' ')}`);
        throw notProcessable(mistakes);
      }
      return accept(reply, await take(ingress, request));
    });
    app.get(at, route, async (request, reply) => {
      const { filter, page } = readQuery(request);
      const source = sourceOf(ingress, request);
      const rows = await alerts.listNamedAlerts(ingress.deps, source, filter, page);
      const isLast = rows.length < page.limit && (rows.length > 0 || page.offset === 0);
      const total = isLast ? page.offset + rows.length : await alerts.countNamedAlerts(ingress.deps, source, filter);
      return reply.send({
        data: rows.map(row => showAlert(row, source)),
        paging: pagingOf(request, page, total),
        ...tail(reply),
      });
    });
    app.get(`${at}/count`, route, async (request, reply) => {
      const count = await alerts.countNamedAlerts(ingress.deps, sourceOf(ingress, request), readQuery(request).filter);
      return reply.send({ data: { count }, ...tail(reply) });
    });
    app.get(`${at}/requests/:request`, route, async (request, reply) => {
      const source = sourceOf(ingress, request);
      const { request: id } = request.params as { request: string };
      const found = await alerts.findRequestStatus(ingress.deps, source, id);
      if (!found) {
        // The SDK for Go asks again only if this header says so.
        reply.header('x-opsgenie-errortype', 'RequestNotProcessed');
        throw new Refusal(404, 'Request not found. It might not be processed, yet.');
      }
      const { success, ...status } = found;
      // Clients read either of the two.
      return reply.send({
        data: { success, isSuccess: success, ...status, integrationId: String(source.id) },
        ...tail(reply),
      });
    });
    app.get(`${at}/:alert`, route, async (request, reply) => {
      const source = sourceOf(ingress, request);
      return reply.send({ data: showAlert(await find(ingress, request), source), ...tail(reply) });
    });
    app.delete(`${at}/:alert`, route, async (request, reply) => accept(reply, await act(ingress, request, 'close')));
    for (const list of ['notes', 'logs', 'recipients', 'attachments']) {
      app.get(`${at}/:alert/${list}`, route, async (request, reply) => {
        const { details } = await find(ingress, request);
        const data = list === 'notes' && Array.isArray(details.notes) ? details.notes : [];
        return reply.send({ data, paging: {}, ...tail(reply) });
      });
    }
    app.get(`${at}/saved-searches`, route, (_, reply) => reply.send({ data: [], ...tail(reply) }));
    for (const [path, what] of [
      [`${at}/:alert/attachments`, 'Attachments'],
      [`${at}/saved-searches`, 'Saved searches'],
    ] as const) {
      app.post(path, route, () => Promise.reject(new Refusal(422, `${what} are not supported here.`)));
    }
    for (const url of [`${at}/saved-searches/*`, `${at}/*`]) {
      const handler = () => Promise.reject(new Refusal(404, 'There is nothing at this path.'));
      app.route({ ...route, method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], url, handler });
    }
    const action = async (request: FastifyRequest, reply: FastifyReply) => {
      const { action: name } = request.params as { action: string };
      return accept(reply, await act(ingress, request, request.method === 'DELETE' ? `remove ${name}` : name));
    };
    app.post(`${at}/:alert/:action`, route, action);
    app.put(`${at}/:alert/:action`, route, action);
    app.patch(`${at}/:alert/:action`, route, action);
    app.delete(`${at}/:alert/:action`, route, action);
    app.post(`${at}/:alert/actions/:name`, route, async (request, reply) =>
      accept(reply, await act(ingress, request, 'actions')),
    );
  }
}

/** Stores and judges a request about an alert's state. Returns the id of the request. */
async function take(ingress: Ingress, request: FastifyRequest, key?: string): Promise<string> {
  const { id, limited, results } = await ingress.receive(sourceOf(ingress, request), request, {
    byKey: true,
    ...(key !== undefined && { key }),
  });
  if (limited !== undefined) throw new Refusal(429, 'You are making too many requests!');
  const [result] = results;
  if (result?.outcome === 'rejected') throw new Refusal(422, result.error ?? 'Request body is not processable.');
  return id;
}

const stateActions = new Set(['acknowledge', 'close']);

/** Acts on the alert that the path names. As with Opsgenie, only the status of the request says whether there is one. */
async function act(ingress: Ingress, request: FastifyRequest, action: string): Promise<string> {
  const source = sourceOf(ingress, request);
  const deps = ingress.depsFor(source, request);
  const body = await bodyOf(ingress, request);
  const { name, type } = nameOf(request);
  const alert = await alerts.findNamedAlert(deps, source, name, type);
  const query = request.method === 'DELETE' ? (request.query as Record<string, unknown>) : {};
  // As with Opsgenie, every action may come with a note.
  if (alert && action !== 'notes' && textOf(body.note)) await alerts.annotate(deps, source, alert, 'notes', body, {});
  if (stateActions.has(action)) return take(ingress, request, alert?.key ?? keyOf(name));
  const { organization_id, id: source_id } = source;
  const sent = { ...toSourceRequest(request), key: alert?.key ?? keyOf(name) };
  const { id } = await keep(deps, source, sent, 'received', null);
  const isResponse = alerts.responses.has(action);
  const error = alert
    ? await (isResponse
        ? alerts.respond(deps, source, alert, action, body)
        : alerts.annotate(deps, source, alert, action, body, query))
    : undefined;
  const outcome = !alert ? 'unknown' : error === undefined ? 'noted' : 'rejected';
  const result = { at: '', key: sent.key, outcome, ...(error !== undefined && { error }) } as const;
  await deps.sources.settle({
    ...{ organization_id, source_id, id, alerts: [result], counts: { [outcome]: 1 }, note: action },
    state: error === undefined ? 'taken' : 'rejected',
  });
  return id;
}

async function find(ingress: Ingress, request: FastifyRequest): Promise<AlertView> {
  const { name, type } = nameOf(request);
  const alert = await alerts.findNamedAlert(ingress.deps, sourceOf(ingress, request), name, type);
  if (!alert) throw new Refusal(404, `Alert with ${type} [${name}] does not exist`);
  return alert;
}

function nameOf(request: FastifyRequest): { name: string; type: string } {
  const { alert: name } = request.params as { alert: string };
  const { identifierType = 'id', alertIdentifierType } = request.query as Record<string, string | undefined>;
  const type = alertIdentifierType ?? identifierType;
  if (!['id', 'alias', 'tiny'].includes(type))
    throw new Refusal(422, 'identifierType should be one of id, alias, tiny');
  return { name, type };
}

function accept(reply: FastifyReply, requestId: string): FastifyReply {
  return reply.code(202).send({ result: 'Request will be processed', ...tail(reply, requestId) });
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (!(error instanceof AppError) || error.kind === 'internal') return new Refusal(500, 'Internal server error');
  const code = statuses[error.kind];
  return new Refusal(code === 401 ? 403 : code, error.message);
}

/** The part of Opsgenie's query language that clients use: conditions on the status. */
function readQuery(request: FastifyRequest) {
  const given = Object.entries(request.query as Record<string, string | string[]>);
  const {
    query = '',
    offset,
    limit,
    order,
  } = Object.fromEntries(given.map(([name, value]) => [name, [value].flat()[0]]));
  const number = (text: string | undefined, otherwise: number, max: number) =>
    /^\d{1,6}$/.test(text ?? '') ? Math.min(Number(text), max) : otherwise;
  const filter: { isClosed?: boolean; isAcknowledged?: boolean } = {};
  for (const [term] of query.replaceAll(/ *([:=]) */g, '$1').matchAll(/\S+/g)) {
    const [, field, value] = /^(status|acknowledged)[:=]"?(\w+)"?$/i.exec(term) ?? [];
    if (field?.toLowerCase() === 'status') filter.isClosed = value?.toLowerCase() === 'closed';
    else if (field) filter.isAcknowledged = value?.toLowerCase() === 'true';
    else if (!/^and$/i.test(term))
      throw new Refusal(422, 'query: only status:open, status:closed and acknowledged:true or false are supported');
  }
  const page = {
    offset: number(offset, 0, 20_000),
    limit: number(limit, defaultPage, maxPage) || defaultPage,
    isAscending: order === 'asc',
  };
  return { filter, page };
}

function pagingOf(request: FastifyRequest, { offset, limit }: { offset: number; limit: number }, total: number) {
  const url = new URL(request.url, `${request.protocol}://${request.host}`);
  const at = (start: number) => {
    url.searchParams.set('offset', String(start));
    url.searchParams.set('limit', String(limit));
    return url.href;
  };
  return {
    first: at(0),
    ...(offset > 0 && { prev: at(Math.max(0, offset - limit)) }),
    ...(offset + limit < total && { next: at(offset + limit) }),
    last: at(Math.floor(Math.max(0, total - 1) / limit) * limit),
  };
}

/** Clients refuse responders without type and id, although they send them so: a user has a username, and all else a name. */
function respondersOf(value: Json | undefined): JsonObject[] {
  const given = Array.isArray(value) ? value.filter(isObject) : [];
  return given.map(one => ({
    ...one,
    type: textOf(one.type) ?? (one.username === undefined ? 'team' : 'user'),
    id: textOf(one.id) ?? textOf(one.name) ?? textOf(one.username) ?? '',
  }));
}

/** Clients read a map of texts. */
function textsIn(value: Json | undefined): Record<string, string> {
  const entries = Object.entries(isObject(value) ? value : {});
  return Object.fromEntries(entries.map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)]));
}

const priorities = { critical: 'P1', error: 'P2', warning: 'P3', info: 'P5' } as const;

function showAlert(row: AlertView, source: StoredSource) {
  const context: JsonObject = isObject(row.context) ? row.context : {};
  const changed = row.details;
  const text = (name: string) => textOf(changed[name]) ?? textOf(context[name]) ?? '';
  const tags = changed.tags ?? context.tags;
  const isClosed = row.state === 'resolved';
  return {
    id: row.id,
    tinyId: String(row.number),
    alias: alerts.aliasOf(row),
    message: textOf(changed.message) ?? row.title,
    status: isClosed ? 'closed' : 'open',
    acknowledged: row.acknowledged_at !== null || row.state === 'acknowledged',
    isSeen: row.acknowledged_at !== null,
    tags: Array.isArray(tags) ? tags : [],
    snoozed: row.snoozed_by !== null,
    ...(row.snoozed_by !== null && row.acknowledged_until && { snoozedUntil: row.acknowledged_until.toISOString() }),
    count: row.count,
    lastOccurredAt: row.last_seen_at.toISOString(),
    createdAt: row.opened_at.toISOString(),
    updatedAt: row.last_seen_at.toISOString(),
    source: text('sender'),
    owner: row.acknowledged_by ?? '',
    priority: text('priority') || (row.severity ? priorities[row.severity] : 'P3'),
    responders: respondersOf(context.responders),
    integration: { id: String(source.id), name: source.name, type: 'API' },
    report: {
      ...(row.acknowledged_at && {
        ackTime: row.acknowledged_at.getTime() - row.opened_at.getTime(),
        acknowledgedBy: row.acknowledged_by,
      }),
      ...(row.resolved_at && {
        closeTime: row.resolved_at.getTime() - row.opened_at.getTime(),
        closedBy: row.resolved_by,
      }),
    },
    actions: Array.isArray(context.actions) ? context.actions : [],
    entity: text('entity'),
    description: text('description'),
    details: textsIn(changed.details ?? context.details),
  };
}
