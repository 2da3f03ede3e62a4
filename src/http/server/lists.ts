/**
 * Lists are bare JSON arrays. Without a limit the whole list is streamed, one keyset page at a time: memory use does not
 * grow with the list, and no connection or snapshot is held while a slow client reads.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resources } from '../resolve.ts';
import { badCursor, type Call, type ListEndpoint, type ListRow, type Page } from './route.ts';

/** Keeps the text of a chunk below 128 KB as a rule: larger strings stay in memory until the next full collection. */
const rowsPerChunk = 500;

/** A part of a list, as text. */
interface Chunk {
  /** Rows as JSON, separated by commas. */
  text: string;
  /** Where the next chunk continues; undefined at the end of the list. */
  next: string | undefined;
}

type FetchChunk = (page: Page<string>) => Promise<Chunk>;

export async function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  link: (path: string) => string,
  fetchChunk: FetchChunk,
  /** Called before a whole list is sent, but not for a page or HEAD. */
  beforeWhole?: () => Promise<void>,
  /** The time as of which the list may be read from a replica. Later pages are not older than the first one. */
  asOf?: number,
): Promise<FastifyReply> {
  const { limit, cursor } = request.query as { limit?: number; cursor?: string };
  const { position: after, asOf: since } = cursor === undefined ? { position: '' } : parseCursor(cursor);
  reply.type('application/json; charset=utf-8').serializer((text: string) => text);

  const first = await fetchChunk({ after, limit: limit ?? rowsPerChunk });
  if (limit === undefined && request.method !== 'HEAD') await beforeWhole?.();
  if (limit !== undefined && first.next !== undefined) {
    reply.header(
      'link',
      `<${nextPage(request, link, first.next, asOf === undefined ? undefined : (since ?? asOf))}>; rel="next"`,
    );
  }
  if (limit !== undefined || first.next === undefined) return reply.send(`[${first.text}]`);
  if (request.method === 'HEAD') return reply.send(Readable.from([]));
  // With an encoding, text is not converted to buffers, which would double the cost of garbage collection.
  return reply.send(Readable.from(arrayText(first, fetchChunk), { objectMode: false, encoding: 'utf8' }));
}

/** Reads a chunk: as JSON built by the database if the endpoint supports that, else row by row. */
export async function readChunk(
  route: ListEndpoint,
  call: Call & Resources & { query: never },
  { after, limit }: Page<string>,
  serialize: (row: unknown) => string,
): Promise<Chunk> {
  const json = await route.listJson?.(call, { after, limit });
  if (json) return { text: json.text, next: json.more ? String(json.last) : undefined };
  const found = await route.list(call, { after, limit: limit + 1 });
  const { rows, next } = Array.isArray(found) ? { rows: found, next: undefined } : found;
  const page = rows.slice(0, limit);
  return { text: page.map(serialize).join(), next: rows.length > limit ? cursorOf(page.at(-1)!) : next };
}

async function* arrayText(first: Chunk, fetchChunk: FetchChunk) {
  let chunk = first;
  let opening = '[';
  for (;;) {
    const { text, next } = chunk;
    // The next rows are fetched while these are sent.
    const upcoming = next === undefined ? undefined : fetchChunk({ after: next, limit: rowsPerChunk });
    upcoming?.catch(() => {}); // thrown below, where it is awaited
    // A chunk may be empty, because its rows were deleted since the previous one was read. The comma is sent separately:
    // prepending it would copy the text.
    if (text !== '') {
      yield opening;
      yield text;
      opening = ',';
    }
    if (!upcoming) break;
    chunk = await upcoming;
  }
  yield opening === '[' ? '[]' : ']';
}

function nextPage(request: FastifyRequest, link: (path: string) => string, next: string, asOf?: number): string {
  const [path = '', query = ''] = request.url.split('?');
  const search = new URLSearchParams(query);
  search.set('cursor', formatCursor(next, asOf));
  return link(`${path}?${search}`);
}

function cursorOf(row: ListRow): string {
  return 'cursor' in row ? row.cursor : String(row.id);
}

function formatCursor(position: string, asOf: number | undefined): string {
  const time = asOf === undefined ? '' : `as of ${Math.floor(asOf)} `;
  return Buffer.from(`${time}after ${position}`).toString('base64url');
}

function parseCursor(cursor: string): { position: string; asOf?: number } {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, asOf, position] = /^(?:as of (\d{13}) )?after ([^\0]+)$/.exec(text) ?? [];
  if (position === undefined) throw badCursor();
  return { position, ...(asOf && { asOf: Number(asOf) }) };
}

/** Returns the time of the first page for a later one, as far as its cursor has it, else `Infinity`; undefined for the first. */
export function pageTimeOf(request: FastifyRequest): number | undefined {
  const { cursor } = request.query as { cursor?: string };
  return cursor === undefined ? undefined : (parseCursor(cursor).asOf ?? Infinity);
}
