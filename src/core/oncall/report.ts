/** What being on call meant for each user in a span of time: hours, pages, and how quickly the user responded. */
import type { Duty } from './duties.ts';
import { dayMs, hourMs, type Zone } from './zone.ts';

export interface Interval {
  from: number;
  until: number;
}

/** The times of a user in one or several schedules. */
export interface DutyTimes {
  /** Of all schedules: two shifts at the same time count as two. */
  shifts: number;
  /** In their order, without overlaps: two shifts at the same time are one interval. */
  intervals: Interval[];
}

/** Night is from 22:00 until 06:00. */
const nightFrom = 22 * hourMs;
const nightMs = 8 * hourMs;

/** Returns the times of each user from the duties of each schedule. */
export function collectTimes(schedules: readonly (readonly Duty[])[]): Map<string, DutyTimes> {
  const times = new Map<string, DutyTimes>();
  for (const duties of schedules) {
    const last = new Map<string, Interval>();
    for (const { users, from, until } of duties) {
      for (const user of users) {
        const before = last.get(user);
        // Others who come and go do not end a user's shift.
        if (before?.until === from) {
          before.until = until;
          continue;
        }
        const interval = { from, until };
        last.set(user, interval);
        const own = times.get(user);
        if (own) {
          own.shifts++;
          own.intervals.push(interval);
        } else times.set(user, { shifts: 1, intervals: [interval] });
      }
    }
  }
  for (const own of times.values()) own.intervals = joinIntervals(own.intervals);
  return times;
}

/** Joins times that follow each other or overlap. */
export function joinIntervals(intervals: readonly Interval[]): Interval[] {
  const joined: Interval[] = [];
  for (const { from, until } of [...intervals].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last && from <= last.until) last.until = Math.max(last.until, until);
    else joined.push({ from, until });
  }
  return joined;
}

const lengthOf = (intervals: readonly Interval[]) => intervals.reduce((sum, { from, until }) => sum + until - from, 0);

/** Returns milliseconds: in all, at night and on Saturdays and Sundays. Hours of a night on a weekend are in both. */
export function measure(intervals: readonly Interval[], zone: Zone): { all: number; night: number; weekend: number } {
  let night = 0;
  let weekend = 0;
  for (const interval of intervals) {
    const overlap = (from: number, until: number) =>
      Math.max(0, Math.min(interval.until, zone.toInstant(until)) - Math.max(interval.from, zone.toInstant(from)));
    const last = Math.floor((interval.until + zone.offsetAt(interval.until)) / dayMs);
    // The night before may not be over.
    for (let day = Math.floor((interval.from + zone.offsetAt(interval.from)) / dayMs) - 1; day <= last; day++) {
      const midnight = day * dayMs;
      night += overlap(midnight + nightFrom, midnight + nightFrom + nightMs);
      if ([0, 6].includes(new Date(midnight).getUTCDay())) weekend += overlap(midnight, midnight + dayMs);
    }
  }
  return { all: lengthOf(intervals), night, weekend };
}

/** Returns whether an instant is in one of the intervals, which are in their order. */
export function isWithin(intervals: readonly Interval[], instant: number): boolean {
  let [low, high] = [0, intervals.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (intervals[middle]!.until <= instant) low = middle + 1;
    else high = middle;
  }
  return low < intervals.length && intervals[low]!.from <= instant;
}

export interface Spread {
  median: number;
  p90: number;
}

/** Returns null without values. The median of two values is their mean; the 90th percentile is one of the values. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const ordered = [...values].sort((a, b) => a - b);
  const half = ordered.length / 2;
  const median = (ordered[Math.ceil(half) - 1]! + ordered[Math.floor(half)]!) / 2;
  return { median, p90: ordered[Math.ceil(ordered.length * 0.9) - 1]! };
}
