/**
 * Lists are bare arrays. Without a limit the whole list is streamed, a page of rows at a time by keyset: memory stays
 * flat for any length, and no connection or snapshot is held while a slow client reads.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resources } from './resolve.ts';
import { badCursor, type Call, type ListEndpoint, type ListRow, type Page } from './route.ts';

/** Their text stays below 128 KB as a rule: a larger one waits for the next full garbage collection. */
const rowsAtOnce = 500;

/** A part of a list. */
interface Stretch {
  /** Its rows as JSON, with commas between them. */
  text: string;
  /** What the next one comes after; undefined at the end of the list. */
  next: string | undefined;
}

type FetchStretch = (page: Page<string>) => Promise<Stretch>;

export async function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  link: (path: string) => string,
  fetchStretch: FetchStretch,
  /** Before the whole list goes out; not for a page, nor for HEAD, which reads nothing. */
  beforeWhole?: () => Promise<void>,
): Promise<FastifyReply> {
  const { limit, cursor } = request.query as { limit?: number; cursor?: string };
  const after = cursor === undefined ? '' : parseCursor(cursor);
  reply.type('application/json; charset=utf-8').serializer((text: string) => text);

  const first = await fetchStretch({ after, limit: limit ?? rowsAtOnce });
  if (limit === undefined && request.method !== 'HEAD') await beforeWhole?.();
  if (limit !== undefined && first.next !== undefined) {
    reply.header('link', `<${nextPage(request, link, first.next)}>; rel="next"`);
  }
  if (limit !== undefined || first.next === undefined) return reply.send(`[${first.text}]`);
  if (request.method === 'HEAD') return reply.send(Readable.from([]));
  // With an encoding text stays text on its way; as a buffer of its own each stretch cost as much again to collect.
  return reply.send(Readable.from(arrayText(first, fetchStretch), { objectMode: false, encoding: 'utf8' }));
}

/** As the database writes it where it can, else from rows. */
export async function readStretch(
  route: ListEndpoint,
  call: Call & Resources & { query: never },
  { after, limit }: Page<string>,
  serialize: (row: unknown) => string,
): Promise<Stretch> {
  const written = await route.written?.(call, { after, limit });
  if (written) return { text: written.text, next: written.more ? String(written.last) : undefined };
  const found = await route.list(call, { after, limit: limit + 1 });
  const { rows, next } = Array.isArray(found) ? { rows: found, next: undefined } : found;
  const wanted = rows.slice(0, limit);
  return { text: wanted.map(serialize).join(), next: rows.length > limit ? placeOf(wanted.at(-1)!) : next };
}

async function* arrayText(first: Stretch, fetchStretch: FetchStretch) {
  let stretch = first;
  let opening = '[';
  for (;;) {
    const { text, next } = stretch;
    // The next rows are on their way while these are written.
    const coming = next === undefined ? undefined : fetchStretch({ after: next, limit: rowsAtOnce });
    coming?.catch(() => {}); // thrown below, where it is awaited
    // Rows that were seen to come next may have gone since, and a look may find none. The comma goes apart: before the text
    // it would copy it.
    if (text !== '') {
      yield opening;
      yield text;
      opening = ',';
    }
    if (!coming) break;
    stretch = await coming;
  }
  yield opening === '[' ? '[]' : ']';
}

function nextPage(request: FastifyRequest, link: (path: string) => string, next: string): string {
  const [path = '', query = ''] = request.url.split('?');
  const search = new URLSearchParams(query);
  search.set('cursor', Buffer.from(`after ${next}`).toString('base64url'));
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
