/**
 * A dedicated connection for LISTEN. It reconnects automatically; between `onLost` and `onReady` notifications may be
 * missed. Heartbeat queries detect half-open connections.
 */

import pg from 'pg';
import { Client, type Statements, sqlState, toOptions } from './pool.ts';
import { requireWritable } from './primary.ts';

interface ListenOptions {
  url: string;
  name: string;
  channels: readonly string[];
  /** Server settings for the connection. */
  settings?: Record<string, string>;
  /** `processId` is that of the server process whose transaction sent it. */
  onNotify: (channel: string, payload: string, processId: number) => void;
  onReady: () => void;
  onLost: (error: Error) => void;
}

/** Statements on the connection of a listener. */
export interface CaughtUpReads extends Statements {
  /**
   * Returns true when every notification of what was committed before the first statement, or before this call, has been handled;
   * false if the connection was lost.
   */
  catchUp(): Promise<boolean>;
}

const heartbeatMs = 5_000;
const retryMs = 500;

export class Listener {
  readonly #options: ListenOptions;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  /** Resolves when the first connection listens, or rejects if it cannot be opened. */
  async start(): Promise<void> {
    const { url, name, channels, settings = {}, onNotify, onReady } = this.#options;
    const client = new Client({
      connectionString: url,
      application_name: name,
      options: toOptions(settings),
      connectionTimeoutMillis: heartbeatMs,
      query_timeout: heartbeatMs,
      keepAlive: true,
    });
    client.on('error', error => this.#handleLoss(client, error));
    client.on('end', () => this.#handleLoss(client, new Error('the connection ended')));
    client.on('notification', message => onNotify(message.channel, message.payload ?? '', message.processId));
    try {
      await client.connect();
      await requireWritable(client);
      for (const channel of channels) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
    if (this.#closed) {
      await client.end();
      return;
    }
    this.#client = client;
    onReady();
    this.#scheduleHeartbeat(client);
  }

  /** Returns true when every notification of what was committed before has been handled; false without a connection. */
  catchUp(): Promise<boolean> {
    return this.startReads().catchUp();
  }

  /** Short statements on this connection. The server sends pending notifications before the end of a response. */
  startReads(): CaughtUpReads {
    const client = this.#client;
    let hasRead = false;
    const query = async (statement: pg.QueryConfig | string) => {
      if (!client) throw new Error('not connected');
      try {
        const result = await client.query(statement);
        hasRead = true;
        return result;
      } catch (error) {
        if (sqlState(error) === undefined) this.#handleLoss(client, error as Error);
        throw error;
      }
    };
    return {
      query: query as Statements['query'],
      catchUp: async () => {
        if (!hasRead) await query('').catch(() => {});
        return client !== undefined && this.#client === client;
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  #scheduleHeartbeat(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      requireWritable(client).then(
        () => this.#client === client && this.#scheduleHeartbeat(client),
        error => this.#handleLoss(client, error),
      );
    }, heartbeatMs);
    this.#timer.unref();
  }

  #handleLoss(client: pg.Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    client.end().catch(() => {});
    this.#options.onLost(error);
    this.#retry();
  }

  #retry(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.start().catch(() => this.#retry()), retryMs);
    this.#timer.unref();
  }
}
