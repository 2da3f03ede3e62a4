/** What a source gets of a mail: a small JSON object, whatever the mail contains. Runs only in the threads that read mails. */
import { decodeHTML } from 'entities/decode';
import { decodeWords, type Mail, type Part, parseMail } from '../feedback/mime.ts';

export interface Letter {
  message_id: string | null;
  /** The Message-ID of the mail that began the conversation; null: this one. */
  thread: string | null;
  from: string;
  subject: string;
  date: string | null;
  text: string;
  /** Whether a program answered a mail of ours. */
  is_reply?: true;
}

const limits = { subject: 1_000, from: 320, id: 500, text: 32 * 1024 };

export function readLetter(bytes: Buffer): Letter {
  const { headers, parts } = parseMail(bytes);
  const header = (name: string) => Buffer.from(headers.get(name) ?? '', 'latin1').toString('utf8');
  const text = (name: string, max: number) =>
    clean(decodeWords(header(name)))
      .replaceAll(/\s+/g, ' ')
      .slice(0, max);
  const ids = (name: string) => header(name).match(/<[^<>\s]{1,500}>/);
  const date = new Date(header('date').slice(0, 100));
  const isReply = /^auto-replied/i.test(header('auto-submitted')) || isReport(headers);
  return {
    message_id: ids('message-id')?.[0].slice(0, limits.id) ?? null,
    thread: (ids('references') ?? ids('in-reply-to'))?.[0].slice(0, limits.id) ?? null,
    from: text('from', limits.from),
    subject: text('subject', limits.subject),
    date: Number.isNaN(date.getTime()) ? null : date.toISOString(),
    text: textOf(parts).slice(0, limits.text).toWellFormed(),
    ...(isReply && { is_reply: true }),
  };
}

function isReport(headers: Mail['headers']): boolean {
  return /^multipart\/report/i.test(headers.get('content-type') ?? '');
}

function textOf(parts: readonly Part[]): string {
  const plain = parts.find(({ type }) => type === 'text/plain');
  if (plain) return clean(plain.text()).trim();
  const html = parts.find(({ type }) => type === 'text/html');
  return html ? clean(withoutTags(html.text())).trim() : '';
}

/** For people to read: nothing is shown as HTML. */
function withoutTags(html: string): string {
  let text = '';
  for (let at = 0; at < html.length && text.length < 2 * limits.text; ) {
    const start = html.indexOf('<', at);
    text += html.slice(at, start < 0 ? undefined : start);
    const tag = /^<(style|script|title)\b/i.exec(html.slice(start, start + 10))?.[1];
    const close = tag && start >= 0 ? indexFrom(new RegExp(`</${tag}`, 'gi'), html, start) : start;
    const end = close < 0 ? -1 : html.indexOf('>', close);
    if (end < 0) break;
    if (/^<(br|\/p|\/div|\/tr|\/li|\/h\d)\b/i.test(html.slice(start, start + 8))) text += '\n';
    at = end + 1;
  }
  return decodeHTML(text)
    .replaceAll(/[ \t\u00a0]+/g, ' ')
    .replaceAll(/\n[ \n]*\n/g, '\n\n');
}

function indexFrom(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}

function clean(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll('\0', '').toWellFormed();
}
