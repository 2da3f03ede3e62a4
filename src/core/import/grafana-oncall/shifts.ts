/**
 * A shift of OnCall as layers. OnCall makes recurring calendar events of each shift, one series per turn; what such events can do and
 * turns cannot is refused with the reason. A turn here is a period: of `interval` hours, days, weeks or months.
 */

import { weekdays } from '../../decision/quiet-hours.ts';
import { lookUp } from '../../lookup.ts';
import type { Layer } from '../../oncall/rotation.ts';
import { rotationLimits } from '../../oncall/rotation.ts';
import { dayMs, hourMs, zoneOf } from '../../oncall/zone.ts';
import { gcd, localTime, minuteMs, minuteOfWeek, mod, toUsers, weekdayOf } from '../layers.ts';
import { dayMinutes, everyDay, toWindows } from '../windows.ts';
import type { OnCallShift } from './resources.ts';

/** Named by the shift; another name is chosen if a schedule has two of the same. */
export type ShiftLayers = { layers: Layer[] } | { refused: string } | { over: true };

export interface ShiftContext {
  /** Shifts of web schedules appear if they end after the beginning of the rotation, others if they begin after it. */
  isWeb: boolean;
  timezone: string;
  now: number;
  /** Emails of users by id. */
  emails: ReadonlyMap<string, string>;
}

const icalDays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
const stepMs: Record<string, number> = { hourly: hourMs, daily: dayMs, weekly: 7 * dayMs };
const letters: Record<string, string> = { hourly: 'h', daily: 'd', weekly: 'w', monthly: 'mo' };
/** Hourly shifts of ten years. */
const maxTurns = 100_000;

export function toLayers(shift: OnCallShift, context: ShiftContext): ShiftLayers {
  const zone = zoneOf(context.timezone);
  const start = readLocal(shift.start);
  if (start === undefined) return { refused: `its start, ${shift.start}, is not a date` };
  const duration = shift.duration * 1_000;
  const isRolling = shift.type === 'rolling_users';
  const turns = turnsOf(shift, context.emails);
  if (turns.length === 0) return { refused: 'it has no users' };
  if (turns.every(turn => turn.length === 0)) return { refused: 'it has no user who still exists' };
  if (turns.length > rotationLimits.turns) return { refused: `it has more than ${rotationLimits.turns} turns` };
  if (turns.some(turn => turn.length > rotationLimits.together))
    return { refused: `more than ${rotationLimits.together} users are on call together` };
  const name = shift.name;
  if (shift.type === 'single_event') {
    const end = start + duration;
    if (zone.toInstant(end) <= context.now) return { over: true };
    const every = `${Math.min(999, Math.max(1, Math.ceil(duration / dayMs)))}d`;
    return { layers: [{ name, every, from: localTime(start), until: localTime(end), users: toUsers(turns) }] };
  }
  const last = shift.until ? readLocal(shift.until) : undefined;
  // The end of a recurrence is in UTC, as the format of calendars wants it.
  const limit = last === undefined ? Number.POSITIVE_INFINITY : last + zone.offsetAt(last);
  if (shift.frequency === 'monthly' && shift.by_day?.length && limit < Number.POSITIVE_INFINITY) {
    if (zone.toInstant(limit + duration) <= context.now) return { over: true };
    return { refused: 'it is monthly on some days of the week, and ends' };
  }
  const begins = (isRolling && readLocal(shift.rotation_start ?? '')) || start;
  const planned = readRotation(shift, start, duration, turns.length);
  if (typeof planned === 'string') return { refused: planned };
  const hasMoved = isRolling && [0, 1].every(n => isHidden(planned, n, begins, context.isWeb));
  const rotation = hasMoved ? readRotation(shift, movedStart(shift, start), duration, turns.length) : planned;
  if (typeof rotation === 'string') return { refused: rotation };
  return build({ name, rotation, turns, begins, limit, isWeb: context.isWeb, now: context.now, zone });
}

/** Whether OnCall leaves out a turn because the rotation begins later. */
function isHidden({ startOf, events, duration }: Rotation, n: number, begins: number, isWeb: boolean): boolean {
  const last = startOf(n) + events.at(-1)!;
  return isWeb ? last + duration <= begins : last < begins;
}

/** A rotation without days whose first two turns are left out goes on from the first day of the week or month. */
function movedStart({ frequency, by_day, week_start }: OnCallShift, start: number): number {
  if (by_day?.length) return start;
  if (frequency === 'monthly') return start - (new Date(start).getUTCDate() - 1) * dayMs;
  return frequency === 'weekly' ? start - mod(weekdayOf(start) - weekStartOf(week_start), 7) * dayMs : start;
}

const weekStartOf = (day: string | null | undefined) => Math.max(0, icalDays.indexOf(day ?? 'MO'));

