/**
 * A receiver of webhooks in a process of its own, so that no fault of the service touches its memory. It notes every
 * message with its time, and answers, drops or hangs as told:
 *   POST /hook      a message; answered after DELAY_MS
 *   PUT /mode       { "mode": "ok" | "drop" | "hang" }
 *   GET /received   { "received": [[occurrence, recipient, webhook id, time in ms, answered, text]] }
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const delayMs = Number(process.env.DELAY_MS ?? 10);
const received: [string, string, string, number, boolean, string][] = [];
let mode = 'ok';
let count = 0;

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  if (request.url === '/mode') {
    mode = (JSON.parse(body) as { mode: string }).mode;
    response.end();
    return;
  }
  if (request.url === '/count') {
    response.end(String(received.length));
    return;
  }
  if (request.url === '/received') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ received }));
    return;
  }
  const id = String(request.headers['webhook-id']);
  const { title, text } = JSON.parse(body) as { title: string; text: string };
  // Of three that come while it drops, one gets its answer.
  const lost = mode === 'hang' || (mode === 'drop' && ++count % 3 !== 0);
  received.push([id.split('.')[0]!, title, id, Date.now(), !lost, text]);
  if (!lost) setTimeout(() => response.end(), delayMs);
  else if (mode === 'drop') request.socket.destroy();
});
server.keepAliveTimeout = 30_000;
server.listen(0, '127.0.0.1', () => console.log(`listening ${(server.address() as AddressInfo).port}`));
process.on('disconnect', () => process.exit());
