/** A mail server in this process, which no scenario kills. It records every mail with its time, and fails as scripted. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { certificate, certificateKey, expiredCertificate } from '../test/support/certificate.ts';
import type { Receipt } from './ledger.ts';
import type { Channel } from './tenant.ts';

/** `expired`: the certificate has expired. `unavailable`: STARTTLS gets a 454. */
export type TlsMode = 'ok' | 'expired' | 'unavailable';

export interface MailSink {
  received: Receipt[];
  /** How often a recipient was refused. */
  refusals: number;
  /** Describes a channel that sends to this server, and only with TLS. */
  channel(slug: string): Channel;
  /** Changes how TLS fails, and closes all connections, as a restart of the server does. */
  setTls(mode: TlsMode): void;
  close(): Promise<void>;
}

interface Internals {
  id: string;
  _socket: Socket;
  send(code: number, text: string): void;
  handler_STARTTLS(command: unknown, callback: () => void): void;
}

/** `refuse` returns the reply to RCPT for recipients that the server does not accept. */
export async function openMailSink(refuse: (recipient: string) => string | undefined = () => undefined) {
  const closing = new Set<string>();
  let tls: TlsMode = 'ok';
  // The library has no other way to close a connection, or to refuse STARTTLS.
  const connections = () => [...server.connections] as unknown as Internals[];
  const server = new SMTPServer({
    cert: certificate,
    key: certificateKey,
    disabledCommands: ['AUTH'],
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 20,
    logger: false,
    onConnect({ id }, callback) {
      const connection = connections().find(each => each.id === id);
      if (tls === 'unavailable' && connection) {
        connection.handler_STARTTLS = (_, done) => {
          connection.send(454, '4.7.0 TLS not available due to a temporary reason');
          done();
        };
      }
      callback();
    },
    onRcptTo({ address }, _, callback) {
      const reply = refuse(address);
      if (reply) sink.refusals++;
      callback(reply ? Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) }) : null);
    },
    async onData(stream, { id: sessionId, envelope }, callback) {
      let raw = '';
      try {
        for await (const chunk of stream) raw += String(chunk);
      } catch {
        return; // the connection was closed in the middle
      }
      // A mail is accepted with the reply, which can no longer be sent.
      if (closing.has(sessionId)) return;
      const id = /^Message-ID: <(.*)>/im.exec(raw)?.[1] ?? '';
      const recipient = envelope.rcptTo[0]!.address;
      sink.received.push({ occurrence: id.split('.')[0]!, recipient, id, at: Date.now(), answered: true });
      callback();
    },
  });
  // Clients that refuse the certificate close the connection in the middle.
  server.on('error', () => {});
  const listening = server.listen(0, 'localhost');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const sink: MailSink = {
    received: [],
    refusals: 0,
    channel: slug => ({
      slug,
      name: slug,
      type: 'email',
      providers: [
        { use: 'smtp', host: 'localhost', port, starttls: 'require', ca: certificate, from: 'belfry@chaos.test' },
      ],
    }),
    setTls(mode) {
      tls = mode;
      server.updateSecureContext({ cert: mode === 'expired' ? expiredCertificate : certificate });
      for (const { id, _socket } of connections()) {
        closing.add(id);
        // Replies that were written are transmitted first.
        _socket.end();
      }
    },
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  };
  return sink;
}
