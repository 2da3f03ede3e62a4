/** A real SMTP server that accepts every email, and reports its size and the hash of its attachment to the parent process. */
import { createHash } from 'node:crypto';
import { serveSmtp } from './smtp-server.ts';

const startOfFile = '\r\nContent-Disposition: attachment';

serveSmtp(async (stream, _session, callback) => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  callback(null, '2.0.0 Ok');
  const mail = Buffer.concat(chunks);
  const head = mail.indexOf(startOfFile);
  const from = mail.indexOf('\r\n\r\n', head) + 4;
  // The encoded text is compared instead of the content, which would take as long again to decode.
  const lines = mail.subarray(from, mail.indexOf('\r\n--', from) + 2);
  process.send?.({ bytes: mail.length, hash: createHash('sha256').update(lines).digest('hex') });
});
