/**
 * A message's Markdown as a tree, read from a skeleton (template-slots.ts) and therefore free of values. A line break is
 * a line break, as people write messages; HTML is text. A paragraph that is nothing but a bold link is a button.
 */
import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked';
import { TemplateError } from './template.ts';
import { inlineLimits } from './template-limits.ts';
import { type Part, splitSlots } from './template-slots.ts';

export type Inline =
  | { type: 'text' | 'code'; parts: Part[] }
  | { type: 'strong' | 'em' | 'del'; inner: Inline[] }
  | Link
  | { type: 'image'; href: Part[]; alt: Part[] }
  | { type: 'break' };
export interface Link {
  type: 'link';
  href: Part[];
  inner: Inline[];
}
export type Align = 'left' | 'center' | 'right' | null;
export interface Table {
  type: 'table';
  align: Align[];
  header: Inline[][];
  rows: Inline[][][];
}
export interface List {
  type: 'list';
  /** Of the first item, when they are numbered. */
  start?: number;
  items: { checked?: boolean; blocks: Block[] }[];
}
export type Block =
  | { type: 'paragraph'; inner: Inline[] }
  | { type: 'heading'; depth: number; inner: Inline[] }
  | { type: 'button'; link: Link }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'code'; parts: Part[] }
  | { type: 'rule' }
  | List
  | Table;

/** Characters of Markdown, values not counted. */
const longest = 65_536;
const deepest = 16;
/**
 * The parser's work grows with the square of the signs in one paragraph: 8 KB of `*a_` took it 3.7 s, that is 0.12 µs
 * for each pair of signs. This many pairs in a whole message are a quarter of a second.
 */
const mostPairs = 2_000_000;

/** Throws a TemplateError when the text is beyond what can be read in good time. */
export function parseMarkdown(skeleton: string): Block[] {
  if (skeleton.length > longest) throw tooMuch(`is more than ${longest} characters of Markdown`);
  return toBlocks(new FencedLexer({ gfm: true, breaks: true, tokenizer: new TextTokenizer() }).lex(skeleton));
}

/** Whether it is read in good time whatever it holds; the parser takes the square of most things, and has no limits. */
export function isCheapMarkdown(skeleton: string): boolean {
  return skeleton.length <= inlineLimits.markdown && countSigns(skeleton) <= inlineLimits.signs;
}

class TextTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
}

class FencedLexer extends Lexer {
  private depth = 0;
  private pairs = 0;

  override blockTokens(...[source, tokens, clipped]: Parameters<Lexer['blockTokens']>): never {
    if (++this.depth > deepest) throw tooMuch(`is nested more than ${deepest} levels deep`);
    const result = super.blockTokens(source, tokens as Token[], clipped);
    this.depth--;
    return result as never;
  }

  override inlineTokens(source: string, tokens?: Token[]): Token[] {
    const signs = countSigns(source);
    this.pairs += signs * signs;
    if (this.pairs > mostPairs) throw tooMuch('has too many signs of Markdown');
    return super.inlineTokens(source, tokens);
  }
}

function countSigns(source: string): number {
  return count(source, /[^\p{L}\p{N}\s.,;:\ufdd0-\ufdef]/gu) + count(source, /\S{100}/g);
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function tooMuch(message: string): TemplateError {
  return new TemplateError(message, 1, 1, undefined);
}

function toBlocks(tokens: readonly Token[]): Block[] {
  return tokens.flatMap(token => toBlock(token as MarkedToken));
}

function toBlock(token: MarkedToken): Block[] {
  switch (token.type) {
    case 'heading':
      return [{ type: 'heading', depth: token.depth, inner: toInlines(token.tokens) }];
    case 'paragraph':
    case 'text': {
      const inner = toInlines(token.tokens ?? [token]);
      const link = buttonOf(inner);
      return [link ? { type: 'button', link } : { type: 'paragraph', inner }];
    }
    case 'list':
      return [
        {
          type: 'list',
          ...(token.ordered && { start: token.start || 1 }),
          items: token.items.map(item => ({
            ...(item.task && { checked: item.checked ?? false }),
            blocks: toBlocks(item.tokens),
          })),
        },
      ];
    case 'blockquote':
      return [{ type: 'quote', blocks: toBlocks(token.tokens) }];
    case 'code':
      return [{ type: 'code', parts: splitSlots(token.text) }];
    case 'hr':
      return [{ type: 'rule' }];
    case 'table': {
      const cells = (row: Tokens.TableCell[]) => row.map(cell => toInlines(cell.tokens));
      return [{ type: 'table', align: token.align, header: cells(token.header), rows: token.rows.map(cells) }];
    }
    default:
      return []; // Blank space, definitions of links, and the box of a task, which its item already tells.
  }
}

function buttonOf(inner: readonly Inline[]): Link | undefined {
  const [only, ...others] = inner;
  if (others.length > 0 || only?.type !== 'strong' || only.inner.length !== 1) return undefined;
  return only.inner[0]?.type === 'link' ? only.inner[0] : undefined;
}

function toInlines(tokens: readonly Token[]): Inline[] {
  return tokens.flatMap(token => toInline(token as MarkedToken));
}

function toInline(token: MarkedToken): Inline[] {
  switch (token.type) {
    case 'text':
    case 'html':
      return [{ type: 'text', parts: splitSlots(decodeEntities(token.text)) }];
    case 'escape':
      return [{ type: 'text', parts: [token.text] }];
    case 'strong':
    case 'em':
    case 'del':
      return [{ type: token.type, inner: toInlines(token.tokens) }];
    case 'codespan':
      return [{ type: 'code', parts: splitSlots(token.text) }];
    case 'br':
      return [{ type: 'break' }];
    case 'link':
      return [{ type: 'link', href: splitSlots(decodeEntities(token.href)), inner: toInlines(token.tokens) }];
    case 'image':
      return [{ type: 'image', href: splitSlots(decodeEntities(token.href)), alt: splitSlots(token.text) }];
    default:
      return [];
  }
}

const entities: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', trade: '™' },
  ...{ hellip: '…', ndash: '–', mdash: '—', euro: '€', pound: '£', middot: '·', bull: '•', times: '×', shy: '\u00ad' },
};

/** The parser has read the numbered ones. */
function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(\w{2,8});/g, (whole, name) => (Object.hasOwn(entities, name) ? entities[name]! : whole));
}
