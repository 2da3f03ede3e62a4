/** Opsgenie's heartbeat API. The key of a source finds the heartbeats of its application by name. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { parseDuration } from '../../../core/durations.ts';
import { AppError } from '../../../core/errors.ts';
import { expectedAfter, heartbeatLimits } from '../../../core/heartbeats/rhythm.ts';
import { isObject, type JsonObject } from '../../../core/json.ts';
import { severityOf, textOf } from '../../../core/sources/alert.ts';
import type { HeartbeatView } from '../../../db/history/heartbeats/heartbeats.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import {
  createForSource,
  deleteForSource,
  listOfSource,
  updateForSource,
} from '../../../services/history/heartbeats/by-source.ts';
import { findHeartbeatOfSource, plainCall, receiveCall } from '../../../services/history/heartbeats/calls.ts';
import type { StoredSource } from '../../../services/history/sources/ingress.ts';
import type { Ingress } from './common.ts';
import { bodyOf, notProcessable, prefixes, Refusal, sourceOf, tail } from './opsgenie-common.ts';
import { describe } from './pings.ts';

/** Opsgenie has no grace: a heartbeat expires when its interval ends. */
const grace = '10s';

export function registerHeartbeats(app: FastifyInstance, ingress: Ingress, route: RouteShorthandOptions): void {
  const own = (request: FastifyRequest): StoredSource => sourceOf(ingress, request);
  const find = async (request: FastifyRequest) => {
    const { name } = request.params as { name: string };
    const found = await findHeartbeatOfSource(ingress.deps, own(request), name);
    if (!found) throw new Refusal(404, `Heartbeat with name [${name}] does not exist`);
    return found;
  };
  const view = async (request: FastifyRequest, id: number) => {
    const [found] = await listOfSource(ingress.deps, own(request), id);
    if (!found) throw new Refusal(404, 'Heartbeat does not exist');
    return found;
  };
  const change = async (request: FastifyRequest, reply: FastifyReply, changes: JsonObject) => {
    const { id } = await find(request);
    const source = own(request);
    await updateForSource(ingress.depsFor(source, request), source, id, changes).catch(asRefusal);
    return reply.send({ data: summarize(await view(request, id)), ...tail(reply) });
  };

  for (const prefix of prefixes) {
    const at = `${prefix}/v2/heartbeats`;
    for (const method of ['get', 'post', 'put', 'patch'] as const) {
      app[method](`${at}/:name/ping`, route, async (request, reply) => {
        const { name } = request.params as { name: string };
        const found = await findHeartbeatOfSource(ingress.deps, own(request), name);
        // As with Opsgenie, the answer does not say whether there is one.
        const sent = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
        const body = { start: sent.subarray(0, heartbeatLimits.keptBytes), bytes: sent.length };
        if (found) await receiveCall(ingress.deps, found, describe(request, plainCall, body));
        return reply.code(202).send({ result: 'PONG - Heartbeat received', ...tail(reply) });
      });
    }
    for (const method of ['post', 'put', 'patch'] as const) {
      app[method](`${at}/:name/enable`, route, (request, reply) => change(request, reply, { enabled: true }));
      app[method](`${at}/:name/disable`, route, (request, reply) => change(request, reply, { enabled: false }));
    }
    app.get(at, route, async (request, reply) => {
      const heartbeats = (await listOfSource(ingress.deps, own(request))).map(show);
      return reply.send({ data: { heartbeats }, ...tail(reply) });
    });
    app.post(at, route, async (request, reply) => {
      const source = own(request);
      const { name, every, ...fields } = readFields(await bodyOf(ingress, request), true);
      if (await findHeartbeatOfSource(ingress.deps, source, name!)) {
        throw new Refusal(409, `Heartbeat with name [${name}] already exists`);
      }
      const deps = ingress.depsFor(source, request);
      const entry = { name: name!, every: every!, grace, enabled: false, ...fields };
      const { id } = await createForSource(deps, source, entry).catch(asRefusal);
      return reply.code(201).send({ data: show(await view(request, id)), ...tail(reply) });
    });
    app.get(`${at}/:name`, route, async (request, reply) =>
      reply.send({ data: show(await view(request, (await find(request)).id)), ...tail(reply) }),
    );
    app.patch(`${at}/:name`, route, async (request, reply) => {
      const { name: _, context, ...fields } = readFields(await bodyOf(ingress, request), false);
      const stored = (await view(request, (await find(request)).id)).context;
      return change(request, reply, { ...fields, ...(context && { context: { ...stored, ...context } }) });
    });
    app.delete(`${at}/:name`, route, async (request, reply) => {
      const { id } = await find(request);
      const source = own(request);
      await deleteForSource(ingress.depsFor(source, request), source, id);
      return reply.send({ result: 'Deleted', ...tail(reply) });
    });
  }
}

