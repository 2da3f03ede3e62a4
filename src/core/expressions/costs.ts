/**
 * Costs of the JMESPath functions in steps of about 0.1 µs, computed from their arguments before they run, and bounded
 * replacements for library functions whose own cost is not: `replace` with a count builds an array of that size, and
 * `trim_right` is quadratic in the spaces of a text.
 */
import type { Json } from '../json.ts';

export class ExpressionLimit extends Error {}

export interface Meter {
  /** Remaining steps. */
  left: number;
  /** Throws an ExpressionLimit when no steps are left. */
  charge(cost: number): void;
}

interface Evaluation {
  /** Remaining steps; sizes beyond it need not be counted. */
  left: number;
  visit(node: unknown, value: unknown): unknown;
}

type Cost = (args: unknown[], evaluation: Evaluation) => number;

/** Functions that are not listed cost the size of their arguments. */
export const functionCosts = new Map<string, Cost>([
  ...forAll(['type', 'to_array', 'not_null', 'abs', 'ceil', 'floor'], args => args.length),
  ...forAll(['length', 'reverse', 'lower', 'upper'], ([value]) => sizeOfText(value)),
  ...forAll(['pad_left', 'pad_right'], ([text, width]) => sizeOfText(text) + (Number(width) || 0)),
  ...forAll(['contains', 'find_first', 'find_last', 'split', 'replace'], ([text, needle]) => searchCost(text, needle)),
  ...forAll(['trim', 'trim_left', 'trim_right'], ([text, characters]) => sizeOfText(text) + sizeOfText(characters)),
  ...forAll(['max', 'min'], ([list]) => sizeOfTexts(list)),
  ...forAll(['max_by', 'min_by'], ([list]) => shallowSize(list)),
  // Each item may become a key of the new object.
  ...forAll(['group_by', 'from_items'], ([list]) => shallowSize(list) * 4 * keyCost),
  ...forAll(['merge', 'items'], (args, { left }) => 4 * sizeOfAll(args, left)),
  ...forAll(['map'], ([, list]) => shallowSize(list)),
  ...forAll(['to_string'], ([value], { left }) => deepSize(value, left, 4)),
  ...forAll(['join'], ([glue, list]) => sizeOfTexts(list) + (sizeOfText(glue) - 1) * shallowSize(list)),
  ...forAll(['sort'], ([list]) => sizeOfTexts(list) * comparisons(list)),
  // The keys are evaluated for each comparison, and compared in full if they are text.
  ...forAll(['sort_by'], ([list, key], { visit }) =>
    Array.isArray(list) ? sizeOfTexts(list.map(item => visit(key, item))) * comparisons(list) : 0,
  ),
  ...forAll(['zip'], args => args.length * Math.min(...args.map(list => (Array.isArray(list) ? list.length : 1)))),
]);

function forAll(names: string[], cost: Cost): [name: string, cost: Cost][] {
  return names.map(name => [name, cost]);
}

/** Counts one step per character, because the library splits many texts into characters. */
function sizeOfText(value: unknown): number {
  return typeof value === 'string' ? value.length + 1 : shallowSize(value);
}

function sizeOfTexts(list: unknown): number {
  return Array.isArray(list) ? list.reduce<number>((sum, item) => sum + sizeOfText(item), 1) : 1;
}

function comparisons(list: unknown): number {
  return Array.isArray(list) ? 2 * Math.ceil(Math.log2(list.length + 2)) : 1;
}

/** Searching a text can take the product of both lengths: 4.5 s to find 5 KB in 0.5 MB. */
function searchCost(text: unknown, needle: unknown): number {
  if (typeof text !== 'string' || typeof needle !== 'string') return shallowSize(text);
  return text.length + Math.ceil((text.length * needle.length) / 20);
}

/** Listing a key of an object takes about 16 times as long as visiting a node; setting one takes four times that. */
const keyCost = 16;

/** Returns the number of items or keys; the size of a text depends on its length. */
export function shallowSize(value: unknown): number {
  if (typeof value === 'string') return 1 + (value.length >> 4);
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + (Array.isArray(value) ? value.length : Object.keys(value).length * keyCost);
}

/** Returns the total size of all values; counting stops beyond the limit. */
export function sizeOfAll(values: readonly unknown[], limit: number): number {
  let size = 0;
  for (const value of values) {
    if (size > limit) break;
    size += shallowSize(value);
  }
  return size;
}

/**
 * Returns the size of a value including everything nested in it; counting stops beyond the limit. Where text is only
 * compared or copied, 2 to the power of `shift` characters count as one step.
 */
export function deepSize(value: unknown, limit: number, shift = 0): number {
  if (typeof value === 'string') return 1 + (value.length >> shift);
  if (typeof value !== 'object' || value === null) return 1;
  const isList = Array.isArray(value);
  const items = isList ? value : Object.values(value);
  let size = isList ? 1 : 1 + items.length * keyCost;
  for (const item of items) {
    if (size > limit) break;
    size += deepSize(item, limit - size, shift);
  }
  return size;
}

/** Replacements for functions of the library, with the same signatures. Results are charged before they are built. */
export const replacedFunctions: Record<string, (meter: Meter, args: unknown[]) => Json> = {
  replace(meter, args) {
    const [text, needle, replacement, count] = args as [string, string, string, number?];
    if (count !== undefined && !(Number.isInteger(count) && count >= 0)) {
      throw new Error('invalid-value: expecting a non-negative integer.');
    }
    const pieces = text.split(needle);
    const replaced = Math.min(pieces.length - 1, count ?? Number.POSITIVE_INFINITY);
    meter.charge(replaced * (replacement.length + 1));
    if (replaced === pieces.length - 1) return pieces.join(replacement);
    return [...pieces.slice(0, replaced), pieces.slice(replaced).join(needle)].join(replacement);
  },
  trim: (_, args) => trim(args, true, true),
  trim_left: (_, args) => trim(args, true, false),
  trim_right: (_, args) => trim(args, false, true),
};

function trim([text, trimmed]: unknown[], left: boolean, right: boolean): string {
  const characters = [...(text as string)];
  const trimmedSet = new Set(trimmed as string);
  const isTrimmed = (character: string) => (trimmed ? trimmedSet.has(character) : /[\s\x85]/.test(character));
  let [start, end] = [0, characters.length];
  while (left && start < end && isTrimmed(characters[start]!)) start++;
  while (right && end > start && isTrimmed(characters[end - 1]!)) end--;
  return characters.slice(start, end).join('');
}
