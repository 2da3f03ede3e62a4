/**
 * An SMTP session after the greeting and sign-in (RFC 5321). If the server supports pipelining (RFC 2920), the commands of
 * a mail are sent at once, together with the previous mail: one round trip per mail instead of four. nodemailer opens and
 * monitors the connection. Its own sending is made for streams, and takes 120 µs per mail instead of 50.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { ComposedMail } from './compose.ts';

export interface Mail extends ComposedMail {
  /** How much of it may have been transmitted: once it is the whole, the server may have accepted it. */
  transmitted?: 'some' | 'whole';
  /** Asked right before its content is transmitted, and before the end of long content. If not, `WithdrawnError`. */
  mayHandOver?: () => boolean;
}

/** The message was not transmitted, because it may no longer be sent. */
export class WithdrawnError extends Error {}

/** Has the same fields as nodemailer's errors, so that outcome.ts handles only one kind. */
export class SmtpError extends Error {
  readonly code: string;
  /** The command that the server replied to. */
  readonly command: string | undefined;
  readonly response: string | undefined;
  readonly responseCode: number | undefined;

  constructor(code: string, message: string, command?: string, response?: string) {
    super(message);
    this.code = code;
    this.command = command;
    this.response = response;
    this.responseCode = response === undefined ? undefined : replyCodeOf(response);
  }
}

/**
 * Returns the code of a reply: that of its last line (RFC 5321, 4.2.1). The lines of a reply must have the same code. If a
 * server refuses something with codes of different kinds, it is unclear what it means, and the refusal counts as temporary.
 */
export function replyCodeOf(reply: string): number {
  // Nearly all have one line.
  if (!reply.includes('\n')) return Number(/^\d{3}/.exec(reply)?.[0]);
  const codes = reply.split('\n').map(line => Number(/^\d{3}/.exec(line)?.[0]));
  const code = codes.at(-1)!;
  const isMixed = codes.some(other => Math.floor(other / 100) !== Math.floor(code / 100));
  return isMixed && code >= 500 ? unclearCode : code;
}

const unclearCode = 451;

/** The name of a command, for errors, and its line. */
type Command = [name: string, line: string];

interface MailTransaction {
  mail: Mail;
  body: Buffer;
  /** Commands without a reply yet. */
  commands: Command[];
  refusal?: SmtpError;
  /** Called when the next mail may be sent. */
  onBodySent: (() => void) | undefined;
  done: (error?: Error) => void;
}

/** Larger mails are written in chunks of this size. */
const chunkBytes = 65_536;
/** Far longer than any real reply. */
const maxReplyLength = 65_536;
const closingCode = 421;

export class SmtpSession {
  readonly #connection: SMTPConnection;
  readonly #socket: Socket;
  readonly #supportsPipelining: boolean;
  readonly #supportsUtf8: boolean;
  readonly #supports8Bit: boolean;
  /** The first waits for the server's replies; the second is being sent. */
  readonly #transactions: MailTransaction[] = [];
  /** False after a mail was refused before its data was sent: the next one must begin with RSET. */
  #isClean = true;
  /** Complete lines of a reply that is not complete. */
  #lines = '';
  #partialLine = '';
  #error: Error | undefined;
  /** Started again with each command and each reply: separate timers would cost more. */
  readonly #replyTimer: NodeJS.Timeout;

