/** A real SMTP server that takes every mail, and tells its parent which came: the `n` of the subject. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

const server = new SMTPServer({
  authOptional: true,
  hideSTARTTLS: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  disableReverseLookup: true,
  logger: false,
  async onData(stream, _session, callback) {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    const n = /^Subject: n (\d+)/im.exec(Buffer.concat(chunks).toString())?.[1];
    callback(null, '2.0.0 Ok');
    process.send?.(Number(n));
  },
});
server.on('error', () => {});
const listening = server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(listening.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => process.exit(0));
