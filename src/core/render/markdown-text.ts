/** Markdown as plain text: what a person would have typed. Also the inlines of every format that is text. */

import { resolveLink } from './links.ts';
import type { Align, Block, Inline, Table } from './markdown.ts';
import { joinParts, type Values } from './template-slots.ts';

/** How a format writes what stands in a line. */
export interface Marks {
  /** Text and values alike: as they are, to be read. */
  text(text: string): string;
  /** Inside of code, where other signs count. */
  codeText(text: string): string;
  code(inner: string): string;
  strong(inner: string): string;
  em(inner: string): string;
  del(inner: string): string;
  link(url: string, inner: string): string;
  image(url: string, alt: string): string;
  lineBreak: string;
}

export function writeInlines(inlines: readonly Inline[], values: Values, marks: Marks): string {
  let text = '';
  for (const inline of inlines) text += writeInline(inline, values, marks);
  return text;
}

function writeInline(inline: Inline, values: Values, marks: Marks): string {
  switch (inline.type) {
    case 'text':
      return joinParts(inline.parts, values, marks.text);
    case 'code':
      return marks.code(joinParts(inline.parts, values, marks.codeText));
    case 'strong':
    case 'em':
    case 'del':
      return marks[inline.type](writeInlines(inline.inner, values, marks));
    case 'link': {
      const url = resolveLink(inline.href, values);
      const inner = writeInlines(inline.inner, values, marks);
      return url === undefined ? inner : marks.link(url, inner);
    }
    case 'image': {
      const url = resolveLink(inline.href, values);
      const alt = joinParts(inline.alt, values, marks.text);
      return url === undefined ? alt : marks.image(url, alt);
    }
    case 'break':
      return marks.lineBreak;
  }
}

/** For formats without links: `text (address)`, or only one of them where they say the same. */
export function besideText(url: string, inner: string): string {
  const address = url.replace(/^(?:mailto|tel):/i, '');
  return inner.trim() === '' || inner === url || inner === address ? address : `${inner} (${address})`;
}

const same = (text: string) => text;
const textMarks: Marks = {
  text: same,
  codeText: same,
  code: same,
  strong: same,
  em: same,
  del: same,
  link: besideText,
  image: (_url, alt) => alt,
  lineBreak: '\n',
};

export function toText(blocks: readonly Block[], values: Values): string {
  return writeBlocks(blocks, values).trim();
}

/** A line's worth of plain text, without addresses: for tables in formats that have none. */
function plainInlines(inlines: readonly Inline[], values: Values): string {
  return writeInlines(inlines, values, { ...textMarks, link: (_url, inner) => inner }).replace(/\s+/g, ' ');
}

/** The beginning of what it says, in one line: what a mail client shows beside the subject. */
export function toPreview(blocks: readonly Block[], values: Values, most: number): string {
  let preview = '';
  for (const block of blocks) {
    if (block.type === 'paragraph') preview += ` ${plainInlines(block.inner, values)}`;
    if (preview.length > most) break;
  }
  return preview.trim().slice(0, most).toWellFormed();
}

function writeBlocks(blocks: readonly Block[], values: Values): string {
  return blocks
    .map(block => writeBlock(block, values))
    .filter(text => text.trim() !== '')
    .join('\n\n');
}

function writeBlock(block: Block, values: Values): string {
  switch (block.type) {
    case 'paragraph':
      return writeInlines(block.inner, values, textMarks);
    case 'button':
      return writeInlines([block.link], values, textMarks);
    case 'heading': {
      const title = writeInlines(block.inner, values, textMarks);
      return block.depth > 2 ? title : `${title}\n${(block.depth === 1 ? '=' : '-').repeat(lastLineLength(title))}`;
    }
    case 'quote':
      return prefixLines(writeBlocks(block.blocks, values), '> ', '> ');
    case 'code':
      return prefixLines(joinParts(block.parts, values), '    ', '    ');
    case 'rule':
      return '-'.repeat(20);
    case 'list':
      return block.items
        .map(({ checked, blocks }, i) => {
          const bullet = block.start === undefined ? '- ' : `${block.start + i}. `;
          const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] ';
          return prefixLines(box + writeTight(blocks, values), bullet, ' '.repeat(bullet.length));
        })
        .join('\n');
    case 'table':
      return layTable(block, values);
  }
}

/** Inside of an item one line break is enough. */
function writeTight(blocks: readonly Block[], values: Values): string {
  return blocks.map(block => writeBlock(block, values)).join('\n');
}

export function prefixLines(text: string, first: string, others: string): string {
  return first + text.replaceAll('\n', `\n${others}`);
}

/** Beyond this a cell stands out of its column: one long value must not make every row as long. */
const widest = 40;

/** Columns of equal width, two spaces between them. */
export function layTable(table: Table, values: Values): string {
  const rows = [table.header, ...table.rows].map(row => row.map(cell => plainInlines(cell, values)));
  const widths = table.header.map((_, column) => {
    const width = rows.reduce((widths, row) => Math.max(widths, lengthOf(row[column] ?? '')), 1);
    return Math.min(width, widest);
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
