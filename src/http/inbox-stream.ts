/** The inbox as it changes, by server-sent events. What to tell is services/inbox-streams.ts's matter; here it is written. */
import type { ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { invalid } from '../core/errors.ts';
import { type ChangedMessage, type InboxStream, type StreamSink, streamLimits } from '../services/inbox-streams.ts';
import { InboxMessage, showMessage, showStates } from './inbox.ts';
import { plain } from './route.ts';

type Counts = Parameters<StreamSink['ready']>[1];

/** Bytes that may wait for a connection: a page of usual messages. Node's own mark is at one of them, and each costs a read. */
const mostWaiting = 256 * 1024;

/** More is held back until the connection has taken what is written. */
class EventWriter implements StreamSink {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  ready(sequence: number, counts: Counts): boolean {
    return this.#write('ready', sequence, counts);
  }

  arrived(message: ChangedMessage, counts: Counts): boolean {
    return this.#write('message', message.sequence, { ...showMessage(message), ...counts });
  }

  updated(messages: ChangedMessage[], sequence: number, counts: Counts): boolean {
    return this.#write('update', sequence, { messages: messages.map(showStates), ...counts });
  }

  reset(sequence: number, counts: Counts): boolean {
    return this.#write('reset', sequence, counts);
  }

  beat(): boolean {
    return this.#send(':\n\n');
  }

  /** What cannot be written any more is not waited for. */
  end(): void {
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#response.end();
  }

  #send(text: string): boolean {
    this.#response.write(text);
    return this.#response.writableLength < mostWaiting;
  }

  #write(event: string, id: number, data: object): boolean {
    return this.#send(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

const InboxEvent = Type.Object(
  {
    ...InboxMessage.properties,
    unread: Type.Integer({ description: 'Unread messages now.' }),
    unseen: Type.Integer({ description: 'Messages that were not even seen now.' }),
  },
  { $id: 'InboxEvent', description: 'The data of an event `message`.' },
);

/** A browser waits so long before it comes back. */
const reconnectMs = 2_000;

export const streamInbox = plain(['org', 'username'], {
  id: 'streamInbox',
  summary: 'Stream inbox',
  description:
    'Server-sent events, each with an `id` to go on after. `ready` comes first, with the counts, unless you go on. ' +
    '`message` is a new message with the counts. `update` has `messages` (`id`, `seen_at`, `read_at`, `archived_at`, ' +
    '`acted_at`, `action`) whose state changed, and the counts. `reset` means that too much has changed to tell: read the ' +
    'inbox again. A connection that broke goes on after `Last-Event-ID`, without loss or repetition. The stream ends when ' +
    `its token does, and after an hour at the most: come back with a new token. A person may have ${streamLimits.perPerson} open.`,
  tag: 'Inbox',
  status: 200,
  takesTokenInQuery: true,
  problems: [400, 429, 503],
  query: Type.Object({
    token: Type.Optional(
      Type.String({ description: "A recipient's token, for an EventSource, which cannot send a header." }),
    ),
    last_event_id: Type.Optional(
      Type.String({ description: 'As the header `Last-Event-ID`, for an EventSource that begins with a new token.' }),
    ),
  }),
  produces: 'text/event-stream',
  answer: InboxEvent,
  handle: ({ deps, organization, user, caller, request, reply, query }) => {
    const after = readPosition(request.headers['last-event-id'] ?? query.last_event_id);
    const { inboxStreams: streams } = deps;
    streams.admit(organization.id, user.id);
    const headers = {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // For nginx, which else would keep events until there are enough of them.
      'x-accel-buffering': 'no',
    };
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, headers as Record<string, string>);
    if (request.method === 'HEAD') {
      raw.end();
      return reply as never;
    }
    // Small events go out at once, and a connection whose other side vanished is found out.
    raw.socket?.setNoDelay(true);
    raw.socket?.setKeepAlive(true, 60_000);
    raw.write(`retry: ${reconnectMs}\n\n`);
    const endsAt = Math.min(caller.expiresAt ?? Number.POSITIVE_INFINITY, Date.now() + streamLimits.lifeMs);
    const options = { organizationId: organization.id, userId: user.id, after, endsAt };
    const stream: InboxStream = streams.open(options, new EventWriter(raw));
    raw.on('drain', () => streams.drained(stream));
    raw.on('close', () => streams.close(stream));
    return reply as never;
  },
});

function readPosition(given: string | string[] | undefined): number | undefined {
  if (given === undefined || given === '') return undefined;
  if (typeof given !== 'string' || !/^\d{1,15}$/.test(given)) {
    throw invalid({ last_event_id: ['must be the id of an event of this stream: leave it out to begin anew'] });
  }
  return Number(given);
}
