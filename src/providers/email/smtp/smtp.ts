/** Any mail server. Connections are reused and shared by all messages of one sender. */
import type { Static } from 'typebox';
import { domainOfMailbox, readDomain } from '../../../core/mail-domain/lookups.ts';
import { currentHandoverCheck } from '../../../lib/network/handover.ts';
import { toBase64 } from '../../http-outcome.ts';
import type { Provider } from '../../provider.ts';
import type { Outcome, Outgoing, Tools } from '../../sending.ts';
import { createComposer } from './compose.ts';
import { encodeFiles } from './compose-files.ts';
import { defaultTimeoutMs, openConnection } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { createDkimSigner } from './dkim.ts';
import { findSmtpMistakes } from './mistakes.ts';
import { createAccessTokens } from './oauth2.ts';
import { toFailure } from './outcome.ts';
import { type Mail, WithdrawnError } from './session.ts';
import { SmtpSettings } from './settings.ts';

/** A message may take twice `timeout_ms`, which applies to each reply, and in addition the time to transmit it at this rate. */
const maxTimeouts = 2;
const minBytesPerMs = 100;

function bytesOf({ raw, rest = [] }: Mail): number {
  return rest.reduce((sum, part) => sum + part.length, raw.length);
}

export const smtp: Provider<typeof SmtpSettings> = {
  name: 'smtp',
  title: 'SMTP',
  medium: 'email',
  summary: 'Any mail server.',
  settings: SmtpSettings,
  credential: ({ oauth2_service }) =>
    oauth2_service
      ? {
          name: 'OAuth 2.0 credentials',
          hint: 'check that they have not expired, that they are for this user, and that the application may send by SMTP',
          fields: ['user', 'oauth2_client_secret', 'oauth2_refresh_token', 'oauth2_service_account'],
        }
      : {
          name: 'user name or password',
          hint: 'check both with your mail provider; some require an app password, Microsoft 365 and Google OAuth 2.0',
          fields: ['user', 'password'],
        },
  attaches: true,
  feedback: ({ webhook_service, webhook_secret }) =>
    webhook_service && { service: webhook_service, secret: webhook_secret },
  findMistakes: findSmtpMistakes,
  mailRoute: ({ host, user, bounce_domain, webhook_service, dkim_domain: domain, ...dkim }) => ({
    bounceDomain: bounce_domain?.toLowerCase(),
    dkim: toSigner(domain, dkim.dkim_selector, dkim.dkim_private_key),
    secondDkim: toSigner(domain, dkim.dkim_ed25519_selector, dkim.dkim_ed25519_private_key),
    // A server that needs a password belongs to a service, whose outgoing addresses are not known here.
    server: user || webhook_service ? undefined : host.toLowerCase(),
  }),
  introducesAs: ehloNameOf,
  open(settings, tools) {
    const { outbound } = tools;
    const { user, password, dkim_private_key } = settings;
    const { timeout_ms = defaultTimeoutMs, max_connections = 5, rate } = settings;
    const connectionTools = {
      outbound,
      name: ehloNameOf(settings, tools),
      sign: createDkimSigner(settings),
      tokens: createAccessTokens(settings, outbound),
    };
    const pool = new ConnectionPool<Mail>({
      open: () => openConnection(settings, connectionTools),
      maxConnections: max_connections,
      rate,
      deadlineMs: mail => maxTimeouts * timeout_ms + Math.floor(bytesOf(mail) / minBytesPerMs),
    });
    const compose = createComposer(settings);
    const secrets = [password, password && toBase64(password), toBase64(`\0${user}\0${password}`), dkim_private_key];
    const inFlight = new Set<Promise<Outcome>>();

    const send = async (outgoing: Outgoing): Promise<Outcome> => {
      let mail: Mail | undefined;
      const mayHandOver = currentHandoverCheck();
      const files = outgoing.attachments && (await encodeFiles(outgoing.attachments));
      try {
        const composeNow = () => {
          mail = { ...compose(outgoing, files), mayHandOver };
          return mail;
        };
        await pool.send(() => {
          const maySend = outgoing.mayStillSend?.() ?? true;
          if (maySend === true) return composeNow();
          return maySend.then(isAllowed => {
            if (!isAllowed) throw new WithdrawnError();
            return composeNow();
          });
        });
        return { ok: true, id: mail!.id };
      } catch (error) {
        if (error instanceof WithdrawnError) return { ok: false, retry: true, withdrawn: true, reason: 'withdrawn' };
        return toFailure(error, mail?.transmitted === 'whole', secrets);
      }
    };

    return {
      // On each connection one message is being sent, and one is ready to follow.
      maxConcurrent: 2 * max_connections,
      send(outgoing) {
        const sending = send(outgoing);
        inFlight.add(sending);
        return sending.finally(() => inFlight.delete(sending));
      },
      async close() {
        await Promise.allSettled(inFlight);
        pool.close();
      },
    };
  },
};

/**
 * Returns the name by which Belfry introduces itself. The name of the machine has no dot in most containers; some servers, such as
 * Google's relay, then refuse the connection.
 */
function ehloNameOf({ ehlo_name, from }: Static<typeof SmtpSettings>, { hostName }: Pick<Tools, 'hostName'>) {
  return ehlo_name ?? hostName ?? domainOfMailbox(from);
}

function toSigner(domain: string | undefined, selector: string | undefined, privateKey: string | undefined) {
  if (!domain || !selector) return undefined;
  return { domain: readDomain(domain) ?? domain.toLowerCase(), selector: selector.toLowerCase(), privateKey };
}
