/** Quiet hours compared with a slow reference: the local time from Intl, minute by minute. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findQuietMistakes,
  isTimezone,
  listTimezones,
  type QuietHours,
  quietUntil,
  spreadMs,
  weekdays,
} from '../../src/core/decision/quiet-hours.ts';

const minute = 60_000;

function clockOf(zone: string) {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    weekday: 'short',
    hourCycle: 'h23',
  });
  return (at: number) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return { time: `${parts.hour}:${parts.minute}`, day: parts.weekday!.toLowerCase() as (typeof weekdays)[number] };
  };
}

/** The documented rule: local time from, to and weekdays. */
function isQuiet(
  { from, to, weekdays: days }: QuietHours,
  { time, day }: { time: string; day: (typeof weekdays)[number] },
) {
  const on = (one: (typeof weekdays)[number]) => !days || days.includes(one);
  const before = weekdays[(weekdays.indexOf(day) + 6) % 7]!;
  if (from! < to!) return on(day) && time >= from! && time < to!;
  return (on(day) && time >= from!) || (on(before) && time < to!);
}

function reference(hours: QuietHours, zone: string, now: number): number | undefined {
  const clock = clockOf(zone);
  if (!isQuiet(hours, clock(now))) return undefined;
  let last = now;
  // When the clock is turned back, the window may open a second time: it has ended when it stays closed for an hour.
  for (let at = now, quietAt = now; at <= quietAt + 61 * minute; at += minute) {
    if (isQuiet(hours, clock(at))) {
      quietAt = at;
      last = at + minute;
    }
  }
  return last;
}

const day = (text: string) => Date.parse(`${text}T00:00:00Z`);
const zones = [
  // Both changes of daylight saving time: northern, southern, by half an hour, and none.
  { zone: 'Europe/Berlin', days: ['2026-03-28', '2026-03-29', '2026-10-24', '2026-10-25'] },
  { zone: 'America/New_York', days: ['2026-03-07', '2026-03-08', '2026-10-31', '2026-11-01'] },
  { zone: 'Australia/Lord_Howe', days: ['2026-04-04', '2026-04-05', '2026-10-03', '2026-10-04'] },
  { zone: 'Asia/Kolkata', days: ['2026-03-29', '2026-10-25'] },
  { zone: 'Asia/Kathmandu', days: ['2026-06-01'] },
  { zone: 'America/St_Johns', days: ['2026-03-08', '2026-11-01'] },
  { zone: 'UTC', days: ['2026-12-31'] },
];
const times = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom(0, 15, 30, 45))
  .map(([hour, past]) => `${String(hour).padStart(2, '0')}:${String(past).padStart(2, '0')}`);

test('the end follows local time across every change of daylight saving time', { tags: ['sweep'] }, () => {
  const cases = fc.constantFrom(...zones).chain(({ zone, days }) =>
    fc.record({
      zone: fc.constant(zone),
      now: fc.tuple(fc.constantFrom(...days), fc.nat(36 * 60)).map(([date, past]) => day(date) + past * minute),
      hours: fc
        .record({
          from: times,
          to: times,
          weekdays: fc.option(fc.uniqueArray(fc.constantFrom(...weekdays), { minLength: 1 }), { nil: undefined }),
        })
        .filter(({ from, to }) => from !== to && Math.abs(minutesOf(from) - minutesOf(to)) > 120)
        // Windows less than two hours apart overlap when the clock is turned back.
        .filter(({ from, to }) => (minutesOf(from) - minutesOf(to) + 1_440) % 1_440 > 120),
    }),
  );
  fc.assert(
    fc.property(cases, ({ zone, now, hours }) => {
      expect(quietUntil(hours, zone, now)).toBe(reference(hours, zone, now));
    }),
    { numRuns: 300 },
  );
});

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const night: QuietHours = { from: '22:00', to: '07:00' };
const iso = (value: number | undefined) => (value === undefined ? undefined : new Date(value).toISOString());