  /** `greeting` is the server's reply to EHLO, and `replyMs` how long each complete reply may take. */
  constructor(connection: SMTPConnection, greeting: string, replyMs: number) {
    this.#connection = connection;
    this.#replyTimer = setTimeout(() => this.#onLate(replyMs), replyMs).unref();
    this.#socket = connection._socket as Socket;
    this.#supportsPipelining = /^250[ -]PIPELINING\b/im.test(greeting);
    this.#supportsUtf8 = /^250[ -]SMTPUTF8\b/im.test(greeting);
    this.#supports8Bit = /^250[ -]8BITMIME\b/im.test(greeting);
    connection.on('error', error => {
      this.#error = error;
    });
    connection.once('end', () => {
      clearTimeout(this.#replyTimer);
      const lost = new SmtpError('ECONNECTION', 'the connection ended');
      for (const [i, transaction] of this.#transactions.splice(0).entries())
        transaction.done(i === 0 ? (this.#error ?? lost) : lost);
    });
    this.#socket.removeAllListeners('data').on('data', (chunk: Buffer) => this.#onData(chunk));
  }

  get isIdle(): boolean {
    return this.#transactions.length === 0;
  }

  /** Sends `body`, the signed mail. The next mail may follow after `onBodySent`, or after the end without it. */
  send(mail: Mail, body: Buffer, onBodySent?: () => void): Promise<void> {
    const { from, to } = mail.envelope;
    if (!to || forbidden.test(to) || forbidden.test(from)) {
      return Promise.reject(new SmtpError('EENVELOPE', `invalid envelope: from <${from}> to <${to}>`));
    }
    const international = [from, to].find(address => nonAscii.test(address));
    if (international && !this.#supportsUtf8) {
      const reason = 'does not offer SMTPUTF8, which addresses with characters beyond ASCII before the @ need';
      return Promise.reject(
        new SmtpError('EENVELOPE', `the mail server cannot send to or from <${international}>: it ${reason}`),
      );
    }
    // The address is also in a header, so the content has bytes beyond ASCII. Texts are encoded, because a server on the way that
    // converts them would break the signature.
    const parameters = international ? `${this.#supports8Bit ? ' BODY=8BITMIME' : ''} SMTPUTF8` : '';
    const commands: Command[] = [
      ['MAIL FROM', `MAIL FROM:<${from}>${parameters}\r\n`],
      ['RCPT TO', `RCPT TO:<${to}>\r\n`],
      ['DATA', 'DATA\r\n'],
    ];
    if (!this.#isClean) commands.unshift(['RSET', 'RSET\r\n']);
    this.#isClean = true;
    return new Promise((resolve, reject) => {
      if (this.isIdle) this.#replyTimer.refresh();
      this.#transactions.push({ mail, body, commands, onBodySent, done: error => (error ? reject(error) : resolve()) });
      this.#socket.write(this.#supportsPipelining ? commands.map(([, line]) => line).join('') : commands[0]![1]);
    });
  }

  /** Ends the session with QUIT. Call it only when idle. */
  quit(): void {
    this.#socket.write('QUIT\r\n');
    this.#connection.close();
  }

  /** Closes the connection; the first transaction fails with this error. */
  #abort(error: Error): void {
    this.#error = error;
    this.#connection.close();
  }

  /** The server may send a reply byte by byte, which the idle timeout of the connection does not end. */
  #onLate(replyMs: number): void {
    const { mail, commands } = this.#transactions[0] ?? {};
    // Nothing is expected, or the mail is still being transmitted, which has its own deadline.
    if (!mail || mail.transmitted === 'some') return;
    const name = commands?.[0]?.[0] ?? 'the message';
    this.#abort(new SmtpError('ETIMEDOUT', `the server did not reply to ${name} within ${replyMs} ms`));
    // The server may keep sending for as long as the socket is open.
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    let text = this.#partialLine + chunk.toString('latin1');
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end).trimEnd();
      text = text.slice(end + 1);
      if (/^\d{3}-/.test(line)) this.#lines += `${line}\n`;
      else if (line) {
        const reply = this.#lines + line;
        this.#lines = '';
        this.#onReply(reply);
      }
    }
    this.#partialLine = text;
    if (this.#partialLine.length + this.#lines.length > maxReplyLength) {
      this.#abort(new SmtpError('EPROTOCOL', 'the server sent an endless reply'));
      // The server may keep sending for as long as the socket is open.
      this.#socket.destroy();
    }
  }

  #onReply(reply: string): void {
    this.#replyTimer.refresh();
    const code = replyCodeOf(reply);
    const transaction = this.#transactions[0];
    if (!transaction) {
      // An unexpected reply: the server closes the session, or violates the protocol.
      this.#connection.close();
      return;
    }
    const { transmitted } = transaction.mail;
    const [name] = transaction.commands.shift() ?? ['DATA'];
    // Some servers reply 2yz to DATA.
    const kind = Math.floor(code / 100);
    const isPositive = kind === 2 || (kind === 3 && name === 'DATA' && !transmitted);
    if (!isPositive && !(kind >= 3 && kind <= 5)) {
      this.#abort(new SmtpError('EPROTOCOL', `invalid reply to ${name}: ${toText(reply)}`));
      return;
    }
    if (!isPositive) transaction.refusal ??= refusedError(transmitted ? 'EMESSAGE' : 'EENVELOPE', name, reply);
    if (code === closingCode) this.#abort(transaction.refusal!);
    else if (name === 'RSET' && !isPositive) this.#abort(new SmtpError('ECONNECTION', `RSET failed: ${reply}`));
    else if (transmitted === 'whole') this.#finish(transaction);
    else if (transmitted === 'some')
      this.#abort(
        transaction.refusal ?? new SmtpError('EPROTOCOL', `the server replied before the end of the message: ${reply}`),
      );
    else if (transaction.commands.length > 0 && this.#supportsPipelining) return;
    else if (transaction.commands.length > 0 && !transaction.refusal) this.#socket.write(transaction.commands[0]![1]);
    else if (!transaction.refusal) this.#sendBody(transaction);
    // The server accepted DATA although it refused the envelope.
    else if (kind === 3) this.#abort(transaction.refusal);
    else this.#finish(transaction);
  }

