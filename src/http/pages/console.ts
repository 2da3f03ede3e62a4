/**
 * Serves the web console: the files build by scripts/console.ts, and index.html for every path that the console routes
 * itself. The Content-Security-Policy allows only this origin; styles created by scripts carry a nonce.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import { lookUp } from '../../core/lookup.ts';

const dist = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Encodings that the build creates, in order of preference. */
const encodings = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
];

/** The service worker of the pager. Browsers check for a new one at each visit, and must not get a cached one. */
const worker = '/console-sw.js';

/** Paths that never show the console, so that a mistyped API path is an error and not a page. */
const reservedPaths = /^\/(inbox-demo|api|docs|pages|assets|healthz|readyz|metrics|openapi\.json)(\/|\?|$)/;

interface ConsoleBuild {
  files: Set<string>;
  index: string;
  etag: string;
}

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Registers the console. Returns a handler for unmatched paths, which sends the console to browsers that ask for a page. */
export function registerConsole(app: FastifyInstance) {
  const hidden = { schema: { hide: true } };
  const named = [
    '/belfry.svg',
    '/icon-180.png',
    '/icon-192.png',
    '/icon-512.png',
    '/manifest.webmanifest',
    '/scheme.js',
  ];
  for (const address of ['/assets/*', worker, ...named]) app.get(address, hidden, sendFile);
  app.get('/', hidden, sendIndex);
  app.get('/frame', hidden, sendFrame);

  return (request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const wantsPage = /\btext\/html\b/.test(request.headers.accept ?? '');
    return isRead && wantsPage && !reservedPaths.test(request.url) ? sendIndex(request, reply) : undefined;
  };
}

let cached: (ConsoleBuild & { madeAt: number }) | undefined;

/** Reads the build again when index.html has changed: it may be build while the server runs. */
function readBuild(): ConsoleBuild | undefined {
  const file = path.join(dist, 'index.html');
  const madeAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (madeAt === undefined) return undefined;
  if (cached?.madeAt === madeAt) return cached;
  const index = readFileSync(file, 'utf8');
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const etag = `"${createHash('sha256').update(index).digest('base64url').slice(0, 22)}"`;
  cached = { madeAt, index, etag, files: new Set(names.map(name => `/${name.replaceAll(path.sep, '/')}`)) };
  return cached;
}

/** Links of a message open in a new tab, which is not restricted like the frame. The same as in html-frame.tsx. */
const sandbox = 'allow-same-origin allow-popups allow-popups-to-escape-sandbox';

/**
 * Sends an empty page for a frame in which the console shows the HTML of a message. It has its own policy, because a frame
 * without a URL inherits the console's, which blocks the inline styles of emails. Scripts never run in it.
 */
function sendFrame(_request: FastifyRequest, reply: FastifyReply) {
  const rules = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; font-src https: data:";
  reply.headers({
    'content-security-policy': `${rules}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox ${sandbox}`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
  const page = '<!doctype html><html lang="en"><head><meta charset="utf-8" /><title>Message</title></head></html>';
  return reply.type('text/html; charset=utf-8').send(page);
}

/**
 * Only the nonce differs between responses. A 304 response leaves out the policy, so that a cached page keeps the policy
 * with the nonce it was sent with.
 */
function sendIndex(request: FastifyRequest, reply: FastifyReply) {
  const build = readBuild();
  reply.headers({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
  reply.type('text/html; charset=utf-8');
  const nonce = randomBytes(16).toString('base64url');
  if (!build) return reply.code(503).header('content-security-policy', policy(nonce)).send(notBuilt);
  reply.header('etag', build.etag);
  if (request.headers['if-none-match']?.includes(build.etag))
    return reply.code(304).removeHeader('content-type').send();
  return reply.header('content-security-policy', policy(nonce)).send(build.index.replaceAll('{{nonce}}', nonce));
}

const notBuilt = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Belfry</title></head>
  <body>
    <p>The console is not build. Run <code>npm ci</code> including development dependencies, then reload this page.
      The API works; its reference is at <a href="/docs">/docs</a>.</p>
  </body>
</html>
`;

/** Files with a hash in their name never change; those without one are revalidated after an hour, the service worker always. */
async function sendFile(request: FastifyRequest, reply: FastifyReply) {
  const build = readBuild();
  const name = request.url.split('?')[0]!;
  const type = lookUp(types, path.extname(name));
  if (!build?.files.has(name) || !type) {
    throw new AppError('path.not_found', `${name} does not exist: see /docs`);
  }
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  const encoding = encodings.find(each => accepted.has(each.name) && build.files.has(name + each.ending));
  const hashed = name.startsWith('/assets/');
  reply.headers({
    'x-content-type-options': 'nosniff',
    'cache-control': hashed
      ? 'public, max-age=31536000, immutable'
      : name === worker
        ? 'no-cache'
        : 'public, max-age=3600',
    // A worker has its own policy: it loads no code, and asks this server only.
    ...(name === worker && { 'content-security-policy': "default-src 'none'; connect-src 'self'" }),
    vary: 'accept-encoding',
    ...(encoding && { 'content-encoding': encoding.name }),
  });
  return reply.type(type).send(await readFile(path.join(dist, `.${name}${encoding?.ending ?? ''}`)));
}

/** Parses Accept-Encoding. `br;q=0` excludes an encoding. */
export function acceptedEncodings(header = ''): Set<string> {
  const choices = header.split(',').map(choice =>
    choice
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/),
  );
  return new Set(choices.filter(([, quality]) => Number(quality ?? 1) > 0).map(([name]) => name!));
}
