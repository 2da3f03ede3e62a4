/**
 * Values never enter a template's text. A template produces a skeleton, which has a slot for each value, and the list of
 * values. Markdown, HTML and JSON are parsed from the skeleton alone, so no value can change the structure of a message;
 * values are inserted at the end, escaped for the position of their slot.
 *
 * A slot consists of Unicode noncharacters, which no text needs, between two invisible letters: a Markdown parser treats
 * it as a word.
 */
import { Drop } from 'liquidjs';
import { PrintedUsers } from '../on-call.ts';

const opening = '\u115f';
const closing = '\u1160';
const firstDigit = 0xfdd0;
const base = 32;
const nonLatin1 = /[^\0-\xff]/;
const slot = /\u115f([\ufdd0-\ufdef]+)\u1160/;

/** A piece of a skeleton: literal text, or the index of a value. */
export type Part = string | number;
export type Values = readonly unknown[];

/** Replaces characters that could be mistaken for a slot, one by one, so that lines and columns stay the same. */
export function replaceSlotCharacters(source: string): string {
  return source.replace(/[\ufdd0-\ufdef]/g, '\ufffd');
}

export function toSlot(index: number): string {
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
    .map((text, i) => (i % 2 === 0 ? toOneByteString(text) : slotIndex(text)))
    .filter(part => part !== '');
}

/**
 * Returns the same text with one byte per character in memory, if it is all Latin-1. A skeleton has two because of its
 * slots, and so has every string that a piece of it becomes part of: composing and sending an email took a tenth longer.
 */
function toOneByteString(text: string): string {
  return nonLatin1.test(text) ? text : Buffer.from(text, 'latin1').toString('latin1');
}

function slotIndex(digits: string): number {
  let index = 0;
  for (let i = 0; i < digits.length; i++) index = index * base + digits.charCodeAt(i) - firstDigit;
  return index;
}

/** Text that a filter has escaped for one kind of position: inserted there as it is, and elsewhere like any value. */
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

/** Returns the text of a value, unchanged. */
export function rawText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  if (value instanceof Drop) return rawText(value.valueOf());
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  if (Array.isArray(value)) return value.map(rawText).join('');
  if (value instanceof PrintedUsers) return value.toString();
  return JSON.stringify(value);
}

/** Returns the text of a value for display: with LF line ends, no control characters and no lone surrogates. */
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
