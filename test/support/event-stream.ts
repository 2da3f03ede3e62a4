/** A client for server-sent events that stores events in order and can wait for them. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { eventually } from './eventually.ts';

export interface StreamEvent {
  event: string;
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent, for tests to look into
  data: any;
}

export class EventStream {
  readonly events: StreamEvent[] = [];
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Blocks that are not events: comments and retry intervals. */
  readonly others: string[] = [];
  isOver = false;
  readonly #request: ClientRequest;
  readonly #response: IncomingMessage;
  /** Body of a response that is not a stream. */
  body = '';

  private constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent;
    this.#response = response;
    this.status = response.statusCode!;
    this.headers = response.headers;
    let rest = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      this.body += text;
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) this.#take(block);
    });
    response.on('error', () => {});
    response.on('close', () => {
      this.isOver = true;
    });
  }

  static open(address: string, path: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const { hostname, port } = new URL(address);
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path, headers, agent: false }, response =>
        resolve(new EventStream(sent, response)),
      );
      sent.on('error', reject);
      sent.end();
    });
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? '';
  }

  named(name: string): StreamEvent[] {
    return this.events.filter(({ event }) => event === name);
  }

  async until(check: (events: StreamEvent[]) => boolean, withinMs = 8_000): Promise<StreamEvent[]> {
    return eventually(() => {
      if (check(this.events)) return this.events;
      throw new Error(`timed out; received ${JSON.stringify(this.events)}`);
    }, withinMs);
  }

  /** Stops reading, so that sent data accumulates in buffers. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#request.destroy();
  }

  #take(block: string): void {
    const fields = Object.fromEntries(
      block.split('\n').map(line => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? ['', line]),
    );
    if (fields.event) this.events.push({ event: fields.event, id: fields.id, data: JSON.parse(fields.data) });
    else this.others.push(block);
  }
}
