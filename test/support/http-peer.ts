/** An HTTP server on loopback that records requests and answers, or fails, as scripted. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { certificate, certificateKey } from './certificate.ts';

export interface RecordedRequest {
  method: string;
  /** Includes the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Reply =
  | { status?: number; headers?: Record<string, string>; body?: string }
  /** Reads the request and never answers. */
  | 'hang'
  /** Sends the headers of a 200 and the start of a body, then stalls. */
  | 'stall'
  /** Sends an endless body. */
  | 'flood'
  /** Reads the request and closes the connection. */
  | 'drop'
  /** Closes the connection before it reads anything. */
  | 'reset'
  /** Reads the request and answers with data that is not HTTP. */
  | 'nonsense';

export interface HttpPeer {
  url: string;
  port: number;
  seen: RecordedRequest[];
  /** Number of connections opened so far. */
  connections: number;
  /** Sets the reply for the following requests. */
  reply: Reply | ((seen: RecordedRequest) => Reply);
  close(): Promise<void>;
}

type Protocol = 'http' | 'https' | 'http2';

export async function openHttpPeer(
  reply: HttpPeer['reply'] = {},
  { protocol = 'http' as Protocol } = {},
): Promise<HttpPeer> {
  const sockets = new Set<Socket>();
  const tls = { cert: certificate, key: certificateKey };
  const server: Server =
    protocol === 'http'
      ? createServer()
      : protocol === 'https'
        ? createTlsServer(tls)
        : (createSecureServer(tls) as unknown as Server);

  server.on('connection', (socket: Socket) => {
    peer.connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    if (peer.reply === 'reset') socket.resetAndDestroy();
  });
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the client disconnected
    }
    const { method = '', url: path = '', headers } = request;
    const seen = { method, path, headers, body: Buffer.concat(chunks).toString('utf8') };
    peer.seen.push(seen);
    const answer = typeof peer.reply === 'function' ? peer.reply(seen) : peer.reply;
    if (answer === 'hang' || answer === 'reset') return;
    if (answer === 'drop') return request.socket.destroy();
    if (answer === 'nonsense') return request.socket.end('It is raining.\r\n\r\n');
    if (answer === 'stall') return response.writeHead(200, { 'content-length': 1000 }).write('{"id":');
    if (answer === 'flood') {
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      };
      response.writeHead(200).on('drain', pour);
      return pour();
    }
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '');
  });

  // `localhost` may resolve to IPv6 or IPv4.
  server.listen(0, protocol === 'http' ? '127.0.0.1' : 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const peer: HttpPeer = {
    url: protocol === 'http' ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    port,
    seen: [],
    connections: 0,
    reply,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return peer;
}

/** Returns a URL at which no server listens. */
export async function closedUrl(): Promise<string> {
  const peer = await openHttpPeer();
  await peer.close();
  return peer.url;
}
