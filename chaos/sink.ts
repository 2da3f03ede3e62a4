/**
 * A webhook receiver in a separate process, so that no fault of the service affects its memory. It has two origins, records every
 * message with its time, and responds depending on the mode of the path:
 *   POST /hook…     a message; the response comes after DELAY_MS
 *   PUT /mode       { "path": "/hook", "mode": one of the modes below }
 *   GET /received   { "received": [[occurrence, recipient, webhook id, time in ms, answered, text, path]] }
 *   GET /refused    the same for messages that got a response that refuses them
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type SinkMode =
  | 'ok'
  /** Closes the connection without a response, except for every third message. */
  | 'drop'
  /** Never responds. */
  | 'hang'
  /** Responds with 429, and asks to wait for an hour. */
  | 'limit'
  /** Responds with one of several 5xx statuses. */
  | 'error'
  /** Sends one byte per second: every second time from the status line on, else from the body on. */
  | 'trickle';

type Row = [string, string, string, number, boolean, string, string];

const delayMs = Number(process.env.DELAY_MS ?? 10);
const errors = [500, 502, 503, 504];
const received: Row[] = [];
const refused: Row[] = [];
const modes = new Map<string, SinkMode>();
let count = 0;

const handle: RequestListener = async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const { url: path = '' } = request;
  if (path === '/mode') {
    const { path: changed, mode } = JSON.parse(body) as { path: string; mode: SinkMode };
    modes.set(changed, mode);
    response.end();
  } else if (path === '/count') response.end(String(received.length));
  else if (path === '/received') respondJson(response, { received });
  else if (path === '/refused') respondJson(response, { refused });
  else receive(request, response, path, body);
};

function receive(request: IncomingMessage, response: ServerResponse, path: string, body: string): void {
  const mode = modes.get(path) ?? 'ok';
  count++;
  const id = String(request.headers['webhook-id']);
  const { title = '', text = '' } = readMessage(body);
  const record = (rows: Row[], answered: boolean) =>
    rows.push([id.split('.')[0]!, title, id, Date.now(), answered, text, path]);
  if (mode === 'limit' || mode === 'error') {
    record(refused, true);
    response.statusCode = mode === 'limit' ? 429 : errors[count % errors.length]!;
    if (mode === 'limit') response.setHeader('retry-after', '3600');
    response.end();
  } else if (mode === 'trickle') {
    const hidesStatus = count % 2 === 0;
    record(received, !hidesStatus);
    trickle(request, hidesStatus);
  } else if (mode === 'hang') {
    record(received, false);
  } else if (mode === 'drop' && count % 3 !== 0) {
    record(received, false);
    request.socket.destroy();
  } else {
    record(received, true);
    setTimeout(() => response.end(), delayMs);
  }
}

/** Services have other formats: what they get is kept as it is. */
function readMessage(body: string): { title?: string; text?: string } {
  if (!body.startsWith('{')) return { text: decodeURIComponent(body.replaceAll('+', ' ')) };
  const message = JSON.parse(body) as { title?: string; text?: string };
  return message.text === undefined ? { text: body } : message;
}

async function trickle({ socket }: IncomingMessage, hidesStatus: boolean): Promise<void> {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n';
  if (!hidesStatus) socket.write(head);
  for (const byte of hidesStatus ? head : 'x'.repeat(100)) {
    if (socket.destroyed) return;
    socket.write(byte);
    await sleep(1_000);
  }
}

function respondJson(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
}

const servers = [createServer(handle), createServer(handle)];
for (const server of servers) {
  server.keepAliveTimeout = 30_000;
  server.listen(0, '127.0.0.1', () => {
    const ports = servers.map(each => (each.address() as AddressInfo | null)?.port);
    if (ports.every(Boolean)) console.log(`listening ${ports.join(' ')}`);
  });
}
process.on('disconnect', () => process.exit());
