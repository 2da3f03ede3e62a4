/**
 * What an SMTP reply, or the lack of one, means for a message (RFC 5321, 4.2.1): 4yz may pass, 5yz will not, also when
 * it is the password that is refused (535). Without a reply it comes down to whether the whole message had left: the
 * server takes it on with the final dot, so a connection lost before that has delivered nothing.
 */
import { OutboundError } from '../../../lib/outbound.ts';
import { toReason } from '../../http-outcome.ts';
import type { Outcome } from '../../sending.ts';

interface SmtpError extends Error {
  code?: string;
  originalCode?: string;
  /** The command that was answered. */
  command?: string;
  response?: string;
  responseCode?: number;
}

/**
 * No such mailbox, moved away, or a domain without mail. The plain codes (550, 551, 553) say nothing of the kind: servers
 * give them for spam, policy and quotas alike, and nobody's address should be switched off for those.
 */
const goneForGood = /^5\d\d[ -]5\.1\.(1|6|10)\b/;

/** Mistakes in the message or the settings, found before the server was asked. */
const final = new Set(['EENVELOPE', 'EMESSAGE', 'EAUTH', 'ECONFIG']);

export function toFailure(thrown: unknown, whole: boolean, secrets: readonly (string | undefined)[]): Outcome {
  const error = thrown as SmtpError;
  const code = error.originalCode ?? error.code;
  const reply = error.response;
  const reason = toReason(
    reply || `${error.message}${code && !error.message.includes(code) ? ` (${code})` : ''}`,
    secrets,
  );
  if (error instanceof OutboundError) return { ok: false, retry: error.kind !== 'refused', reason };
  if (reply && error.responseCode) {
    const retry = error.responseCode < 500;
    const gone = error.command === 'RCPT TO' && goneForGood.test(reply);
    return gone ? { ok: false, retry: false, gone, reason } : { ok: false, retry, reason };
  }
  if (whole) return { ok: false, retry: true, unknown: true, reason };
  return { ok: false, retry: !final.has(error.code ?? ''), reason };
}
