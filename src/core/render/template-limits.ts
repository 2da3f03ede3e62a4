/**
 * What one rendering may cost. Steps and work are counted, so that the same message always ends the same way; the time
 * is only a backstop, generous enough that a busy machine does not turn a good message into a failed one.
 */
import { type Context, Drop } from 'liquidjs';

export const templateLimits = {
  /** Characters of one template. */
  source: 100_000,
  /** Tags, outputs and turns of loops: about 0.1 s. */
  steps: 100_000,
  /** Characters and items that filters and comparisons look at. */
  work: 4_000_000,
  /** Items of a range such as (1..10). */
  range: 10_000,
  /** A backstop: the thread that it runs in is stopped long before. */
  milliseconds: 10_000,
  /** Characters that come out, values included. */
  output: 262_144,
} as const;

/**
 * What may run where others wait for their turn, about 20 ms at the worst. Nearly every message stays far below; one that
 * does not is written, by the limits above, where it can be stopped.
 */
export const inlineLimits = {
  /** Characters inside of tags and outputs of one template: compiling takes up to 5 µs for each. */
  tags: 4_000,
  steps: 5_000,
  work: 100_000,
  milliseconds: 20,
  output: 65_536,
  /** Characters of Markdown, and signs among them: the parser may take their square. */
  markdown: 1_000,
  signs: 150,
  /** Of Markdown that has been read: writing it takes up to 17 µs for each. */
  lines: 1_500,
} as const;

/** Thrown where only little may be done at once. What is thrown for is not wrong: it belongs into a thread of its own. */
export class TooHeavy extends Error {
  /** Of the Markdown that alone was too much; undefined: all of it. */
  readonly skeleton: string | undefined;

  constructor(skeleton?: string) {
    super('this takes too much work to be done here');
    this.skeleton = skeleton;
  }
}

/** Characters inside of tags and outputs: what compiling a template costs, its text being cheap. */
export function tagCharacters(source: string): number {
  let count = 0;
  for (let at = source.indexOf('{'); at !== -1; at = source.indexOf('{', at)) {
    const closing = source[at + 1] === '{' ? '}}' : source[at + 1] === '%' ? '%}' : undefined;
    if (closing === undefined) {
      at++;
      continue;
    }
    const end = source.indexOf(closing, at + 2);
    const next = end === -1 ? source.length : end + 2;
    count += next - at;
    at = next;
  }
  return count;
}

export class LimitError extends Error {}

type RunLimits = { [name in 'steps' | 'work' | 'milliseconds']: number };

/** Stands in for the library's limiter of time: it is asked before every step, and told the time. */
export class Steps {
  private count = 0;
  private deadline = 0;
  private readonly limits: RunLimits;

  constructor(limits: RunLimits = templateLimits) {
    this.limits = limits;
  }

  check(now: number): void {
    const { steps, milliseconds } = this.limits;
    if (++this.count > steps) throw new LimitError(`takes more than ${steps} steps`);
    if (this.deadline === 0) this.deadline = now + milliseconds;
    if (now > this.deadline) throw new LimitError(`takes longer than ${milliseconds} ms`);
  }

  use(): void {}
}

/** Stands in for the library's limiter of memory. */
export class Work {
  private left: number;

  constructor({ work }: RunLimits = templateLimits) {
    this.left = work;
  }

  use(count: number): void {
    if (count > 0) this.left -= count;
    if (this.left < 0) throw new LimitError('works on too much data');
  }

  check(): void {}
}

/**
 * Filters count what they make, and some of them only after they have made it. Here the whole of what they are given is
 * counted first, however deep: a list that holds the same long list a thousand times is as much work as it looks.
 */
export function charge(context: Context, values: readonly unknown[]): void {
  for (const value of values) context.memoryLimit.use(weigh(value));
}

/** Looking for a text in a text can take their product, 0.8 ns for each pair of characters. */
export function chargeSearch(context: Context, text: unknown, wanted: unknown): void {
  context.memoryLimit.use((weigh(text) * weigh(wanted)) / 8);
}

/** About a nanosecond for a character; an item of a list costs as much as this many. */
const itemWeight = 16;

export function weigh(value: unknown, limit: number = templateLimits.work): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return itemWeight;
  if (value instanceof Drop) return weigh(String(value.valueOf()), limit);
  let weight = itemWeight;
  const items = Array.isArray(value) ? value : Object.values(value);
  for (const item of items) {
    if (weight > limit) break;
    weight += weigh(item, limit - weight);
  }
  return weight;
}

/** The library builds a range by adding 1 until it passes the end, which beyond 2^53 it never does. */
export function safeRange(low: unknown, high: unknown): number[] {
  const [first, last] = [Math.trunc(Number(low)), Math.trunc(Number(high))];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) throw new LimitError('has a range without an end');
  const length = Math.max(last - first + 1, 0);
  if (length > templateLimits.range) throw new LimitError(`has a range of more than ${templateLimits.range} items`);
  return Array.from({ length }, (_, i) => first + i);
}
