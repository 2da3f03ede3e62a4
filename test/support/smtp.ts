/** An SMTP server on loopback that records mails, or fails as scripted. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import { certificate, certificateKey } from './certificate.ts';

export interface Mail {
  from: string;
  to: string[];
  raw: string;
  /** Unfolded headers by lower-case name. */
  headers: Record<string, string>;
  secure: boolean;
  user: string | undefined;
}

export type SmtpFault =
  /** Closes the connection before the greeting. */
  | 'reset'
  /** Never sends the greeting. */
  | 'hang'
  /** Reads the whole mail and never answers. */
  | 'hang after data'
  /** Reads the whole mail, keeps it, and closes the connection. */
  | 'drop after data'
  /** Closes the connection at the first data of the mail. */
  | 'drop in data'
  /** A reply to one command: `{ rcpt: '550 5.1.1 no such user' }`. */
  | { connect?: string; auth?: string; mail?: string; rcpt?: string; data?: string };

export interface SmtpPeer {
  port: number;
  mails: Mail[];
  /** Number of connections opened so far. */
  connections: number;
  /** Number of open connections. */
  open(): number;
  fault: SmtpFault | undefined;
  /** How long the server takes to accept each mail. A change also applies to mails that are waiting. */
  delayMs: number;
  /** Closes all connections, like a server restart. */
  disconnect(): void;
  close(): Promise<void>;
}

const turnMs = 20;

export interface SmtpPeerOptions {
  /** TLS from the first byte. */
  secure?: boolean;
  /** Whether STARTTLS is offered. */
  starttls?: boolean;
  /** Accepted credentials; without them, authentication is not offered. */
  auth?: { user: string; password: string };
}

export async function openSmtpPeer({ secure = false, starttls = true, auth }: SmtpPeerOptions = {}): Promise<SmtpPeer> {
  const told = (command: 'connect' | 'auth' | 'mail' | 'rcpt' | 'data') => {
    const reply = typeof peer.fault === 'object' ? peer.fault[command] : undefined;
    if (!reply) return null;
    return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
  };
  const destroy = (session: SMTPServerSession) => {
    // The library has no other way to close a connection silently.
    const connection = [...server.connections].find(({ id }) => id === session.id);
    (connection as unknown as { _socket: { destroy(): void } } | undefined)?._socket.destroy();
  };

  const server = new SMTPServer({
    secure,
    cert: certificate,
    key: certificateKey,
    hideSTARTTLS: !starttls,
    disabledCommands: [...(starttls ? [] : ['STARTTLS']), ...(auth ? [] : ['AUTH'])],
    allowInsecureAuth: true,
    authOptional: !auth,
    disableReverseLookup: true,
    closeTimeout: 20,
    logger: false,
    onConnect(session, callback) {
      peer.connections++;
      if (peer.fault === 'reset') destroy(session);
      else if (peer.fault !== 'hang') callback(told('connect'));
    },
    onAuth({ username, password }, _, callback) {
      const error = told('auth');
      if (error) return callback(error);
      if (username === auth?.user && password === auth?.password) return callback(null, { user: username });
      return callback(Object.assign(new Error(`5.7.8 ${username} ${password} is wrong`), { responseCode: 535 }));
    },
    onMailFrom: (_address, _session, callback) => callback(told('mail')),
    onRcptTo: (_address, _session, callback) => callback(told('rcpt')),
    async onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of stream) {
          chunks.push(chunk as Buffer);
          if (peer.fault === 'drop in data') return destroy(session);
        }
      } catch {
        return; // the connection was closed in the middle
      }
      for (let waited = 0; waited < peer.delayMs; waited += turnMs) await sleep(Math.min(turnMs, peer.delayMs));
      const error = told('data');
      if (error) return callback(error);
      const raw = Buffer.concat(chunks).toString('utf8');
      peer.mails.push({
        from: session.envelope.mailFrom ? session.envelope.mailFrom.address : '',
        to: session.envelope.rcptTo.map(({ address }) => address),
        raw,
        headers: readHeaders(raw),
        secure: session.secure,
        user: session.user as string | undefined,
      });
      if (peer.fault === 'drop after data') destroy(session);
      else if (peer.fault !== 'hang after data') callback(null, '2.0.0 Ok: queued as 4F1A2B');
    },
  });
  // Some tests disconnect in the middle.
  server.on('error', () => {});
  // Listens on the name, so that `localhost` works with IPv4 and IPv6.
  const listening = server.listen(0, 'localhost');
  await once(listening, 'listening');
  const peer: SmtpPeer = {
    port: (listening.address() as AddressInfo).port,
    mails: [],
    connections: 0,
    open: () => server.connections.size,
    fault: undefined,
    delayMs: 0,
    disconnect() {
      for (const { id } of server.connections) destroy({ id } as SMTPServerSession);
    },
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  };
  return peer;
}

function readHeaders(raw: string): Record<string, string> {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ');
  const pairs = head
    .split('\r\n')
    .map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]);
  return Object.fromEntries(pairs);
}
