/**
 * Renders one of our documents: HTML, headings, and the text of each section for the search. HTML in a document is shown as
 * text. A link to another file of the repository becomes a link to its page, or the file's path if it has no page.
 */
import { posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../../../core/render/markdown/html.ts';

interface Heading {
  depth: number;
  id: string;
  text: string;
}
export interface Section extends Heading {
  /** Plain text below the heading. */
  words: string;
}
export interface RenderedDocument {
  title: string;
  html: string;
  /** The first section is the document itself. */
  sections: Section[];
}

/** @param find returns the address of a file of the repository, if it has a page */
export function renderMarkdown(
  text: string,
  file: string,
  find: (file: string) => string | undefined,
): RenderedDocument {
  const marked = new Marked();
  const tokens = marked.lexer(text);
  const sections = cutSections(tokens);
  const headings = new Map(headingTokens(tokens).map((token, i) => [token, sections[i]!]));

  /** Returns undefined for a file without a page. */
  const addressOf = (href: string): string | undefined => {
    if (/^(https?:|mailto:|#)/.test(href)) return href;
    const [target = '', anchor] = href.split('#');
    const address = find(repositoryPath(file, target));
    return address && (anchor ? `${address}#${anchor}` : address);
  };

  marked.use({
    renderer: {
      heading(token) {
        const { depth, id } = headings.get(token)!;
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(token.tokens)}</a></h${depth}>\n`;
      },
      link({ href, tokens: inner }) {
        const label = this.parser.parseInline(inner);
        const address = addressOf(href);
        if (address) return `<a href="${escapeHtml(address)}">${label}</a>`;
        const target = escapeHtml(repositoryPath(file, href.split('#')[0]!));
        return label === target ? `<code>${target}</code>` : `${label} (<code>${target}</code>)`;
      },
      image({ href, text: alt }) {
        return `<img src="${escapeHtml(addressOf(href) ?? href)}" alt="${escapeHtml(alt)}" loading="lazy" />`;
      },
      // tabindex lets code and tables wider than the screen scroll with the keyboard.
      code({ text: code }) {
        return `<pre><code tabindex="0">${escapeHtml(code)}\n</code></pre>\n`;
      },
      table(token) {
        const cells = (row: Tokens.TableCell[], name: 'th' | 'td') =>
          `<tr>${row.map(cell => `<${name}>${this.parser.parseInline(cell.tokens)}</${name}>`).join('')}</tr>\n`;
        const rows = token.rows.map(row => cells(row, 'td')).join('');
        const head = `<thead>${cells(token.header, 'th')}</thead>`;
        return `<div class="wide" tabindex="0"><table>${head}<tbody>${rows}</tbody></table></div>\n`;
      },
      html: ({ text: html }) => (isComment(html) ? '' : escapeHtml(html)),
    },
  });
  return { title: sections[0]!.text, html: marked.parser(tokens), sections };
}

function isComment(html: string): boolean {
  return /^<!--.*-->\s*$/s.test(html);
}

function repositoryPath(from: string, target: string): string {
  return posix.join(posix.dirname(from), target).replace(/\/$/, '');
}

function headingTokens(tokens: Token[]): Tokens.Heading[] {
  return tokens.filter(token => token.type === 'heading') as Tokens.Heading[];
}

/** Every document starts with its heading. */
function cutSections(tokens: Token[]): Section[] {
  const sections: Section[] = [];
  const taken = new Map<string, number>();
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { depth, tokens: inner = [] } = token as Tokens.Heading;
      const text = wordsOf(inner);
      sections.push({ depth, id: anchorOf(text, taken), text, words: '' });
      continue;
    }
    const section = sections.at(-1);
    const words = wordsOf([token]);
    if (section && words) section.words = section.words ? `${section.words} ${words}` : words;
  }
  return sections;
}

/** Builds anchors like GitHub, where links in the documents must work as well. */
function anchorOf(text: string, taken: Map<string, number>): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const times = taken.get(plain) ?? 0;
  taken.set(plain, times + 1);
  return times === 0 ? plain : `${plain}-${times}`;
}

/** Returns the visible text on one line. */
function wordsOf(tokens: Token[]): string {
  return tokens.map(textOf).join('').replaceAll(/\s+/g, ' ').trim();
}

function textOf(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].map(row => row.map(cell => wordsOf(cell.tokens)).join(' ')).join('\n');
  }
  if (token.type === 'list') return (token as Tokens.List).items.map(item => `${wordsOf(item.tokens)}\n`).join('');
  if (token.type === 'codespan' || token.type === 'code') return (token as Tokens.Codespan).text;
  if (token.type === 'html' && isComment(token.raw)) return '';
  const inner = 'tokens' in token ? token.tokens : undefined;
  if (inner) return inner.map(textOf).join('') + (token.type === 'paragraph' ? '\n' : '');
  if (token.type === 'br' || token.type === 'space') return '\n';
  return 'text' in token ? (token as Tokens.Text).text : '';
}
