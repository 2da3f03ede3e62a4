/**
 * The web console: the files that scripts/console.ts built, and index.html for every address that is the console's
 * own to understand. Its Content-Security-Policy allows what comes from here; styles that scripts make carry a nonce.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';

const dist = fileURLToPath(new URL('../../console/dist/', import.meta.url));

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** The browser's first choice among those that the build made. */
const encodings = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
];

/** What the console never answers for, so that a mistyped address of the API is an error and no page. */
const notItsOwn = /^\/(inbox-demo|api|docs|pages|assets|healthz|readyz|metrics|openapi\.json)(\/|\?|$)/;

interface Built {
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
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Answers with the function that shows the console at an address nobody else knows, if that is what was asked for. */
export function registerConsole(app: FastifyInstance) {
  const hidden = { schema: { hide: true } };
  for (const address of ['/assets/*', '/belfry.svg', '/scheme.js']) app.get(address, hidden, sendFile);
  app.get('/', hidden, sendIndex);
  app.get('/frame', hidden, sendFrame);

  return (request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined => {
    const looks = request.method === 'GET' || request.method === 'HEAD';
    const wantsPage = /\btext\/html\b/.test(request.headers.accept ?? '');
    return looks && wantsPage && !notItsOwn.test(request.url) ? sendIndex(request, reply) : undefined;
  };
}

let found: (Built & { madeAt: number }) | undefined;

/** Looked for again whenever index.html is another one: it may be built while the server runs. */
function findBuilt(): Built | undefined {
  const file = path.join(dist, 'index.html');
  const madeAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (madeAt === undefined) return undefined;
  if (found?.madeAt === madeAt) return found;
  const index = readFileSync(file, 'utf8');
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const etag = `"${createHash('sha256').update(index).digest('base64url').slice(0, 22)}"`;
  found = { madeAt, index, etag, files: new Set(names.map(name => `/${name.replaceAll(path.sep, '/')}`)) };
  return found;
}

/**
 * An empty page for the HTML of a message: the console writes into it. It brings a policy of its own, because a frame
 * without an address inherits the console's, which forbids the styles that emails are made of. No script runs in it,
 * whatever the message holds.
 */
function sendFrame(_request: FastifyRequest, reply: FastifyReply) {
  const rules = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; font-src https: data:";
  reply.headers({
    'content-security-policy': `${rules}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
  const page = '<!doctype html><html lang="en"><head><meta charset="utf-8" /><title>Message</title></head></html>';
  return reply.type('text/html; charset=utf-8').send(page);
}

/**
 * The page is the same for everybody but for the nonce. A browser that has it keeps the nonce it came with: the policy
 * is left out of "not modified", and the one that is stored with the page goes on.
 */
function sendIndex(request: FastifyRequest, reply: FastifyReply) {
  const built = findBuilt();
  reply.headers({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
  reply.type('text/html; charset=utf-8');
  const nonce = randomBytes(16).toString('base64url');
  if (!built) return reply.code(503).header('content-security-policy', policy(nonce)).send(notBuilt);
  reply.header('etag', built.etag);
  if (request.headers['if-none-match']?.includes(built.etag))
    return reply.code(304).removeHeader('content-type').send();
  return reply.header('content-security-policy', policy(nonce)).send(built.index.replaceAll('{{nonce}}', nonce));
}

const notBuilt = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Belfry</title></head>
  <body>
    <p>The console is not built: run <code>npm ci</code> with its development packages, then look again.
      The API works, and its reference is at <a href="/docs">/docs</a>.</p>
  </body>
</html>
`;

/** Names with a hash in them never change what they hold; the two without are asked for again. */
async function sendFile(request: FastifyRequest, reply: FastifyReply) {
  const built = findBuilt();
  const name = request.url.split('?')[0]!;
  const type = types[path.extname(name)];
  if (!built?.files.has(name) || !type) {
    throw new AppError('path.not_found', `there is nothing at ${name}: see /docs`);
  }
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  const encoding = encodings.find(each => accepted.has(each.name) && built.files.has(name + each.ending));
  const hashed = name.startsWith('/assets/');
  reply.headers({
    'x-content-type-options': 'nosniff',
    'cache-control': hashed ? 'public, max-age=31536000, immutable' : 'public, max-age=3600',
    vary: 'accept-encoding',
    ...(encoding && { 'content-encoding': encoding.name }),
  });
  return reply.type(type).send(await readFile(path.join(dist, `.${name}${encoding?.ending ?? ''}`)));
}

/** `br;q=0` means "anything but that". */
export function acceptedEncodings(header = ''): Set<string> {
  const choices = header.split(',').map(choice =>
    choice
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/),
  );
  return new Set(choices.filter(([, quality]) => Number(quality ?? 1) > 0).map(([name]) => name!));
}
