/**
 * What is said on a connection once the server knows us (RFC 5321). Where the server allows it (RFC 2920), the commands
 * before a mail go in one piece, and together with the mail before it: one turn for each mail instead of four. nodemailer
 * opens the connection, and goes on to watch over it. Its own way of sending is made for mails that are streams: it took
 * 120 µs for a mail of ours, this takes 50.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Composed } from './compose.ts';

export interface Mail extends Composed {
  /** How much of it may have left: once it is the whole, it may have been accepted. */
  left?: 'some' | 'whole';
}

/** As nodemailer's, so that smtp-outcome.ts has one kind to read. */
export class SmtpError extends Error {
  readonly code: string;
  /** The command that was answered, and how. */
  readonly command: string | undefined;
  readonly response: string | undefined;
  readonly responseCode: number | undefined;

  constructor(code: string, message: string, command?: string, response?: string) {
    super(message);
    this.code = code;
    this.command = command;
    this.response = response;
    this.responseCode = response === undefined ? undefined : Number.parseInt(response, 10);
  }
}

/** The name of a command, as errors tell it, and its line. */
type Command = [name: string, line: string];

interface DialogueStep {
  mail: Mail;
  body: Buffer;
  /** Not answered yet. */
  commands: Command[];
  refusal?: SmtpError;
  /** The next mail may follow. */
  onHanded: (() => void) | undefined;
  done: (error?: Error) => void;
}

/** What is written at a time, of a mail that is larger. */
const pieceBytes = 65_536;
/** Far more than any server has to say. */
const mostReply = 65_536;
const serverCloses = '421';

export class Dialogue {
  readonly #connection: SMTPConnection;
  readonly #socket: Socket;
  readonly #pipelines: boolean;
  readonly #utf8: boolean;
  /** Of the first the server's word is awaited, the second is being handed over. */
  readonly #turns: DialogueStep[] = [];
  /** A mail was refused before it was handed over: the server is to forget what it was told of it. */
  #isReset = true;
  /** Of the reply that is coming in. */
  #lines = '';
  #rest = '';
  #error: Error | undefined;

