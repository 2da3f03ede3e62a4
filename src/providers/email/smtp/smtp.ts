/** Any mail server. Connections are kept and shared by all messages of one opened sender. */
import { toBase64 } from '../../http-outcome.ts';
import type { Provider } from '../../provider.ts';
import type { Outcome, Outgoing } from '../../sending.ts';
import { createComposer } from './compose.ts';
import { openConnection, usualTimeoutMs } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { Mail } from './dialogue.ts';
import { toFailure } from './outcome.ts';
import { SmtpSettings } from './settings.ts';

/** Of `timeout_ms`, which is for each reply: a server that trickles them would hold a message for ever. */
const mostTimeouts = 5;

export const smtp: Provider<typeof SmtpSettings> = {
  name: 'smtp',
  title: 'SMTP',
  medium: 'email',
  summary: 'Any mail server.',
  settings: SmtpSettings,
  dedupes: false,
  open(settings, { outbound }) {
    const { user, password, dkim_private_key } = settings;
    const { timeout_ms = usualTimeoutMs, max_connections = 5, rate } = settings;
    const lines = new ConnectionPool<Mail>({
      open: () => openConnection(settings, outbound),
      most: max_connections,
      rate,
      deadlineMs: mostTimeouts * timeout_ms,
    });
    const compose = createComposer(settings);
    const secrets = [password, password && toBase64(password), toBase64(`\0${user}\0${password}`), dkim_private_key];
    const underWay = new Set<Promise<Outcome>>();

    const send = async (outgoing: Outgoing): Promise<Outcome> => {
      let mail: Mail | undefined;
      try {
        await lines.send(() => {
          mail = compose(outgoing);
          return mail;
        });
        return { ok: true, id: mail!.id };
      } catch (error) {
        return toFailure(error, mail?.left === 'whole', secrets);
      }
    };

    return {
      // One is being sent on each connection, and one is ready to follow it.
      atOnce: 2 * max_connections,
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
