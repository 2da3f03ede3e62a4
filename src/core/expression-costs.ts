/**
 * What the functions of JMESPath cost, told from their arguments alone, in steps of about 0.1 µs; and the few whose own
 * way of working cannot be bounded, written so that it can. Measured: `pad_left` made 400 MB of one number, `replace`
 * with a count as many numbers as it said, `trim_right` took the square of the spaces inside of a text.
 */
import type { Json } from './json.ts';

export class ExpressionLimit extends Error {}

export interface Meter {
  /** Steps that are left. */
  left: number;
  /** Throws an ExpressionLimit when nothing is left. */
  charge(cost: number): void;
}

interface Evaluation {
  /** Steps that are left: nothing needs to be counted beyond them. */
  left: number;
  visit(node: unknown, value: unknown): unknown;
}

type Cost = (given: unknown[], evaluation: Evaluation) => number;

/** Those that are not here cost the size of their arguments. */
export const functionCosts = new Map<string, Cost>([
  ...each(['type', 'to_array', 'not_null', 'abs', 'ceil', 'floor'], given => given.length),
  ...each(['length', 'reverse', 'lower', 'upper'], ([value]) => sizeOfText(value)),
  ...each(['pad_left', 'pad_right'], ([text, width]) => sizeOfText(text) + (Number(width) || 0)),
  ...each(['contains', 'find_first', 'find_last', 'split', 'replace'], ([text, wanted]) => searching(text, wanted)),
  ...each(['trim', 'trim_left', 'trim_right'], ([text, signs]) => sizeOfText(text) + sizeOfText(signs)),
  ...each(['max', 'min'], ([list]) => sizeOfTexts(list)),
  ...each(['max_by', 'min_by'], ([list]) => shallowSize(list)),
  // Each item may become a key of a new object.
  ...each(['group_by', 'from_items'], ([list]) => shallowSize(list) * 4 * keyCost),
  ...each(['merge', 'items'], (given, { left }) => 4 * sizeOfAll(given, left)),
  ...each(['map'], ([, list]) => shallowSize(list)),
  ...each(['to_string'], ([value], { left }) => weigh(value, left, 4)),
  ...each(['join'], ([glue, list]) => sizeOfTexts(list) + (sizeOfText(glue) - 1) * shallowSize(list)),
  ...each(['sort'], ([list]) => sizeOfTexts(list) * comparisons(list)),
  // Its keys are evaluated, and as texts read from end to end, for each comparison.
  ...each(['sort_by'], ([list, key], { visit }) =>
    Array.isArray(list) ? sizeOfTexts(list.map(item => visit(key, item))) * comparisons(list) : 0,
  ),
  ...each(['zip'], given => given.length * Math.min(...given.map(list => (Array.isArray(list) ? list.length : 1)))),
]);

function each(names: string[], cost: Cost): [name: string, cost: Cost][] {
  return names.map(name => [name, cost]);
}

/** Characters count one each: the library takes many of them apart one by one. */
function sizeOfText(value: unknown): number {
  return typeof value === 'string' ? value.length + 1 : shallowSize(value);
}

function sizeOfTexts(list: unknown): number {
  return Array.isArray(list) ? list.reduce<number>((sum, item) => sum + sizeOfText(item), 1) : 1;
}

function comparisons(list: unknown): number {
  return Array.isArray(list) ? 2 * Math.ceil(Math.log2(list.length + 2)) : 1;
}

/** Looking for a text in a text can take their product: 0.5 MB in search of 5 KB took 4.5 s. */
function searching(text: unknown, wanted: unknown): number {
  if (typeof text !== 'string' || typeof wanted !== 'string') return shallowSize(text);
  return text.length + Math.ceil((text.length * wanted.length) / 20);
}

/** Listing a key of an object takes about 16 times as long as visiting a node, and setting one four times that. */
const keyCost = 16;

/** How many items or keys there are; a text counts by its length. */
export function shallowSize(value: unknown): number {
  if (typeof value === 'string') return 1 + (value.length >> 4);
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + (Array.isArray(value) ? value.length : Object.keys(value).length * keyCost);
}

/** Of all arguments together; counting stops beyond the limit. */
export function sizeOfAll(values: readonly unknown[], limit: number): number {
  let size = 0;
  for (const value of values) {
    if (size > limit) break;
    size += shallowSize(value);
  }
  return size;
}

/**
 * All of it, however deep, as if it were written out; counting stops beyond the limit. Where text is only compared or
 * copied, 2 to the power of `shift` characters count as one.
 */
export function weigh(value: unknown, limit: number, shift = 0): number {
  if (typeof value === 'string') return 1 + (value.length >> shift);
  if (typeof value !== 'object' || value === null) return 1;
  const isList = Array.isArray(value);
  const items = isList ? value : Object.values(value);
  let weight = isList ? 1 : 1 + items.length * keyCost;
  for (const item of items) {
    if (weight > limit) break;
    weight += weigh(item, limit - weight, shift);
  }
  return weight;
}

/** In place of the library's own; its signatures still hold. What they make is charged before it is made. */
export const ownFunctions: Record<string, (meter: Meter, given: unknown[]) => Json> = {
  replace(meter, given) {
    const [text, wanted, by, count] = given as [string, string, string, number?];
    if (count !== undefined && !(Number.isInteger(count) && count >= 0)) {
      throw new Error('invalid-value: expecting a non-negative integer.');
    }
    const pieces = text.split(wanted);
    const replaced = Math.min(pieces.length - 1, count ?? Number.POSITIVE_INFINITY);
    meter.charge(replaced * (by.length + 1));
    if (replaced === pieces.length - 1) return pieces.join(by);
    return [...pieces.slice(0, replaced), pieces.slice(replaced).join(wanted)].join(by);
  },
  trim: (_, given) => trim(given, true, true),
  trim_left: (_, given) => trim(given, true, false),
  trim_right: (_, given) => trim(given, false, true),
};

function trim([text, signs]: unknown[], left: boolean, right: boolean): string {
  const characters = [...(text as string)];
  const known = new Set(signs as string);
  const isTrimmed = (sign: string) => (signs ? known.has(sign) : /[\s\x85]/.test(sign));
  let [start, end] = [0, characters.length];
  while (left && start < end && isTrimmed(characters[start]!)) start++;
  while (right && end > start && isTrimmed(characters[end - 1]!)) end--;
  return characters.slice(start, end).join('');
}