  /** `greeting`: what the server answered to EHLO. */
  constructor(connection: SMTPConnection, greeting: string) {
    this.#connection = connection;
    this.#socket = connection._socket as Socket;
    this.#pipelines = /^250[ -]PIPELINING\b/im.test(greeting);
    this.#utf8 = /^250[ -]SMTPUTF8\b/im.test(greeting);
    connection.on('error', error => {
      this.#error = error;
    });
    connection.once('end', () => {
      const lost = new SmtpError('ECONNECTION', 'the connection ended');
      for (const [i, turn] of this.#turns.splice(0).entries()) turn.done(i === 0 ? (this.#error ?? lost) : lost);
    });
    this.#socket.removeAllListeners('data').on('data', (chunk: Buffer) => this.#hear(chunk));
  }

  get isIdle(): boolean {
    return this.#turns.length === 0;
  }

  /** `body` is what is sent of it. The next one may follow after `onHanded`, else after the end. */
  send(mail: Mail, body: Buffer, onHanded?: () => void): Promise<void> {
    const { from, to } = mail.envelope;
    if (!to || forbidden.test(to) || forbidden.test(from)) {
      return Promise.reject(new SmtpError('EENVELOPE', `no mail can go from <${from}> to <${to}>`));
    }
    const words = this.#utf8 && beyondAscii.test(from + to) ? ' SMTPUTF8' : '';
    const commands: Command[] = [
      ['MAIL FROM', `MAIL FROM:<${from}>${words}\r\n`],
      ['RCPT TO', `RCPT TO:<${to}>\r\n`],
      ['DATA', 'DATA\r\n'],
    ];
    if (!this.#isReset) commands.unshift(['RSET', 'RSET\r\n']);
    this.#isReset = true;
    return new Promise((resolve, reject) => {
      this.#turns.push({ mail, body, commands, onHanded, done: error => (error ? reject(error) : resolve()) });
      this.#socket.write(this.#pipelines ? commands.map(([, line]) => line).join('') : commands[0]![1]);
    });
  }

  /** Politely, where no mail is on its way. */
  quit(): void {
    this.#socket.write('QUIT\r\n');
    this.#connection.close();
  }

  /** Of the first. */
  #giveUp(error: Error): void {
    this.#error = error;
    this.#connection.close();
  }

  #hear(chunk: Buffer): void {
    let text = this.#rest + chunk.toString('latin1');
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end).trimEnd();
      text = text.slice(end + 1);
      if (/^\d{3}-/.test(line)) this.#lines += `${line}\n`;
      else if (line) {
        const reply = this.#lines + line;
        this.#lines = '';
        this.#take(reply);
      }
    }
    this.#rest = text;
    if (this.#rest.length + this.#lines.length > mostReply) {
      this.#giveUp(new SmtpError('EPROTOCOL', 'the server does not come to the end of its reply'));
      // It may go on talking for as long as it is listened to.
      this.#socket.destroy();
    }
  }

  #take(reply: string): void {
    const turn = this.#turns[0];
    if (!turn) {
      // Nobody has asked: it says goodbye, or something that belongs nowhere.
      this.#connection.close();
      return;
    }
    const { left } = turn.mail;
    const [name] = turn.commands.shift() ?? ['DATA'];
    // Some answer to DATA as to any other command.
    const isFine = reply.startsWith('2') || (reply.startsWith('3') && name === 'DATA' && !left);
    if (!isFine && !anyReply.test(reply)) {
      this.#giveUp(new SmtpError('EPROTOCOL', `no reply to ${name}: ${toText(reply)}`));
      return;
    }
    if (!isFine) turn.refusal ??= refused(left ? 'EMESSAGE' : 'EENVELOPE', name, reply);
    if (reply.startsWith(serverCloses)) this.#giveUp(turn.refusal!);
    else if (name === 'RSET' && !isFine) this.#giveUp(new SmtpError('ECONNECTION', `not to be used again: ${reply}`));
    else if (left === 'whole') this.#conclude(turn);
    else if (left === 'some') this.#giveUp(turn.refusal ?? new SmtpError('EPROTOCOL', `too early: ${reply}`));
    else if (turn.commands.length > 0 && this.#pipelines) return;
    else if (turn.commands.length > 0 && !turn.refusal) this.#socket.write(turn.commands[0]![1]);
    else if (!turn.refusal) this.#hand(turn);
    // It waits for a mail that nobody is to get.
    else if (reply.startsWith('3')) this.#giveUp(turn.refusal);
    else this.#conclude(turn);
  }

  #conclude({ mail, refusal, done }: DialogueStep): void {
    this.#turns.shift();
    // What was handed over is over, however it was taken.
    this.#isReset = mail.left === 'whole';
    done(refusal);
  }

  #hand(turn: DialogueStep): void {
    const whole = toLines(turn.body);
    if (whole.length > pieceBytes) {
      // Why it fails is told by the connection.
      this.#handPieces(turn, whole).catch(() => {});
      return;
    }
    turn.mail.left = 'whole';
    if (!this.#pipelines || !turn.onHanded) {
      this.#socket.write(whole);
      return;
    }
    // System calls are the most expensive part of a mail: the commands of the next one leave together with it.
    this.#socket.cork();
    this.#socket.write(whole);
    turn.onHanded();
    setImmediate(() => this.#socket.uncork());
  }

  /** So that how far it got can be told. */
  async #handPieces(turn: DialogueStep, whole: Buffer): Promise<void> {
    turn.mail.left = 'some';
    for (let from = 0; from < whole.length && this.#turns[0] === turn; from += pieceBytes) {
      if (from + pieceBytes >= whole.length) turn.mail.left = 'whole';
      if (!this.#socket.write(whole.subarray(from, from + pieceBytes))) await once(this.#socket, 'drain');
    }
  }
}

const anyReply = /^[2-5]\d\d/;
const forbidden = /[\r\n<>]/;
const beyondAscii = /[^\0-\x7f]/;
const end = Buffer.from('.\r\n');

/** With the line that ends it, so that no other line looks like that one. */
function toLines(body: Buffer): Buffer {
  if (body[0] !== 0x2e && !body.includes('\r\n.')) return Buffer.concat([body, end]);
  return Buffer.from(`${body.toString('latin1').replace(/(^|\r\n)\./g, '$1..')}.\r\n`, 'latin1');
}

function refused(code: string, command: string, reply: string): SmtpError {
  return new SmtpError(code, `the server refused ${command}`, command, toText(reply));
}

function toText(reply: string): string {
  return Buffer.from(reply, 'latin1').toString('utf8');
}
