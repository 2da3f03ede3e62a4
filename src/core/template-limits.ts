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
  milliseconds: 750,
  /** Characters that come out, values included. */
  output: 262_144,
} as const;

export class LimitError extends Error {}

/** Stands in for the library's limiter of time: it is asked before every step, and told the time. */
export class Steps {
  private count = 0;
  private deadline = 0;

  check(now: number): void {
    if (++this.count > templateLimits.steps) throw new LimitError(`takes more than ${templateLimits.steps} steps`);
    if (this.deadline === 0) this.deadline = now + templateLimits.milliseconds;
    if (now > this.deadline) throw new LimitError(`takes longer than ${templateLimits.milliseconds} ms`);
  }

  use(): void {}
}

/** Stands in for the library's limiter of memory. */
export class Work {
  private left: number = templateLimits.work;

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
