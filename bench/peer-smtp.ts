/** A real SMTP server that accepts every email and reports the `n` of its subject to the parent process. */
import { serveSmtp } from './smtp-server.ts';

serveSmtp(async (stream, _session, callback) => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const n = /^Subject: n (\d+)/im.exec(Buffer.concat(chunks).toString())?.[1];
  callback(null, '2.0.0 Ok');
  process.send?.(Number(n));
});
