/** Any mail server. Connections are kept and shared by all messages of one opened sender. */
import { connect, type Socket } from 'node:net';
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { Static } from 'typebox';
import type { Outbound } from '../../lib/outbound.ts';
import { toBase64 } from '../http-outcome.ts';
import type { Provider } from '../provider.ts';
import type { Outcome, Outgoing } from '../sending.ts';
import { bodies, messageId, toMailbox } from './message.ts';
import { type Line, Lines } from './smtp-lines.ts';
import { toFailure } from './smtp-outcome.ts';
import { SmtpSettings } from './smtp-settings.ts';

const usualTimeoutMs = 30_000;

type Settings = Static<typeof SmtpSettings>;
type Mail = SendMailOptions & { progress: { whole: boolean } };

/** Of `timeout_ms`, which is for each reply: a server that trickles them would hold a message for ever. */
const mostTimeouts = 5;

export const smtp: Provider<typeof SmtpSettings> = {
  name: 'smtp',
  medium: 'email',
  summary: 'Any mail server, over SMTP.',
  settings: SmtpSettings,
  dedupes: false,
  open(settings, { outbound }) {
    const { from, reply_to, headers, user, password, dkim_private_key } = settings;
    const { timeout_ms = usualTimeoutMs, max_connections = 5, rate } = settings;
    const lines = new Lines<Mail>({
      open: () => openLine(settings, outbound),
      most: max_connections,
      rate,
      deadlineMs: mostTimeouts * timeout_ms,
    });
    const sender = toMailbox(from);
    const secrets = [password, password && toBase64(password), toBase64(`\0${user}\0${password}`), dkim_private_key];
    const underWay = new Set<Promise<Outcome>>();

    const send = async (outgoing: Outgoing): Promise<Outcome> => {
      const id = `<${messageId(outgoing, sender)}>`;
      const progress = { whole: false };
      try {
        await lines.send({
          from: sender,
          // As a value, not as text, in which a comma would make two of one.
          to: { name: '', address: outgoing.address },
          ...(reply_to && { replyTo: toMailbox(reply_to) }),
          subject: outgoing.content.title,
          ...bodies(outgoing),
          messageId: id,
          date: outgoing.createdAt,
          ...(headers && { headers }),
          disableFileAccess: true,
          disableUrlAccess: true,
          progress,
        });
        return { ok: true, id };
      } catch (error) {
        return toFailure(error, progress.whole, secrets);
      }
    };

    return {
      send(outgoing) {
        const sending = send(outgoing);
        underWay.add(sending);
        return sending.finally(() => underWay.delete(sending));
      },
      async close() {
        await Promise.allSettled(underWay);
        lines.close();
      },
    };
  },
};

/** A pool of one. */
function openLine(settings: Settings, outbound: Outbound): Line<Mail> {
  const { host, secure = false, user, password, ca, timeout_ms: timeoutMs = usualTimeoutMs } = settings;
  let ended = false;
  const port = settings.port ?? (secure ? 465 : 587);
  const starttls = settings.starttls ?? (password === undefined ? 'prefer' : 'require');
  const transport = createTransport({
    pool: true,
    host,
    port,
    secure,
    requireTLS: !secure && starttls === 'require',
    ignoreTLS: starttls === 'never',
    tls: { ...(ca && { ca }) },
    ...(user !== undefined && { auth: { user, pass: password } }),
    ...(settings.dkim_domain && {
      dkim: {
        domainName: settings.dkim_domain,
        keySelector: settings.dkim_selector!,
        privateKey: settings.dkim_private_key!,
      },
    }),
    maxConnections: 1,
    // A message that found its connection closed before a byte of it had left goes to a new one, once.
    maxRequeues: 1,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // Every connection asks anew where the host is; its name stays the one on the certificate.
    getSocket(_: unknown, callback: (error: Error | null, socket?: { connection: Socket }) => void) {
      openSocket(outbound, host, port, timeoutMs).then(
        connection => {
          if (!ended) return callback(null, { connection });
          connection.destroy();
          callback(new Error('given up'));
        },
        error => callback(error),
      );
    },
  });
  // Notes when the last byte of a mail was handed over: only from then on can it have been accepted.
  transport.use('stream', ({ message, data }, done) => {
    const { progress } = data as { progress?: { whole: boolean } };
    const createReadStream = message.createReadStream.bind(message);
    message.createReadStream = options => {
      const stream = createReadStream(options);
      return stream.once('end', () => {
        if (progress) progress.whole = true;
      });
    };
    done();
  });
  return {
    sendMail: mail => transport.sendMail(mail),
    end() {
      ended = true;
      // Also what is in the middle of a message; the types do not know of it yet.
      (transport.close as (options: { force: boolean }) => void)({ force: true });
    },
  };
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
