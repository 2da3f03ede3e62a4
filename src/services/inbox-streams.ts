/**
 * The open streams of this process: each follows one inbox, from one number of a change to the next. The database announces which
 * inboxes changed; what changed is read for many of them at once, after what each has told. A stream keeps nothing but its
 * position: one that is slow is left alone until it has written what it has, and then goes on after that. While nothing
 * happens, nothing is asked.
 *
 * | stream  | event                                   | next                             |
 * | ------- | --------------------------------------- | -------------------------------- |
 * | —       | opened                                  | stale                            |
 * | current | its inbox was announced                 | stale                            |
 * | stale   | read to the end                         | current                          |
 * | stale   | its connection takes no more for now    | blocked                          |
 * | blocked | its connection has drained              | stale                            |
 * | blocked | so for longer than `longestBlockedMs`   | ended, and resumed by the client |
 * | any     | its time is over, or its token revoked  | ended, and resumed by the client |
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../core/errors.ts';
import { type InboxCounts, revokedTokens } from '../db/inbox.ts';
import { type ChangedMessage, type InboxChanges, listInboxChangesAcrossTenants } from '../db/inbox-changes.ts';

export type { ChangedMessage } from '../db/inbox-changes.ts';

/** What a stream writes to. Each returns false when no more should be written before `drained`. */
export interface StreamSink {
  /** It begins here: nothing of before is told. */
  ready(sequence: number, counts: InboxCounts): boolean;
  arrived(message: ChangedMessage, counts: InboxCounts): boolean;
  /** Messages that the client knows of; `sequence` is that of the last one. */
  updated(messages: ChangedMessage[], sequence: number, counts: InboxCounts): boolean;
  /** So much has changed that the client should read the inbox anew. */
  reset(sequence: number, counts: InboxCounts): boolean;
  beat(): boolean;
  end(): void;
}

export interface StreamOptions {
  organizationId: number;
  userId: number;
  /** The last change that the client knows of; undefined: none. */
  after: number | undefined;
  /** When it ends, in milliseconds: the client comes back with a token that is good for longer. */
  endsAt: number;
}

export const streamLimits = {
  /** Tabs of one browser share one; these are for several devices. */
  perPerson: 10,
  perProcess: 20_000,
  lifeMs: 3_600_000,
};
const beatEverySeconds = 30;
const longestBlockedMs = 60_000;
const inboxesAtOnce = 200;
const messagesAtOnce = 100;
/** Beyond this, reading the first page anew is less than to be told of each. */
const mostBehind = 1_000;
const retryMs = 1_000;

export class InboxStream {
  readonly name: string;
  readonly sink: StreamSink;
  readonly endsAt: number;
  /** In which second of each round it beats. */
  readonly second: number;
  after: number | undefined;
  blockedAt: number | undefined;

