/** Days, weeks and months of a calendar in any time zone, and the parts of shifts on each day. */
import type { Shift } from '../../api-types.ts';

export const views = ['week', 'month', 'agenda'] as const;
export type View = (typeof views)[number];

/** A date of the calendar, at midnight in UTC, whatever the time zone. */
export type CalendarDate = number;

export interface Day {
  date: CalendarDate;
  /** Its first instant, and that of the next day. */
  begin: number;
  end: number;
}

/** What of a shift is on one day. */
export interface Part {
  shift: Shift;
  from: number;
  until: number;
}

const dayMs = 86_400_000;
/** Days of the list: more would hide what is below it on a phone. */
const agendaDays = 14;
export const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const walls = new Map<string, Intl.DateTimeFormat>();

/** Returns what a clock in the zone shows, written as the instant at which a clock in UTC shows it. */
function wallOf(instant: number, timeZone: string): number {
  let format = walls.get(timeZone);
  if (!format) {
    const numeric = 'numeric';
    format = new Intl.DateTimeFormat('en', {
      ...{ timeZone, hourCycle: 'h23', year: numeric, month: numeric, day: numeric },
      ...{ hour: numeric, minute: numeric, second: numeric },
    });
    walls.set(timeZone, format);
  }
  const part = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(part.year!, part.month! - 1, part.day!, part.hour!, part.minute!, part.second!);
}

/** Returns the first instant of a date: that of a change of the clocks, if they skip midnight. */
export function startOf(date: CalendarDate, timeZone: string): number {
  const at = (near: number) => date - (wallOf(near, timeZone) - near);
  // No clock differs from UTC by more than half a day and two hours.
  const first = at(date - 1.5 * dayMs);
  const second = at(first);
  return wallOf(first, timeZone) !== date && wallOf(second, timeZone) === date ? second : first;
}

export function dateOf(instant: number, timeZone: string): CalendarDate {
  const wall = wallOf(instant, timeZone);
  return wall - (((wall % dayMs) + dayMs) % dayMs);
}

const mondayOf = (date: CalendarDate) => date - ((new Date(date).getUTCDay() + 6) % 7) * dayMs;
const monthOf = (date: CalendarDate, months = 0) =>
  Date.UTC(new Date(date).getUTCFullYear(), new Date(date).getUTCMonth() + months, 1);

/** Returns the days that a view shows: a week, whole weeks with a month, or two weeks from a date. */
export function daysOf(view: View, date: CalendarDate, timeZone: string): Day[] {
  if (view === 'week') return daysBetween(mondayOf(date), mondayOf(date) + 7 * dayMs, timeZone);
  if (view === 'agenda') return daysBetween(date, date + agendaDays * dayMs, timeZone);
  return daysBetween(mondayOf(monthOf(date)), mondayOf(monthOf(date, 1) + 6 * dayMs), timeZone);
}

/** Returns the first instant of the month of a date, and that of the next month. */
export function monthSpan(date: CalendarDate, timeZone: string): Pick<Day, 'begin' | 'end'> {
  return { begin: startOf(monthOf(date), timeZone), end: startOf(monthOf(date, 1), timeZone) };
}

function daysBetween(first: CalendarDate, end: CalendarDate, timeZone: string): Day[] {
  const dates = Array.from({ length: (end - first) / dayMs + 1 }, (_, i) => first + i * dayMs);
  const begins = dates.map(each => startOf(each, timeZone));
  return dates.slice(0, -1).map((each, i) => ({ date: each, begin: begins[i]!, end: begins[i + 1]! }));
}

/** Returns a date of the next view, or of the previous one. */
export function moveBy(view: View, date: CalendarDate, by: 1 | -1): CalendarDate {
  if (view === 'month') return monthOf(date, by);
  return date + by * (view === 'week' ? 7 : agendaDays) * dayMs;
}

export const isInMonth = (day: CalendarDate, date: CalendarDate) => monthOf(day) === monthOf(date);

export function partsOf({ begin, end }: Day, shifts: readonly Shift[]): Part[] {
  return shifts.flatMap(shift => {
    const from = Math.max(begin, Date.parse(String(shift.from)));
    const until = Math.min(end, Date.parse(String(shift.until)));
    return from < until ? [{ shift, from, until }] : [];
  });
}

/** Returns the formats of a zone. Dates are already those of the zone. */
export function formatsOf(timeZone: string) {
  const clock = new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const day = { weekday: 'short', day: 'numeric', month: 'short' } as const;
  const moment = new Intl.DateTimeFormat('en', {
    timeZone,
    ...day,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return {
    clock: (instant: number) => clock.format(instant),
    moment: (instant: number) => moment.format(instant),
    /** The end of a day is not the beginning of the next one. */
    endClock: (instant: number, { end }: Day) => (instant === end ? '24:00' : clock.format(instant)),
  };
}

const inUtc = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en', { timeZone: 'UTC', ...options });
  return (date: CalendarDate) => format.format(date);
};
export const formatDay = inUtc({ weekday: 'short', day: 'numeric', month: 'short' });
export const formatDayOfMonth = inUtc({ day: 'numeric' });
export const formatWeekday = inUtc({ weekday: 'short' });
export const formatMonth = inUtc({ month: 'long', year: 'numeric' });

const keyOf = ({ users }: Shift) => users.map(({ username }) => username).join();
const colors = 8;

/** Returns a function that names the color of a shift: the same one for the same users, as far as there are enough. */
export function colorsOf(users: readonly string[], shifts: readonly Shift[]): (shift: Shift) => string {
  const groups = [...new Set([...users, ...shifts.map(keyOf).sort()])].filter(key => key !== '');
  return shift => (shift.users.length === 0 ? 'none' : String(groups.indexOf(keyOf(shift)) % colors));
}
