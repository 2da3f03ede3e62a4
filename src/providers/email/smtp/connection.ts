/**
 * A connection to a mail server that is reused for the next message. It is opened when there is something to send, and
 * again if the server has closed it meanwhile.
 */
import { connect, type Socket } from 'node:net';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Static } from 'typebox';
import type { Outbound } from '../../../lib/network/outbound.ts';
import { toReason } from '../../http-outcome.ts';
import { type Connection, ConnectionAbandonedError } from './connection-pool.ts';
import type { DkimSigner } from './dkim.ts';
import { type AccessTokens, TokenError, toXOAuth2 } from './oauth2.ts';
import { type Mail, replyCodeOf, type SmtpError, SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';

type Settings = Static<typeof SmtpSettings>;

export const defaultTimeoutMs = 30_000;
/**
 * Limited so that the host is resolved again now and then. nodemailer's limit of 100 messages per connection would be too
 * short: one message in 100 then waits for a new connection, which defines the 99th percentile.
 */
const maxLifetimeMs = 60_000;

/** What the connections of one sender share. */
export interface ConnectionTools {
  outbound: Outbound;
  /** The name in EHLO. Undefined: that of the machine. */
  name: string | undefined;
  sign: DkimSigner | undefined;
  /** For signing in by OAuth 2.0. */
  tokens: AccessTokens | undefined;
}

export function openConnection(settings: Settings, tools: ConnectionTools): Connection<Mail> {
  const { outbound, sign } = tools;
  const { host, secure, timeout_ms: timeoutMs = defaultTimeoutMs } = settings;
  const port = settings.port ?? (secure ? 465 : 587);
  let isEnded = false;
  let connection: SMTPConnection | undefined;
  let session: SmtpSession | undefined;
  let openedAt = 0;
  const isExpired = () => performance.now() - openedAt > maxLifetimeMs;

  const open = async (): Promise<SmtpSession> => {
    const token = await tools.tokens?.get();
    // Every connection resolves the host again.
    const socket = await openSocket(outbound, host, port, timeoutMs);
    if (isEnded) {
      socket.destroy();
      throw new ConnectionAbandonedError('the connection was abandoned before it was open');
    }
    const smtpConnection = createConnection({ ...settings, port }, tools.name, timeoutMs, socket);
    connection = smtpConnection;
    openedAt = performance.now();
    smtpConnection.once('end', () => {
      if (connection !== smtpConnection) return;
      connection = undefined;
      session = undefined;
    });
    const { user = '' } = settings;
    const signIn = token && (() => signInWithToken(smtpConnection, user, tools.tokens!, { ...token, timeoutMs }));
    session = new SmtpSession(smtpConnection, await greet(smtpConnection, settings, signIn, timeoutMs), timeoutMs);
    return session;
  };

  return {
    async sendMail(mail, onBodySent) {
      const body = sign ? await sign(mail) : mail.raw;
      if (session && isExpired() && session.isIdle) session.quit();
      const existing = session;
      // An expired connection takes no further mail, so that it is idle after this one.
      const sendOn = (target: SmtpSession) => target.send(mail, body, isExpired() ? undefined : onBodySent);
      try {
        return await sendOn(existing ?? (await open()));
      } catch (error) {
        if (mail.transmitted || !isConnectionLost(error)) throw error;
        if (isEnded)
          throw new ConnectionAbandonedError('the connection was abandoned for another mail', { cause: error });
        // The server has closed an existing connection meanwhile: retried once on a new one.
        if (!existing) throw error;
        return await sendOn(await open());
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
      return !session || session.isIdle;
    },
  };
}

/** Creates the connection without starting the SMTP dialogue. */
function createConnection(
  settings: Settings,
  name: string | undefined,
  timeoutMs: number,
  socket: Socket,
): SMTPConnection {
  const { host, port, secure = false, password, oauth2_service, ca } = settings;
  const hasSecret = password !== undefined || oauth2_service !== undefined;
  const starttls = settings.starttls ?? (hasSecret ? 'require' : 'prefer');
  const connection = new SMTPConnection({
    ...(name && { name }),
    // Also the name that the certificate must have.
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
  // Pending commands receive the error themselves; otherwise 'end' is enough.
  return connection.on('error', () => {});
}

/** Signs in, and returns the server's capabilities. */
async function greet(
  connection: SMTPConnection,
  { user, password: pass }: Settings,
  signIn: (() => Promise<void>) | undefined,
  timeoutMs: number,
): Promise<string> {
  try {
    await withConnectionEnd(connection, timeoutMs, done => {
      connection.once('error', done);
      connection.connect(error => done(error ?? null));
    });
    const greeting = connection.lastServerResponse || '';
    if (signIn) await signIn();
    else if (user !== undefined && connection.allowsAuth) {
      await withConnectionEnd(connection, timeoutMs, done =>
        connection.login({ user, pass, credentials: { user, pass: pass! } }, done),
      );
    }
    return greeting;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Signs in with a token. One that was accepted before may have been revoked: then the next attempt gets a new one. */
async function signInWithToken(
  connection: SMTPConnection,
  user: string,
  tokens: AccessTokens,
  { value, isNew, timeoutMs }: { value: string; isNew: boolean; timeoutMs: number },
): Promise<void> {
  const oauth2 = {
    // nodemailer asks again after the server has explained a refusal. The same token ends the exchange.
    getToken: (_isSecond: boolean, done: (error: null, token: string) => void) => done(null, value),
    buildXOAuth2Token: (token: string) => toXOAuth2(user, token),
  };
  try {
    await withConnectionEnd(connection, timeoutMs, done =>
      connection.login({ user, oauth2, method: 'XOAUTH2' } as never, done),
    );
  } catch (thrown) {
    const { code, response = '' } = thrown as Partial<SmtpError>;
    if (code !== 'EAUTH' || !response) throw thrown;
    tokens.forget(value);
    const reason = toReason(response, [value, toXOAuth2(user, value)]);
    const isFinal = isNew && replyCodeOf(response) >= 500;
    throw new TokenError({ ok: false, retry: !isFinal, ...(isFinal && { denied: true }), reason });
  }
}

/**
 * Runs the greeting or the sign-in. Rejects if the connection ends first, or after the timeout: a server that replies byte by
 * byte never exceeds those of the connection, which count from the last byte.
 */
function withConnectionEnd(
  connection: SMTPConnection,
  timeoutMs: number,
  run: (done: (error: Error | null) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = new Error(`the server did not finish the greeting or the sign-in within ${timeoutMs} ms`);
    const timer = setTimeout(() => reject(Object.assign(late, { code: 'ETIMEDOUT' })), timeoutMs);
    // Deferred, so that the command's own error comes first.
    const onEnd = () => {
      clearTimeout(timer);
      setImmediate(reject, Object.assign(new Error('the connection ended'), { code: 'ECONNECTION' }));
    };
    connection.once('end', onEnd);
    run(error => {
      clearTimeout(timer);
      connection.off('end', onEnd);
      if (error) reject(error);
      else resolve();
    });
  });
}

function isConnectionLost(error: unknown): boolean {
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