  constructor(name: string, second: number, { after, endsAt }: StreamOptions, sink: StreamSink) {
    this.name = name;
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
  /** Those that are told of a beat in the same second. */
  readonly #beats = Array.from({ length: beatEverySeconds }, () => new Set<InboxStream>());
  readonly #stale = new Set<string>();
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

  /** Throws `stream.limit` or `service.unavailable`. */
  admit(organizationId: number, userId: number): void {
    if (this.#isClosed || this.#count >= streamLimits.perProcess) {
      throw new AppError('service.unavailable', 'no more streams can be opened here: try again', {
        retryAfterSeconds: 5,
      });
    }
    if ((this.#open.get(`${organizationId}:${userId}`)?.size ?? 0) >= streamLimits.perPerson) {
      throw new AppError(
        'stream.limit',
        `a person may have ${streamLimits.perPerson} streams open: close one, or share it between tabs`,
        { retryAfterSeconds: 30 },
      );
    }
  }

  open(options: StreamOptions, sink: StreamSink): InboxStream {
    const name = `${options.organizationId}:${options.userId}`;
    const stream = new InboxStream(name, this.#opened++ % beatEverySeconds, options, sink);
    const own = this.#open.get(name) ?? new Set();
    this.#open.set(name, own.add(stream));
    this.#beats[stream.second]!.add(stream);
    this.#count++;
    this.#clock ??= setInterval(() => this.#tick(), 1_000).unref();
    this.#read(name);
    return stream;
  }

  close(stream: InboxStream): void {
    const own = this.#open.get(stream.name);
    if (!own?.delete(stream)) return;
    if (own.size === 0) this.#open.delete(stream.name);
    this.#beats[stream.second]!.delete(stream);
    this.#count--;
    if (this.#count > 0) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  drained(stream: InboxStream): void {
    if (stream.blockedAt === undefined) return;
    stream.blockedAt = undefined;
    this.#read(stream.name);
  }

  /** What the database announced: names, or that any may have changed; or whose tokens were revoked. */
  announced(payload: string): void {
    const [first = '', ...rest] = payload.split(' ');
    if (first === '*') for (const name of this.#open.keys()) this.#read(name);
    else if (first === revokedTokens) for (const name of rest) this.#end(this.#open.get(name) ?? []);
    else for (const name of [first, ...rest]) if (this.#open.has(name)) this.#read(name);
  }

  /** Announcements may have been missed. */
  connected(): void {
    this.announced('*');
  }

  /** Ends all of them: clients come back, to another process or to the next of this one. */
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
    const now = Date.now();
    this.#second = (this.#second + 1) % beatEverySeconds;
    for (const stream of [...this.#beats[this.#second]!]) {
      const isStuck = stream.blockedAt !== undefined && now - stream.blockedAt > longestBlockedMs;
      if (isStuck || now >= stream.endsAt) this.#end([stream]);
      else if (stream.blockedAt === undefined) this.#wrote(stream, stream.sink.beat());
    }
  }

  #read(name: string): void {
    this.#stale.add(name);
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
  }

  async #readAll(): Promise<void> {
    // All that were announced together are read together.
    await new Promise(setImmediate);
    while (this.#stale.size > 0) {
      const names = [...this.#stale].slice(0, inboxesAtOnce);
      for (const name of names) this.#stale.delete(name);
      try {
        await this.#readSome(names);
      } catch (error) {
        if (this.#isClosed) return;
        this.#log.warn({ err: error }, 'reading what changed in inboxes failed; it will be tried again');
        for (const name of names) this.#stale.add(name);
        await new Promise(resolve => setTimeout(resolve, retryMs).unref());
      }
    }
  }

  async #readSome(names: string[]): Promise<void> {
    const positions = names.flatMap(name => {
      const waiting = this.#waiting(name);
      if (waiting.length === 0) return [];
      const [organization_id, user_id] = name.split(':').map(Number) as [number, number];
      const known = waiting.flatMap(({ after }) => after ?? []);
      return [{ organization_id, user_id, after: known.length > 0 ? Math.min(...known) : undefined }];
    });
    if (positions.length === 0) return;
    const found = await listInboxChangesAcrossTenants(this.#pool, positions, messagesAtOnce);
    const from = new Map(positions.map(one => [`${one.organization_id}:${one.user_id}`, one.after]));
    for (const changes of found) this.#tell(changes, from);
  }

  #waiting(name: string): InboxStream[] {
    return [...(this.#open.get(name) ?? [])].filter(({ blockedAt }) => blockedAt === undefined);
  }

  /** `read` has what each was read after: a stream that was opened or drained since, further back, is read for again. */
  #tell(changes: InboxChanges, read: ReadonlyMap<string, number | undefined>): void {
    const { organization_id, user_id, sequence, unread, unseen, messages } = changes;
    const name = `${organization_id}:${user_id}`;
    const counts = { unread, unseen };
    const from = read.get(name);
    const isAll = messages.length < messagesAtOnce;
    const now = Date.now();
    for (const stream of this.#waiting(name)) {
      const { after, sink } = stream;
      if (now >= stream.endsAt) {
        this.#end([stream]);
      } else if (after === undefined) {
        stream.after = sequence;
        this.#wrote(stream, sink.ready(sequence, counts));
      } else if (after > sequence || sequence - after > mostBehind) {
        stream.after = sequence;
        this.#wrote(stream, sink.reset(sequence, counts));
      } else if (from === undefined || after < from) {
        this.#read(name);
      } else {
        this.#follow(stream, messages, counts);
        if (isAll && stream.blockedAt === undefined) stream.after = sequence;
      }
    }
    if (!isAll) this.#read(name);
  }

  /** Until all are told, or the connection takes no more. */
  #follow(stream: InboxStream, messages: ChangedMessage[], counts: InboxCounts): void {
    const { sink, after: known = 0 } = stream;
    const isNew = (message: ChangedMessage) => message.created_sequence > known;
    const untold = messages.filter(message => message.sequence > known);
    for (let i = 0; i < untold.length && stream.blockedAt === undefined; ) {
      const message = untold[i]!;
      let next = i + 1;
      if (!isNew(message)) while (next < untold.length && !isNew(untold[next]!)) next++;
      const { sequence } = untold[next - 1]!;
      stream.after = sequence;
      const updated = untold.slice(i, next);
      this.#wrote(stream, isNew(message) ? sink.arrived(message, counts) : sink.updated(updated, sequence, counts));
      i = next;
    }
  }

  #wrote(stream: InboxStream, goesOn: boolean): void {
    if (!goesOn) stream.blockedAt ??= Date.now();
  }
}
