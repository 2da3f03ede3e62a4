/**
 * A connection to a mail server that is kept for the next message, and one message at a time on it. It is opened when
 * there is something to send, also when the server has closed it meanwhile.
 */
import { connect, type Socket } from 'node:net';
import { Readable, type Writable } from 'node:stream';
import DKIM from 'nodemailer/lib/dkim';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Static } from 'typebox';
import type { Outbound } from '../../lib/outbound.ts';
import type { Composed } from './smtp-compose.ts';
import type { Line } from './smtp-lines.ts';
import type { SmtpSettings } from './smtp-settings.ts';

export type Settings = Static<typeof SmtpSettings>;

export interface Mail extends Composed {
  stream?: Handing;
}

/** A mail on its way: once it has been read to its end, the whole of it may have been accepted. */
type Handing = Pick<Readable, 'readableDidRead' | 'readableEnded'>;

export const usualTimeoutMs = 30_000;
/**
 * As long as servers allow, but now and then the host is looked up anew. By messages it would be too often: after 100
 * of them, nodemailer's usual, 1 of 100 waits for a new connection, which is what the slowest 1 of 100 were made of.
 */
const longestLifeMs = 60_000;
/** What is handed over at a time, of a mail that is larger. */
const pieceBytes = 65_536;

export function openLine(settings: Settings, outbound: Outbound): Line<Mail> {
  const { host, secure, timeout_ms: timeoutMs = usualTimeoutMs } = settings;
  const port = settings.port ?? (secure ? 465 : 587);
  const sign = signerOf(settings);
  const toStream = (on: SMTPConnection, raw: Buffer): Handing => {
    if (sign) return sign(raw);
    return raw.length > pieceBytes ? new Pieces(raw) : new Piece(on, raw);
  };
  let ended = false;
  let connection: SMTPConnection | undefined;
  let openedAt = 0;
  let reset: Promise<void> | undefined;

  const open = async (): Promise<SMTPConnection> => {
    // Every connection asks anew where the host is.
    const socket = await openSocket(outbound, host, port, timeoutMs);
    if (ended) {
      socket.destroy();
      throw new Error('given up');
    }
    const opened = prepare(settings, port, timeoutMs, socket);
    connection = opened;
    openedAt = Date.now();
    opened.once('end', () => {
      if (connection === opened) connection = undefined;
    });
    await greet(opened, settings);
    return opened;
  };

  const transmit = async (on: SMTPConnection, mail: Mail): Promise<void> => {
    mail.stream = toStream(on, mail.raw);
    try {
      await send(on, mail);
    } catch (error) {
      // Refused, and the connection is fine; whatever else it was, nothing more goes out on it.
      if (isRefusal(error) && !on.destroyed) reset = resetOf(on);
      else on.close();
      throw error;
    }
  };

  return {
    async sendMail(mail) {
      await reset;
      reset = undefined;
      if (connection && Date.now() - openedAt > longestLifeMs) {
        connection.quit();
        connection = undefined;
      }
      const kept = connection;
      if (!kept) return transmit(await open(), mail);
      try {
        return await transmit(kept, mail);
      } catch (error) {
        // The server has closed it meanwhile: a message of which no byte has left goes to a new one, once.
        if (ended || mail.stream?.readableDidRead || !isLost(error)) throw error;
        return transmit(await open(), mail);
      }
    },
    end() {
      ended = true;
      connection?.close();
    },
  };
}

/** Nothing has been said on it yet. */
function prepare(settings: Settings, port: number, timeoutMs: number, socket: Socket): SMTPConnection {
  const { host, secure = false, password, ca } = settings;
  const starttls = settings.starttls ?? (password === undefined ? 'prefer' : 'require');
  const connection = new SMTPConnection({
    // Also the name that must be on the certificate.
    host,
    port,
    secure,
    requireTLS: !secure && starttls === 'require',
    ignoreTLS: starttls === 'never',
    tls: { ...(ca && { ca }) },
    connection: socket,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  });
  // Whoever waits for something hears of it; when nobody does, 'end' is enough.
  return connection.on('error', () => {});
}

async function greet(connection: SMTPConnection, { user, password: pass }: Settings): Promise<void> {
  try {
    await answered(connection, done => {
      connection.once('error', done);
      connection.connect(error => done(error ?? null));
    });
    if (user === undefined || !connection.allowsAuth) return;
    await answered(connection, done => connection.login({ user, pass, credentials: { user, pass: pass! } }, done));
  } catch (error) {
    connection.close();
    throw error;
  }
}

function send(connection: SMTPConnection, { envelope, stream }: Mail): Promise<void> {
  // A copy: what became of it at one attempt is noted in it.
  return answered(connection, done => connection.send({ ...envelope }, stream as Readable, error => done(error)));
}

async function resetOf(connection: SMTPConnection): Promise<void> {
  await answered(connection, done => connection.reset(done)).catch(() => connection.close());
}

/** A command that the end of the connection answers too. */
function answered(connection: SMTPConnection, run: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // After whatever the command itself has to say of it.
    const onEnd = () => setImmediate(reject, Object.assign(new Error('the connection ended'), { code: 'ECONNECTION' }));
    connection.once('end', onEnd);
    run(error => {
      connection.off('end', onEnd);
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * A small mail in one piece: nodemailer asks no more of a stream than `pipe`. The last line, which follows by itself,
 * leaves together with the rest: system calls are the most expensive part of a mail. Both take 60 µs off 330.
 */
class Piece implements Handing {
  readonly #connection: SMTPConnection;
  readonly #raw: Buffer;
  readableDidRead = false;
  readableEnded = false;

  constructor(connection: SMTPConnection, raw: Buffer) {
    this.#connection = connection;
    this.#raw = raw;
  }

  pipe(output: Writable): void {
    this.readableDidRead = true;
    this.readableEnded = true;
    const socket = this.#connection._socket;
    if (socket) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    output.end(this.#raw);
  }
}

/** A large one, so that how far it got can be told: most of what was read has left. */
class Pieces extends Readable {
  #rest: Buffer;

  constructor(whole: Buffer) {
    super();
    this.#rest = whole;
  }

  override _read(): void {
    if (this.#rest.length === 0) {
      this.push(null);
      return;
    }
    const piece = this.#rest.subarray(0, pieceBytes);
    this.#rest = this.#rest.subarray(pieceBytes);
    this.push(piece);
  }
}

function signerOf({ dkim_domain, dkim_selector, dkim_private_key }: Settings): ((raw: Buffer) => Readable) | undefined {
  if (!dkim_domain) return undefined;
  const dkim = new DKIM({ domainName: dkim_domain, keySelector: dkim_selector!, privateKey: dkim_private_key! });
  return raw => dkim.sign(raw);
}

interface SmtpError {
  code?: string;
  responseCode?: number;
}

function isRefusal(error: unknown): boolean {
  const { code, responseCode } = error as SmtpError;
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode !== 421;
}

function isLost(error: unknown): boolean {
  const { code = '', responseCode } = error as SmtpError;
  return responseCode === 421 || ['ECONNECTION', 'ESOCKET', 'ETIMEDOUT'].includes(code);
}

async function openSocket(outbound: Outbound, host: string, port: number, timeoutMs: number): Promise<Socket> {
  const address = await outbound.resolve(host);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true });
    const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
    socket.once('error', reject).once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  });
}
