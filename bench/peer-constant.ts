/** What a trigger cannot be faster than: the same framework checks the same body and answers a constant, nothing else. */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { TriggerBody } from '../src/core/trigger.ts';
import { Triggered } from '../src/http/schemas.ts';

const app = Fastify();
app.post(
  '/api/o/:org/p/:prj/a/:app/e/:evt/trigger/',
  { schema: { body: TriggerBody, response: { 201: Triggered } } },
  async (_request, reply) => {
    reply.code(201);
    return { occurrence: '019a8f3c-5a40-7cc1-9d6f-0e2b8a4c7d11' };
  },
);
await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`);
process.on('disconnect', () => process.exit(0));