const unitLetters = new Map([
  ['minutes', 'm'],
  ['hours', 'h'],
  ['days', 'd'],
]);
const maxLengths = { name: 200, description: 10_000, alertMessage: 130 } as const;

/** Throws with all mistakes. What Belfry has no field for is in the context that templates see. */
function readFields(body: JsonObject, isNew: boolean) {
  const mistakes: Record<string, string> = {};
  const { interval, intervalUnit, enabled, alertPriority } = body;
  const name = textOf(body.name)?.trim();
  if (isNew && !name) mistakes.name = 'Name can not be empty.';
  for (const [field, max] of Object.entries(maxLengths)) {
    if ((textOf(body[field])?.length ?? 0) > max) mistakes[field] = `can not be longer than ${max} characters.`;
  }
  const isGiven = interval !== undefined || intervalUnit !== undefined;
  const letter = unitLetters.get(String(intervalUnit ?? ''));
  if (isNew || isGiven) {
    if (!Number.isInteger(interval) || Number(interval) < 1)
      mistakes.interval = 'Interval should be a positive number.';
    if (!letter) mistakes.intervalUnit = 'Interval unit should be one of [minutes, hours, days].';
  }
  if (enabled !== undefined && typeof enabled !== 'boolean') mistakes.enabled = 'Enabled should be true or false.';
  const priority = textOf(alertPriority);
  if (priority !== undefined && !/^P[1-5]$/.test(priority)) {
    mistakes.alertPriority = 'Priority should be one of [P1, P2, P3, P4, P5].';
  }
  if (Object.keys(mistakes).length > 0) throw notProcessable(mistakes);
  const { description, ownerTeam, alertTags } = body;
  const tags = typeof alertTags === 'string' ? alertTags.split(',') : alertTags;
  const message = textOf(body.alertMessage);
  const context: JsonObject = {
    ...(textOf(description) !== undefined && { description: textOf(description)! }),
    ...(isObject(ownerTeam) && { ownerTeam }),
    ...(message !== undefined && { title: message }),
    ...(Array.isArray(tags) && { tags: tags.flatMap(tag => textOf(tag)?.trim() || []).slice(0, 20) }),
    ...(priority !== undefined && { priority }),
  };
  const severity = priority === undefined ? undefined : (severityOf(priority) ?? undefined);
  return {
    ...(name && { name }),
    ...(letter && { every: `${Number(interval)}${letter}` }),
    ...(typeof enabled === 'boolean' && { enabled }),
    ...(severity && { severity }),
    ...(Object.keys(context).length > 0 && { context }),
  };
}

/** The mistakes that Belfry finds, such as an interval that is too long. */
function asRefusal(error: unknown): never {
  if (error instanceof AppError && error.kind === 'invalid') throw new Refusal(422, error.message);
  throw error;
}

function summarize({ name, enabled, status }: HeartbeatView) {
  return { name, enabled, expired: status === 'down' };
}

function show(view: HeartbeatView) {
  const { context, last_ping_at } = view;
  const { interval, intervalUnit } = intervalOf(view);
  const text = (field: string) => textOf(context?.[field]) ?? '';
  return {
    ...summarize(view),
    description: text('description'),
    interval,
    intervalUnit,
    ...(last_ping_at && { lastPingTime: last_ping_at.toISOString() }),
    ownerTeam: context?.ownerTeam ?? { id: '', name: '' },
    alertMessage: text('title') || `${view.name} is missing`,
    alertTags: Array.isArray(context?.tags) ? context.tags : [],
    alertPriority: text('priority') || 'P3',
  };
}

const units = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** That of a cron expression is the time between its next two occurrences. */
function intervalOf(view: HeartbeatView): { interval: number; intervalUnit: string } {
  const next = expectedAfter(view, currentTime());
  const ms = parseDuration(view.every) ?? expectedAfter(view, next) - next;
  const [intervalUnit, unitMs] = units.find(([, one]) => ms % one === 0) ?? units[2];
  return { interval: Math.max(1, Math.round(ms / unitMs)), intervalUnit };
}
