/** Days of the console's calendar in time zones whose clocks change. */
import { expect, test } from 'vitest';
import type { Shift } from '../../console/src/api-types.ts';
import { clockAndDays } from '../../console/src/components/clock.ts';
import {
  colorsOf,
  dateOf,
  daysOf,
  formatsOf,
  isInMonth,
  monthSpan,
  moveBy,
  partsOf,
  startOf,
} from '../../console/src/pages/schedules/calendar-days.ts';

const iso = (instant: number) => new Date(instant).toISOString().slice(0, 16);
const hour = 3_600_000;

test.each([
  ['Europe/Berlin', '2026-11-19', '2026-11-18T23:00'],
  ['Europe/Berlin', '2026-03-30', '2026-03-29T22:00'],
  ['Asia/Kolkata', '2026-11-19', '2026-11-18T18:30'],
  ['Pacific/Kiritimati', '2026-11-19', '2026-11-18T10:00'],
  ['Pacific/Pago_Pago', '2026-11-19', '2026-11-19T11:00'],
  // Clocks skip midnight: the day begins at one.
  ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00'],
  // Clocks show midnight twice: the day begins at the first.
  ['America/Havana', '2026-11-01', '2026-11-01T04:00'],
])('a day in %s, %s, begins at %s UTC', (zone, date, begin) => {
  expect(iso(startOf(Date.parse(date), zone))).toBe(begin);
  expect(dateOf(Date.parse(`${begin}Z`), zone)).toBe(Date.parse(date));
  expect(dateOf(Date.parse(`${begin}Z`) - 1, zone)).toBe(Date.parse(date) - 24 * hour);
});

test('a month is shown in whole weeks, each day after the other, with a day of 25 hours', () => {
  const date = Date.parse('2026-10-19');
  const days = daysOf('month', date, 'Europe/Berlin');
  expect([days.length, iso(days[0]!.date), iso(days.at(-1)!.date)]).toEqual([
    35,
    '2026-09-28T00:00',
    '2026-11-01T00:00',
  ]);
  for (const [i, day] of days.entries()) if (i > 0) expect(day.begin).toBe(days[i - 1]!.end);
  expect(days.filter(({ begin, end }) => end - begin !== 24 * hour).map(day => iso(day.date))).toEqual([
    '2026-10-25T00:00',
  ]);
  expect(days.filter(day => !isInMonth(day.date, date))).toHaveLength(4);
  const list = daysOf('agenda', date, 'UTC');
  expect([list.length, list[0]?.date]).toEqual([14, date]);
  expect(
    daysOf('week', date, 'UTC')
      .map(day => iso(day.date).slice(8, 10))
      .join(),
  ).toBe('19,20,21,22,23,24,25');
});

test('a month lasts from its first instant to that of the next one, in its time zone', () => {
  const { begin, end } = monthSpan(Date.parse('2026-10-22'), 'Europe/Berlin');
  expect([iso(begin), iso(end)]).toEqual(['2026-09-30T22:00', '2026-10-31T23:00']);
});

test('months are moved by whole months, also from their last day, weeks by seven days and lists by fourteen', () => {
  expect(iso(moveBy('month', Date.parse('2026-12-31'), 1))).toBe('2027-01-01T00:00');
  expect(iso(moveBy('month', Date.parse('2026-03-31'), -1))).toBe('2026-02-01T00:00');
  expect(iso(moveBy('agenda', Date.parse('2026-03-31'), -1))).toBe('2026-03-17T00:00');
  expect(iso(moveBy('week', Date.parse('2026-12-28'), 1))).toBe('2027-01-04T00:00');
});

const shift = (from: string, until: string, ...users: string[]) =>
  ({ from, until, users: users.map(username => ({ username })), layers: [], overrides: [] }) as unknown as Shift;

test('a shift over midnight is on both days, up to 24:00', () => {
  const [day, next] = daysOf('week', Date.parse('2026-11-16'), 'Europe/Berlin');
  const shifts = [shift('2026-11-16T17:00:00Z', '2026-11-17T08:00:00Z', 'ann')];
  const { clock, endClock } = formatsOf('Europe/Berlin');
  const show = (of: typeof day) =>
    partsOf(of!, shifts).map(({ from, until }) => `${clock(from)}–${endClock(until, of!)}`);
  expect([show(day), show(next)]).toEqual([['18:00–24:00'], ['00:00–09:00']]);
});

test('a user has the same color whatever the span shows, and no one has none', () => {
  const users = ['ann', 'bob'];
  const bob = shift('', '', 'bob');
  expect(colorsOf(users, [bob])(bob)).toBe(colorsOf(users, [shift('', '', 'ann'), bob])(bob));
  expect(colorsOf(users, [])(shift('', ''))).toBe('none');
});

test('a time has its date once if it begins and ends on the same day, however soon that is', () => {
  const at = (day: number, time: string) => new Date(`2026-11-${day}T${time}`).toISOString();
  expect(clockAndDays(at(20, '06:30'), at(20, '13:30'))).toMatch(/^Nov 20, 2026, 06:30\s–\s13:30 \S+$/);
  expect(clockAndDays(at(20, '22:00'), at(21, '06:00'))).toMatch(/^Nov 20, .+ 22:00 .+\s–\sNov 21, 2026, 06:00 \S+$/);
});
