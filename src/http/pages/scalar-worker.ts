/** Runs in a thread of its own: takes the reference's script out of its plugin, hands it over and ends. */
import { parentPort } from 'node:worker_threads';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

const app = Fastify();
await app.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
const { rawPayload } = await app.inject('/docs/js/scalar.js');
parentPort?.postMessage(new Uint8Array(rawPayload));
