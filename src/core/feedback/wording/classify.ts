/**
 * Decides why a message bounced, and whether the address is dead, from the words and codes of the server that refused it.
 * The words decide before the codes: servers give 5.1.1 for a full mailbox and no code for an unknown user. In doubt a bounce
 * is not permanent: trying again costs a message, suppressing an address that works costs a reader.
 */
import type { FeedbackReason } from '../event.ts';
import { createMatcher } from './phrases.ts';
import { vocabulary } from './vocabulary.ts';

export interface Cause {
  reason: FeedbackReason;
  permanent: boolean;
}

const matcher = createMatcher(vocabulary);
const permanentReasons: readonly FeedbackReason[] = ['unknown_user', 'domain_missing', 'moved'];

/** The longest diagnosis that is looked at; they are a few lines. */
const maxChars = 4_096;
const noSenders: ReadonlySet<string> = new Set();

/**
 * The topics in the order of precedence. One about the sender or the message precedes those about the recipient, because the
 * former quote the latter's terms ("domain of sender does not exist").
 */
const precedence: readonly (readonly [topic: string, reason: FeedbackReason])[] = [
  ['mailbox_full', 'mailbox_full'],
  ['suspended', 'suspended'],
  ['size', 'size'],
  ['other', 'other'],
  ['rate_limited', 'rate_limited'],
  ['authentication', 'authentication'],
  ['relay_denied', 'relay_denied'],
  ['blocked', 'blocked'],
  ['policy', 'policy'],
  ['content', 'content'],
  ['expired', 'expired'],
  ['lookup', 'network'],
  ['domain_missing', 'domain_missing'],
  ['network', 'network'],
  ['moved', 'moved'],
  ['unknown_user', 'unknown_user'],
];

/** What an enhanced status code (RFC 3463, RFC 5248, RFC 7372, RFC 7505) means where the words say nothing. */
const statuses: readonly (readonly [RegExp, FeedbackReason])[] = [
  [/^\d\.1\.[13]$/, 'unknown_user'],
  [/^\d\.1\.(2|10)$/, 'domain_missing'],
  [/^\d\.1\.6$/, 'moved'],
  [/^\d\.1\.[78]$/, 'policy'],
  [/^\d\.2\.1$/, 'suspended'],
  [/^\d\.2\.2$/, 'mailbox_full'],
  [/^\d\.(2\.3|3\.4)$/, 'size'],
  [/^\d\.4\.4$/, 'domain_missing'],
  [/^\d\.4\.7$/, 'expired'],
  [/^\d\.4\./, 'network'],
  [/^\d\.6\./, 'content'],
  [/^\d\.7\.13$/, 'suspended'],
  [/^\d\.7\.25$/, 'blocked'],
  [/^\d\.7\.(5|8|9|2\d)$/, 'authentication'],
  [/^\d\.7\./, 'policy'],
];

/** The command that the server refused, as mail servers write it. */
const command = String.raw`(?:reply to|after|>>>|our|in|at|during|command|smtp:|stage:?|state:?|\[) ?(?:the |end of |sending )?`;
const atRcpt = new RegExp(`${command}rcpt(?![a-z])`, 'i');
/** Text that shows that the server refused the recipient, not the connection, the sender or the message. */
const atRecipient =
  /does not like recipient|recipient address rejected|bad-mailbox|(invalid|unknown) recipient|recipient (unknown|not found|does not exist)/i;
