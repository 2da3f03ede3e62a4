/**
 * An SMTP server that accepts every email, counts them per recipient, and keeps a few to be sent again. It does only what the
 * protocol requires: on shared cores, an expensive receiver would hide the cost of the senders.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';

const maxKept = 200;
const end = '\r\n.\r\n';
let counts = new Map<string, number>();
let kept: string[] = [];
let mails = 0;
let bytes = 0;
let began = process.cpuUsage();

const server = createServer(socket => {
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.write('220 sink ESMTP\r\n');
  serve(socket);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => process.exit(0));

function serve(socket: Socket): void {
  let buffered: Buffer = Buffer.alloc(0);
  let recipients: string[] = [];
  let inData = false;
  socket.on('data', chunk => {
    buffered = buffered.length > 0 ? Buffer.concat([buffered, chunk]) : chunk;
    let replies = '';
    let from = 0;
    for (;;) {
      if (inData) {
        // Starts at the end of the DATA line, because an email may be empty.
        const at = buffered.indexOf(end, from, 'latin1');
        if (at < 0) break;
        receive(buffered.subarray(from + 2, Math.max(at, from + 2)), recipients);
        from = at + end.length;
        recipients = [];
        inData = false;
        replies += '250 2.0.0 Ok\r\n';
        continue;
      }
      const at = buffered.indexOf('\r\n', from, 'latin1');
      if (at < 0) break;
      const line = buffered.toString('utf8', from, at);
      const verb = line.slice(0, 4).toUpperCase();
      inData = verb === 'DATA';
      if (verb === 'RCPT') recipients.push(/<(.*?)>/.exec(line)?.[1] ?? line);
      if (verb === 'RSET') recipients = [];
      replies += replyTo[verb] ?? '502 5.5.1 Unknown command\r\n';
      if (verb === 'QUIT') socket.end(replies);
      from = inData ? at : at + 2;
    }
    buffered = buffered.subarray(from);
    if (replies && socket.writable) socket.write(replies);
  });
}

const ok = '250 2.0.0 Ok\r\n';
const replyTo: Record<string, string> = {
  EHLO: '250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n',
  HELO: '250 sink\r\n',
  MAIL: ok,
  RCPT: ok,
  RSET: ok,
  NOOP: ok,
  DATA: '354 End data with <CR><LF>.<CR><LF>\r\n',
  QUIT: '221 2.0.0 Bye\r\n',
};

function receive(content: Buffer, recipients: string[]): void {
  mails++;
  bytes += content.length;
  for (const address of recipients) counts.set(address, (counts.get(address) ?? 0) + 1);
  // SMTP doubles a dot at the beginning of a line.
  if (kept.length < maxKept) kept.push(content.toString().replaceAll(/^\.\./gm, '.'));
}

/** Any message is a request for the totals since the previous one. */
process.on('message', () => {
  const { user, system } = process.cpuUsage(began);
  process.send?.({ mails, bytes, recipients: counts.size, kept, cpuMs: (user + system) / 1_000 });
  counts = new Map();
  kept = [];
  mails = 0;
  bytes = 0;
  began = process.cpuUsage();
});
