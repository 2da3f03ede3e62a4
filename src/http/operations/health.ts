/** Liveness (`/healthz`) and readiness (`/readyz`), for load balancers and orchestrators. */
import type { FastifyInstance } from 'fastify';
import { lookUp } from '../../core/lookup.ts';
import type { Deps } from '../../services/deps.ts';
import { isStuck, type WorkerRounds } from '../../services/operations/backlog.ts';
import { checkHealth, clockCheck, replicaCheck, sendingCheck } from '../../services/operations/health.ts';
import { checkSecrets, secretsCheck } from '../../services/operations/secrets.ts';

const harmless: Record<string, string> = {
  [sendingCheck]: 'sending is paused',
  [replicaCheck]: 'a replica is not used',
  [secretsCheck]: 'secrets cannot be decrypted',
  [clockCheck]: 'the clock of this machine is wrong',
};

export function registerHealth(app: FastifyInstance, deps: Deps, rounds?: WorkerRounds): void {
  const hidden = { schema: { hide: true } };
  app.get('/healthz', hidden, async (_request, reply) => {
    if (!rounds || !(await isStuck(deps, rounds, performance.now()))) return { status: 'ok' };
    return reply.code(503).send({ status: 'stuck: the worker has not finished a round for five minutes' });
  });
  app.get('/readyz', hidden, async (_request, reply) => {
    const checks = await checkHealth(deps, rounds, performance.now());
    if (checks.some(({ ok }) => ok)) checks.push(await checkSecrets(deps));
    const failed = checks.filter(check => !check.ok).map(({ name }) => name);
    // Even if nothing can be sent, triggers are accepted: a process out of service would lose them.
    const ready = failed.every(name => lookUp(harmless, name));
    const status = ready ? ['ready', ...new Set(failed.map(name => lookUp(harmless, name)))].join(', ') : 'not ready';
    return reply.code(ready ? 200 : 503).send({ status, checks });
  });
}