interface Rotation {
  every: string;
  /** When turn n begins, in local time. */
  startOf(n: number): number;
  only: Layer['only'];
  /** When the events of a turn begin, after its beginning, in this order. */
  events: number[];
  duration: number;
  /** Days of a week that belong to different turns: a turn is that many of them instead. */
  days?: { numbers: number[]; interval: number };
}

/** Returns the reason if it cannot be a rotation. */
function readRotation(shift: OnCallShift, start: number, duration: number, turns: number): Rotation | string {
  const { frequency, by_month, by_monthday } = shift;
  const interval = shift.interval ?? 1;
  const letter = lookUp(letters, frequency ?? '');
  if (!letter) return `it recurs ${frequency ?? 'in no known way'}`;
  if (by_month?.length) return 'it is restricted to months (by_month), which layers cannot be';
  if (by_monthday?.length) return 'it is restricted to days of the month (by_monthday), which layers cannot be';
  if (interval > 999) return `its interval, ${interval}, is too long`;
  if (duration < minuteMs) return 'it is shorter than a minute';
  const days = [...new Set(shift.by_day ?? [])].map(day => icalDays.indexOf(day)).sort();
  if (days.includes(-1)) return `its by_day, ${shift.by_day}, does not consist of days of the week`;
  if (frequency === 'hourly' && days.length > 0) return 'it is hourly on some days of the week only';
  if (days.length > 0) return onDays(shift, days, start, duration, turns);
  if (frequency === 'monthly') return monthly(start, duration, interval);

  const period = interval * lookUp(stepMs, frequency!)!;
  const rotation: Rotation = {
    every: `${interval}${letter}`,
    startOf: n => start + n * period,
    only: undefined,
    events: [0],
    duration,
  };
  if (duration === period || (turns === 1 && duration > period)) return rotation;
  if (duration > period) return 'its turns overlap: each lasts longer than its interval';
  const span = { start: minuteOfWeek(start), minutes: Math.round(duration / minuteMs) };
  if (period === dayMs) {
    return { ...rotation, only: toWindows(everyDay(span.start % dayMinutes, span.minutes)) };
  }
  if (period === 7 * dayMs) return { ...rotation, only: toWindows([span]) };
  return `it leaves a part of each turn of ${rotation.every} empty, which is not the same in every week`;
}

/** With `by_day`. */
function onDays(shift: OnCallShift, days: number[], start: number, duration: number, turns: number): Rotation | string {
  const interval = shift.interval ?? 1;
  const { frequency } = shift;
  const weekStart = weekStartOf(shift.week_start);
  const offset = (day: number) => (day - weekStart + 7) % 7;
  const inOrder = days.toSorted((a, b) => offset(a) - offset(b));
  const time = mod(start, dayMs);
  const minutes = Math.round(duration / minuteMs);
  const spans = days.map(day => ({ start: day * dayMinutes + time / minuteMs, minutes }));
  const [first, last] = [offset(inOrder[0]!), offset(inOrder.at(-1)!)];
  const only = toWindows(spans.map(span => ({ ...span, start: Math.round(span.start) })));
  // A rotation whose start is on another day begins on the next first day of a week.
  const isSelected = days.includes(weekdayOf(start));
  const adjusted =
    isSelected || shift.type !== 'rolling_users' ? start : start + mod(inOrder[0]! - weekdayOf(start), 7) * dayMs;
  const eventsFrom = (from: number) => days.map(day => mod(day - weekdayOf(from), 7) * dayMs).sort((a, b) => a - b);
  const inWeeks = (from: number, events: number[]): Rotation => ({
    every: '1w',
    startOf: n => from + n * 7 * dayMs,
    only,
    events,
    duration,
  });
  if (frequency === 'daily') {
    if (duration > dayMs && turns > 1) return 'its turns overlap: each lasts longer than a day';
    if (turns > 1) {
      return { ...inWeeks(adjusted, eventsFrom(adjusted)), days: { numbers: days, interval } };
    }
    if (interval > 1 && shift.type !== 'rolling_users')
      return `it is on every ${interval}th day, but on some days of the week only`;
    return inWeeks(adjusted, eventsFrom(adjusted));
  }
  if (frequency === 'monthly') {
    if (interval > 1) return 'it leaves months empty: layers have no empty turns';
    if (duration > dayMs && turns > 1) return 'its turns overlap: each lasts longer than a day';
    const date = new Date(start);
    const startOf = (n: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + n, 1) + time;
    const events = Array.from({ length: 28 }, (_, day) => day * dayMs);
    return { every: '1mo', startOf: n => (n === 0 && turns === 1 ? start : startOf(n)), only, events, duration };
  }
  if (interval > 1) return `it is on call in one of ${interval} weeks only: layers have no empty turns`;
  if (turns > 1 && (last - first) * dayMs + duration > 7 * dayMs)
    return 'its turns overlap: the last shift of a week ends after the first one of the next';
  // The week hands over with its first shift.
  const week = adjusted - offset(weekdayOf(adjusted)) * dayMs + first * dayMs;
  const from = turns === 1 ? adjusted : week;
  return inWeeks(from, eventsFrom(from));
}

