/**
 * Reads a mail that reports about another: delivery status notifications (RFC 3464), the many forms that say the same in
 * prose, and abuse reports (RFC 5965). Vacation replies, receipts and all other mail report nothing.
 */

import { type FeedbackEvent, type FeedbackType, feedbackEvent, toTime } from './event.ts';
import { decodeWords, type Headers, type Mail, type Part, parseHeaders } from './mime.ts';
import { type Cause, classify } from './wording/classify.ts';
import {
  addressesIn,
  cutNotice,
  type NamedRecipient,
  type Notice,
  noticeMatcher,
  recipientsIn,
} from './wording/notice.ts';

/** Returns one event per recipient that the mail reports about. */
export function readReport(mail: Mail): FeedbackEvent[] {
  const notice = cutNotice(noticeOf(mail));
  const original = readOriginal(mail, notice);
  const complaint = mail.parts.find(part => part.type === 'message/feedback-report');
  if (complaint) return readComplaint(complaint, mail, original);
  const other = readOtherComplaint(mail, original);
  if (other) return [other];
  const status = mail.parts.find(part => /^message\/(global-)?delivery-status$/.test(part.type));
  const fields = recipientFields(status?.text() ?? notice.text);
  if (status || fields.length > 0) return readStatus(fields, notice, mail, original);
  return isNotice(mail, notice) ? readNotice(notice, mail, original) : [];
}

/** The returned message. */
interface Original {
  id: string | undefined;
  recipients: string[];
  senders: string[];
}

function readOriginal(mail: Mail, notice: Notice): Original {
  const part = mail.parts.findLast(({ type }) =>
    /^(message\/(rfc822|global|global-headers|partial)|text\/rfc822-headers?)$/.test(type),
  );
  const text = part?.text().replaceAll('\r\n', '\n').trimStart() ?? notice.rest;
  const end = text.indexOf('\n\n');
  const headers = parseHeaders((end < 0 ? text : text.slice(0, end)).slice(0, 65_536));
  const senders = ['from', 'sender', 'return-path'].flatMap(field => addressesIn(headers.get(field) ?? ''));
  // Without the message, its summary in the notice.
  const to = headers.get('to') ?? /^[ \t]*to:(.{1,1000})$/im.exec(notice.text)?.[1] ?? '';
  return { id: messageIdOf(headers), recipients: addressesIn(to), senders };
}

function messageIdOf(headers: Headers): string | undefined {
  const value = headers.get('message-id') ?? '';
  return /<[^<>\s]{1,900}>/.exec(value)?.[0] ?? (/^\S{1,900}$/.test(value) ? value : undefined);
}