/** Text that shows that the server refused the connection or the sender. */
const atSender = new RegExp(`${command}(mail[ _]from|ehlo|helo)\\b|refused to talk to|my name was rejected`, 'i');
/** Text that shows that the server refused the message, after it had accepted the recipient. */
const afterData = new RegExp(`${command}data\\b|after i sent the message`, 'i');
const reply = /(?:^|[\s:;(<"'])([245]\d\d)[\s:,-]/;

/**
 * Returns the cause that the first conclusive text names. `status` is the code of the report itself; codes in the texts count
 * more, because a server that gives up reports its own. `senders` are addresses that are not the recipient's.
 */
export function classify(texts: readonly string[], status = '', senders = noSenders): Cause {
  const plain = texts.map(join).filter(text => text !== '');
  const all = plain.join(' ');
  const known = new Map<string, Reading>();
  const readingOf = (text: string) => known.get(text) ?? known.set(text, read(text, senders)).get(text)!;
  const conclusive = plain.find(text => readingOf(text).reason !== undefined);
  const first = conclusive === undefined ? undefined : readingOf(conclusive);
  const reason = first?.reason ?? reasonOf(findStatus(status)) ?? 'other';
  if (!permanentReasons.includes(reason)) return { reason, permanent: false };
  // Before it knew the recipient, the server can only have meant the sender.
  if (atSender.test(all) && !atRcpt.test(all) && !atRecipient.test(all)) return { reason: 'policy', permanent: false };
  // A server may say "user unknown" of an account that another line says is disabled or full.
  const isCertain = conclusive !== undefined && conclusive === plain[0] && /\b5\.1\.\d/.test(plain[0]!);
  const isState = ({ topics }: Reading) => topics.has('mailbox_full') || topics.has('suspended');
  const state = isCertain ? undefined : plain.map(readingOf).find(isState);
  if (state) return { reason: nameOf(state.topics)!, permanent: false };
  const code = findStatus(all) ?? findStatus(status) ?? '';
  const isLater = first?.topics.has('temporary') === true;
  const isTemporary = code.startsWith('4') || reply.exec(all)?.[1]?.startsWith('4') === true;
  // A server that gave up on "450 4.1.1 User unknown in virtual alias table" would not have fared better later.
  const isHopeless = code === '4.1.1' && first?.topics.has('unknown_user') === true;
  if (isLater || (isTemporary && !isHopeless)) return { reason, permanent: false };
  return { reason, permanent: reason !== 'unknown_user' || isAboutRecipient(code, all, first?.isWeak ?? false) };
}

/**
 * Some servers answer "user unknown" to content that a filter of the user rejects: after they accepted the recipient, or with a
 * code that says otherwise.
 */
function isAboutRecipient(code: string, text: string, isWeak: boolean): boolean {
  if (/^[45]\.1\.([0-6]|\d\d+)$/.test(code) || /(?<![\d.])5\.1\.1(?!\d)/.test(text)) return true;
  const isSilent = code === '' || /^5\.0\.0$/.test(code);
  // 5.5.0 is the code of Outlook.com for accounts that do not exist.
  if (isWeak) return code === '5.5.0' || (isSilent && atRcpt.test(text));
  if (atRcpt.test(text) || atRecipient.test(text)) return true;
  return !afterData.test(text) && (isSilent || /^5\.[045]\./.test(code));
}

interface Reading {
  reason: FeedbackReason | undefined;
  topics: ReadonlySet<string>;
  /** The words are also used for addresses that exist. */
  isWeak: boolean;
}

const url = /\b(?:https?:\/\/|www\.)[^\s<>()"]{1,400}/gi;
/** A host that is named as the reason, not as the server that replied. */
const listHost =
  /\b(?:using|via|see|listed (?:in|at|on|by)|found (?:in|at|on)|blocked by) ((?:[\w-]{1,63}\.){1,5}[a-z]{2,24})\b/gi;

/** Reads what a text is about: from its words, else from the words in its links, else from a status code among them. */
function read(text: string, senders: ReadonlySet<string>): Reading {
  const topics = matcher.topicsOf(text.replace(url, ' '), senders);
  const links = [...text.matchAll(url), ...text.matchAll(listHost)].map(([link]) => link.replace(/[./?&=#:_-]+/g, ' '));
  const linked = links.length > 0 ? matcher.topicsOf(links.join(' . ')) : new Set<string>();
  const named = nameOf(topics);
  // A block list is never about the recipient.
  if (linked.has('listed') && (!named || permanentReasons.includes(named))) {
    return { reason: 'blocked', topics, isWeak: false };
  }
  if (named) return { reason: named, topics, isWeak: false };
  const byCode = reasonOf(findStatus(text));
  if (topics.has('unavailable') && (!byCode || byCode === 'unknown_user' || byCode === 'network')) {
    return { reason: 'unknown_user', topics, isWeak: true };
  }
  const reason = nameOf(linked) ?? byCode ?? (topics.has('vague') ? 'policy' : undefined);
  return { reason, topics, isWeak: false };
}

function nameOf(topics: ReadonlySet<string>): FeedbackReason | undefined {
  return precedence.find(([topic]) => topics.has(topic))?.[1];
}

/** Joins the lines of a reply: "550-5.7.1 a 550 5.7.1 b" is "550 5.7.1 a b". */
function join(text: string): string {
  const seen = new Set<string>();
  return text
    .slice(0, maxChars)
    .replace(/\b([245]\d\d)([ -])([245]\.\d{1,2}\.\d{1,3}\b)?/g, (whole, code: string, mark: string, detail = '') => {
      const isContinued = seen.has(`${code} ${detail}`);
      if (mark === '-' || detail) seen.add(`${code} ${detail}`);
      return isContinued ? '' : whole.replace('-', ' ');
    })
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** Returns the first code that says more than x.0.0. */
function findStatus(text: string): string | undefined {
  const codes = [...text.matchAll(/(?<![\d.])([245]\.\d{1,2}\.\d{1,3})(?![\d.]*\d)/g)].map(([, code]) => code!);
  return codes.find(code => !/^\d\.0\.0$/.test(code)) ?? codes[0];
}

function reasonOf(code: string | undefined): FeedbackReason | undefined {
  return code === undefined ? undefined : statuses.find(([pattern]) => pattern.test(code))?.[1];
}
