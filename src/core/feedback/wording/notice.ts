/** Reads the prose of a report: where it ends and the returned message begins, and which recipients it names. */
import { noticeVocabulary } from './notice-vocabulary.ts';
import { createMatcher } from './phrases.ts';

export interface Notice {
  /** Before the returned message. */
  text: string;
  /** The returned message, if it follows in the same part. */
  rest: string;
  hasOriginal: boolean;
  /** The message is still in the queue. */
  isDelay: boolean;
}

export interface NamedRecipient {
  address: string;
  /** What is said about this recipient. */
  text: string;
}

/** Tells what prose is about, by the topics of the vocabulary of notices. */
export const noticeMatcher = createMatcher(noticeVocabulary);

/** Reports are short; whatever follows is a returned message. */
const maxChars = 65_536;
const maxLines = 2_000;
const maxRecipients = 50;
/** Lines whose words are looked at, to find headings and addresses: each costs a few microseconds. */
const maxReadLines = 150;

const headerLine = /^(received|return-path|dkim-signature|message-id|mime-version|delivered-to|x-[\w-]{1,60}):/i;
const anyHeader =
  /^\s{0,8}(received|return-path|from|to|subject|date|message-id|mime-version|x-[\w-]{1,60}):|^\s{0,8}From /i;
const decoration = /^\s{0,40}[-=*_#|~>+.]{2}/;

export function cutNotice(whole: string): Notice {
  const lines = whole.slice(0, maxChars).replaceAll('\r\n', '\n').split('\n', maxLines).map(unquote);
  let read = 0;
  const isHeading = (line: string, i: number) => {
    if (line.length > 200 || !/\p{L}/u.test(line)) return false;
    const isMarked = decoration.test(line) || /[:;]\s*$/.test(line);
    if (!isMarked && !lines.slice(i + 1, i + 4).some(next => anyHeader.test(next))) return false;
    if (++read > maxReadLines) return false;
    const words = line.match(/[\p{L}@]+/gu)?.length ?? 0;
    const topics = words < 20 ? noticeMatcher.topicsOf(line) : new Set();
    return topics.has('original') || (words <= 4 && !line.includes('@') && topics.has('heading'));
  };
  const isEnd = (line: string, i: number) => {
    if (i === 0 || line.trim() === '') return false;
    if (headerLine.test(line) && isHeader(lines[i + 1])) return true;
    return isHeading(line, i);
  };
  const end = lines.findIndex(isEnd);
  const text = (end < 0 ? lines : lines.slice(0, end)).join('\n');
  const after = end < 0 ? [] : lines.slice(end);
  const first = after.findIndex(line => /^[\w-]{2,60}:/.test(line));
  const topics = noticeMatcher.topicsOf(text);
  const isWarning = /warning message only|only a temporary/i.test(text);
  return {
    text,
    rest: first < 0 ? '' : after.slice(first).join('\n'),
    hasOriginal: end >= 0,
    isDelay: isWarning || (topics.has('delay') && !topics.has('final')),
  };
}

/** A forwarded report is quoted. */
function unquote(line: string): string {
  return line.startsWith('> ') || line === '>' ? line.slice(2) : line;
}

function isHeader(line: string | undefined): boolean {
  return line !== undefined && /^([\w-]{2,60}:|[ \t])/.test(line);
}

/** A summary of the returned message names its recipients, whether or not they got it. */
const summaryLine = /^\s*(to|cc|bcc|from|sender|reply-to|message-id|mail from|subject|return-path|x-[\w-]{1,40}):/i;
/** What precedes an address that a line is about: nothing, a sign of a list, or a label such as "Unknown user:". */
const lineStart =
  /^[\s<"'>*[{|•·=-]*(?:(?:(?!\d{3}\b)[^\s:@]{1,30} ){0,5}[^\s:@]{1,30}[:;=]\s*(?:rfc822;\s*)?\(?)?[<"'[]*(?:mailto:|smtp:)?$/i;

/** How certain it is that a text is about an address. */
const rank = { elsewhere: 0, inReply: 1, inSentence: 2, atStart: 3 } as const;

/**
 * Returns the recipients that the text is about, each with what it says about them. Addresses that are mentioned otherwise are
 * those of help desks and of forwarding.
 */
export function recipientsIn({ text }: Notice, excluded: ReadonlySet<string>): NamedRecipient[] {
  const lines = text.split('\n');
  const candidates = lines.map(line =>
    line.includes('@') && !summaryLine.test(line) ? candidatesIn(line, excluded) : [],
  );
  const ranks = new Map<string, number>();
  let read = 0;
  let before = '';
  for (const [i, addresses] of candidates.entries()) {
    const line = lines[i]!;
    if (addresses.length > 0 && ++read <= maxReadLines) {
      for (const [address, certainty] of ranksIn(line, before, addresses)) {
        ranks.set(address, Math.max(certainty, ranks.get(address) ?? 0));
      }
    }
    if (line.trim() !== '') before = line;
  }
  const best = Math.max(0, ...ranks.values());
  const named = [...ranks].filter(([, certainty]) => certainty === best).map(([address]) => address);
  if (best === rank.elsewhere) return named.slice(0, 1).map(address => ({ address, text }));
  const found = new Map(named.slice(0, maxRecipients).map(address => [address.toLowerCase(), { address, text: '' }]));
  let current: NamedRecipient | undefined;
  for (const [i, addresses] of candidates.entries()) {
    current = addresses.map(address => found.get(address.toLowerCase())).find(Boolean) ?? current;
    if (current) current.text += `${lines[i]}\n`;
  }
  return [...found.values()];
}

function candidatesIn(line: string, excluded: ReadonlySet<string>): string[] {
  return addressesIn(line).filter(address => !excluded.has(address.toLowerCase()) && !isReporter(address));
}

/** Returns how certain it is that the line is about each of its addresses. */
function ranksIn(line: string, before: string, addresses: readonly string[]): [address: string, certainty: number][] {
  let from = 0;
  let last: number = rank.elsewhere;
  return addresses.map((address, i) => {
    const at = line.indexOf(address, from);
    const between = line.slice(from, at).slice(-400);
    from = at + address.length;
    const isListed = i > 0 && /^[\s,;&<>"'()[\]]*(?:and|und|et|y|e)?[\s<"'([]*$/i.test(between);
    last = isListed ? last : i === 0 ? rankOf(between, before) : rank.elsewhere;
    return [address, last];
  });
}

function rankOf(start: string, before: string): number {
  if (/^[\s<"'>*[{|•·-]*$/.test(start)) return rank.atStart;
  const topics = noticeMatcher.topicsOf(start);
  if (topics.has('help') && !topics.has('failure')) return rank.elsewhere;
  if (lineStart.test(start)) return rank.atStart;
  if (/(^|[\s:;(<#"'])[245](\d\d[\s:-]|\.\d{1,2}\.\d)/.test(start)) return rank.inReply;
  const isQuoted = /:\s*$/.test(before) && noticeMatcher.topicsOf(before).has('reply');
  if (isQuoted) return rank.inReply;
  if (topics.has('failure')) return rank.inSentence;
  // "Your message could not be delivered to the recipient" / "with the address jane@acme.test".
  return noticeMatcher.topicsOf(`${before} ${start}`).has('failure') ? rank.inSentence : rank.elsewhere;
}

function isReporter(address: string): boolean {
  return /^(mailer-daemon|postmaster|abuse|support|helpdesk|webmaster|noc|hostmaster)@/i.test(address);
}

/** Returns the addresses in a text. Splitting is linear, whatever the text. */
export function addressesIn(text: string): string[] {
  return text
    .slice(0, maxChars)
    .split(/[\s<>()[\]",;:'|]+/)
    .filter(word => word.length <= 320 && /^[^@]{1,64}@[^@]{1,255}$/.test(word))
    .map(word => word.replace(/[.?!…]+$/, ''))
    .slice(0, 1_000);
}
