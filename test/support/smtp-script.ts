/** A mail server on loopback that follows SMTP except where a test decides otherwise. Records everything it receives. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface SmtpCommand {
  /** Counted from 1. */
  connection: number;
  /** First word of the command, such as `MAIL`. Also `CONNECT`, `BODY` at the start of a mail, and `.` at its end. */
  verb: string;
  line: string;
  /** Recipient of the current mail, if it is set. */
  to: string;
}

/** A reply without its line ending, or an action. Later commands wait until it is finished. */
export type Answer = string | ((socket: Socket, defaultReply: string) => unknown);

/** Returns undefined for the default reply. */
export type Decide = (command: SmtpCommand) => Answer | undefined | Promise<Answer | undefined>;

export interface ScriptedMail {
  connection: number;
  to: string;
  /** Without dot-stuffing. */
  body: string;
}

export interface SmtpScript {
  port: number;
  decide: Decide;
  /** Received commands by connection. */
  commands: string[][];
  /** Commands received before the previous one was answered. */
  early: string[];
  /** Completely received mails, whatever the reply. */
  mails: ScriptedMail[];
  /** Number of connections opened so far. */
  readonly connections: number;
  open(): number;
  /** Waits until the condition holds; checks it whenever data arrives. */
  until(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface SmtpScriptOptions {
  /** Announced extensions, such as `PIPELINING`. */
  offers?: string[];
  decide?: Decide;
}

const forEver = () => new Promise<never>(() => {});
export const silence: Answer = forEver;

/** Sends data continuously, but never the end of the reply. */
export const trickle: Answer = (socket, defaultReply) => {
  const timer = setInterval(() => socket.write(`${defaultReply.slice(0, 3)}-wait\r\n`), 20);
  socket.once('close', () => clearInterval(timer));
  return forEver();
};

export const hangUp: Answer = socket => {
  socket.end();
  return forEver();
};

export async function openSmtpScript({ offers = [], decide = () => undefined }: SmtpScriptOptions = {}) {
  const sockets = new Set<Socket>();
  const watching = new Set<() => void>();
  const tell = () => {
    for (const look of watching) look();
  };
  // Lets a test keep sending to a client that has closed its side.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    sockets.add(socket);
    const connection = script.commands.push([]);
    const session = new Session(socket, offers, (verb, line, to) => script.decide({ connection, verb, line, to }));
    session.onCommand = (line, isEarly) => {
      script.commands[connection - 1]!.push(line);
      if (isEarly) script.early.push(line);
    };
    session.onMail = (to, body) => script.mails.push({ connection, to, body });
    // Some tests disconnect in the middle.
    socket.on('error', () => {}).on('end', () => socket.end());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', chunk => {
      session.hear(chunk);
      tell();
    });
    session.answer('CONNECT', '', '220 hello');
    tell();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const script: SmtpScript = {
    port: (server.address() as AddressInfo).port,
    decide,
    commands: [],
    early: [],
    mails: [],
    get connections() {
      return script.commands.length;
    },
    open: () => sockets.size,
    until: holds =>
      new Promise(resolve => {
        const look = () => {
          if (!holds()) return;
          watching.delete(look);
          resolve();
        };
        watching.add(look);
        look();
      }),
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return script;
}

class Session {
  onCommand: (line: string, isEarly: boolean) => void = () => {};
  onMail: (to: string, body: string) => void = () => {};
  readonly #socket: Socket;
  readonly #offers: string[];
  readonly #decide: (verb: string, line: string, to: string) => ReturnType<Decide>;
  /** Envelope of the current mail. */
  #agreed: 'nothing' | 'sender' | 'recipient' = 'nothing';
  #to = '';
  /** Lines of the mail being received. */
  #body: string[] | undefined;
  #rest = '';
  #unanswered = 0;
  #before: Promise<unknown> = Promise.resolve();

  constructor(
    socket: Socket,
    offers: string[],
    decide: (verb: string, line: string, to: string) => ReturnType<Decide>,
  ) {
    this.#socket = socket;
    this.#offers = offers;
    this.#decide = decide;
  }

  hear(chunk: Buffer): void {
    if (this.#body?.length === 0 && this.#rest === '') this.answer('BODY', '');
    const lines = (this.#rest + chunk.toString('latin1')).split('\r\n');
    this.#rest = lines.pop()!;
    for (const line of lines) {
      if (!this.#body) {
        this.#command(line);
      } else if (line !== '.') {
        this.#body.push(line.replace(/^\./, ''));
      } else {
        const body = this.#body.map(one => `${one}\r\n`).join('');
        this.#body = undefined;
        this.onMail(this.#to, Buffer.from(body, 'latin1').toString());
        this.#command('.');
      }
    }
  }

  #command(line: string): void {
    const text = Buffer.from(line, 'latin1').toString();
    this.onCommand(text, this.#unanswered > 0);
    this.answer(text.split(/[ :]/)[0]!.toUpperCase(), text);
  }

  /** Answers when all previous commands are answered. */
  answer(verb: string, line: string, given?: string): void {
    if (verb !== 'BODY') this.#unanswered++;
    this.#before = this.#before.then(async () => {
      if (verb === 'RCPT') this.#to = /<(.*)>/.exec(line)?.[1] ?? '';
      const defaultReply = given ?? this.#byTheBook(verb);
      const answer = (await this.#decide(verb, line, this.#to)) ?? defaultReply;
      // Recorded first, because the client may react immediately.
      this.#note(verb, typeof answer === 'function' ? defaultReply : answer);
      if (typeof answer === 'function') await answer(this.#socket, defaultReply);
      else if (answer) this.#socket.write(`${answer}\r\n`);
      if (verb !== 'BODY') this.#unanswered--;
      if (verb === 'QUIT') this.#socket.end();
    });
  }

  #byTheBook(verb: string): string {
    if (verb === 'EHLO')
      return ['scripted', ...this.#offers]
        .map((word, i, { length }) => `250${i + 1 < length ? '-' : ' '}${word}`)
        .join('\r\n');
    if (verb === 'BODY') return '';
    if (verb === 'QUIT') return '221 bye';
    if (verb === 'MAIL') return this.#agreed === 'nothing' ? '250 fine' : '503 5.5.1 there is a mail already';
    if (verb === 'RCPT') return this.#agreed === 'nothing' ? '503 5.5.1 no sender yet' : '250 fine';
    if (verb === 'DATA') return this.#agreed === 'recipient' ? '354 go on' : '503 5.5.1 no recipient yet';
    return verb === '.' ? '250 taken' : '250 fine';
  }

  #note(verb: string, answer: string): void {
    if (verb === '.') this.#agreed = 'nothing';
    if (verb === 'DATA' && answer.startsWith('3')) this.#body = [];
    if (!answer.startsWith('2')) return;
    if (verb === 'RSET' || verb === 'EHLO') this.#agreed = 'nothing';
    if (verb === 'MAIL') this.#agreed = 'sender';
    if (verb === 'RCPT') this.#agreed = 'recipient';
  }
}
