/**
 * An SMTP server that takes every mail, counts them for each recipient, and keeps a few to be sent again. It does no more
 * than the protocol asks for: where both share the cores, a costly receiver would hide what its senders cost.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';

const mostKept = 200;
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
  let rest: Buffer = Buffer.alloc(0);
  let recipients: string[] = [];
  let inData = false;
  socket.on('data', chunk => {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    let answers = '';
    let from = 0;
    for (;;) {
      if (inData) {
        // From the end of the line DATA, as a mail may be empty.
        const at = rest.indexOf(end, from, 'latin1');
        if (at < 0) break;
        take(rest.subarray(from + 2, Math.max(at, from + 2)), recipients);
        from = at + end.length;
        recipients = [];
        inData = false;
        answers += '250 2.0.0 Ok\r\n';
        continue;
      }
      const at = rest.indexOf('\r\n', from, 'latin1');
      if (at < 0) break;
      const line = rest.toString('utf8', from, at);
      const verb = line.slice(0, 4).toUpperCase();
      inData = verb === 'DATA';
      if (verb === 'RCPT') recipients.push(/<(.*?)>/.exec(line)?.[1] ?? line);
      if (verb === 'RSET') recipients = [];
      answers += answerTo[verb] ?? '502 5.5.1 Unknown command\r\n';
      if (verb === 'QUIT') socket.end(answers);
      from = inData ? at : at + 2;
    }
    rest = rest.subarray(from);
    if (answers && socket.writable) socket.write(answers);
  });
}

const ok = '250 2.0.0 Ok\r\n';
const answerTo: Record<string, string> = {
  EHLO: '250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n',
  HELO: '250 sink\r\n',
  MAIL: ok,
  RCPT: ok,
  RSET: ok,
  NOOP: ok,
  DATA: '354 End data with <CR><LF>.<CR><LF>\r\n',
  QUIT: '221 2.0.0 Bye\r\n',
};

function take(content: Buffer, recipients: string[]): void {
  mails++;
  bytes += content.length;
  for (const address of recipients) counts.set(address, (counts.get(address) ?? 0) + 1);
  // A dot at the beginning of a line comes doubled.
  if (kept.length < mostKept) kept.push(content.toString().replaceAll(/^\.\./gm, '.'));
}

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
