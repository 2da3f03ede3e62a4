/**
 * The listener for bounce mails (BELFRY_SMTP_IN). It accepts only mails to a return path that this installation has signed, and
 * never relays: every other recipient is refused.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { SMTPServer, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { readReturnPath } from '../../core/feedback/return-path.ts';
import type { Deps } from '../../services/deps.ts';
import { receiveBounceMail } from '../../services/history/feedback-requests.ts';

export const mailLimits = {
  bytes: 5 * 1024 * 1024,
  /** Recipients of one mail; a bounce has one. */
  recipients: 10,
  connections: 50,
  idleMs: 60_000,
  /** How long connections have to finish when the service stops. */
  closeMs: 1_000,
} as const;

export interface MailListener {
  port: number;
  close(): Promise<void>;
}

export async function listenForMails(
  deps: Deps,
  log: FastifyBaseLogger,
  { host, port }: { host: string; port: number },
): Promise<MailListener> {
  const { SMTPServer } = await import('smtp-server');
  const pathOf = (address: string) => readReturnPath(address, deps.signer.isSignedShort);
  const server: SMTPServer = new SMTPServer({
    name: 'belfry',
    banner: 'bounce mails only',
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    size: mailLimits.bytes,
    maxClients: mailLimits.connections,
    socketTimeout: mailLimits.idleMs,
    closeTimeout: mailLimits.closeMs,
    logger: false,
    onRcptTo({ address }, session, callback) {
      if (session.envelope.rcptTo.length >= mailLimits.recipients)
        return callback(reply(452, '4.5.3 too many recipients'));
      return callback(pathOf(address) ? null : reply(550, '5.1.1 not the return path of a message'));
    },
    onData(stream, session, callback) {
      receive(stream, session).then(
        () => callback(null),
        error => {
          const known = error as Error & { responseCode?: number };
          if (known.responseCode) return callback(known);
          log.warn({ err: error }, 'a bounce mail could not be stored');
          return callback(reply(451, '4.3.0 try again later'));
        },
      );
    },
  });
  server.on('error', error => log.debug({ err: error }, 'a connection to the listener for bounce mails failed'));

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const chunks: Buffer[] = [];
    // The rest of a mail that is too large is read and dropped, so that the sender gets the response.
    for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk as Buffer);
    if (stream.sizeExceeded) throw reply(552, `5.3.4 larger than ${mailLimits.bytes} bytes`);
    const bytes = Buffer.concat(chunks);
    const origin = session.remoteAddress;
    const actor = { kind: 'visitor' as const, id: null, name: 'mail', origin, requestId: session.id };
    for (const { address } of session.envelope.rcptTo) {
      await receiveBounceMail({ ...deps, actor }, pathOf(address)!, bytes);
    }
  }

  const listening = server.listen(port, host);
  await once(listening, 'listening');
  const { port: chosen } = listening.address() as AddressInfo;
  log.info(`bounce mails are received on ${host}, port ${chosen}`);
  return {
    port: chosen,
    close: () => new Promise(resolve => server.close(resolve)),
  };
}

function reply(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}
