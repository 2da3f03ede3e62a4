/**
 * What a page needs to show an inbox: the component, and the service worker that shows what is pushed. Other origins may load both.
 * Where the demo is, a page shows it: it gets a token that is good for a quarter of an hour, of a person whom nobody is.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import { createDemoToken } from '../services/demo.ts';
import type { Deps } from '../services/deps.ts';
import { acceptedEncodings } from './console.ts';
import { page, send } from './pages.ts';

const dist = new URL('../../console/dist/', import.meta.url);
const encodings = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
  { name: undefined, ending: '' },
];

interface Built {
  madeAt: number;
  etag: string;
}

export function registerInboxFiles(app: FastifyInstance): void {
  const serve = (name: string, cacheControl: string) => {
    let built: Built | undefined;
    app.get(`/${name}`, { schema: { hide: true } }, async (request, reply) => {
      built = await findBuilt(name, built);
      return sendBuilt(name, built, cacheControl, request, reply);
    });
  };
  serve('inbox.js', 'public, max-age=3600, stale-while-revalidate=86400');
  // A browser looks for a new one by itself, and must find it.
  serve('inbox-sw.js', 'no-cache');
}

/** Read again when it was built anew. */
async function findBuilt(name: string, known: Built | undefined): Promise<Built> {
  const madeAt = (await stat(new URL(name, dist)).catch(() => undefined))?.mtimeMs;
  if (madeAt === undefined)
    throw new AppError('path.not_found', `${name} is not built: run npm ci with its development packages`);
  if (known?.madeAt === madeAt) return known;
  const digest = createHash('sha256')
    .update(await readFile(new URL(name, dist)))
    .digest('base64url');
  return { madeAt, etag: digest.slice(0, 22) };
}

async function sendBuilt(
  name: string,
  { etag }: Built,
  cacheControl: string,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { v } = request.query as { v?: unknown };
  reply.headers({
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    // Asked for by its hash it never changes.
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
  throw new AppError('path.not_found', `there is nothing at /${name}`);
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
    const demo = await createDemoToken(deps, Date.now());
    if (!demo)
      throw new AppError('path.not_found', 'there is no demo here: it comes with the first start of an empty database');
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
}
