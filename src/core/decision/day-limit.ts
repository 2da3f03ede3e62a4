/** The limit of a provider per day: `per_day`, or less while it is warmed up. */
import type { JsonObject } from '../json.ts';

export interface DayLimit {
  perDay: number;
  /** Messages on the first day, and the factor by which they grow every day up to `perDay`. */
  start: number;
  growth: number;
}

export const defaultWarmUpGrowth = 2;

const dayMs = 86_400_000;
/** Beyond it, the limit has long reached `perDay`, and the power could overflow. */
const maxGrowthDays = 100;

/** Returns how many messages may be sent on a day, as the statement in db/ledger/deliver/day-limits.ts does. */
export function messagesOfDay({ perDay, start, growth }: DayLimit, day: Date, firstDay: Date): number {
  const days = Math.min(Math.round((day.getTime() - firstDay.getTime()) / dayMs), maxGrowthDays);
  return Math.min(perDay, Math.floor(start * growth ** days));
}

/** Returns the name by which the messages of a provider are counted: a channel may use the same provider twice. */
export function nameInChannel(uses: readonly string[], index: number): string {
  const name = uses[index]!;
  const nth = uses.slice(0, index + 1).filter(use => use === name).length;
  return nth === 1 ? name : `${name}#${nth}`;
}

/** Returns the limit in the settings of a provider; undefined without one. */
export function dayLimitOf({ per_day, warm_up_start, warm_up_growth }: JsonObject): DayLimit | undefined {
  if (typeof per_day !== 'number') return undefined;
  if (typeof warm_up_start !== 'number') return { perDay: per_day, start: per_day, growth: 1 };
  const growth = typeof warm_up_growth === 'number' ? warm_up_growth : defaultWarmUpGrowth;
  return { perDay: per_day, start: warm_up_start, growth };
}
