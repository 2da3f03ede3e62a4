/**
 * A connection to a mail server that is kept for the next message, and one message at a time on it. It is opened when
 * there is something to send, also when the server has closed it meanwhile.
 */
import { connect, type Socket } from 'node:net';
import DKIM from 'nodemailer/lib/dkim';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Static } from 'typebox';
import type { Outbound } from '../../../lib/outbound.ts';
import { type Connection, ConnectionAbandoned } from './connection-pool.ts';
import { Dialogue, type Mail, type SmtpError } from './dialogue.ts';
import type { SmtpSettings } from './settings.ts';

export type Settings = Static<typeof SmtpSettings>;

export const usualTimeoutMs = 30_000;
/**
 * As long as servers allow, but now and then the host is looked up anew. By messages it would be too often: after 100
 * of them, nodemailer's usual, 1 of 100 waits for a new connection, which is what the slowest 1 of 100 were made of.
 */
const longestLifeMs = 60_000;

export function openConnection(settings: Settings, outbound: Outbound): Connection<Mail> {
  const { host, secure, timeout_ms: timeoutMs = usualTimeoutMs } = settings;
  const port = settings.port ?? (secure ? 465 : 587);
  const sign = signerOf(settings);
  let isEnded = false;
  let connection: SMTPConnection | undefined;
  let dialogue: Dialogue | undefined;
  let openedAt = 0;
  const isOld = () => Date.now() - openedAt > longestLifeMs;

  const open = async (): Promise<Dialogue> => {
    // Every connection asks anew where the host is.
    const socket = await openSocket(outbound, host, port, timeoutMs);
    if (isEnded) {
      socket.destroy();
      throw new ConnectionAbandoned('before it was open');
    }
    const opened = prepare(settings, port, timeoutMs, socket);
    connection = opened;
    openedAt = Date.now();
    opened.once('end', () => {
      if (connection !== opened) return;
      connection = undefined;
      dialogue = undefined;
    });
    dialogue = new Dialogue(opened, await greet(opened, settings));
    return dialogue;
  };

  return {
    async sendMail(mail, onHanded) {
      const body = sign ? await sign(mail.raw) : mail.raw;
      if (dialogue && isOld() && dialogue.isIdle) dialogue.quit();
      const kept = dialogue;
      // What is old is idle after this one.
      const go = (on: Dialogue) => on.send(mail, body, isOld() ? undefined : onHanded);
      try {
        return await go(kept ?? (await open()));
      } catch (error) {
        if (mail.left || !isLost(error)) throw error;
        if (isEnded) throw new ConnectionAbandoned('for the sake of another mail', { cause: error });
        // The server has closed it meanwhile: what goes to a new one goes there once.
        if (!kept) throw error;
        return await go(await open());
      }
    },
    end() {
      isEnded = true;
      connection?.close();
    },
    get isEnded() {
      return isEnded;
    },
    get isIdle() {
      return !dialogue || dialogue.isIdle;
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

/** Returns what the server says it can do. */
async function greet(connection: SMTPConnection, { user, password: pass }: Settings): Promise<string> {
  try {
    await answered(connection, done => {
      connection.once('error', done);
      connection.connect(error => done(error ?? null));
    });
    const greeting = connection.lastServerResponse || '';
    if (user !== undefined && connection.allowsAuth) {
      await answered(connection, done => connection.login({ user, pass, credentials: { user, pass: pass! } }, done));
    }
    return greeting;
  } catch (error) {
    connection.close();
    throw error;
  }
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

function signerOf({
  dkim_domain,
  dkim_selector,
  dkim_private_key,
}: Settings): ((raw: Buffer) => Promise<Buffer>) | undefined {
  if (!dkim_domain) return undefined;
  const dkim = new DKIM({ domainName: dkim_domain, keySelector: dkim_selector!, privateKey: dkim_private_key! });
  return async raw => Buffer.concat(await dkim.sign(raw).toArray());
}

function isLost(error: unknown): boolean {
  const { code = '', responseCode } = error as Partial<SmtpError>;
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
