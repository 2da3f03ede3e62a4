/**
 * Turns an SMTP reply, or the lack of one, into the outcome of an attempt (RFC 5321, 4.2.1): 4yz is temporary, 5yz is
 * permanent, also a refused password (535). Without a reply it depends on whether the whole message was transmitted: the
 * server accepts it with the final dot, so a connection lost before that has delivered nothing.
 */

import { classify } from '../../../core/feedback/wording/classify.ts';
import { OutboundError } from '../../../lib/network/outbound.ts';
import { isLocalFailure } from '../../../lib/network/outbound-error.ts';
import { toReason } from '../../http-outcome.ts';
import type { Outcome } from '../../sending.ts';
import { TokenError } from './oauth2.ts';
import { replyCodeOf } from './session.ts';

interface SmtpError extends Error {
  code?: string;
  originalCode?: string;
  /** The command that the server replied to. */
  command?: string;
  response?: string;
}

/**
 * The mailbox does not exist, has moved, or its domain accepts no mail. The basic codes (550, 551, 553) are not enough:
 * servers also use them for spam, policies and quotas, and no address should be disabled for those.
 */
const unknownMailbox = /^5\d\d[ -]5\.1\.(1|6|10)\b/;

/**
 * Status codes (RFC 3463) and texts of a mail that its recipient's server or mailbox does not accept now: the address, the
 * mailbox, or a policy such as greylisting. Some servers say so only after the mail was transmitted.
 */
const recipientStatus = /^4\d\d[ -]4\.[127]\.\d|gr[ae]y-?list/i;

/** A full mailbox by its status code. */
const fullMailbox = /^[45]\d\d[ -][45]\.2\.2\b/;
/** Status codes and words of other limits, of which servers say the same: of the server (x.3), the sender and the message. */
const otherLimit = /^[45]\d\d[ -][45]\.[3-9]\.|\b(system|sender|sending|daily|hourly)\b/i;

/** Mistakes in the message or the settings, found without the server. */
const permanentCodes = new Set(['EENVELOPE', 'EMESSAGE', 'EAUTH', 'ECONFIG']);

export function toFailure(thrown: unknown, isTransmitted: boolean, secrets: readonly (string | undefined)[]): Outcome {
  if (thrown instanceof TokenError) return thrown.failure;
  const error = thrown as SmtpError;
  const code = error.originalCode ?? error.code;
  const reply = error.response;
  const reason = toReason(
    reply || `${error.message}${code && !error.message.includes(code) ? ` (${code})` : ''}`,
    secrets,
  );
  const isLocal = error instanceof OutboundError ? error.kind === 'local' : isLocalFailure({ ...error, code });
  if (isLocal && !isTransmitted) return { ok: false, retry: true, local: true, reason };
  if (error instanceof OutboundError) return { ok: false, retry: !error.isFinal, reason };
  const replied = reply ? replyCodeOf(reply) : 0;
  if (reply && replied) {
    // Its owner can empty it, so it is not permanent, whatever the server says.
    if (isMailboxFull(error, reply)) return { ok: false, retry: true, ofRecipient: true, mailboxFull: true, reason };
    const retry = replied < 500;
    const gone = !retry && error.command === 'RCPT TO' && unknownMailbox.test(reply);
    if (gone) return { ok: false, retry, gone, reason };
    if (retry && isOfRecipient(error, replied)) return { ok: false, retry, ofRecipient: true, reason };
    return error.code === 'EAUTH' && !retry ? { ok: false, retry, denied: true, reason } : { ok: false, retry, reason };
  }
  if (isTransmitted) return { ok: false, retry: true, unknown: true, reason };
  return { ok: false, retry: !permanentCodes.has(error.code ?? ''), reason };
}

/** A reply to RCPT concerns the recipient, unless the server ends the session with it (421). */
function isOfRecipient({ command, code, response = '' }: SmtpError, replied: number): boolean {
  if (replied === 421) return false;
  return command === 'RCPT TO' || (code === 'EMESSAGE' && recipientStatus.test(response));
}

function isMailboxFull({ command, code }: SmtpError, reply: string): boolean {
  if (command !== 'RCPT TO' && code !== 'EMESSAGE') return false;
  return fullMailbox.test(reply) || (!otherLimit.test(reply) && classify([reply]).reason === 'mailbox_full');
}
