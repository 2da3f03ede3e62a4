/** Is it alive, can it work: for load balancers and orchestrators. */
import type { FastifyInstance } from 'fastify';
import type { Deps } from '../services/deps.ts';
import { checkHealth, sendingCheck } from '../services/health.ts';
import type { WorkerRounds } from '../services/queue.ts';

export function registerHealth(app: FastifyInstance, deps: Deps, rounds?: WorkerRounds): void {
  const hidden = { schema: { hide: true } };
  app.get('/healthz', hidden, async () => ({ status: 'ok' }));
  app.get('/readyz', hidden, async (_request, reply) => {
    const checks = await checkHealth(deps, rounds, Date.now());
    const wrong = checks.filter(check => !check.ok);
    // Triggers are still accepted: taking the process out of service would lose them.
    const ready = wrong.every(({ name }) => name === sendingCheck);
    const status = ready ? (wrong.length > 0 ? 'ready, sending is paused' : 'ready') : 'not ready';
    return reply.code(ready ? 200 : 503).send({ status, checks });
  });
}
