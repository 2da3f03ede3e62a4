/**
 * Serves the inbox component and its service worker for push messages, to all origins. With the demo organization, a demo
 * page shows the inbox of a fictional user, with a token that is valid for 15 minutes.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../../services/deps.ts';
import { createDemoToken, triggerDemo } from '../../services/operations/demo/demo.ts';
import { acceptedEncodings } from './console.ts';
import { page, send } from './reference.ts';

const dist = new URL('../../../console/dist/', import.meta.url);
const encodings = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
  { name: undefined, ending: '' },
];

interface FileVersion {
  madeAt: number;
  etag: string;
}

export function registerInboxFiles(app: FastifyInstance): void {
  const serve = (name: string, cacheControl: string) => {
    let version: FileVersion | undefined;
    app.get(`/${name}`, { schema: { hide: true } }, async (request, reply) => {
      version = await readVersion(name, version);
      return sendFile(name, version, cacheControl, request, reply);
    });
  };
  serve('inbox.js', 'public, max-age=3600, stale-while-revalidate=86400');
  // Browsers check for a new service worker regularly, and must not get a cached one.
  serve('inbox-sw.js', 'no-cache');
}

/** Reads the file again only if it was built again. */
async function readVersion(name: string, cached: FileVersion | undefined): Promise<FileVersion> {
  const madeAt = (await stat(new URL(name, dist)).catch(() => undefined))?.mtimeMs;
  if (madeAt === undefined)
    throw new AppError('path.not_found', `${name} is not built: run npm ci including development dependencies`);
  if (cached?.madeAt === madeAt) return cached;
  const digest = createHash('sha256')
    .update(await readFile(new URL(name, dist)))
    .digest('base64url');
  return { madeAt, etag: digest.slice(0, 22) };
}

async function sendFile(
  name: string,
  { etag }: FileVersion,
  cacheControl: string,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { v } = request.query as { v?: unknown };
  reply.headers({
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    // A URL that contains the hash never changes its content.
    'cache-control': v === etag ? 'public, max-age=31536000, immutable' : cacheControl,
    etag: `"${etag}"`,
    vary: 'accept-encoding',
  });
  if (request.headers['if-none-match']?.includes(`"${etag}"`)) return reply.code(304).send();
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  for (const encoding of encodings) {
    if (encoding.name !== undefined && !accepted.has(encoding.name)) continue;
    const bytes = await readFile(new URL(name + encoding.ending, dist)).catch(() => undefined);
    if (!bytes) continue;
    if (encoding.name) reply.header('content-encoding', encoding.name);
    return reply.type('text/javascript; charset=utf-8').send(bytes);
  }
  throw new AppError('path.not_found', `/${name} does not exist`);
}

export function registerInboxDemo(app: FastifyInstance, deps: Deps): void {
  const hidden = { schema: { hide: true } };
  const [html, css, script] = ['inbox-demo.html', 'inbox-demo.css', 'inbox-demo.js'].map(name => page(name));
  const policy = {
    'default-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  };
  const requireDemo = async () => {
    const demo = await createDemoToken(deps, currentTime());
    if (!demo)
      throw new AppError(
        'path.not_found',
        'there is no demo: it is created by the first start with an empty embedded database',
      );
    return demo;
  };
  app.get('/inbox-demo', hidden, async (request, reply) => {
    await requireDemo();
    return send(request, reply, html!, policy);
  });
  app.get('/pages/inbox-demo.css', hidden, async (request, reply) => send(request, reply, css!, policy));
  app.get('/pages/inbox-demo.js', hidden, async (request, reply) => send(request, reply, script!, policy));
  app.post('/inbox-demo/token', hidden, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send(await requireDemo()),
  );
  app.post('/inbox-demo/trigger', hidden, async (request, reply) => {
    // Other sites must not be able to make a visitor trigger something.
    if (!['same-origin', undefined].includes(request.headers['sec-fetch-site'] as string | undefined)) {
      throw new AppError('session.csrf', 'the request must come from the demo page');
    }
    await requireDemo();
    return reply.status(201).send({ occurrence: await triggerDemo(deps) });
  });
}
