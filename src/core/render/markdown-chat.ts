/**
 * Markdown in the dialects of chats. Text is written so that none of it counts as a sign of the dialect: Telegram and
 * Discord have a way to say so; Slack has none for * _ ~ `, which therefore get an invisible neighbour that keeps them
 * from counting. (Slack also gets the message as blocks, which need no such thing: markdown-slack.ts.)
 */
import type { Block } from './markdown.ts';
import { besideText, layTable, type Marks, prefixLines, writeInlines } from './markdown-text.ts';
import { joinParts, type Values } from './template-slots.ts';

interface Dialect extends Marks {
  heading(inner: string, depth: number): string;
  quote(inner: string): string;
  codeBlock(text: string): string;
  bullet: string;
  rule: string;
}

const invisible = '\u200b';

/** The dialects know no way to write a backtick inside of code. */
const withoutTicks = (text: string) => text.replaceAll('`', '\u02cb');
const oneLine = (text: string) => text.replaceAll('\n', ' ');
const wrap = (before: string, after: string) => (inner: string) =>
  inner.trim() === '' ? inner : before + inner + after;

/** Slack wants a sign to touch the word it marks. */
function hug(sign: string): (inner: string) => string {
  return inner => {
    const text = inner.trim();
    if (text === '') return inner;
    const start = inner.indexOf(text);
    return inner.slice(0, start) + sign + oneLine(text) + sign + inner.slice(start + text.length);
  };
}

const escapeAngles = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const slack: Dialect = {
  text: text =>
    escapeAngles(text)
      .replace(/(?<![\p{L}\p{N}])[*_~]+|[*_~]+(?![\p{L}\p{N}])|`+/gu, `${invisible}$&${invisible}`)
      .replace(/^([ \t]*)&gt;/gm, `$1${invisible}&gt;`),
  codeText: text => escapeAngles(withoutTicks(text)),
  code: inner => `\`${oneLine(inner)}\``,
  strong: hug('*'),
  em: hug('_'),
  del: hug('~'),
  link: (url, inner) => `<${escapeAngles(url)}|${oneLine(inner).replaceAll('|', '¦') || escapeAngles(url)}>`,
  image: (url, alt) => slack.link(url, alt),
  lineBreak: '\n',
  heading: hug('*'),
  quote: inner => prefixLines(inner, '> ', '> '),
  codeBlock: text => `\`\`\`\n${text}\n\`\`\``,
  bullet: '• ',
  rule: '———',
};

/** An address that Discord recognises by itself; inside of it no sign counts, and a backslash would be part of it. */
const bareUrl = /(https?:\/\/[\w\-./?=&%+:,;#]+)/;

function escapeDiscord(text: string): string {
  return text
    .split(bareUrl)
    .map((piece, i) => (i % 2 === 1 ? piece : piece.replace(/[\\*_~`|<>[\]()]/g, '\\$&')))
    .join('')
    .replace(/^([ \t]*)([#\-+])/gm, '$1\\$2')
    .replace(/^([ \t]*\d+)([.)])/gm, '$1\\$2')
    .replace(/@(?=everyone|here)/g, `@${invisible}`);
}

const discord: Dialect = {
  text: escapeDiscord,
  codeText: withoutTicks,
  code: inner => (inner === '' ? '' : `\`${oneLine(inner)}\``),
  strong: wrap('**', '**'),
  em: wrap('*', '*'),
  del: wrap('~~', '~~'),
  link: (url, inner) => {
    if (!/^https?:/i.test(url)) return besideText(url, inner); // The only links it knows.
    return inner.trim() === '' ? url : `[${oneLine(inner)}](${url})`;
  },
  image: (url, alt) => discord.link(url, alt),
  lineBreak: '\n',
  heading: (inner, depth) => `${'#'.repeat(Math.min(depth, 3))} ${oneLine(inner)}`,
  quote: inner => prefixLines(inner, '> ', '> '),
  codeBlock: text => `\`\`\`\n${text}\n\`\`\``,
  bullet: '- ',
  rule: '———',
};

const telegram: Dialect = {
  text: escapeAngles,
  codeText: escapeAngles,
  code: wrap('<code>', '</code>'),
  strong: wrap('<b>', '</b>'),
  em: wrap('<i>', '</i>'),
  del: wrap('<s>', '</s>'),
  link: (url, inner) => `<a href="${escapeAngles(url)}">${inner || escapeAngles(url)}</a>`,
  image: (url, alt) => telegram.link(url, alt),
  lineBreak: '\n',
  heading: wrap('<b>', '</b>'),
  // One inside of another is refused. Only our own marks can match here: text has no angle brackets left.
  quote: inner => wrap('<blockquote>', '</blockquote>')(inner.replace(/<\/?blockquote>/g, '')),
  codeBlock: wrap('<pre>', '</pre>'),
  bullet: '• ',
  rule: '———',
};

const dialects = { slack, discord, telegram };
export type ChatMedium = keyof typeof dialects;

export function isChatMedium(medium: string): medium is ChatMedium {
  return Object.hasOwn(dialects, medium);
}

/** The body alone: providers put the title where it belongs. */
export function toChat(medium: ChatMedium, blocks: readonly Block[], values: Values): string {
  return writeBlocks(blocks, values, dialects[medium]);
}

function writeBlocks(blocks: readonly Block[], values: Values, dialect: Dialect, between = '\n\n'): string {
  return blocks
    .map(block => writeBlock(block, values, dialect))
    .filter(text => text.trim() !== '')
    .join(between);
}

function writeBlock(block: Block, values: Values, dialect: Dialect): string {
  switch (block.type) {
    case 'paragraph':
      return writeInlines(block.inner, values, dialect);
    case 'button':
      return dialect.strong(writeInlines([block.link], values, dialect));
    case 'heading':
      return dialect.heading(writeInlines(block.inner, values, dialect), block.depth);
    case 'quote':
      return dialect.quote(writeBlocks(block.blocks, values, dialect));
    case 'code':
      return dialect.codeBlock(joinParts(block.parts, values, dialect.codeText));
    case 'table':
      return dialect.codeBlock(dialect.codeText(layTable(block, values)));
    case 'rule':
      return dialect.rule;
    case 'list':
      return block.items
        .map(({ checked, blocks }, i) => {
          const sign = block.start === undefined ? dialect.bullet : `${block.start + i}. `;
          const box = checked === undefined ? '' : checked ? '☑ ' : '☐ ';
          const text = writeBlocks(blocks, values, dialect, '\n');
          return prefixLines(box + text, sign, ' '.repeat(sign.length));
        })
        .join('\n');
  }
}
