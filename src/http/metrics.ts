/**
 * What Prometheus reads: requests by route and status, their time, the connection pool, the event loop, the backlog, and
 * what the engine of this process counts (engine/meters.ts). Beside the API or
 * on a port of their own, and behind a token if there is one. No caller can add to the labels: routes are those of the
 * table, and what is none of them, or comes with a method that no route takes, is counted under one name.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../services/deps.ts';
import type { OutboxDrains } from '../services/outbox-drains.ts';
import { registerBacklog } from './metrics-backlog.ts';
import { registerOutboxes } from './metrics-outboxes.ts';

export interface MetricsSources {
  deps: Deps;
  /** Absent: this process drains none. */
  outboxes?: OutboxDrains;
  /** What the engine of this process has told. */
  engineCounts: { missingVariables: number };
  /** What the engine's thread counts about itself; undefined when it does not answer. Absent: this process has none. */
  readEngine?: () => Promise<MetricObjectWithValues<MetricValue<string>>[] | undefined>;
  /** Gauges of the connection pool, read when somebody looks. */
  pool: () => { total: number; idle: number; waiting: number };
}

export interface Metrics {
  /** One request that was answered. */
  observe(method: string, route: string | undefined, status: number, seconds: number): void;
  read(): Promise<{ type: string; text: string }>;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function createMetrics({ deps, outboxes, engineCounts, readEngine, pool }: MetricsSources): Metrics {
  const registry = new Registry();
  // From the first time on that somebody reads them: it takes a clock that wakes the process, which should sleep when idle.
  let startDefaults = () => {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
    startDefaults = () => {};
  };
  const requests = new Counter({
    name: 'belfry_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'belfry_http_request_duration_seconds',
    help: 'Time from request to answer.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  new Gauge({
    name: 'belfry_database_connections',
    help: 'Connections of the pool, and callers waiting for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { total, idle, waiting } = pool();
      this.set({ state: 'busy' }, total - idle);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Gauge({
    name: 'belfry_triggers_waiting',
    help: 'Triggers that wait to be stored.',
    registers: [registry],
    collect() {
      this.set(deps.occurrences.waiting);
    },
  });

  new Gauge({
    name: 'belfry_inbox_streams',
    help: 'Streams of inboxes that are open.',
    registers: [registry],
    collect() {
      this.set(deps.inboxStreams.count);
    },
  });

  new Counter({
    name: 'belfry_missing_variables_total',
    help: 'Messages that were written although the context lacked variables of theirs.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(engineCounts.missingVariables);
    },
  });

  new Histogram({
    name: 'belfry_acknowledge_seconds',
    help: 'Time from a trigger to its acknowledgement.',
    buckets: [10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400],
    registers: [registry],
    collect() {
      for (const ms of deps.acknowledgementTimes.take()) this.observe(ms / 1_000);
    },
  });

  registerBacklog(registry, deps);
  if (outboxes) registerOutboxes(registry, outboxes);
  // The engine counts under the same name.
  const alike = new Registry();
  new Counter({
    name: 'belfry_occurrences_total',
    help: 'Occurrences that have ended, by outcome.',
    labelNames: ['outcome'],
    registers: [alike],
    collect() {
      this.reset();
      for (const [outcome, count] of deps.ended) this.inc({ outcome }, count);
    },
  });
  const engineUp =
    readEngine &&
    new Gauge({
      name: 'belfry_engine_up',
      help: "Whether this process's engine answers.",
      registers: [registry],
    });

  return {
    observe(given, route = 'none', status, elapsed) {
      const method = methods.has(given) ? given : 'other';
      requests.inc({ method, route, status });
      seconds.observe({ method, route }, elapsed);
    },
    async read() {
      startDefaults();
      const engine = await readEngine?.();
      engineUp?.set(engine ? 1 : 0);
      const parts = [await registry.metrics()];
      const own = await alike.getMetricsAsJSON();
      parts.push(await AggregatorRegistry.aggregate(engine ? [engine, own] : [own]).metrics());
      return { type: registry.contentType, text: parts.join('\n') };
    },
  };
}

export interface MetricsAccess {
  /** Whether they are read there, and not beside the API. */
  ownPort: boolean;
  token: string | undefined;
}

export function registerMetrics(app: FastifyInstance, metrics: Metrics, { ownPort, token }: MetricsAccess): void {
  app.addHook('onResponse', async (request, reply) =>
    metrics.observe(request.method, request.routeOptions.url, reply.statusCode, reply.elapsedTime / 1_000),
  );
  if (ownPort) return;
  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    if (!isAllowed(request.headers.authorization, token)) {
      throw new AppError('metrics.token', 'send the token in the header Authorization: Bearer <METRICS_TOKEN>');
    }
    const { type, text } = await metrics.read();
    return reply.type(type).send(text);
  });
}

/** A server with nothing but `/metrics`, which the caller lets listen. */
export function createMetricsServer(metrics: Metrics, token: string | undefined): Server {
  return createServer({ requestTimeout: 10_000 }, (request, response) => {
    const end = (status: number, text: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text);
    if (request.url?.split('?')[0] !== '/metrics') return end(404, 'There is nothing but /metrics here.\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return end(405, 'GET is all that /metrics takes.\n', { allow: 'GET, HEAD' });
    }
    if (!isAllowed(request.headers.authorization, token)) {
      return end(401, 'Send the header Authorization: Bearer <METRICS_TOKEN>.\n', { 'www-authenticate': 'Bearer' });
    }
    return metrics.read().then(
      ({ type, text }) => end(200, text, { 'content-type': type }),
      () => end(500, 'The metrics could not be read.\n'),
    );
  });
}

/** Compared as hashes: how long it takes tells nothing of the token. */
function isAllowed(authorization: string | undefined, token: string | undefined): boolean {
  if (token === undefined) return true;
  const [, given = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}