  #finish({ mail, refusal, done }: MailTransaction): void {
    this.#transactions.shift();
    // After the final dot the transaction is over, whatever the reply.
    this.#isClean = mail.transmitted === 'whole';
    done(refusal);
  }

  #sendBody(transaction: MailTransaction): void {
    const { rest, mayHandOver } = transaction.mail;
    if (mayHandOver && !mayHandOver()) {
      this.#abort(new WithdrawnError());
      return;
    }
    const body = escapeDots(transaction.body);
    if (rest || body.length > chunkBytes) {
      // The connection reports why it failed.
      this.#sendChunks(transaction, [body, ...(rest ?? []), endOfData]).catch(() => {});
      return;
    }
    transaction.mail.transmitted = 'whole';
    // System calls are the most expensive part of sending: the commands of the next mail are written together with this one.
    this.#socket.cork();
    this.#socket.write(body);
    this.#socket.write(endOfData);
    if (!this.#supportsPipelining || !transaction.onBodySent) {
      this.#socket.uncork();
      return;
    }
    transaction.onBodySent();
    setImmediate(() => this.#socket.uncork());
  }

  /** Writes in chunks, so that `transmitted` is accurate. */
  async #sendChunks(transaction: MailTransaction, parts: readonly Buffer[]): Promise<void> {
    transaction.mail.transmitted = 'some';
    for (const [i, data] of parts.entries()) {
      for (let from = 0; from < data.length && this.#transactions[0] === transaction; from += chunkBytes) {
        const isLast = i === parts.length - 1 && from + chunkBytes >= data.length;
        const { mayHandOver } = transaction.mail;
        if (isLast && mayHandOver && !mayHandOver()) return this.#abort(new WithdrawnError());
        if (isLast) {
          transaction.mail.transmitted = 'whole';
          this.#replyTimer.refresh();
        }
        if (!this.#socket.write(data.subarray(from, from + chunkBytes))) await once(this.#socket, 'drain');
      }
    }
  }
}

const forbidden = /[\r\n<>]/;
const nonAscii = /[^\0-\x7f]/;
const endOfData = Buffer.from('.\r\n');

const lineWithDot = Buffer.from('\r\n.');

/** Escapes lines that start with a dot. */
function escapeDots(body: Buffer): Buffer {
  if (body[0] !== 0x2e && !body.includes(lineWithDot)) return body;
  return Buffer.from(body.toString('latin1').replace(/(^|\r\n)\./g, '$1..'), 'latin1');
}

function refusedError(code: string, command: string, reply: string): SmtpError {
  return new SmtpError(code, `the server refused ${command}`, command, toText(reply));
}

function toText(reply: string): string {
  return Buffer.from(reply, 'latin1').toString('utf8');
}
