/** What an iCalendar file says about absences. */
import { describe, expect, test } from 'vitest';
import {
  calendarLimits,
  normalizeWords,
  readCalendarUrl,
  secondsAfterFailures,
} from '../../src/core/oncall/calendars/calendar.ts';
import { NoCalendarError, readCalendar } from '../../src/core/oncall/calendars/read.ts';

const now = Date.parse('2026-10-20T12:00:00Z');
let uid = 0;
const calendar = (...lines: (string | string[])[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Test//EN', ...lines.flat(), 'END:VCALENDAR', ''].join('\r\n');
const event = (...lines: string[]) => ['BEGIN:VEVENT', `UID:${++uid}`, ...lines, 'END:VEVENT'];
const read = (text: string, { words = [] as string[], timezone = 'Europe/Berlin' } = {}) =>
  readCalendar({ text, timezone, words, now });
const minute = (instant: number) => `${new Date(instant).toISOString().slice(5, 16)}Z`;
/** Times as `10-23T22:00Z to 10-26T23:00Z`. */
const times = (lines: (string | string[])[], options?: Parameters<typeof read>[1]) =>
  read(calendar(...lines), options).absences.map(({ from, until }) => `${minute(from)} to ${minute(until)}`);
const named = (lines: (string | string[])[], options?: Parameters<typeof read>[1]) =>
  read(calendar(...lines), options).absences.map(({ reason }) => reason);

/** As Outlook writes it: the name means nothing to others. */
const windowsZone = [
  ...['BEGIN:VTIMEZONE', 'TZID:W. Europe Standard Time'],
  ...['BEGIN:STANDARD', 'DTSTART:16010101T030000', 'TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010101T020000', 'TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3', 'END:DAYLIGHT', 'END:VTIMEZONE'],
];
const hour = (zone: string, day: string, ...more: string[]) =>
  event(`DTSTART;TZID=${zone}:${day}T090000`, `DTEND;TZID=${zone}:${day}T100000`, 'SUMMARY:Away', ...more);
const away = { words: ['away'] };

describe('the times of events', () => {
  test.each([
    ['an all-day event is as long as its days are for the user', 'Europe/Berlin', '10-23T22:00Z to 10-26T23:00Z'],
    ['… also where the clocks do not change', 'Asia/Tokyo', '10-23T15:00Z to 10-26T15:00Z'],
  ])('%s', (_, timezone, expected) => {
    expect(times([event('DTSTART;VALUE=DATE:20261024', 'DTEND;VALUE=DATE:20261027')], { timezone })).toEqual([
      expected,
    ]);
  });

  test.each([
    ['without an end takes a day', ['DTSTART;VALUE=DATE:20261102'], '11-01T23:00Z to 11-02T23:00Z'],
    ['with a duration', ['DTSTART;VALUE=DATE:20261102', 'DURATION:P1W'], '11-01T23:00Z to 11-08T23:00Z'],
    ['that has begun', ['DTSTART;VALUE=DATE:20261001', 'DTEND;VALUE=DATE:20261101'], '09-30T22:00Z to 10-31T23:00Z'],
  ])('an all-day event %s', (_, lines, expected) => {
    expect(times([event(...lines)])).toEqual([expected]);
  });

  test.each([
    ['an IANA zone, whatever the file says about it', 'America/New_York', '10-22T13:00Z to 10-22T14:00Z'],
    ['a prefixed IANA zone', '/example.org/20190914/America/New_York', '10-22T13:00Z to 10-22T14:00Z'],
    ['a zone that the file describes', 'W. Europe Standard Time', '10-22T07:00Z to 10-22T08:00Z'],
    ['an unknown zone, as in that of the user', 'Mars/Olympus', '10-22T00:00Z to 10-22T01:00Z'],
  ])('in %s', (_, zone, expected) => {
    expect(times([windowsZone, hour(zone, '20261022')], { ...away, timezone: 'Asia/Tokyo' })).toEqual([expected]);
  });

  test.each(['Europe/Berlin', 'W. Europe Standard Time'])('a repeated event keeps its local time in %s', zone => {
    const repeated = hour(zone, '20261012', 'RRULE:FREQ=WEEKLY;UNTIL=20261102T080000Z');
    expect(times([windowsZone, repeated], away)).toEqual([
      '10-26T08:00Z to 10-26T09:00Z',
      '11-02T08:00Z to 11-02T09:00Z',
    ]);
  });

  test('a time in UTC ends, leaves out and changes those of a zone', () => {
    const series = (...lines: string[]) => ['BEGIN:VEVENT', 'UID:series', ...lines, 'END:VEVENT'];
    const at = (day: string) => [`DTSTART;TZID=Europe/Berlin:${day}T230000`, `DTEND;TZID=Europe/Berlin:${day}T233000`];
    const lines = [
      series(...at('20261021'), 'RRULE:FREQ=DAILY;UNTIL=20261025T220000Z', 'EXDATE:20261022T210000Z', 'SUMMARY:Away'),
      series(
        'RECURRENCE-ID:20261023T210000Z',
        'DTSTART:20261101T080000Z',
        'DTEND:20261101T090000Z',
        'SUMMARY:Away, moved',
      ),
      series('RECURRENCE-ID;TZID=Europe/Berlin:20261024T230000', ...at('20261024'), 'STATUS:CANCELLED', 'SUMMARY:Away'),
    ];
    expect(times(lines, away)).toEqual([
      '10-21T21:00Z to 10-21T21:30Z',
      '10-25T22:00Z to 10-25T22:30Z',
      '11-01T08:00Z to 11-01T09:00Z',
    ]);
  });

  test('days are left out, and added', () => {
    const days = event(
      'DTSTART;VALUE=DATE:20261026',
      'RRULE:FREQ=DAILY;COUNT=4',
      'EXDATE;VALUE=DATE:20261027,20261028',
      'RDATE;VALUE=DATE:20261110',
    );
    expect(times([days])).toEqual([
      '10-25T23:00Z to 10-26T23:00Z',
      '10-28T23:00Z to 10-29T23:00Z',
      '11-09T23:00Z to 11-10T23:00Z',
    ]);
  });

  test.each([
    ['every second week', '20200106', 'FREQ=WEEKLY;INTERVAL=2', ['10-18T22', '11-01T23']],
    ['every third day', '20200101', 'FREQ=DAILY;INTERVAL=3', ['10-19T22', '10-22T22']],
    ['the last Friday', '20200131', 'FREQ=MONTHLY;BYDAY=-1FR', ['10-29T23', '11-26T23']],
    ['every year', '20201224', 'FREQ=YEARLY', ['12-23T23']],
  ])('%s since long ago', (_, start, rule, expected) => {
    const found = times([event(`DTSTART;VALUE=DATE:${start}`, `RRULE:${rule}`)]);
    expect(found.slice(0, expected.length).map(one => one.slice(0, 8))).toEqual(expected);
  });

  test('what ended before yesterday, or begins in half a year, is no absence yet', () => {
    const lines = ['20261017', '20261018', '20270415', '20270420'].map(day => event(`DTSTART;VALUE=DATE:${day}`));
    expect(times(lines)).toEqual(['04-14T22:00Z to 04-15T22:00Z']);
  });

  test('only the first ones are kept', () => {
    const days = Array.from({ length: 30 }, () =>
      event('DTSTART;VALUE=DATE:20261101', 'RRULE:FREQ=DAILY;COUNT=20', `SUMMARY:${++uid}`),
    );
    const { absences, isCut } = read(calendar(...days));
    expect([absences.length, isCut]).toEqual([calendarLimits.absences, true]);
    expect(minute(absences.at(-1)!.from)).toBe('11-06T23:00Z');
  });
});

describe('an event counts', () => {
  const day = (...lines: string[]) => event('DTSTART;VALUE=DATE:20261101', ...lines);
  const time = (...lines: string[]) => event('DTSTART:20261101T080000Z', 'DTEND:20261101T090000Z', ...lines);
  const busy = (status: string) => `X-MICROSOFT-CDO-BUSYSTATUS:${status}`;

  test.each([
    ['all day', day(), true],
    ['all day, as Outlook marks it', time('X-MICROSOFT-CDO-ALLDAYEVENT:TRUE', busy('BUSY')), true],
    ['all day, free', day('TRANSP:TRANSPARENT'), false],
    ['all day, cancelled', day('STATUS:CANCELLED'), false],
    ['all day, working elsewhere', day(busy('WORKINGELSEWHERE')), false],
    ['a meeting', time(), false],
    ['an hour out of office', time(busy('OOF')), true],
  ])('without words: %s', (_, lines, expected) => {
    expect(times([lines])).toHaveLength(Number(expected));
  });

  test.each([
    ['a title with one', time('SUMMARY:Out of  Office: dentist'), true],
    ['in other letters', time('SUMMARY:VACATION'), true],
    ['free', time('SUMMARY:Vacation', 'TRANSP:TRANSPARENT'), true],
    ['cancelled', day('SUMMARY:Vacation', 'STATUS:CANCELLED'), false],
    ['another title', day('SUMMARY:Fair'), false],
    ['no title', day(), false],
  ])('with words: %s', (_, lines, expected) => {
    expect(times([lines], { words: ['vacation', 'out of office'] })).toHaveLength(Number(expected));
  });

  test('with its title in one line, unless it is private', () => {
    const long = 'x'.repeat(600);
    const lines = [
      day('SUMMARY:Rome\\, then\\nParis'),
      day('SUMMARY:Clinic', 'CLASS:PRIVATE'),
      day('SUMMARY:Clinic', 'CLASS:CONFIDENTIAL', 'DURATION:P2D'),
      day(`SUMMARY:${long}`),
    ];
    expect(named(lines)).toEqual(expect.arrayContaining(['Rome, then Paris', null, 'x'.repeat(500)]));
    expect(named(lines)).not.toContain('Clinic');
  });
});

describe('a file', () => {
  test.each([
    ['a page', '<html></html>'],
    ['nothing', ''],
    ['the beginning of one', 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\n'],
  ])('that is %s is no calendar', (_, text) => {
    expect(() => read(text)).toThrow(NoCalendarError);
  });

  test('with a damaged event has the others', () => {
    const text = calendar(
      event('DTSTART;VALUE=DATE:tomorrow'),
      event('SUMMARY no colon'),
      event(),
      event('DTSTART;VALUE=DATE:20261101'),
    );
    expect(read(text)).toMatchObject({ events: 4, skipped: 3, absences: [{}] });
  });

  test.each([
    'FREQ=SECONDLY',
    'FREQ=DAILY;INTERVAL=999999999',
    'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=WEEKLY;BYMONTH=2;BYDAY=MO;BYSETPOS=-366',
    'FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2',
    'FREQ=YEARLY;BYMONTHDAY=15;BYDAY=1MO',
    'FREQ=YEARLY;BYYEARDAY=-366;INTERVAL=999',
    'FREQ=DAILY;BYHOUR=0,1,2,3,4,5;BYMINUTE=0,1,2,3,4,5,6,7,8,9;BYSECOND=1,2,3,4,5,6,7',
  ])('with the rule %s is read in a limited number of steps', rule => {
    const began = performance.now();
    const { absences } = read(calendar(event('DTSTART;VALUE=DATE:19000101', `RRULE:${rule}`, 'SUMMARY:Never')));
    expect(absences.length).toBeLessThanOrEqual(calendarLimits.absences);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('the address', () => {
  test.each([
    ['webcal://Calendar.acme.test/a', 'https://calendar.acme.test/a'],
    [' https://acme.test/a?b=c ', 'https://acme.test/a?b=c'],
    ['http://10.0.0.1/a', 'http://10.0.0.1/a'],
  ])('%s is %s', (text, expected) => {
    expect(String(readCalendarUrl(text))).toBe(expected);
  });

  test.each(['', 'acme.test', 'file:///etc/passwd', 'https://', 'https://u:p@acme.test/'])('%j is none', text => {
    expect(readCalendarUrl(text)).toHaveProperty('mistake');
  });
});

test('words are compared without case and double spaces, and are in the list once', () => {
  expect(normalizeWords([' Vacation', 'vacation ', 'out  of office'])).toEqual(['vacation', 'out  of office']);
});

test('a calendar that fails is fetched less and less often', () => {
  expect([1, 2, 3, 20].map(secondsAfterFailures)).toEqual([600, 1_200, 2_400, 21_600]);
});