describe('a window over midnight', () => {
  test.each([
    // Eight hours when the clock goes forward, ten when it goes back.
    ['Europe/Berlin', '2026-03-28T21:00:00Z', '2026-03-29T05:00:00.000Z'],
    ['Europe/Berlin', '2026-10-24T20:00:00Z', '2026-10-25T06:00:00.000Z'],
    ['America/New_York', '2026-03-08T03:00:00Z', '2026-03-08T11:00:00.000Z'],
    ['Asia/Kolkata', '2026-01-01T16:30:00Z', '2026-01-02T01:30:00.000Z'],
    ['Asia/Kolkata', '2026-01-01T16:29:00Z', undefined],
    // The clock is turned back from 02:00 to 01:00.
    ['America/St_Johns', '2026-11-01T02:00:00Z', '2026-11-01T10:30:00.000Z'],
    ['UTC', '2026-01-01T06:59:00Z', '2026-01-01T07:00:00.000Z'],
    ['UTC', '2026-01-01T07:00:00Z', undefined],
  ])('in %s at %s ends at %s', (zone, now, end) => {
    expect(iso(quietUntil(night, zone, Date.parse(now)))).toBe(end);
  });

  test('that ends in a skipped hour ends at the change, and in a repeated hour the second time', () => {
    const short: QuietHours = { from: '22:00', to: '02:30' };
    expect(iso(quietUntil(short, 'Europe/Berlin', Date.parse('2026-03-28T23:00:00Z')))).toBe(
      '2026-03-29T01:00:00.000Z',
    );
    expect(iso(quietUntil(short, 'Europe/Berlin', Date.parse('2026-10-25T00:10:00Z')))).toBe(
      '2026-10-25T01:30:00.000Z',
    );
  });

  test('that ends at the time the clock is turned back to ends the first time', () => {
    const short: QuietHours = { from: '22:00', to: '01:00' };
    const end = quietUntil(short, 'America/St_Johns', Date.parse('2026-11-01T03:00:00Z'));
    expect(iso(end)).toBe('2026-11-01T03:30:00.000Z');
  });

  test('belongs to the day on which it begins', () => {
    const friday: QuietHours = { ...night, weekdays: ['fri'] };
    // 2026-01-02 is a Friday.
    expect(quietUntil(friday, 'UTC', Date.parse('2026-01-02T05:00:00Z'))).toBeUndefined();
    expect(iso(quietUntil(friday, 'UTC', Date.parse('2026-01-03T05:00:00Z')))).toBe('2026-01-03T07:00:00.000Z');
  });

  test('is ignored when disabled, and uses UTC for an unknown time zone', () => {
    const now = Date.parse('2026-01-01T23:00:00Z');
    expect(quietUntil({ enabled: false }, 'UTC', now)).toBeUndefined();
    expect(iso(quietUntil(night, 'Mars/Olympus', now))).toBe('2026-01-02T07:00:00.000Z');
  });
});

test('invalid quiet hours and time zones are refused', () => {
  expect(findQuietMistakes({ enabled: false })).toEqual({});
  expect(findQuietMistakes({ to: '07:00' })).toHaveProperty('from');
  expect(findQuietMistakes({ from: '07:00' })).toHaveProperty('to');
  expect(findQuietMistakes({ from: '07:00', to: '07:00' })).toHaveProperty('to');
  expect(['Europe/Berlin', 'UTC', 'America/Argentina/Ushuaia', 'Etc/GMT+1'].every(isTimezone)).toBe(true);
  expect(['', '+01:00', 'Berlin', 'Europe/Nowhere', "x'; drop"].some(isTimezone)).toBe(false);
});

test('every listed time zone is valid and has its current name', () => {
  const offered = listTimezones();
  expect(offered.filter(zone => !isTimezone(zone))).toEqual([]);
  expect(offered).toContain('Asia/Kolkata');
  expect(offered).toContain('Europe/Berlin');
});

test('users are spread evenly over five minutes, with a fixed delay for each', () => {
  const spread = Array.from({ length: 1_000 }, (_, i) => spreadMs(i + 1));
  expect(Math.max(...spread)).toBeLessThan(300_000);
  expect(Math.min(...spread)).toBeGreaterThanOrEqual(0);
  for (let part = 0; part < 5; part++) {
    const inPart = spread.filter(ms => ms >= part * minute && ms < (part + 1) * minute);
    expect(inPart.length).toBeGreaterThan(150);
  }
  expect(spreadMs(7)).toBe(spreadMs(7));
});
