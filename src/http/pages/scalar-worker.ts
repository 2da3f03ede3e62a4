/** Runs in its own thread: extracts the script from Scalar's plugin, posts it to the parent and exits. */
import { parentPort } from 'node:worker_threads';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

const app = Fastify();
await app.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
const { rawPayload } = await app.inject('/docs/js/scalar.js');
parentPort?.postMessage(new Uint8Array(rawPayload));
