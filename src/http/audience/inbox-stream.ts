/**
 * Streams inbox changes as server-sent events. services/audience/inbox-streams.ts decides what to send; this file
 * writes it.
 */
import type { ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { invalid } from '../../core/errors.ts';
import { optionalString } from '../../core/optional.ts';
import type { Viewer } from '../../core/text/live-text.ts';
import { currentTime } from '../../lib/time/clock.ts';
import {
  type ChangedMessage,
  type InboxStream,
  type StreamSink,
  streamLimits,
} from '../../services/audience/inbox-streams.ts';
import { endpoints } from '../server/route.ts';
import { InboxMessage, showMessage, showStates, viewerOf } from './inbox.ts';

const { plain } = endpoints('Inbox');

type Counts = Parameters<StreamSink['ready']>[1];

/** Bytes buffered per connection: a page of typical messages. At Node's default each message would cost a read. */
const maxBufferedBytes = 256 * 1024;

/** Writes server-sent events, and signals backpressure when too many bytes are buffered. */
class EventWriter implements StreamSink {
  readonly #response: ServerResponse;
  readonly #viewer: Viewer;

  constructor(response: ServerResponse, viewer: Viewer) {
    this.#response = response;
    this.#viewer = viewer;
  }

  ready(sequence: number, counts: Counts): boolean {
    return this.#write('ready', sequence, counts);
  }

  arrived(message: ChangedMessage, counts: Counts): boolean {
    return this.#write('message', message.sequence, { ...showMessage(message, this.#viewer), ...counts });
  }

  updated(messages: ChangedMessage[], sequence: number, counts: Counts): boolean {
    return this.#write('update', sequence, { messages: messages.map(showStates), ...counts });
  }

  reset(sequence: number, counts: Counts): boolean {
    return this.#write('reset', sequence, counts);
  }

  heartbeat(): boolean {
    return this.#send(':\n\n');
  }

  /** Destroys a blocked connection instead of waiting for it to drain. */
  end(): void {
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#response.end();
  }

  #send(text: string): boolean {
    this.#response.write(text);
    return this.#response.writableLength < maxBufferedBytes;
  }

  #write(event: string, id: number, data: object): boolean {
    return this.#send(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

const InboxEvent = Type.Object(
  {
    ...InboxMessage.properties,
    unread: Type.Integer({ description: 'Current number of unread messages.' }),
    unseen: Type.Integer({ description: 'Current number of unseen messages.' }),
  },
  { $id: 'InboxEvent', description: 'The data of a `message` event.' },
);

/** How long a browser waits before it reconnects. */
const reconnectMs = 2_000;

export const streamInbox = plain(['org', 'username'], {
  id: 'streamInbox',
  summary: 'Stream inbox',
  description:
    'Server-sent events, each with an `id` to resume from. A new stream starts with `ready` and the counts. `message` is a ' +
    'new message with the counts. `update` has the `messages` whose state changed (`id`, `seen_at`, `read_at`, ' +
    '`archived_at`, `acted_at`, `action`), and the counts. `reset` means that too much has changed: reload the inbox. ' +
    'A client that reconnects with `Last-Event-ID` resumes without loss or repetition. The stream ends within two seconds ' +
    `of its token, key or session, and after one hour at most: reconnect with a new token. A user may have ${streamLimits.perUser} open streams, and ` +
    'an organization half of what a process can hold, at most 10,000; further requests get a 429. A client that does not read is ' +
    'disconnected, and can resume after its last event.',
  takesTokenInQuery: true,
  problems: [400, 429, 503],
  query: Type.Object({
    token: optionalString({ description: "The recipient's token, for `EventSource`, which cannot send headers." }),
    last_event_id: optionalString({
      description: 'Same as the header `Last-Event-ID`, for an `EventSource` opened with a new token.',
    }),
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
      // Keeps nginx from buffering events.
      'x-accel-buffering': 'no',
    };
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, headers as Record<string, string>);
    if (request.method === 'HEAD') {
      raw.end();
      return reply as never;
    }
    // Sends small events immediately, and detects dead connections.
    raw.socket?.setNoDelay(true);
    raw.socket?.setKeepAlive(true, 60_000);
    raw.write(`retry: ${reconnectMs}\n\n`);
    const endsAt = currentTime() + streamLimits.lifetimeMs;
    const options = { organizationId: organization.id, userId: user.id, after, endsAt };
    const writer = new EventWriter(raw, viewerOf(caller));
    const stream: InboxStream = streams.open(options, writer);
    request.admission!.end = () => writer.end();
    raw.on('drain', () => streams.drained(stream));
    raw.on('close', () => streams.close(stream));
    return reply as never;
  },
});

function readPosition(lastEventId: string | string[] | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '') return undefined;
  if (typeof lastEventId !== 'string' || !/^\d{1,15}$/.test(lastEventId)) {
    throw invalid({ last_event_id: ['must be the id of an event of this stream: omit it to start a new one'] });
  }
  return Number(lastEventId);
}
