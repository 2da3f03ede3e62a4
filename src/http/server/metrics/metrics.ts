/**
 * Prometheus metrics: requests by route and status, their duration, the connection pool, the event loop, the backlog, and
 * the engine of this process (engine/telemetry/meters.ts). Served next to the API or on their own port, behind a token if one is set.
 * Callers cannot add labels: requests that match no route, or use a method that no route has, share one label value.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
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
import { AppError } from '../../../core/errors.ts';
import type { Deps } from '../../../services/deps.ts';
import type { OutboxDrains } from '../../../services/operations/outbox-drains.ts';
import { explainListen } from '../listen-error.ts';
import { registerBacklog } from './backlog.ts';
import { registerLevels } from './levels.ts';
import { registerOutboxes } from './outboxes.ts';
import { readings } from './readings.ts';
import { registerReplicas } from './replicas.ts';

interface MetricsSources {
  deps: Deps;
  /** Absent if this process drains no outbox. */
  outboxes?: OutboxDrains;
  /** Counts reported by the engine of this process. */
  engineCounts: { missingVariables: number };
  /** Reads the metrics of the engine's thread; undefined if it does not answer. Absent if this process has no engine. */
  readEngine?: () => Promise<MetricObjectWithValues<MetricValue<string>>[] | undefined>;
  /** State of the connection pool, read on each scrape. */
  pool: () => { total: number; idle: number; waiting: number };
}

export interface Metrics {
  /** Counts a finished request. */
  observe(method: string, route: string | undefined, status: number, seconds: number): void;
  read(): Promise<{ type: string; text: string }>;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function createMetrics({ deps, outboxes, engineCounts, readEngine, pool }: MetricsSources): Metrics {
  const registry = new Registry();
  // Started by the first scrape: they need a timer, and an idle process without scrapes should not wake up.
  let startDefaults = () => {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
    startDefaults = () => {};
  };
  const requests = new Counter({
    name: 'belfry_http_requests_total',
    help: 'HTTP requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'belfry_http_request_duration_seconds',
    help: 'Time from request to response.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const { gauge, counter } = readings(registry);
  gauge(
    'belfry_database_connections',
    'Database connections of the pool, and callers waiting for one.',
    ['state'],
    () => {
      const { total, idle, waiting } = pool();
      return Object.entries({ busy: total - idle, idle, waiting }).map(([state, count]) => [{ state }, count]);
    },
  );
  gauge('belfry_triggers_waiting', 'Triggers waiting to be stored.', [], () => deps.triggers.waiting);
  gauge('belfry_inbox_streams', 'Open inbox streams.', [], () => deps.inboxStreams.count);
  counter(
    'belfry_missing_variables_total',
    'Messages rendered although the context lacked some of their variables.',
    [],
    () => engineCounts.missingVariables,
  );
  counter(
    'belfry_feedback_events_total',
    'Reports about sent messages that were received, by source and type.',
    ['source', 'type'],
    () =>
      [...deps.feedbackCounts].map(([key, count]) => {
        const [source = '', type = ''] = key.split(' ');
        return [{ source, type }, count];
      }),
  );
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
  registerLevels(registry, deps);
  if (outboxes) registerOutboxes(registry, outboxes);
  if (deps.replicaReads) registerReplicas(registry, deps.replicaReads.replicas);
  // In its own registry, to be added up with the engine's counter of the same name.
  const shared = new Registry();
  readings(shared).counter('belfry_occurrences_total', 'Occurrences ended, by outcome.', ['outcome'], () =>
    [...deps.endedByOutcome].map(([outcome, count]) => [{ outcome }, count]),
  );
  const engineUp =
    readEngine &&
    new Gauge({
      name: 'belfry_engine_up',
      help: '1 if the engine of this process answers, else 0.',
      registers: [registry],
    });

  return {
    observe(requested, route = 'none', status, elapsed) {
      const method = methods.has(requested) ? requested : 'other';
      requests.inc({ method, route, status });
      seconds.observe({ method, route }, elapsed);
    },
    read: onceAtATime(async () => {
      startDefaults();
      const engine = await readEngine?.();
      engineUp?.set(engine ? 1 : 0);
      const parts = [await registry.metrics()];
      const own = await shared.getMetricsAsJSON();
      parts.push(await AggregatorRegistry.aggregate(engine ? [engine, own] : [own]).metrics());
      return { type: registry.contentType, text: parts.join('\n') };
    }),
  };
}

/** Reading takes 30 ms and asks the database, so requests within this time get the same answer. */
const maxAgeMs = 1_000;

/** Concurrent calls share one read, and its result is used for `maxAgeMs`. A failure is not kept. */
function onceAtATime<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  let readUntil = 0;
  return () => {
    if (reading && performance.now() < readUntil) return reading;
    readUntil = Number.POSITIVE_INFINITY;
    reading = read();
    const forget = (ageMs: number) => () => {
      readUntil = performance.now() + ageMs;
    };
    reading.then(forget(maxAgeMs), forget(0));
    return reading;
  };
}

export interface MetricsAccess {
  /** Whether metrics are served on their own port instead of next to the API. */
  ownPort: boolean;
  token: string | undefined;
  /** Whether other machines can reach the API: metrics are then served next to it only with a token. */
  isPublic: boolean;
}

export function registerMetrics(app: FastifyInstance, metrics: Metrics, access: MetricsAccess): void {
  const { ownPort, token, isPublic } = access;
  app.addHook('onResponse', async (request, reply) =>
    metrics.observe(request.method, request.routeOptions.url, reply.statusCode, reply.elapsedTime / 1_000),
  );
  if (ownPort) return;
  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    if (isPublic && token === undefined) {
      throw new AppError(
        'metrics.closed',
        'HOST is not a loopback address: set METRICS_TOKEN to read metrics here, or METRICS_PORT to serve them on their own port',
      );
    }
    if (!isAllowed(request.headers.authorization, token)) {
      throw new AppError('metrics.token', 'send the token in the header Authorization: Bearer <METRICS_TOKEN>');
    }
    const { type, text } = await metrics.read();
    return reply.type(type).send(text);
  });
}

/** Creates a server with nothing but `/metrics`; the caller starts it. */
export function createMetricsServer(metrics: Metrics, token: string | undefined): Server {
  return createServer({ requestTimeout: 10_000 }, (request, response) => {
    const end = (status: number, text: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text);
    if (request.url?.split('?')[0] !== '/metrics') return end(404, 'Not found: this port serves only /metrics.\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return end(405, 'Method not allowed: use GET.\n', { allow: 'GET, HEAD' });
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

/** Starts the server, and returns its URL. */
export async function listenForMetrics(
  server: Server,
  { host, port = 0 }: { host: string; port: number | undefined },
  log: FastifyBaseLogger,
): Promise<string> {
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    throw explainListen(error, 'METRICS_PORT', { host, port });
  }
  const { address, port: chosen, family } = server.address() as AddressInfo;
  const where = `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}/metrics`;
  log.info(`metrics are served at ${where}`);
  return where;
}

/** Compares hashes, so that the duration reveals nothing about the token. */
function isAllowed(authorization: string | undefined, token: string | undefined): boolean {
  if (token === undefined) return true;
  const [, presented = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(hash('sha256', presented, 'buffer'), hash('sha256', token, 'buffer'));
}
