/** A real SMTP server that takes every mail, and tells its parent which came: the `n` of the subject. */
import { serveSmtp } from './smtp-server.ts';

serveSmtp(async (stream, _session, callback) => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const n = /^Subject: n (\d+)/im.exec(Buffer.concat(chunks).toString())?.[1];
  callback(null, '2.0.0 Ok');
  process.send?.(Number(n));
});