/** Returns what the mail says to a person, without markup. */
function noticeOf(mail: Mail): string {
  const plain = mail.parts.filter(part => part.type === 'text/plain').map(part => part.text());
  const text = plain.join('\n').trim();
  if (text !== '') return text;
  const html =
    mail.parts
      .find(part => part.type === 'text/html')
      ?.text()
      .slice(0, 65_536) ?? '';
  // Neither pattern crosses another `<`, so that unclosed tags do not make them quadratic.
  return html
    .replace(/<(br|p|div|tr|li|h\d)\b[^<>]{0,1000}>/gi, '\n')
    .replace(/<[^<>]{0,1000}>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&');
}

/** Belfry sends to one recipient at a time, so a report about more than a few is not about its messages. */
const maxRecipients = 50;

/** Splits a delivery status into its blocks and returns those about a recipient. */
function recipientFields(text: string): Headers[] {
  if (!/^(final-recipient|original-recipient|action):/im.test(text)) return [];
  return text
    .replaceAll('\r\n', '\n')
    .slice(0, 262_144)
    .split(/\n[ \t]*\n/, maxRecipients + 1)
    .map(block => parseHeaders(block.trim()))
    .filter(fields => fields.has('final-recipient') || fields.has('original-recipient') || fields.has('action'));
}

function readStatus(fields: Headers[], notice: Notice, mail: Mail, original: Original): FeedbackEvent[] {
  const inNotice = namedIn(notice, mail);
  const blocks: (Headers | undefined)[] = fields.length > 0 ? fields : [undefined];
  const recipients = recipientsOf(blocks, mail, inNotice, original);
  return blocks.map((block, i) => {
    const diagnostic = block?.get('diagnostic-code')?.replace(/^[\w-]+\s*;/, '') ?? '';
    const status = (block?.get('status') ?? '').slice(0, 300);
    const recipient = recipients[i];
    const about = inNotice.find(({ address }) => address.toLowerCase() === recipient?.toLowerCase())?.text;
    // The comment explains the code; the words of the refusing server say more.
    const comment = diagnostic ? '' : (/\((.{1,200})\)/.exec(status)?.[1] ?? '');
    // With several recipients, the text around one says nothing about another.
    const prose = blocks.length === 1 ? notice.text : (about ?? '');
    const category = block?.get('x-powermta-bouncecategory') ?? '';
    const texts = [`${diagnostic} ${category}`, ...codedLines(prose), comment, prose];
    const cause = classify(limit(texts, blocks.length), status, sendersOf(mail, original, recipient));
    return eventOf(typeOf(block, status, notice), cause, recipient, diagnostic || about || notice.text, mail, original);
  });
}

function typeOf(block: Headers | undefined, status: string, notice: Notice): FeedbackType {
  const action = (block?.get('action') ?? '').toLowerCase();
  // Also "deliverable", the answer to a probe.
  if (/^(deliver|relayed|expanded)/.test(action) || (action === '' && status.startsWith('2.'))) return 'delivered';
  return action.startsWith('delayed') || (action === '' && notice.isDelay) ? 'deferred' : 'bounced';
}

/** Returns the recipient of each block of a status: the address that the message was sent to, before any forwarding. */
function recipientsOf(
  blocks: readonly (Headers | undefined)[],
  mail: Mail,
  inNotice: readonly NamedRecipient[],
  original: Original,
): (string | undefined)[] {
  const values = blocks.map(block =>
    ['original-recipient', 'final-recipient', 'x-actual-recipient'].map(
      field => block?.get(field)?.replace(/^[\w-]+\s*;/, '') ?? '',
    ),
  );
  const named = values.map(texts => texts.filter(text => !/[|/]/.test(text)).flatMap(addressesIn)[0]);
  const failed = addressesIn(mail.headers.get('x-failed-recipients') ?? '');
  const others = [...failed, ...inNotice.map(({ address }) => address), ...original.recipients];
  const unnamed = others.filter(address => !named.includes(address));
  return named.map((address, i) => {
    if (address) return address;
    // Some servers name a local mailbox without its domain.
    const isLocal = (other: string) =>
      values[i]!.some(text => other.toLowerCase().startsWith(`${text.trim().toLowerCase()}@`));
    return others.find(isLocal) ?? unnamed[named.slice(0, i).filter(one => !one).length] ?? unnamed[0] ?? others[0];
  });
}

/** Returns the addresses that a server means if it names one that is not the recipient's: the refused sender. */
function sendersOf({ headers }: Mail, original: Original, recipient: string | undefined): Set<string> {
  const senders = [...addressesIn(headers.get('to') ?? ''), ...original.senders].map(address => address.toLowerCase());
  return new Set(senders.filter(address => address !== recipient?.toLowerCase()));
}

const daemons =
  /\b(mailer[-_ ]?daemon|m?daemon|mail[ -]?daemon|post[-_ ]?master|mail delivery|mail[- ]?(system|router|administrator|admin|server|gateway|robot)|system administrator|e?smtp[-_]?(gateway|server)|bounces?|autoresponder|mailnull|mmdf)\b/i;
/** Decides whether a mail without a machine-readable part is about a message that did not arrive. */
function isNotice({ headers, parts }: Mail, notice: Notice): boolean {
  if (headers.has('x-failed-recipients')) return true;
  if (parts.some(part => part.type === 'message/disposition-notification')) return false;
  const subject = decodeWords(headers.get('subject') ?? '');
  const topics = noticeMatcher.topicsOf(subject);
  const isReply = /^(re|aw|sv|antw|ref|odp)\s*:/i.test(subject);
  const isFromDaemon = daemons.test(decodeWords(headers.get('from') ?? '')) || headers.get('return-path') === '<>';
  const isReportSubject = topics.has('subject') && !isReply;
  const isAutoReply = topics.has('autoReply') || headers.has('x-autoreply') || headers.has('x-autorespond');
  if (isAutoReply && !(isFromDaemon && isReportSubject)) return false;
  const isFailure = noticeMatcher.topicsOf(notice.text).has('failure');
  const isAttached = parts.some(part => part.type === 'message/rfc822');
  const hasOriginal = notice.hasOriginal || isAttached;
  // People forward reports, and write about deliveries.
  if (isReportSubject && (isFromDaemon || hasOriginal || notice.text.includes('@'))) return true;
  if (isFailure && !isReply && isAttached) return true;
  return isFromDaemon && (hasOriginal || isFailure || codedLines(notice.text).length > 0);
}

function readNotice(notice: Notice, mail: Mail, original: Original): FeedbackEvent[] {
  const failed = addressesIn(mail.headers.get('x-failed-recipients') ?? '').slice(0, maxRecipients);
  const named = namedIn(notice, mail);
  const addresses =
    failed.length > 0
      ? failed
      : named.length > 0
        ? named.map(({ address }) => address)
        : original.recipients.slice(0, 1);
  const type = notice.isDelay ? 'deferred' : 'bounced';
  return (addresses.length > 0 ? addresses : [undefined]).map(address => {
    const own = named.find(one => one.address.toLowerCase() === address?.toLowerCase());
    const others = named.filter(one => addresses.some(other => other !== address && other === one.address));
    // With several recipients, the text about one says nothing about another.
    const text = others.length === 0 ? notice.text : (own?.text ?? withoutSections(notice.text, others));
    const texts = limit([...codedLines(text), text], addresses.length);
    const cause = classify(texts, '', sendersOf(mail, original, address));
    return eventOf(type, cause, address, codedLines(text)[0] ?? text, mail, original);
  });
}

/** Cuts the texts about one of many recipients, so that reading a mail takes no longer for more of them. */
function limit(texts: readonly string[], recipients: number): string[] {
  return texts.map(text => text.slice(0, recipients > 1 ? Math.max(256, 6_144 / recipients) : text.length));
}

function withoutSections(text: string, sections: readonly NamedRecipient[]): string {
  return sections.reduce((rest, section) => rest.replace(section.text.trimEnd(), () => ''), text);
}

/** Returns the lines with a reply or status code, each with the two that continue it. */
function codedLines(text: string): string[] {
  const lines = text.slice(0, 32_768).split('\n', 500);
  const found: string[] = [];
  for (let i = 0; i < lines.length && found.length < 8; i++) {
    if (!/(^|[\s:;(<#"'])([45]\d\d[ :-]|[45]\.\d{1,2}\.\d{1,3}\b)/.test(lines[i]!)) continue;
    found.push(lines.slice(i, i + 3).join(' '));
    i += 2;
  }
  return found.length === 0 ? [] : [found.join(' ; ')];
}

/** Only a report about a message to oneself names no one else. */
function namedIn(notice: Notice, mail: Mail): NamedRecipient[] {
  const others = recipientsIn(notice, excluded(mail));
  return others.length > 0 ? others : recipientsIn(notice, new Set());
}

/** Returns addresses that are not recipients: of the reporter and of the sender whom it reports to. */
function excluded({ headers }: Mail): Set<string> {
  const fields = ['from', 'to', 'reply-to', 'sender', 'delivered-to', 'x-original-to'];
  return new Set(fields.flatMap(field => addressesIn(headers.get(field) ?? '')).map(address => address.toLowerCase()));
}

function readComplaint(part: Part, mail: Mail, original: Original): FeedbackEvent[] {
  const text = part.text().replaceAll('\r\n', '\n');
  const fields = parseHeaders(text.trim());
  const kind = (fields.get('feedback-type') ?? '').toLowerCase();
  if (kind === 'not-spam') return [];
  const named = [...text.slice(0, 65_536).matchAll(/^(?:original-rcpt-to|removal-recipient):[ \t]*(.{1,400})$/gim)];
  const addresses = [...new Set(named.flatMap(([, value]) => addressesIn(value!)))].slice(0, maxRecipients);
  const recipients = addresses.length > 0 ? addresses : [original.recipients[0]];
  return recipients.map(recipient =>
    feedbackEvent({
      type: 'complained',
      reason: kind === 'auth-failure' || kind === 'dmarc' ? 'authentication' : null,
      recipient: recipient ?? null,
      messageId: original.id ?? null,
      at: toTime(fields.get('arrival-date') ?? fields.get('received-date')) ?? toTime(mail.headers.get('date')),
      text: kind,
    }),
  );
}

/** Reads the forms of complaints that do not follow RFC 5965: of Hotmail, and of mail apps that unsubscribe for a user. */
function readOtherComplaint({ headers, parts }: Mail, original: Original): FeedbackEvent | undefined {
  const subject = headers.get('subject') ?? '';
  const returned = parts.find(part => part.type === 'message/rfc822');
  const at = toTime(headers.get('date'));
  if (/^\s*complaint about message from\b/i.test(subject) && returned) {
    const named = /^x-hmxmroriginalrecipient:(.{1,400})$/im.exec(returned.text().slice(0, 65_536))?.[1] ?? '';
    const recipient = addressesIn(named)[0] ?? original.recipients[0] ?? null;
    return feedbackEvent({ type: 'complained', recipient, messageId: original.id ?? null, at, text: subject });
  }
  if (!/^\s*unsubscribe\b/i.test(subject) || !headers.get('auto-submitted')?.startsWith('auto-replied'))
    return undefined;
  // RFC 5965 knows this as the feedback type opt-out.
  const recipient = addressesIn(headers.get('from') ?? '')[0] ?? null;
  return feedbackEvent({ type: 'complained', recipient, at, text: 'opt-out' });
}

function eventOf(
  type: FeedbackType,
  { reason, permanent }: Cause,
  recipient: string | undefined,
  text: string,
  mail: Mail,
  original: Original,
): FeedbackEvent {
  return feedbackEvent({
    type,
    ...(type !== 'delivered' && { reason, permanent }),
    recipient: recipient ?? null,
    messageId: original.id ?? null,
    at: toTime(mail.headers.get('date')),
    text,
  });
}
