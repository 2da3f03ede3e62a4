/**
 * Values never enter a template's text. What a template yields is a skeleton, in which each value has left a slot, and
 * the values beside it. Markdown, HTML and JSON are read from the skeleton alone, so no value can change the structure
 * of a message; it is written in at the end, escaped for the place where its slot came to stand.
 *
 * A slot is spelled with Unicode's noncharacters, which no text has a use for, between two invisible letters: to a
 * Markdown parser it is a word, and what stands beside it is read as beside a word.
 */
import { Drop } from 'liquidjs';

const opening = '\u115f';
const closing = '\u1160';
const firstDigit = 0xfdd0;
const base = 32;
const beyondLatin = /[^\0-\xff]/;
const slot = /\u115f([\ufdd0-\ufdef]+)\u1160/;

/** A piece of a skeleton: text as it stands, or the number of a value. */
export type Part = string | number;
export type Values = readonly unknown[];

/** What cannot be mistaken for a slot; of the same length, so that lines and columns stay. */
export function withoutSlots(source: string): string {
  return source.replace(/[\ufdd0-\ufdef]/g, '\ufffd');
}

export function slotText(index: number): string {
  let digits = '';
  let rest = index;
  do {
    digits = String.fromCharCode(firstDigit + (rest % base)) + digits;
    rest = Math.floor(rest / base);
  } while (rest > 0);
  return opening + digits + closing;
}

export function splitSlots(skeleton: string): Part[] {
  return skeleton
    .split(slot)
    .map((text, i) => (i % 2 === 0 ? narrow(text) : slotIndex(text)))
    .filter(part => part !== '');
}

/**
 * The same text in one byte for each character, where it has no others. A piece of a skeleton takes two, as slots do, and
 * whatever a piece gets into takes as many: to compose a mail and send it took a tenth longer.
 */
function narrow(text: string): string {
  return beyondLatin.test(text) ? text : Buffer.from(text, 'latin1').toString('latin1');
}

function slotIndex(digits: string): number {
  let index = 0;
  for (let i = 0; i < digits.length; i++) index = index * base + digits.charCodeAt(i) - firstDigit;
  return index;
}

/** Text that a filter has made fit for one place: put there as it is, and anywhere else treated as a value. */
export class PreparedText extends Drop {
  readonly kind: 'json' | 'url' | 'html';
  readonly text: string;

  constructor(kind: PreparedText['kind'], text: string) {
    super();
    this.kind = kind;
    this.text = text;
  }

  override valueOf(): string {
    return this.text;
  }
}

/** Exactly the value's own text. */
export function rawText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  if (value instanceof Drop) return rawText(value.valueOf());
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  if (Array.isArray(value)) return value.map(rawText).join('');
  return JSON.stringify(value);
}

/** The same for people to read: one kind of line end, no control characters, no half characters. */
export function valueText(value: unknown): string {
  const text = rawText(value).toWellFormed();
  if (!/\p{Cc}/u.test(text)) return text;
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/\p{Cc}/gu, control => (control === '\n' || control === '\t' ? control : ''));
}

export function joinParts(
  parts: readonly Part[],
  values: Values,
  literal: (text: string) => string = text => text,
  value: (text: string) => string = literal,
): string {
  let text = '';
  for (const part of parts) text += typeof part === 'string' ? literal(part) : value(valueText(values[part]));
  return text;
}
