/**
 * Renders Markdown in the dialects of chat services. Text is escaped so that none of it is read as markup. Slack has no
 * escape for * _ ~ `, which get an invisible character beside them instead. (Slack also receives the message as blocks,
 * which need no escaping: markdown-slack.ts.)
 */

import { escapeAngles } from '../../text/text.ts';
import { joinParts, type Values } from '../template/slots.ts';
import type { Block } from './markdown.ts';
import { type InlineFormat, linkAsText, prefixLines, renderInlines, tableAsText } from './text.ts';

interface Dialect extends InlineFormat {
  heading(inner: string, depth: number): string;
  quote(inner: string): string;
  codeBlock(text: string): string;
  bullet: string;
  rule: string;
}

const invisible = '\u200b';

/** The dialects cannot express a backtick inside code. */
const replaceBackticks = (text: string) => text.replaceAll('`', '\u02cb');
const oneLine = (text: string) => text.replaceAll('\n', ' ');
const wrap = (before: string, after: string) => (inner: string) =>
  inner.trim() === '' ? inner : before + inner + after;

/** Slack requires a mark to touch the word it formats, so spaces stay outside. */
function wrapTrimmed(mark: string): (inner: string) => string {
  return inner => {
    const text = inner.trim();
    if (text === '') return inner;
    const start = inner.indexOf(text);
    return inner.slice(0, start) + mark + oneLine(text) + mark + inner.slice(start + text.length);
  };
}

const slack: Dialect = {
  text: text =>
    escapeAngles(text)
      .replace(/(?<![\p{L}\p{N}])[*_~]+|[*_~]+(?![\p{L}\p{N}])|`+/gu, `${invisible}$&${invisible}`)
      .replace(/^([ \t]*)&gt;/gm, `$1${invisible}&gt;`),
  codeText: text => escapeAngles(replaceBackticks(text)),
  code: inner => `\`${oneLine(inner)}\``,
  strong: wrapTrimmed('*'),
  em: wrapTrimmed('_'),
  del: wrapTrimmed('~'),
  link: (url, inner) => `<${escapeAngles(url)}|${oneLine(inner).replaceAll('|', '¦') || escapeAngles(url)}>`,
  image: (url, alt) => slack.link(url, alt),
  lineBreak: '\n',
  heading: wrapTrimmed('*'),
  quote: inner => prefixLines(inner, '> ', '> '),
  codeBlock: text => `\`\`\`\n${text}\n\`\`\``,
  bullet: '• ',
  rule: '———',
};

/** A URL that Discord links automatically: nothing inside it is markup, and a backslash would become part of it. */
const bareUrl = /(https?:\/\/[\w\-./?=&%+:,;#]+)/;

function escapeDiscord(text: string): string {
  return text
    .split(bareUrl)
    .map((piece, i) => (i % 2 === 1 ? piece : piece.replace(/[\\*_~`|<>[\]()]/g, '\\$&')))
    .join('')
    .replace(/^([ \t]*)([#\-+=])/gm, '$1\\$2')
    .replace(/^([ \t]*\d+)([.)])/gm, '$1\\$2');
}

const discord: Dialect = {
  text: escapeDiscord,
  codeText: replaceBackticks,
  code: inner => (inner === '' ? '' : `\`${oneLine(inner)}\``),
  strong: wrap('**', '**'),
  em: wrap('*', '*'),
  del: wrap('~~', '~~'),
  link: (url, inner) => {
    if (!/^https?:/i.test(url)) return linkAsText(url, inner); // Discord supports no other links.
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
  // Telegram refuses nested quotes. Only our own tags can match here: text has no angle brackets left.
  quote: inner => wrap('<blockquote>', '</blockquote>')(inner.replace(/<\/?blockquote>/g, '')),
  codeBlock: wrap('<pre>', '</pre>'),
  bullet: '• ',
  rule: '———',
};

/** Mattermost, Zulip, Webex and others read the same Markdown as Discord. Providers make mentions harmless. */
const dialects = { slack, discord, telegram, chat: discord };
type ChatMedium = keyof typeof dialects;

export function isChatMedium(medium: string): medium is ChatMedium {
  return Object.hasOwn(dialects, medium);
}

/** Returns plain text such that none of it is read as markup. */
export function escapeForChat(medium: ChatMedium, text: string): string {
  return dialects[medium].text(text);
}

/** Renders the body alone: providers add the title. */
export function toChat(medium: ChatMedium, blocks: readonly Block[], values: Values): string {
  return renderBlocks(blocks, values, dialects[medium]);
}

function renderBlocks(blocks: readonly Block[], values: Values, dialect: Dialect, between = '\n\n'): string {
  return blocks
    .map(block => renderBlock(block, values, dialect))
    .filter(text => text.trim() !== '')
    .join(between);
}

function renderBlock(block: Block, values: Values, dialect: Dialect): string {
  switch (block.type) {
    case 'paragraph':
      return renderInlines(block.inner, values, dialect);
    case 'button':
      return dialect.strong(renderInlines([block.link], values, dialect));
    case 'heading':
      return dialect.heading(renderInlines(block.inner, values, dialect), block.depth);
    case 'quote':
      return dialect.quote(renderBlocks(block.blocks, values, dialect));
    case 'code':
      return dialect.codeBlock(joinParts(block.parts, values, dialect.codeText));
    case 'table':
      return dialect.codeBlock(dialect.codeText(tableAsText(block, values)));
    case 'rule':
      return dialect.rule;
    case 'list':
      return block.items
        .map(({ checked, blocks }, i) => {
          const mark = block.start === undefined ? dialect.bullet : `${block.start + i}. `;
          const box = checked === undefined ? '' : checked ? '☑ ' : '☐ ';
          const text = renderBlocks(blocks, values, dialect, '\n');
          return prefixLines(box + text, mark, ' '.repeat(mark.length));
        })
        .join('\n');
  }
}
