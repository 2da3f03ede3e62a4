/**
 * Limits of one rendering. Steps and work are counted, so that the same message always has the same outcome; the time
 * limit is only a backstop, generous enough that a busy machine does not fail a good message.
 */
import { Drop } from 'liquidjs';

export const templateLimits = {
  /** Characters of one template. */
  source: 100_000,
  /** Tags, outputs and loop iterations: about 0.1 s. */
  steps: 100_000,
  /** Units of work of properties, filters and comparisons: see `itemWeight`. */
  work: 8_000_000,
  /** Items of a range such as (1..10). */
  range: 10_000,
  /** Parts of a property name passed to a filter, as in `where: "customer.name"`: a context is not nested deeper. */
  propertyParts: 32,
  propertyLength: 1_000,
  /** A backstop: the thread it runs in is stopped long before. */
  milliseconds: 10_000,
  /** Characters of the output, values included. */
  output: 262_144,
} as const;

/**
 * Limits of a rendering on the event loop, about 20 ms at worst. Nearly every message stays far below; one that does not
 * is rendered under the limits above in a thread that can be stopped.
 */
export const inlineLimits = {
  /** Characters inside tags and outputs that are compiled for one message: each takes up to 5 µs. */
  tags: 4_000,
  steps: 5_000,
  work: 100_000,
  milliseconds: 20,
  output: 65_536,
  /** Characters of Markdown, and punctuation among them: the parser may take quadratic time. */
  markdown: 1_000,
  punctuation: 150,
  /** Lines of parsed Markdown: rendering takes up to 17 µs per line. */
  lines: 1_500,
} as const;

/** Thrown when an inline rendering exceeds its limits. The message is not wrong; it must be rendered in a thread. */
export class InlineLimitError extends Error {
  /** The skeleton, if only parsing its Markdown was too expensive. */
  readonly skeleton: string | undefined;

  constructor(skeleton?: string) {
    super('this takes too much work to render inline');
    this.skeleton = skeleton;
  }
}

/**
 * Returns an upper bound of the cost of compiling a template, in characters inside tags and outputs; text costs a fiftieth.
 * It scans the source as the library does, and counts the whole remainder where the two could disagree about the end of
 * an output: after a quote that is still open, or if there is another opening inside, as in `raw`.
 */
export function compileCost(source: string): number {
  let cost = source.length / 50;
  for (let at = source.indexOf('{'); at !== -1; at = source.indexOf('{', at)) {
    const closing = source[at + 1] === '{' ? '}}' : source[at + 1] === '%' ? '%}' : undefined;
    if (closing === undefined) {
      at++;
      continue;
    }
    const end = source.indexOf(closing, at + 2);
    const inside = source.slice(at + 2, end === -1 ? undefined : end);
    if (end === -1 || /\{[{%]/.test(inside) || (closing === '}}' && hasOpenQuote(inside)))
      return cost + source.length - at;
    cost += end + 2 - at;
    at = end + 2;
  }
  return cost;
}

function hasOpenQuote(text: string): boolean {
  let quote: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (quote === undefined) quote = character === '"' || character === "'" ? character : undefined;
    else if (character === '\\') i++;
    else if (character === quote) quote = undefined;
  }
  return quote !== undefined;
}

export class LimitError extends Error {}

type BudgetLimits = { [name in 'steps' | 'work' | 'milliseconds']: number };

/**
 * The remaining budget of one rendering. It replaces both limiters of the library, which calls `check` before every tag,
 * output and loop iteration, and `use` for the output of its filters. Everything else that takes time calls `use` first.
 */
export class Budget {
  #steps: number;
  #work: number;
  #compile: number = inlineLimits.tags;
  #deadline = 0;
  readonly #limits: BudgetLimits;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    this.#steps = limits.steps;
    this.#work = limits.work;
  }

  /** Units of work that are left. */
  get work(): number {
    return this.#work;
  }

  /** Gives the next template of the message the full time again; the other limits are shared by all templates. */
  restartClock(): void {
    this.#deadline = 0;
  }

  check(now: number): void {
    const { steps, milliseconds } = this.#limits;
    if (--this.#steps < 0) throw new LimitError(`takes more than ${steps} steps`);
    if (this.#deadline === 0) this.#deadline = now + milliseconds;
    if (now > this.#deadline) throw new LimitError(`takes longer than ${milliseconds} ms`);
  }

  use(units: number): void {
    if (units > 0) this.#work -= units;
    if (this.#work < 0) throw new LimitError('processes too much data');
  }

  /** Charges for compiling a source; throws InlineLimitError if it could take long. */
  compile(source: string): void {
    this.#compile -= compileCost(source);
    if (this.#compile < 0) throw new InlineLimitError();
  }
}

/** Units of work for a list item or a filter call; a character costs one. A unit takes 0.1 µs at worst. */
export const itemWeight = 16;

/**
 * Returns the weight of a value and everything in it. A list that contains the same long list a thousand times counts it
 * a thousand times. Counting stops above the limit, so that weighing itself stays cheap.
 */
export function weigh(value: unknown, limit: number = templateLimits.work): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return itemWeight;
  if (value instanceof Drop) return weighDrop(value);
  let weight = itemWeight;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && weight <= limit; i++) weight += weigh(value[i], limit - weight);
    return weight;
  }
  const keys = Object.keys(value);
  if (keys.length * itemWeight > limit) return keys.length * itemWeight;
  for (const key of keys) {
    if (weight > limit) break;
    weight += key.length + weigh((value as Record<string, unknown>)[key], limit - weight);
  }
  return weight;
}

/** A value that is not plain data and knows its own weight, so that it need not be converted to text to be weighed. */
export interface WeightedValue {
  readonly weight: number;
}

function weighDrop(value: Drop): number {
  return (value as Partial<WeightedValue>).weight ?? String(value.valueOf()).length + itemWeight;
}

/** Builds a bounded range. The library adds 1 until it passes the end, which never happens beyond 2^53. */
export function safeRange(budget: Pick<Budget, 'use'>, low: unknown, high: unknown): number[] {
  const [first, last] = [Math.trunc(Number(low)), Math.trunc(Number(high))];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) throw new LimitError('has an unbounded range');
  const length = Math.max(last - first + 1, 0);
  if (length > templateLimits.range) throw new LimitError(`has a range of more than ${templateLimits.range} items`);
  budget.use(length * itemWeight);
  return Array.from({ length }, (_, i) => first + i);
}
