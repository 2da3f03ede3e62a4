/** The SMTP server of a peer: accepts email without TLS and login, prints its port, and exits with its parent. */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export function serveSmtp(onData: SMTPServerOptions['onData']): void {
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onData,
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${(listening.address() as AddressInfo).port}\n`);
  });
  process.on('disconnect', () => process.exit(0));
}
