/**
 * A connection of its own that hears NOTIFY. It reconnects by itself; while it is away, `onLost` has been called and
 * nothing that depends on being told may be believed. A silent, half-open connection is found out by a small query.
 */
import pg from 'pg';

export interface ListenOptions {
  url: string;
  name: string;
  channels: readonly string[];
  onNotify: (channel: string, payload: string) => void;
  onReady: () => void;
  onLost: (error: Error) => void;
}

const pulseMs = 5_000;
const retryMs = 500;

export class Listener {
  readonly #options: ListenOptions;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  /** Resolves when the first connection hears, or rejects when it cannot be made. */
  async start(): Promise<void> {
    const { url, name, channels, onNotify, onReady } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: name,
      connectionTimeoutMillis: pulseMs,
      query_timeout: pulseMs,
      keepAlive: true,
    });
    client.on('error', error => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('the connection ended')));
    client.on('notification', message => onNotify(message.channel, message.payload ?? ''));
    await client.connect();
    for (const channel of channels) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    if (this.#closed) {
      await client.end();
      return;
    }
    this.#client = client;
    onReady();
    this.#pulse(client);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  #pulse(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      client.query('select 1').then(
        () => this.#client === client && this.#pulse(client),
        error => this.#lost(client, error),
      );
    }, pulseMs);
    this.#timer.unref();
  }

  #lost(client: pg.Client, error: Error): void {
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
