/** What Prometheus reads: requests by route and status, their time, the connection pool, the event loop. */
import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Deps } from '../services/deps.ts';

interface Sources {
  deps: Deps;
  /** What the engine of this process has told. */
  engineCounts: { missingVariables: number };
  pool: () => { total: number; idle: number; waiting: number };
}

export function registerMetrics(app: FastifyInstance, { deps, engineCounts, pool }: Sources): void {
  const registry = new Registry();
  // A coarser clock than the default: an idle process should sleep.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
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

  new Counter({
    name: 'belfry_missing_variables_total',
    help: 'Messages that were written although the context lacked variables of theirs.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(engineCounts.missingVariables);
    },
  });

  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    requests.inc({ method: request.method, route, status: reply.statusCode });
    seconds.observe({ method: request.method, route }, reply.elapsedTime / 1_000);
  });
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    const text = await registry.metrics();
    return reply.type(registry.contentType).send(text);
  });
}
