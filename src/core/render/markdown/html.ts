/**
 * Renders Markdown as the content of an HTML email. Some mail clients drop style sheets, so every element has inline
 * styles; the classes are for the dark colours of a layout (layout.ts). Line ends in a value become <br>; nothing else in
 * it can become an element.
 */

import { resolveLink } from '../links.ts';
import { joinParts, type Values } from '../template/slots.ts';
import type { Block, Inline, List, Table } from './markdown.ts';
import { type InlineFormat, renderInlines } from './text.ts';

const mono = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace";

export function escapeHtml(text: string): string {
  return /[&<>"']/.test(text)
    ? text
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;')
    : text;
}

const htmlFormat: InlineFormat = {
  text: text => escapeHtml(text).replaceAll('\n', '<br>'),
  codeText: escapeHtml,
  code: inner =>
    `<code class="code" style="${mono};font-size:.9em;background:#f1f3f5;border-radius:4px;padding:2px 5px;word-break:break-word">${inner}</code>`,
  strong: inner => `<strong>${inner}</strong>`,
  em: inner => `<em>${inner}</em>`,
  del: inner => `<del>${inner}</del>`,
  link: (url, inner) =>
    `<a class="link" href="${escapeHtml(url)}" style="color:#1a56db;text-decoration:underline">${inner || escapeHtml(url)}</a>`,
  image: (url, alt) =>
    /^(?:https?|cid):/i.test(url)
      ? `<img src="${escapeHtml(url)}" alt="${alt.replaceAll('<br>', ' ')}" style="max-width:100%;height:auto;border:0;vertical-align:middle">`
      : alt,
  embedsImages: true,
  lineBreak: '<br>',
};

export function toHtml(blocks: readonly Block[], values: Values): string {
  let html = '';
  for (const [i, block] of blocks.entries()) {
    // The last block needs no margin: its container has padding.
    html += renderBlock(block, values, i < blocks.length - 1 ? 'margin:0 0 16px' : 'margin:0');
  }
  return html;
}

function inline(inlines: readonly Inline[], values: Values): string {
  return renderInlines(inlines, values, htmlFormat);
}

const headings = [
  'font-size:24px;line-height:1.25',
  'font-size:19px;line-height:1.3',
  'font-size:16px;line-height:1.4',
];

function renderBlock(block: Block, values: Values, margin: string): string {
  switch (block.type) {
    case 'paragraph': {
      const inside = inline(block.inner, values);
      return inside === '' ? '' : `<p style="${margin}">${inside}</p>\n`;
    }
    case 'heading': {
      const name = `h${Math.min(block.depth, 6)}`;
      const style = `margin:${block.depth === 1 ? 0 : '24px'} 0 12px;${headings[block.depth - 1] ?? headings[2]}`;
      return `<${name} class="heading" style="${style};font-weight:600;color:#11181c">${inline(block.inner, values)}</${name}>\n`;
    }
    case 'button': {
      const url = resolveLink(block.link.href, values);
      const label = inline(block.link.inner, values);
      if (url === undefined) return `<p style="${margin}"><strong>${label}</strong></p>\n`;
      // A coloured table cell is the only kind of button that Outlook renders too.
      return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="${margin};border-collapse:separate"><tr><td class="button" style="background:#1a56db;border-radius:6px"><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-weight:600;text-decoration:none">${label || escapeHtml(url)}</a></td></tr></table>\n`;
    }
    case 'quote': {
      const inside = toHtml(block.blocks, values);
      const style = `${margin};padding:4px 0 4px 16px;border-left:4px solid #d0d7de;color:#57606a`;
      return inside === '' ? '' : `<blockquote class="quote" style="${style}">${inside}</blockquote>\n`;
    }
    case 'code':
      return `<pre class="code" style="${margin};padding:12px 14px;background:#f1f3f5;border-radius:6px;overflow-x:auto;${mono};font-size:13px;line-height:1.5;white-space:pre-wrap;word-break:break-word">${joinParts(block.parts, values, escapeHtml)}</pre>\n`;
    case 'rule':
      return '<hr class="rule" style="margin:24px 0;border:0;border-top:1px solid #d8dee4">\n';
    case 'list':
      return renderList(block, values, margin);
    case 'table':
      return renderTable(block, values, margin);
  }
}

function renderList({ start, items }: List, values: Values, margin: string): string {
  const name = start === undefined ? 'ul' : 'ol';
  const first = start === undefined || start === 1 ? '' : ` start="${start}"`;
  const listItems = items.map(({ checked, blocks }) => {
    const box = checked === undefined ? '' : checked ? '&#9745; ' : '&#9744; ';
    const bare = checked === undefined ? '' : ';list-style:none';
    const [only, ...others] = blocks;
    const inside =
      only?.type === 'paragraph'
        ? inline(only.inner, values) +
          (others.length > 0 ? `<div style="margin-top:6px">${toHtml(others, values)}</div>` : '')
        : toHtml(blocks, values);
    return `<li style="margin:0 0 6px${bare}">${box}${inside}</li>`;
  });
  return `<${name}${first} style="${margin};padding-left:24px">${listItems.join('')}</${name}>\n`;
}

function renderTable({ align, header, rows }: Table, values: Values, margin: string): string {
  const cell = (name: 'th' | 'td', look: string) => (inner: Inline[], column: number) =>
    `<${name} class="cell" align="${align[column] ?? 'left'}" style="padding:8px 10px;border-bottom:1px solid #d8dee4;text-align:${align[column] ?? 'left'};vertical-align:top${look}">${inline(inner, values)}</${name}>`;
  const head = header.map(cell('th', ';font-weight:600;font-size:13px;color:#57606a')).join('');
  const body = rows.map(row => `<tr>${row.map(cell('td', '')).join('')}</tr>`).join('');
  return `<table cellpadding="0" cellspacing="0" border="0" width="100%" style="${margin};width:100%;border-collapse:collapse"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>\n`;
}
