/**
 * The API reference and the list of error codes; docs/ has the guides. All files come from this server, and the
 * Content-Security-Policy blocks connections to other hosts.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, type ErrorKind, errorList } from '../../core/errors.ts';
import { statuses } from '../server/errors.ts';
import { scalarScript } from './scalar.ts';

export interface Document {
  type: string;
  body: Buffer;
  etag: string;
}

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
  png: 'image/png',
};
type Extension = keyof typeof types;

const assets = ['belfry.svg', 'docs.css', 'docs.js', 'guide.css', 'guide.js', 'page.css', 'preferences.css'];

export const policy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};
// Scalar uses inline styles, and embeds images and fonts in its script.
const referencePolicy = {
  ...policy,
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data: blob:",
  'font-src': 'data:',
};

export function registerPages(app: FastifyInstance): void {
  const serve = (path: string, document: Document | (() => Promise<Document>), rules = policy) => {
    const handler = async (request: FastifyRequest, reply: FastifyReply) =>
      send(request, reply, typeof document === 'function' ? await document() : document, rules);
    app.get(path, { schema: { hide: true } }, handler);
  };

  serve('/docs', page('docs.html'), referencePolicy);
  let script: Document | undefined;
  serve('/docs/js/scalar.js', async () => (script ??= toDocument('js', await scalarScript())));
  serve('/docs/problems/', page('problems.html', { rows: problemRows() }));
  for (const name of assets) serve(`/pages/${name}`, page(name));
}

/** Browsers cache the document and revalidate it on each use, so a new version appears immediately. */
export function send(request: FastifyRequest, reply: FastifyReply, document: Document, rules: Record<string, string>) {
  reply.headers({
    'content-security-policy': Object.entries(rules)
      .map(rule => rule.join(' '))
      .join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    etag: document.etag,
  });
  if (request.headers['if-none-match']?.includes(document.etag)) return reply.code(304).send();
  return reply.type(document.type).send(document.body);
}

export function page(name: string, values: Record<string, string> = {}): Document {
  const text = readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8');
  const filled = text.replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? '');
  return toDocument(name.split('.').at(-1) as Extension, Buffer.from(filled));
}

export function toDocument(extension: Extension, body: Buffer): Document {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { type: types[extension], body, etag };
}

function problemRows(): string {
  return errorList.map(problemRow).join('\n');
}

function problemRow({ code, kind, title }: (typeof errorList)[number]): string {
  const name = `<a href="#${code}"><code>${code.replace('.', '.<wbr />')}</code></a>`;
  return `<tr id="${code}"><td>${name}</td><td>${statusOf(code, kind)}</td><td>${title}</td></tr>`;
}

/** Empty for codes that the API never returns: other internal errors become `service.internal`; settings and arguments are the CLI's. */
function statusOf(code: ErrorCode, kind: ErrorKind): string {
  const hidden = (kind === 'internal' && code !== 'service.internal') || /^(config|usage)\./.test(code);
  return hidden ? '' : String(statuses[kind]);
}
