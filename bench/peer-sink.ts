/** A real SMTP server that takes every mail, counts them for each recipient, and keeps a few to be sent again. */
import { serveSmtp } from './smtp-server.ts';

const mostKept = 200;
let counts = new Map<string, number>();
let kept: string[] = [];
let mails = 0;
let bytes = 0;
let began = process.cpuUsage();

serveSmtp((stream, session, callback) => {
  const chunks: Buffer[] = [];
  stream.on('data', chunk => {
    bytes += chunk.length;
    if (kept.length < mostKept) chunks.push(chunk);
  });
  stream.on('end', () => {
    mails++;
    for (const { address } of session.envelope.rcptTo) counts.set(address, (counts.get(address) ?? 0) + 1);
    if (kept.length < mostKept) kept.push(Buffer.concat(chunks).toString());
    callback(null, '2.0.0 Ok');
  });
});

/** Asked for anything, it tells what came since it was asked last. */
process.on('message', () => {
  const { user, system } = process.cpuUsage(began);
  process.send?.({ mails, bytes, recipients: counts.size, kept, processorMs: (user + system) / 1_000 });
  counts = new Map();
  kept = [];
  mails = 0;
  bytes = 0;
  began = process.cpuUsage();
});
