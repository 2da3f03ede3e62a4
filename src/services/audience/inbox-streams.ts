/**
 * The open inbox streams (SSE) of this process. Each stream follows one inbox by the sequence numbers of its changes. The
 * database announces which inboxes changed; the changes of many inboxes are then read in one query, each after the last
 * sequence that was sent. A stream keeps only its position: a slow one is skipped until its connection has drained, and
 * then resumes from there. Without changes there are no queries.
 *
 * | stream  | event                                   | next                             |
 * | ------- | --------------------------------------- | -------------------------------- |
 * | —       | opened                                  | stale                            |
 * | current | its inbox was announced                 | stale                            |
 * | stale   | read to the end                         | current                          |
 * | stale   | its connection takes no more for now    | blocked                          |
 * | blocked | its connection has drained              | stale                            |
 * | blocked | blocked for more than `maxBlockedMs`    | ended; the client reconnects     |
 * | blocked | too many are blocked, this one longest  | ended; the client reconnects     |
 * | any     | its lifetime is over                    | ended; the client reconnects     |
 *
 * A stream also ends with the key, session or token that opened it: see http/server/open-requests.ts.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../../core/errors.ts';
import type { InboxCounts } from '../../db/audience/inbox.ts';
import {
  type ChangedMessage,
  type InboxChanges,
  listInboxChangesAcrossTenants,
} from '../../db/audience/inbox-changes.ts';
import { maxAcceptedConnections, readOpenFilesLimit } from '../../lib/process/open-files.ts';
import { currentTime } from '../../lib/time/clock.ts';

export type { ChangedMessage } from '../../db/audience/inbox-changes.ts';

/** What a stream writes to. Each method returns false when nothing more should be written before `drained`. */
export interface StreamSink {
  /** Starts the stream at the current sequence, without earlier changes. */
  ready(sequence: number, counts: InboxCounts): boolean;
  arrived(message: ChangedMessage, counts: InboxCounts): boolean;
  /** State changes of messages that the client already has; `sequence` is that of the last one. */
  updated(messages: ChangedMessage[], sequence: number, counts: InboxCounts): boolean;
  /** So much has changed that the client should reload the inbox. */
  reset(sequence: number, counts: InboxCounts): boolean;
  heartbeat(): boolean;
  end(): void;
}

interface StreamOptions {
  organizationId: number;
  userId: number;
  /** Sequence of the last change that the client received; undefined for a new client. */
  after: number | undefined;
  /** When the stream ends, in milliseconds. The client reconnects. */
  endsAt: number;
}

/** Each stream is a connection, of which some are left for other requests. */
export function maxStreamsOfProcess(openFiles: number): number {
  return Math.min(20_000, Math.floor(maxAcceptedConnections(openFiles) * 0.9));
}

const perProcess = maxStreamsOfProcess(readOpenFilesLimit());

export const streamLimits = {
  /** Browser tabs share one stream, so this allows several devices. */
  perUser: 10,
  /** Per process, so that one organization cannot use all of its streams. */
  perOrganization: Math.floor(perProcess / 2),
  perProcess,
  /** Maximum number of streams blocked for `slowAfterMs`; each keeps a bounded buffer and one event in memory. */
  blocked: 200,
  slowAfterMs: 5_000,
  lifetimeMs: 3_600_000,
};
const heartbeatSeconds = 30;
const maxBlockedMs = 60_000;
const inboxesPerRead = 200;
const messagesPerRead = 100;
/** Beyond this many changes, reloading the first page is cheaper than sending each. */
const maxBehind = 1_000;
const retryMs = 1_000;

export class InboxStream {
  readonly name: string;
  readonly organizationId: number;
  readonly sink: StreamSink;
  readonly endsAt: number;
  /** The second of each heartbeat round in which its heartbeat is sent. */
  readonly second: number;
  after: number | undefined;
  blockedAt: number | undefined;

  constructor(name: string, second: number, { organizationId, after, endsAt }: StreamOptions, sink: StreamSink) {
    this.name = name;
    this.organizationId = organizationId;
    this.second = second;
    this.after = after;
    this.endsAt = endsAt;
    this.sink = sink;
  }
}

