/**
 * Parses a message's Markdown into a tree, from a skeleton (template-slots.ts) and therefore without values. A line break
 * stays a line break, HTML is text, and a paragraph that consists of one bold link is a button.
 */
import { decodeHTMLStrict } from 'entities/decode';
import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked';
import { inlineLimits } from '../template/limits.ts';
import { type Part, splitSlots } from '../template/slots.ts';
import { TemplateError } from '../template/template.ts';

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
  /** The number of the first item, if the list is ordered. */
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

/** Characters of Markdown, not counting values. */
const maxLength = 65_536;
const maxDepth = 16;
/**
 * The parser's work is quadratic in the punctuation of a paragraph: 0.12 µs for each pair of characters. This many pairs
 * in a whole message take a quarter of a second.
 */
const maxPairs = 2_000_000;

/** Throws a TemplateError if the text could take too long to parse. */
export function parseMarkdown(skeleton: string): Block[] {
  if (skeleton.length > maxLength) throw limitError(`is more than ${maxLength} characters of Markdown`);
  return toBlocks(new LimitedLexer({ gfm: true, breaks: true, tokenizer: new TextTokenizer() }).lex(skeleton));
}

/** Returns whether a skeleton parses quickly whatever it contains: the parser is quadratic and has no limits. */
export function isCheapMarkdown(skeleton: string): boolean {
  return skeleton.length <= inlineLimits.markdown && countPunctuation(skeleton) <= inlineLimits.punctuation;
}

class TextTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
}

class LimitedLexer extends Lexer {
  private depth = 0;
  private pairs = 0;

  override blockTokens(...[source, tokens, clipped]: Parameters<Lexer['blockTokens']>): never {
    if (++this.depth > maxDepth) throw limitError(`is nested more than ${maxDepth} levels deep`);
    const result = super.blockTokens(source, tokens as Token[], clipped);
    this.depth--;
    return result as never;
  }

  override inlineTokens(source: string, tokens?: Token[]): Token[] {
    const punctuation = countPunctuation(source);
    this.pairs += punctuation * punctuation;
    if (this.pairs > maxPairs) throw limitError('has too much Markdown punctuation');
    return super.inlineTokens(source, tokens);
  }
}

function countPunctuation(source: string): number {
  return count(source, /[^\p{L}\p{N}\s.,;:\ufdd0-\ufdef]/gu) + count(source, /\S{100}/g);
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function limitError(message: string): TemplateError {
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
      return []; // Blank space, link definitions, and a task's checkbox, which is a property of its item.
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
      return [{ type: 'text', parts: splitSlots(decodeHTMLStrict(token.text)) }];
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
      return [{ type: 'link', href: splitSlots(decodeHTMLStrict(token.href)), inner: toInlines(token.tokens) }];
    case 'image':
      return [{ type: 'image', href: splitSlots(decodeHTMLStrict(token.href)), alt: splitSlots(token.text) }];
    default:
      return [];
  }
}
