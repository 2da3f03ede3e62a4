import type { Content } from '../core/render/render.ts';

/** Truncates to a number of UTF-16 units, ending in …, and never splits a surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, Math.max(maxLength - 1, 0)).replace(/[\ud800-\udbff]$/, '');
  return `${kept.trimEnd()}…`;
}

/** For Slack's markup and Telegram's HTML: both require these three escapes, and support no others. */
export function escapeAngles(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
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

/** Returns title and body as Markdown. */
export function toMarkdown(content: Content): string {
  const heading = headingOf(content);
  return paragraphs(heading && `**${escapeMarkdown(heading)}**`, content.markup ?? escapeMarkdown(content.text));
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
  const kept = Buffer.from(text).subarray(0, maxBytes - Buffer.byteLength('…'));
  // A character that was cut decodes to U+FFFD.
  return `${kept
    .toString('utf8')
    .replace(/\ufffd+$/, '')
    .trimEnd()}…`;
}
