/** Recurrence rules of shifts: a period of days with shifts on some of them. What is not is refused with the reason. */
import { lookUp } from '../../lookup.ts';
import { dayMs, type Zone } from '../../oncall/zone.ts';
import { mod, weekdayOf } from '../layers.ts';

export interface Recurrence {
  /** When the first shift begins, in local time. */
  base: number;
  periodDays: number;
  /** When the shifts of a period begin, in days after its beginning; the first is 0. */
  offsets: number[];
  /** The number of the last shift. */
  last: number;
}

const weekdays: Record<string, number> = { MO: 0, TU: 1, WE: 2, TH: 3, FR: 4, SA: 5, SU: 6 };
const maxInterval = 999;
/** What ends later does not end. */
const farthest = Date.UTC(2200, 0, 1);

/** Returns the reason if it cannot be read. `start` is in local time. */
export function readRecurrence(rule: string, start: number, zone: Zone): Recurrence | string {
  const parts = new Map<string, string>();
  for (const part of rule.replace(/^RRULE:/i, '').split(';')) {
    const [name = '', value = ''] = part.split('=');
    parts.set(name.trim().toUpperCase(), value.trim().toUpperCase());
  }
  const known = ['FREQ', 'INTERVAL', 'BYDAY', 'WKST', 'UNTIL', 'COUNT'];
  const unknown = [...parts.keys()].find(name => !known.includes(name));
  if (unknown !== undefined) return `its recurrence has ${unknown || 'an empty part'}, which layers cannot have`;
  const frequency = parts.get('FREQ');
  const interval = Number(parts.get('INTERVAL') ?? 1);
  if (frequency !== 'DAILY' && frequency !== 'WEEKLY')
    return `it recurs ${frequency?.toLowerCase() || 'in no known way'}`;
  if (!Number.isInteger(interval) || interval < 1 || interval > maxInterval) return 'its interval is no small number';
  const names = parts.get('BYDAY')?.split(',') ?? [];
  const days = [...new Set(names.map(name => lookUp(weekdays, name)))];
  if (days.includes(undefined)) return `its days, ${names.join(',')}, are no days of the week`;
  const weekStart = lookUp(weekdays, parts.get('WKST') ?? 'MO');
  if (weekStart === undefined) return `its week begins on ${parts.get('WKST')}, which is no day of the week`;
  const pattern = toPattern(frequency, interval, days as number[], start, weekStart);
  if (typeof pattern === 'string') return pattern;
  const last = lastOf(pattern, parts, zone);
  if (typeof last === 'string') return last;
  return { ...pattern, last: occurrence(pattern, last) < farthest ? last : Number.POSITIVE_INFINITY };
}

type Pattern = Omit<Recurrence, 'last'>;

function toPattern(
  frequency: string,
  interval: number,
  days: number[],
  start: number,
  weekStart: number,
): Pattern | string {
  if (frequency === 'DAILY' && days.length === 0) return { base: start, periodDays: interval, offsets: [0] };
  if (days.length === 0) return { base: start, periodDays: 7 * interval, offsets: [0] };
  if (days.length === 7 && interval === 1) return { base: start, periodDays: 1, offsets: [0] };
  if (interval > 1 && (frequency === 'DAILY' || days.length > 1))
    return `it recurs on some days of each ${interval}th ${frequency === 'DAILY' ? 'day' : 'week'} only: layers have no empty turns`;
  // It begins on the first of its days.
  const until = days.map(day => mod(day - weekdayOf(start), 7)).sort((a, b) => a - b);
  // That may be in the next week, which is left out.
  const isNextWeek = mod(days[0]! - weekStart, 7) < mod(weekdayOf(start) - weekStart, 7);
  const skipped = interval > 1 && isNextWeek ? 7 * (interval - 1) : 0;
  const base = start + (until[0]! + skipped) * dayMs;
  return { base, periodDays: 7 * interval, offsets: until.map(day => day - until[0]!) };
}

function lastOf(pattern: Pattern, parts: ReadonlyMap<string, string>, zone: Zone): number | string {
  const [count, until] = [parts.get('COUNT'), parts.get('UNTIL')];
  if (count !== undefined)
    return /^[1-9]\d{0,5}$/.test(count) ? Number(count) - 1 : `its COUNT, ${count}, is no number`;
  if (until === undefined) return Number.POSITIVE_INFINITY;
  const [, year, month, day, time, utc] = /^(\d{4})(\d\d)(\d\d)(?:T(\d{6})(Z?))?$/.exec(until) ?? [];
  const clock = (time ?? '235959').replaceAll(/(\d\d)(?=\d)/g, '$1:');
  const at = Date.parse(`${year}-${month}-${day}T${clock}Z`);
  if (Number.isNaN(at)) return `its UNTIL, ${until}, is no date`;
  return indexAt(pattern, utc ? at + zone.offsetAt(at) : at);
}

/** When shift n begins, in local time; n may be negative. */
export function occurrence({ base, periodDays, offsets }: Pattern, n: number): number {
  const period = Math.floor(n / offsets.length);
  return base + (period * periodDays + offsets[mod(n, offsets.length)]!) * dayMs;
}

/** Returns the number of the last shift that has begun by a local time. */
export function indexAt(pattern: Pattern, wall: number): number {
  const { base, periodDays, offsets } = pattern;
  let n = (Math.floor((wall - base) / (periodDays * dayMs)) + 1) * offsets.length;
  while (occurrence(pattern, n) > wall) n--;
  return n;
}
