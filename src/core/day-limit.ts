/** The limit of a provider per day: `per_day`, or less while it is warmed up. */
import type { JsonObject } from './json.ts';

export interface DayLimit {
  perDay: number;
  /** Messages on the first day, and the factor by which they grow every day up to `perDay`. */
  start: number;
  growth: number;
}

export const defaultWarmUpGrowth = 2;

/** Returns the limit in the settings of a provider; undefined without one. */
export function dayLimitOf({ per_day, warm_up_start, warm_up_growth }: JsonObject): DayLimit | undefined {
  if (typeof per_day !== 'number') return undefined;
  if (typeof warm_up_start !== 'number') return { perDay: per_day, start: per_day, growth: 1 };
  const growth = typeof warm_up_growth === 'number' ? warm_up_growth : defaultWarmUpGrowth;
  return { perDay: per_day, start: warm_up_start, growth };
}
