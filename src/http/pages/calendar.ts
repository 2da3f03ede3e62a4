/** Calendar feeds: `/calendar/TOKEN.ics`. The token in the address authenticates, because calendars send no credentials. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import { FailureCount } from '../../lib/load/failure-count.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { findFeed, writeFeed } from '../../services/audience/on-call/feeds.ts';
import type { Deps } from '../../services/deps.ts';
import { etagOf } from '../server/etag.ts';

/** Requests for one calendar and process: enough for all devices of a team, which ask once an hour. */
const maxRequests = 60;
const windowMs = 60_000;

export function registerCalendar(app: FastifyInstance, deps: Deps): void {
  const counts = new FailureCount(maxRequests, windowMs);
  app.get('/calendar/:file', { schema: { hide: true } }, async (request: FastifyRequest, reply) => {
    const { file } = request.params as { file: string };
    const feed = await findFeed(deps, file.replace(/\.ics$/, ''));
    const key = `${feed.organizationId} ${feed.of} ${feed.id}`;
    const now = currentTime();
    const waitMs = counts.waitMs(key, now);
    if (waitMs > 0) {
      const retryAfterSeconds = Math.ceil(waitMs / 1_000);
      throw new AppError('calendar.limited', `ask again in ${retryAfterSeconds} s`, { retryAfterSeconds });
    }
    counts.record(key, now);
    const text = await writeFeed(deps, feed);
    const etag = etagOf(text);
    reply.headers({
      etag,
      'cache-control': 'private, no-cache',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
    if (isCached(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('text/calendar; charset=utf-8').send(text);
  });
}

function isCached(header: string | undefined, etag: string): boolean {
  return header?.split(',').some(tag => ['*', etag].includes(tag.trim().replace(/^W\//, ''))) ?? false;
}
