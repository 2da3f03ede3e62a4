/** Who is on call from when until when, over months: for gaps, reports and the calendars of other programs. */
import { type CompiledSchedule, listShifts } from './schedule.ts';
import { dayMs } from './zone.ts';

/** A time during which the same users are on call. */
export interface Duty {
  /** Empty: no one is. */
  users: readonly string[];
  from: number;
  until: number;
}

/** What a search may still cost, in turns and edges that are computed, at up to 30 µs each. */
export interface DutyBudget {
  left: number;
  /** Whether a span could not be examined to its end. */
  isCutOff: boolean;
}

/** Enough for eight months of fifty layers with nights. */
export const newDutyBudget = (): DutyBudget => ({ left: 60_000, isCutOff: false });

interface Search {
  from: number;
  until: number;
  /** Only the times of this user. */
  user?: string | undefined;
  /** Times that are returned. */
  max: number;
}

/** Lists who is on call in a span, until the budget is spent. Yields between days, because a schedule can change every minute. */
export function* listDuties(
  schedule: CompiledSchedule,
  { from, until, user, max }: Search,
  budget: DutyBudget,
): Generator<void, Duty[]> {
  const duties: Duty[] = [];
  let begin = from;
  for (; begin < until && budget.left > 0 && duties.length <= max; begin += dayMs) {
    const end = Math.min(until, begin + dayMs);
    budget.left -= schedule.rotations.reduce((sum, one) => sum + 1 + one.changesIn(begin, end).length, 1);
    for (const shift of listShifts(schedule, begin, end)) {
      if (user !== undefined && !shift.users.includes(user)) continue;
      const users = user === undefined ? shift.users : [user];
      const last = duties.at(-1);
      if (last?.until === shift.from && isSame(last.users, users)) last.until = shift.until;
      else duties.push({ users, from: shift.from, until: shift.until });
    }
    yield;
  }
  if (begin < until || duties.length > max) budget.isCutOff = true;
  return duties.slice(0, max);
}

/** Returns whether the same users are on call. */
export function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((user, i) => user === b[i]);
}
