/** Calendars, read by another program's parser. */
import ICAL from 'ical.js';
import { expect, test } from 'vitest';
import { writeCalendar } from '../../src/core/oncall/ical.ts';

const from = Date.UTC(2027, 0, 4, 8);
const eventOf = (summary: string) => ({ uid: 'a@belfry', from, until: from + 3_600_000, summary });

test('a calendar is read by another program, with special characters, line breaks and long names', () => {
  const summaries = [
    'Primary: Ann, Bob; \\ "C:D"',
    'two\nlines',
    `${'Zoë 👩🏽‍🚒 '.repeat(30)}end`,
    'x'.repeat(200),
    'BEGIN:VEVENT\r\nSUMMARY:injected',
  ];
  const text = writeCalendar('On call, all; of it', from, summaries.map(eventOf));
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  const calendar = new ICAL.Component(ICAL.parse(text));
  expect(text).toContain('X-WR-CALNAME:On call\\, all\\; of it\r\n');
  const events = calendar.getAllSubcomponents('vevent').map(one => new ICAL.Event(one));
  expect(events.map(({ summary }) => summary)).toEqual(summaries.map(one => one.replace('\r\n', '\n')));
  expect(events[0]!.startDate.toJSDate().getTime()).toBe(from);
  expect(events[0]!.endDate.toJSDate().getTime()).toBe(from + 3_600_000);
  expect(events[0]!.startDate.zone).toBe(ICAL.Timezone.utcTimezone);
});

test('control characters are left out, and a calendar without events is one', () => {
  expect(writeCalendar('a\u0007b\u0000c', from, [])).toContain('X-WR-CALNAME:abc\r\n');
  expect(new ICAL.Component(ICAL.parse(writeCalendar('x', from, []))).getAllSubcomponents()).toEqual([]);
});
