/**
 * Lists are bare arrays. Without a limit the whole list is streamed, a page of rows at a time by keyset: memory stays
 * flat for any length, and no connection or snapshot is held while a slow client reads.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { badCursor, type ListRow, type Page } from './route.ts';

const rowsAtOnce = 500;

type FetchPage = (page: Page<string>) => Promise<ListRow[]>;

export async function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  link: (path: string) => string,
  fetchPage: FetchPage,
  serialize: (row: unknown) => string,
): Promise<FastifyReply> {
  const { limit, cursor } = request.query as { limit?: number; cursor?: string };
  const after = cursor === undefined ? '' : parseCursor(cursor);
  reply.type('application/json; charset=utf-8').serializer((text: string) => text);

  if (limit !== undefined) {
    const rows = await fetchPage({ after, limit: limit + 1 });
    const page = rows.slice(0, limit);
    if (rows.length > limit) reply.header('link', `<${nextPage(request, link, page.at(-1)!)}>; rel="next"`);
    return reply.send(`[${page.map(serialize).join()}]`);
  }

  const first = await fetchPage({ after, limit: rowsAtOnce });
  if (first.length < rowsAtOnce) return reply.send(`[${first.map(serialize).join()}]`);
  if (request.method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(Readable.from(arrayText(first, fetchPage, serialize), { objectMode: false }));
}

async function* arrayText(first: ListRow[], fetchPage: FetchPage, serialize: (row: unknown) => string) {
  let rows = first;
  let opening = '[';
  while (rows.length > 0) {
    // The next rows are on their way while these are written.
    const next =
      rows.length < rowsAtOnce ? Promise.resolve([]) : fetchPage({ after: placeOf(rows.at(-1)!), limit: rowsAtOnce });
    next.catch(() => {}); // thrown below, where it is awaited
    yield opening + rows.map(serialize).join();
    opening = ',';
    rows = await next;
  }
  yield ']';
}

function nextPage(request: FastifyRequest, link: (path: string) => string, last: ListRow): string {
  const [path = '', query = ''] = request.url.split('?');
  const search = new URLSearchParams(query);
  search.set('cursor', Buffer.from(`after ${placeOf(last)}`).toString('base64url'));
  return link(`${path}?${search}`);
}

function placeOf(row: ListRow): string {
  return 'cursor' in row ? row.cursor : String(row.id);
}

function parseCursor(cursor: string): string {
  const [, place] = /^after ([^\0]+)$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (place === undefined) throw badCursor();
  return place;
}
