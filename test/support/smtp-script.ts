/** A mail server on loopback that speaks SMTP by the book, but for what a test decides. Keeps all that it gets. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface Asked {
  /** Counted from 1. */
  connection: number;
  /** First word of the command: `MAIL`. Also `CONNECT`, `BODY` at the first piece of a mail, and `.` at its end. */
  verb: string;
  line: string;
  /** Recipient of the mail that it is about, if known. */
  to: string;
}

/** A reply without the end of its line, or something else that is done. What comes later waits until it is done. */
export type Answer = string | ((socket: Socket, usual: string) => unknown);

/** Undefined: by the book. */
export type Decide = (asked: Asked) => Answer | undefined | Promise<Answer | undefined>;

export interface ScriptedMail {
  connection: number;
  to: string;
  /** Without the dots that were added for the way. */
  body: string;
}

export interface SmtpScript {
  port: number;
  decide: Decide;
  /** All that came, by connection. */
  commands: string[][];
  /** What came before the answer to what was before it. */
  early: string[];
  /** All that came to their end, however that was answered. */
  mails: ScriptedMail[];
  /** How many were opened so far. */
  readonly connections: number;
  open(): number;
  /** Looks again whenever something comes. */
  until(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface SmtpScriptOptions {
  /** What it announces: `PIPELINING`. */
  offers?: string[];
  decide?: Decide;
}

const forEver = () => new Promise<never>(() => {});
export const silence: Answer = forEver;

/** Something comes all the time, but no end. */
export const trickle: Answer = (socket, usual) => {
  const timer = setInterval(() => socket.write(`${usual.slice(0, 3)}-wait\r\n`), 20);
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
  // So that a test may go on talking to a client that has hung up.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    sockets.add(socket);
    const connection = script.commands.push([]);
    const session = new Session(socket, offers, (verb, line, to) => script.decide({ connection, verb, line, to }));
    session.onCommand = (line, isEarly) => {
      script.commands[connection - 1]!.push(line);
      if (isEarly) script.early.push(line);
    };
    session.onMail = (to, body) => script.mails.push({ connection, to, body });
    // Clients that go away in the middle are part of the tests.
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
  /** Of the mail as far as it was agreed on. */
  #agreed: 'nothing' | 'sender' | 'recipient' = 'nothing';
  #to = '';
  /** Lines of the mail that is coming in. */
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

  /** When it is its turn. */
  answer(verb: string, line: string, given?: string): void {
    if (verb !== 'BODY') this.#unanswered++;
    this.#before = this.#before.then(async () => {
      if (verb === 'RCPT') this.#to = /<(.*)>/.exec(line)?.[1] ?? '';
      const usual = given ?? this.#byTheBook(verb);
      const answer = (await this.#decide(verb, line, this.#to)) ?? usual;
      // First: the client may be quick.
      this.#note(verb, typeof answer === 'function' ? usual : answer);
      if (typeof answer === 'function') await answer(this.#socket, usual);
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
