/**
 * What became of a message after the provider accepted it: the events that delivery reports by mail and the webhooks of
 * services are read into, and the interface of a reader.
 */

export const feedbackTypes = [
  'delivered',
  /** It will not arrive. `permanent` says whether the address is dead or the next message may arrive. */
  'bounced',
  /** Not yet delivered: the service or mail server tries again. */
  'deferred',
  /** Reported as spam. */
  'complained',
  'unsubscribed',
  'opened',
  'clicked',
] as const;
export type FeedbackType = (typeof feedbackTypes)[number];

/** Why a message bounced or was deferred, as it is explained to people. */
export const feedbackReasons = {
  unknown_user: 'the mailbox does not exist',
  domain_missing: 'the domain does not exist or accepts no mail',
  moved: 'the recipient has another address now',
  suspended: 'the account is disabled, locked or unused',
  mailbox_full: 'the mailbox is full',
  size: 'the message is too large',
  content: 'it was taken for spam, a virus or a malformed message',
  authentication: 'SPF, DKIM or DMARC failed, or the sender is not signed in',
  blocked: 'the sending server is on a block list, has a bad reputation or no reverse DNS',
  policy: 'a rule of the receiver forbids it',
  relay_denied: 'the server does not accept mail for this address',
  rate_limited: 'too many messages were sent in a short time',
  network: 'the server could not be reached',
  expired: 'all attempts of the service failed',
  suppressed: 'the provider refuses this address because of an earlier bounce, complaint or unsubscription',
  other: 'the reason is not known',
} as const;
export type FeedbackReason = keyof typeof feedbackReasons;

/** What a mail reports, and what may be return paths in its header. */
export interface MailReport {
  events: FeedbackEvent[];
  paths: string[];
}

/** It is not a mail, or takes too long to read. The message continues "the body". */
export class UnreadableMailError extends Error {}

export interface FeedbackEvent {
  type: FeedbackType;
  /** Whether no message will ever arrive at this address. Null unless the message bounced or was deferred. */
  permanent: boolean | null;
  /** Null unless the message bounced or was deferred; `authentication` on a complaint of a server, not of a person. */
  reason: FeedbackReason | null;
  /** The address, or phone number, that the message was sent to. */
  recipient: string | null;
  /** The id that the provider returned for the original message; for a mail, its Message-ID in angle brackets. */
  messageId: string | null;
  /** Belfry's own id of the delivery, if the service returns what was sent along. */
  deliveryId: string | null;
  /** ISO 8601, in UTC. */
  at: string | null;
  /** The reporter's own words. */
  text: string | null;
  /** The link that was clicked, if each one counts once. Absent: clicks of an hour count as one. */
  link?: string;
}

/** A webhook request, or a mail as its body. */
export interface FeedbackBody {
  contentType: string;
  bytes: Buffer;
}

export interface FeedbackRequest extends FeedbackBody {
  /** The URL as it was given to the service, including credentials and query: some services sign it. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
}

export interface VerificationTools {
  /** Milliseconds since 1970. */
  now: number;
  /** Fetches a document of the service, such as the certificate of a signature. The caller caches and limits it. */
  fetchText(url: string): Promise<string>;
}

export type Verification =
  | {
      ok: true;
      /** Set if the signature alone does not prove that the request is new and unaltered: it then counts once. */
      once?: Once;
    }
  | { ok: false; reason: string };

export interface Once {
  /** What identifies the signature: no one without the secret can change it. */
  signature: string;
  /** Milliseconds since 1970 until which the signature is accepted; null: without end. */
  until: number | null;
}

export interface FeedbackReader {
  title: string;
  /**
   * Returns the events in their order; none for what reports nothing about a message. Throws an Error that says what is
   * wrong with the body if it is not what the service sends.
   */
  read(body: FeedbackBody): FeedbackEvent[];
  /** False if the service signs nothing: then the secret address is enough, and `verify` checks credentials in it. */
  isSigned?: false;
  /** Checks that the service itself sent the request, recently. Absent for mails, which carry no signature. */
  verify?(request: FeedbackRequest, secret: string, tools: VerificationTools): Promise<Verification> | Verification;
  /** Returns the URL to open if the service asks to confirm that it may send events here. Call it after `verify`. */
  confirmationUrl?(body: FeedbackBody): string | undefined;
}

/** Longer addresses, ids and texts are cut or dropped: they come from anyone who can send a mail. */
const maxAddressLength = 320;
const maxIdLength = 998;
const maxTextLength = 1_000;

/** Returns an event with every field bounded and in its canonical form. */
export function feedbackEvent(fields: Partial<FeedbackEvent> & { type: FeedbackType }): FeedbackEvent {
  const failed = fields.type === 'bounced' || fields.type === 'deferred';
  const { recipient, messageId, deliveryId, text } = fields;
  return {
    type: fields.type,
    permanent: failed ? fields.type === 'bounced' && fields.permanent === true : null,
    reason: fields.reason ?? (failed ? 'other' : null),
    recipient: recipient && recipient.length <= maxAddressLength ? recipient.trim() || null : null,
    messageId: messageId && messageId.length <= maxIdLength ? messageId.trim() || null : null,
    deliveryId: deliveryId && deliveryId.length <= maxIdLength ? deliveryId : null,
    at: fields.at ?? null,
    text: text ? text.slice(0, maxTextLength).replace(/\s+/g, ' ').trim() || null : null,
  };
}

/** Reads seconds or milliseconds since 1970, or a date as text. */
export function toTime(value: unknown): string | null {
  const number =
    typeof value === 'number' ? value : /^\d{9,13}(\.\d+)?$/.test(String(value)) ? Number(value) : undefined;
  // Milliseconds have had 12 digits since 1973; seconds get them in the year 5138.
  const time = number === undefined ? new Date(String(value ?? '')) : new Date(number < 1e11 ? number * 1_000 : number);
  return Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9_999 || time.getUTCFullYear() < 1970
    ? null
    : time.toISOString();
}
