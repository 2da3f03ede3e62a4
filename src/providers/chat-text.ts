import type { Content } from '../core/render/render.ts';

/** Truncates to a number of UTF-16 units, ending in …, and never splits a character as people see it. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, boundaryBefore(text, Math.max(maxLength - 1, 0))).trimEnd()}…`;
}

const characters = new Intl.Segmenter();
/** Longer than the longest emoji. A pile of more marks than this on one letter may be split. */
const maxCharacterLength = 64;

/** Returns the last position up to `end` between two characters, such as a letter with its accents or a flag. */
function boundaryBefore(text: string, end: number): number {
  const start = Math.max(end - maxCharacterLength, 0);
  const found = characters.segment(text.slice(start, end + maxCharacterLength)).containing(end - start);
  if (found && (found.index > 0 || start === 0)) return start + found.index;
  return /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end;
}

/** Returns the title unless it is only the first line of the text, which a message without a title gets. */
export function headingOf({ title, text }: Content): string {
  const [line = ''] = text.split('\n', 1);
  const isFirstLine = title === line.trim() || (title.endsWith('…') && line.trim().startsWith(title.slice(0, -1)));
  return isFirstLine ? '' : title.trim();
}

/** Joins the parts that are not empty, with a blank line between them. */
export function paragraphs(...parts: string[]): string {
  return parts.filter(part => part.trim() !== '').join('\n\n');
}

/** Returns title and body as Markdown that mentions no one. */
export function toMarkdown(content: Content): string {
  const heading = headingOf(content);
  return withoutMentions(
    paragraphs(heading && `**${escapeMarkdown(heading)}**`, content.markup ?? escapeMarkdown(content.text)),
  );
}

/** Makes Markdown with escaped values mention no one, also not by a character reference such as &#64;. */
export function withoutMentions(markdown: string): string {
  return breakMentions(markdown.replace(/&(?=#?\w{1,32};)/g, '&\u200b').replace(/[^\s<]+<?/g, endUrl));
}

/** Many services take a backslash for a part of a URL that they link, so that it would not escape the bracket after it. */
function endUrl(run: string): string {
  return run.endsWith('\\<') && /:\/\/|www\./i.test(run) ? `${run.slice(0, -2)} \\<` : run;
}

/** An @ within a word, as in an email address, mentions no one. */
const mention = /(?<![\p{L}\p{N}])@/gu;
const urlOrMention = new RegExp(`(https?://[^\\s<>()[\\]"'\`|\\\\*]+)|${mention.source}`, 'giu');

/**
 * Makes every @ harmless by which a service would notify a user, a group or a whole room. Inside a URL, it is encoded, which
 * leads to the same page. This is for whole messages, so that neither a field nor two fields side by side can mention anyone.
 */
export function breakMentions(text: string): string {
  return text.replace(urlOrMention, (_, url?: string) => url?.replace(mention, '%40') ?? '@\u200b');
}

/** Returns title and body as plain text. */
export function toPlainText(content: Content): string {
  return paragraphs(headingOf(content), content.text);
}

export function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|<>#[\]()]/g, '\\$&');
}

/** Truncates to a number of bytes in UTF-8, ending in …, and never splits a character. */
export function truncateBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const kept = Buffer.from(text).subarray(0, Math.max(maxBytes - Buffer.byteLength('…'), 0));
  // A character that was cut decodes to U+FFFD.
  const { length } = kept.toString('utf8').replace(/\ufffd+$/, '');
  return `${text.slice(0, boundaryBefore(text, length)).trimEnd()}…`;
}