function monthly(start: number, duration: number, interval: number): Rotation | string {
  const date = new Date(start);
  if (date.getUTCDate() > 28) return 'it is on a day that not every month has: OnCall leaves those months out';
  if (duration < 28 * dayMs * interval) return 'it is on a part of each month only, which layers cannot be';
  return {
    every: `${interval}mo`,
    startOf: n =>
      Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + n * interval, date.getUTCDate()) + mod(start, dayMs),
    only: undefined,
    events: [0],
    duration,
  };
}

interface Parts {
  name: string;
  rotation: Rotation;
  turns: string[][];
  /** No event before it exists. */
  begins: number;
  /** No event after it exists. */
  limit: number;
  isWeb: boolean;
  now: number;
  zone: ReturnType<typeof zoneOf>;
}

function build({ name, rotation, turns, begins, limit, isWeb, now, zone }: Parts): ShiftLayers {
  const { every, startOf, only, days } = rotation;
  if (limit < startOf(0)) return { over: true };
  if (days) return buildDays({ name, rotation, turns, limit, now, zone, days });
  const { events, duration } = rotation;
  let first = 0;
  while (first < maxTurns && isHidden(rotation, first, begins, isWeb)) first++;
  let until: number | undefined;
  if (limit < Number.POSITIVE_INFINITY) {
    let turn = first;
    while (turn < first + maxTurns && startOf(turn + 1) <= limit) turn++;
    // The last turn may end before any of its events.
    const starts = [turn - 1, turn].flatMap(n => (n < first ? [] : events.map(event => startOf(n) + event)));
    const last = starts.findLast(at => at <= limit);
    if (last === undefined) return { over: true };
    const end = last + duration;
    // The first event of each series of events is cut off; later ones last as long as any.
    until = turn - first < turns.length && events.length === 1 ? Math.min(end, limit) : end;
    if (zone.toInstant(until) <= now) return { over: true };
  }
  const rotated = turns.map((_, i) => turns[(i + first) % turns.length]!);
  const layer = { name, every, from: localTime(startOf(first)), ...(until && { until: localTime(until) }) };
  return { layers: [{ ...layer, users: toUsers(rotated), ...(only && { only }) }] };
}

/** The turns pass from day to day, on some days of the week only: each day becomes a layer in which a turn is a week. */
function buildDays({
  name,
  rotation,
  turns,
  limit,
  now,
  zone,
  days: { numbers, interval },
}: Omit<Parts, 'begins' | 'isWeb'> & { days: NonNullable<Rotation['days']> }): ShiftLayers {
  const base = rotation.startOf(0);
  const inOrder = numbers.toSorted((a, b) => mod(a - weekdayOf(base), 7) - mod(b - weekdayOf(base), 7));
  const weeks = lcm(inOrder.length, turns.length * interval) / inOrder.length;
  if (weeks > rotationLimits.turns) return { refused: `it repeats only after ${weeks} weeks` };
  const layers = inOrder.flatMap((day, i) => {
    const from = base + mod(day - weekdayOf(base), 7) * dayMs;
    if (limit < from) return [];
    const end = from + Math.floor((limit - from) / (7 * dayMs)) * 7 * dayMs + rotation.duration;
    const isEndless = limit === Number.POSITIVE_INFINITY;
    if (!isEndless && zone.toInstant(end) <= now) return [];
    const until = isEndless ? {} : { until: localTime(end) };
    const users = Array.from(
      { length: weeks },
      (_, week) => turns[Math.floor((i + week * inOrder.length) / interval) % turns.length]!,
    );
    const span = { start: minuteOfWeek(from), minutes: Math.round(rotation.duration / minuteMs) };
    const only = toWindows([span])!;
    return {
      name: `${name} ${weekdays[day]}`,
      every: '1w',
      from: localTime(from),
      ...until,
      users: toUsers(users),
      only,
    };
  });
  return layers.length > 0 ? { layers } : { over: true };
}

function turnsOf(shift: OnCallShift, emails: ReadonlyMap<string, string>): string[][] {
  const toEmails = (ids: readonly string[]) => [...new Set(ids.flatMap(id => emails.get(id) ?? []))];
  if (shift.type !== 'rolling_users') return shift.users?.length ? [toEmails(shift.users)] : [];
  const groups = shift.rolling_users ?? [];
  const first = shift.start_rotation_from_user_index ?? 0;
  return [...groups.slice(first), ...groups.slice(0, first)].map(toEmails);
}

const lcm = (a: number, b: number) => (a / gcd(a, b)) * b;

/** Returns the local time without a zone, such as 2026-09-10T08:00:00; undefined if it is none. */
export function readLocal(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  const wall = Date.parse(`${text}Z`);
  return Number.isNaN(wall) ? undefined : wall;
}
