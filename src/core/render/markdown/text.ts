/** Renders Markdown as plain text. Also renders the inline elements of every other text format. */

import { resolveImage, resolveLink } from '../links.ts';
import { joinParts, type Values } from '../template/slots.ts';
import type { Align, Block, Inline, Table } from './markdown.ts';

/** How a format renders inline elements. */
export interface InlineFormat {
  /** Escapes text and values. */
  text(text: string): string;
  /** Escapes text inside code. */
  codeText(text: string): string;
  code(inner: string): string;
  strong(inner: string): string;
  em(inner: string): string;
  del(inner: string): string;
  link(url: string, inner: string): string;
  image(url: string, alt: string): string;
  /** Whether it can show an image that is attached to the message. */
  embedsImages?: true;
  lineBreak: string;
}

export function renderInlines(inlines: readonly Inline[], values: Values, format: InlineFormat): string {
  let text = '';
  for (const inline of inlines) text += renderInline(inline, values, format);
  return text;
}

function renderInline(inline: Inline, values: Values, format: InlineFormat): string {
  switch (inline.type) {
    case 'text':
      return joinParts(inline.parts, values, format.text);
    case 'code':
      return format.code(joinParts(inline.parts, values, format.codeText));
    case 'strong':
    case 'em':
    case 'del':
      return format[inline.type](renderInlines(inline.inner, values, format));
    case 'link': {
      const url = resolveLink(inline.href, values);
      const inner = renderInlines(inline.inner, values, format);
      return url === undefined ? inner : format.link(url, inner);
    }
    case 'image': {
      const url = (format.embedsImages ? resolveImage : resolveLink)(inline.href, values);
      const alt = joinParts(inline.alt, values, format.text);
      return url === undefined ? alt : format.image(url, alt);
    }
    case 'break':
      return format.lineBreak;
  }
}

/** For formats without links: `text (url)`, or only the URL if both are the same. */
export function linkAsText(url: string, inner: string): string {
  const address = url.replace(/^(?:mailto|tel):/i, '');
  return inner.trim() === '' || inner === url || inner === address ? address : `${inner} (${address})`;
}

const unchanged = (text: string) => text;
const textFormat: InlineFormat = {
  text: unchanged,
  codeText: unchanged,
  code: unchanged,
  strong: unchanged,
  em: unchanged,
  del: unchanged,
  link: linkAsText,
  image: (_url, alt) => alt,
  lineBreak: '\n',
};

export function toText(blocks: readonly Block[], values: Values): string {
  return renderBlocks(blocks, values).trim();
}

/** One line of plain text without URLs, for the cells of a table. */
function plainInlines(inlines: readonly Inline[], values: Values): string {
  return renderInlines(inlines, values, { ...textFormat, link: (_url, inner) => inner }).replace(/\s+/g, ' ');
}

/** Returns the beginning of the text in one line, which mail clients show beside the subject. */
export function toPreview(blocks: readonly Block[], values: Values, maxLength: number): string {
  let preview = '';
  for (const block of blocks) {
    if (block.type === 'paragraph') preview += ` ${plainInlines(block.inner, values)}`;
    if (preview.length > maxLength) break;
  }
  return preview.trim().slice(0, maxLength).toWellFormed();
}

function renderBlocks(blocks: readonly Block[], values: Values): string {
  return blocks
    .map(block => renderBlock(block, values))
    .filter(text => text.trim() !== '')
    .join('\n\n');
}

function renderBlock(block: Block, values: Values): string {
  switch (block.type) {
    case 'paragraph':
      return renderInlines(block.inner, values, textFormat);
    case 'button':
      return renderInlines([block.link], values, textFormat);
    case 'heading': {
      const title = renderInlines(block.inner, values, textFormat);
      return block.depth > 2 ? title : `${title}\n${(block.depth === 1 ? '=' : '-').repeat(lastLineLength(title))}`;
    }
    case 'quote':
      return prefixLines(renderBlocks(block.blocks, values), '> ', '> ');
    case 'code':
      return prefixLines(joinParts(block.parts, values), '    ', '    ');
    case 'rule':
      return '-'.repeat(20);
    case 'list':
      return block.items
        .map(({ checked, blocks }, i) => {
          const bullet = block.start === undefined ? '- ' : `${block.start + i}. `;
          const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] ';
          return prefixLines(box + renderTightly(blocks, values), bullet, ' '.repeat(bullet.length));
        })
        .join('\n');
    case 'table':
      return tableAsText(block, values);
  }
}

/** Separates the blocks of a list item by one line break only. */
function renderTightly(blocks: readonly Block[], values: Values): string {
  return blocks.map(block => renderBlock(block, values)).join('\n');
}

export function prefixLines(text: string, first: string, others: string): string {
  return first + text.replaceAll('\n', `\n${others}`);
}

/** A longer cell overflows its column: one long value must not make every row as long. */
const maxColumnWidth = 40;

/** Renders a table with aligned columns, two spaces between them. */
export function tableAsText(table: Table, values: Values): string {
  const rows = [table.header, ...table.rows].map(row => row.map(cell => plainInlines(cell, values)));
  const widths = table.header.map((_, column) => {
    const width = rows.reduce((widths, row) => Math.max(widths, lengthOf(row[column] ?? '')), 1);
    return Math.min(width, maxColumnWidth);
  });
  const lines = rows.map(row =>
    widths
      .map((width, column) => pad(row[column] ?? '', width, table.align[column] ?? null))
      .join('  ')
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map(width => '-'.repeat(width)).join('  '));
  return lines.join('\n');
}

function pad(text: string, width: number, align: Align): string {
  const missing = Math.max(width - lengthOf(text), 0);
  const left = align === 'right' ? missing : align === 'center' ? Math.floor(missing / 2) : 0;
  return ' '.repeat(left) + text + ' '.repeat(missing - left);
}

function lastLineLength(text: string): number {
  return Math.min(Math.max(lengthOf(text.slice(text.lastIndexOf('\n') + 1)), 1), 72);
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}