export class InboxStreams {
  readonly #pool: pg.Pool;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #open = new Map<string, Set<InboxStream>>();
  /** Streams by the second of their heartbeat. */
  readonly #heartbeats = Array.from({ length: heartbeatSeconds }, () => new Set<InboxStream>());
  readonly #stale = new Set<string>();
  /** Number of open streams by organization. */
  readonly #countByOrganization = new Map<number, number>();
  /** Streams that wait for their connection to drain, longest wait first. */
  readonly #blocked = new Set<InboxStream>();
  #isAllStale = false;
  #count = 0;
  #opened = 0;
  #second = 0;
  #reading: Promise<void> | undefined;
  #clock: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(pool: pg.Pool, log: Pick<Logger, 'warn'>) {
    this.#pool = pool;
    this.#log = log;
  }

  get count(): number {
    return this.#count;
  }

  /** Throws `stream.limit`, `limit.streams` or `service.unavailable`. */
  admit(organizationId: number, userId: number): void {
    if (this.#isClosed || this.#count >= streamLimits.perProcess) {
      throw new AppError('service.unavailable', 'this server cannot open more streams: try again', {
        retryAfterSeconds: 5,
      });
    }
    if ((this.#countByOrganization.get(organizationId) ?? 0) >= streamLimits.perOrganization) {
      throw new AppError(
        'limit.streams',
        `the organization has reached its limit of ${streamLimits.perOrganization} open streams: close some, or try again`,
        { retryAfterSeconds: 30 },
      );
    }
    if ((this.#open.get(`${organizationId}:${userId}`)?.size ?? 0) >= streamLimits.perUser) {
      throw new AppError(
        'stream.limit',
        `a user may have ${streamLimits.perUser} open streams: close one, or share one between tabs`,
        { retryAfterSeconds: 30 },
      );
    }
  }

  open(options: StreamOptions, sink: StreamSink): InboxStream {
    const { organizationId } = options;
    const name = `${organizationId}:${options.userId}`;
    const stream = new InboxStream(name, this.#opened++ % heartbeatSeconds, options, sink);
    const own = this.#open.get(name) ?? new Set();
    this.#open.set(name, own.add(stream));
    this.#heartbeats[stream.second]!.add(stream);
    this.#count++;
    this.#countByOrganization.set(organizationId, (this.#countByOrganization.get(organizationId) ?? 0) + 1);
    this.#clock ??= setInterval(() => this.#tick(), 1_000).unref();
    this.#markStale(name);
    return stream;
  }

  close(stream: InboxStream): void {
    const own = this.#open.get(stream.name);
    if (!own?.delete(stream)) return;
    if (own.size === 0) this.#open.delete(stream.name);
    this.#heartbeats[stream.second]!.delete(stream);
    this.#blocked.delete(stream);
    this.#count--;
    const left = this.#countByOrganization.get(stream.organizationId)! - 1;
    if (left > 0) this.#countByOrganization.set(stream.organizationId, left);
    else this.#countByOrganization.delete(stream.organizationId);
    if (this.#count > 0) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  drained(stream: InboxStream): void {
    if (stream.blockedAt === undefined) return;
    stream.blockedAt = undefined;
    this.#blocked.delete(stream);
    this.#markStale(stream.name);
  }

  /** Handles a notification of the database: changed inboxes, or `*` for all. */
  announced(payload: string): void {
    if (payload === '*') this.#markAllStale();
    else for (const name of payload.split(' ')) if (this.#open.has(name)) this.#markStale(name);
  }

  /** Reads all inboxes after a reconnect, because notifications may have been missed. */
  connected(): void {
    this.announced('*');
  }

  /** Ends all streams. Clients reconnect to another process, or to this one after its restart. */
  closeAll(): void {
    this.#isClosed = true;
    for (const own of [...this.#open.values()]) this.#end(own);
  }

  #end(streams: Iterable<InboxStream>): void {
    for (const stream of [...streams]) {
      this.close(stream);
      stream.sink.end();
    }
  }

  #tick(): void {
    const now = performance.now();
    for (const stream of this.#blocked) {
      // A burst also blocks fast readers for a moment: only streams that stay blocked count.
      const isSlow = now - stream.blockedAt! >= streamLimits.slowAfterMs;
      if (!isSlow || this.#blocked.size <= streamLimits.blocked) break;
      this.#end([stream]);
    }
    this.#second = (this.#second + 1) % heartbeatSeconds;
    for (const stream of [...this.#heartbeats[this.#second]!]) {
      const isStuck = stream.blockedAt !== undefined && now - stream.blockedAt > maxBlockedMs;
      if (isStuck || now >= stream.endsAt) this.#end([stream]);
      else if (stream.blockedAt === undefined) this.#afterWrite(stream, stream.sink.heartbeat());
    }
  }

  #markStale(name: string): void {
    this.#stale.add(name);
    this.#startReading();
  }

  /** Sets a flag, so that several calls before reading begins iterate over the open streams only once. */
  #markAllStale(): void {
    this.#isAllStale = true;
    this.#startReading();
  }

  #startReading(): void {
    this.#reading ??= this.#readStale().finally(() => {
      this.#reading = undefined;
    });
  }

  async #readStale(): Promise<void> {
    // Waits a turn, so that inboxes announced together are read together.
    await new Promise(setImmediate);
    while (this.#stale.size > 0 || this.#isAllStale) {
      if (this.#isAllStale) for (const name of this.#open.keys()) this.#stale.add(name);
      this.#isAllStale = false;
      const names = [...this.#stale].slice(0, inboxesPerRead);
      for (const name of names) this.#stale.delete(name);
      try {
        await this.#readBatch(names);
      } catch (error) {
        if (this.#isClosed) return;
        this.#log.warn({ err: error }, 'reading inbox changes failed; retrying');
        for (const name of names) this.#stale.add(name);
        await new Promise(resolve => setTimeout(resolve, retryMs).unref());
      }
    }
  }

  async #readBatch(names: string[]): Promise<void> {
    const positions = names.flatMap(name => {
      const streams = this.#unblocked(name);
      if (streams.length === 0) return [];
      const [organization_id, user_id] = name.split(':').map(Number) as [number, number];
      const sequences = streams.flatMap(({ after }) => after ?? []);
      return [{ organization_id, user_id, after: sequences.length > 0 ? Math.min(...sequences) : undefined }];
    });
    if (positions.length === 0) return;
    const found = await listInboxChangesAcrossTenants(this.#pool, positions, messagesPerRead);
    const readAfter = new Map(positions.map(one => [`${one.organization_id}:${one.user_id}`, one.after]));
    for (const changes of found) this.#deliver(changes, readAfter);
  }

  #unblocked(name: string): InboxStream[] {
    return [...(this.#open.get(name) ?? [])].filter(({ blockedAt }) => blockedAt === undefined);
  }

  /**
   * Writes changes to the streams of an inbox. `read` has the position that each inbox was read from: a stream that was
   * opened or drained since, with an earlier position, needs another read.
   */
  #deliver(changes: InboxChanges, read: ReadonlyMap<string, number | undefined>): void {
    const { organization_id, user_id, sequence, unread, unseen, messages } = changes;
    const name = `${organization_id}:${user_id}`;
    const counts = { unread, unseen };
    const readAfter = read.get(name);
    const isComplete = messages.length < messagesPerRead;
    const now = currentTime();
    for (const stream of this.#unblocked(name)) {
      const { after, sink } = stream;
      if (now >= stream.endsAt) {
        this.#end([stream]);
      } else if (after === undefined) {
        stream.after = sequence;
        this.#afterWrite(stream, sink.ready(sequence, counts));
      } else if (after > sequence || sequence - after > maxBehind) {
        stream.after = sequence;
        this.#afterWrite(stream, sink.reset(sequence, counts));
      } else if (readAfter === undefined || after < readAfter) {
        this.#markStale(name);
      } else {
        this.#writeMessages(stream, messages, counts);
        if (isComplete && stream.blockedAt === undefined) stream.after = sequence;
      }
    }
    if (!isComplete) this.#markStale(name);
  }

  /** Writes the messages until all are sent or the connection is blocked. */
  #writeMessages(stream: InboxStream, messages: ChangedMessage[], counts: InboxCounts): void {
    const { sink, after: sent = 0 } = stream;
    const isNew = (message: ChangedMessage) => message.created_sequence > sent;
    const unsent = messages.filter(message => message.sequence > sent);
    for (let i = 0; i < unsent.length && stream.blockedAt === undefined; ) {
      const message = unsent[i]!;
      let next = i + 1;
      if (!isNew(message)) while (next < unsent.length && !isNew(unsent[next]!)) next++;
      const { sequence } = unsent[next - 1]!;
      stream.after = sequence;
      const updated = unsent.slice(i, next);
      this.#afterWrite(
        stream,
        isNew(message) ? sink.arrived(message, counts) : sink.updated(updated, sequence, counts),
      );
      i = next;
    }
  }

  #afterWrite(stream: InboxStream, canContinue: boolean): void {
    if (canContinue) return;
    stream.blockedAt ??= performance.now();
    this.#blocked.add(stream);
  }
}
