/** Times of the week as the restrictions of a layer. */
import { weekdays } from '../decision/quiet-hours.ts';
import type { Layer } from '../oncall/rotation.ts';

export type Windows = NonNullable<Layer['only']>;

export const dayMinutes = 1_440;
const weekMinutes = 7 * dayMinutes;

export interface WeekSpan {
  /** Minutes since Monday, 00:00. */
  start: number;
  minutes: number;
}

/** Returns this time of each day. */
export function everyDay(start: number, minutes: number): WeekSpan[] {
  return weekdays.map((_, day) => ({ start: day * dayMinutes + start, minutes }));
}

/** Returns the restriction to these spans of each week; undefined if they leave nothing out. */
export function toWindows(spans: readonly WeekSpan[]): Windows | undefined {
  if (covers(spans)) return undefined;
  const days = new Map<string, Set<number>>();
  for (const { start, minutes } of spans) {
    // A window lasts a day at most.
    for (let begin = start; begin < start + minutes; begin += dayMinutes) {
      const length = Math.min(dayMinutes, start + minutes - begin);
      const key = `${timeOf(begin)} ${timeOf(begin + length)}`;
      const day = Math.floor((begin % weekMinutes) / dayMinutes);
      days.set(key, (days.get(key) ?? new Set()).add(day));
    }
  }
  return [...days].map(([key, found]) => {
    const [from, until] = key.split(' ') as [string, string];
    const named = weekdays.filter((_, i) => found.has(i));
    return { ...(named.length < 7 && { days: named }), from, until };
  });
}

function covers(spans: readonly WeekSpan[]): boolean {
  const free = new Set(Array.from({ length: weekMinutes }, (_, i) => i));
  for (const { start, minutes } of spans) {
    for (let at = start; at < start + Math.min(minutes, weekMinutes); at++) free.delete(at % weekMinutes);
  }
  return free.size === 0;
}

function timeOf(minute: number): string {
  const inDay = minute % dayMinutes;
  return `${String(Math.floor(inDay / 60)).padStart(2, '0')}:${String(inDay % 60).padStart(2, '0')}`;
}
