/**
 * The tracked links of emails, and the picture that shows that one was opened: `/t/TOKEN`. The target is in the signed token,
 * so the redirect needs no database. The uses of an organization that has moved are counted by its new cell. A token that was not signed here never redirects.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findNewOrigin } from '../../services/configuration/paths/moves.ts';
import type { Deps } from '../../services/deps.ts';
import { findTrackedUse, TrackedUses } from '../../services/history/feedback/tracking.ts';
import { sendBroken } from './preference-page.ts';

/** A transparent GIF of one pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** A proxy or browser may keep neither: each use must reach Belfry, and the URL names a recipient. */
const headers = { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store', 'x-robots-tag': 'noindex' };

/** Programs that follow links on their own: crawlers, link previews and HTTP libraries. Not the image proxies of webmail. */
const programs =
  /(?<!cu)bot\b|crawl|spider|preview|facebookexternalhit|whatsapp|headless|curl\/|wget\/|python|go-http-client|java\/|libwww/i;

/** How often failures to store are logged. */
const logEveryMs = 60_000;

type TokenRequest = FastifyRequest<{ Params: { token: string } }>;

export function registerTracking(app: FastifyInstance, deps: Deps): void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const uses = new TrackedUses(deps, error => {
    if (performance.now() - loggedAt < logEveryMs) return;
    loggedAt = performance.now();
    app.log.warn({ err: error }, 'storing opens and clicks failed; they are not counted');
  });
  app.addHook('onClose', () => uses.drain());
  app.get('/t/:token', { schema: { hide: true } }, async (request: TokenRequest, reply) => {
    const use = findTrackedUse(deps, request.params.token);
    if (!use) return sendBroken(request, reply);
    // Without the database, the use is not counted anywhere.
    const newOrigin = await findNewOrigin(deps, use.organizationId).catch(() => undefined);
    if (newOrigin)
      return reply
        .code(307)
        .headers(headers)
        .header('location', newOrigin + request.url)
        .send();
    if (isCounted(request)) uses.record(use);
    reply.headers(headers);
    if (use.target === undefined) return reply.type('image/gif').send(pixel);
    return reply.code(302).header('location', use.target).send();
  });
}

/** Returns false for requests that no person made: HEAD, prefetching, and programs that say what they are. */
function isCounted({ method, headers }: FastifyRequest): boolean {
  const purpose = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].join(' ');
  const agent = headers['user-agent'] ?? '';
  return method === 'GET' && !/prefetch|preview|prerender/i.test(purpose) && agent !== '' && !programs.test(agent);
}
