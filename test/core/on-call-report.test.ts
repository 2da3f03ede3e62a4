/** Hours of being on call, at night and on weekends, across changes of the clocks. */
import { expect, test } from 'vitest';
import { listDuties, newDutyBudget } from '../../src/core/oncall/duties.ts';
import { collectTimes, isWithin, measure, spreadOf } from '../../src/core/oncall/report.ts';
import { compileSchedule } from '../../src/core/oncall/schedule.ts';
import { hourMs, zoneOf } from '../../src/core/oncall/zone.ts';

const at = (text: string) => Date.parse(`${text}Z`);
const hours = (from: string, until: string, timezone: string) => {
  const { all, night, weekend } = measure([{ from: at(from), until: at(until) }], zoneOf(timezone));
  return [all, night, weekend].map(ms => ms / hourMs);
};

test.each([
  // A Monday to a Tuesday, in winter: the night is from 21:00 until 05:00 UTC.
  ['2027-01-04T08:00', '2027-01-05T08:00', 'Europe/Berlin', [24, 8, 0]],
  // It begins and ends within nights.
  ['2027-01-05T00:00', '2027-01-05T22:00', 'Europe/Berlin', [22, 6, 0]],
  ['2027-01-08T12:00', '2027-01-11T12:00', 'UTC', [72, 24, 48]],
  // Clocks are set forward on a Sunday night: an hour less of the night and of the weekend.
  ['2027-03-26T23:00', '2027-03-28T22:00', 'Europe/Berlin', [47, 15, 47]],
  // Clocks are set back: an hour more.
  ['2027-10-29T22:00', '2027-10-31T23:00', 'Europe/Berlin', [49, 17, 49]],
  ['2027-01-04T08:00', '2027-01-04T08:00', 'UTC', [0, 0, 0]],
])('%s to %s in %s has the hours %j', (from, until, zone, expected) => {
  expect(hours(from, until, zone)).toEqual(expected);
});

const week = { name: 'week', every: '1w', from: '2027-01-04T00:00', users: ['ann', 'bob'] };
const compiled = compileSchedule({ timezone: 'UTC', layers: [week], combine: 'cover' });
const readDuties = (schedule = compiled, user?: string, max = 100) => {
  const budget = newDutyBudget();
  const span = { from: at('2027-01-04T00:00'), until: at('2027-02-01T00:00') };
  const work = listDuties(schedule, { ...span, user, max }, budget);
  let step = work.next();
  while (!step.done) step = work.next();
  return { duties: step.value, isComplete: !budget.isCutOff };
};
const dutiesOf = (user?: string) => readDuties(compiled, user).duties;

test('a schedule that changes too often, or has too many shifts, is read up to that moment', {
  tags: ['sweep'],
}, () => {
  const hours = Array.from({ length: 12 }, (_, i) => String(2 * i).padStart(2, '0'));
  const only = hours.map(hour => ({ from: `${hour}:00`, until: `${hour}:30` }));
  const layers = Array.from({ length: 50 }, (_, i) => ({ ...week, name: `${i}`, every: '1h', users: ['ann'], only }));
  const busy = readDuties(compileSchedule({ timezone: 'UTC', layers, combine: 'all' }), undefined, 10_000);
  expect(busy.isComplete).toBe(false);
  expect(busy.duties.length).toBeGreaterThan(12 * 20);
  expect(readDuties(compiled).isComplete).toBe(true);
  const { isComplete, duties } = readDuties(compiled, undefined, 3);
  expect([isComplete, duties.length]).toEqual([false, 3]);
});

test('duties are the same whatever the weeks in which they are computed, and those of a user are the user’s only', () => {
  expect(dutiesOf()).toEqual(
    [0, 1, 2, 3].map(n => ({
      users: [n % 2 === 0 ? 'ann' : 'bob'],
      from: at('2027-01-04T00:00') + n * 168 * hourMs,
      until: at('2027-01-11T00:00') + n * 168 * hourMs,
    })),
  );
  expect(dutiesOf('bob').map(({ users }) => users)).toEqual([['bob'], ['bob']]);
});

test('a user who is joined by others has one shift, and two schedules at once count their hours once', () => {
  const times = collectTimes([
    [
      { users: ['ann'], from: 0, until: 4 },
      { users: ['ann', 'bob'], from: 4, until: 6 },
      { users: ['ann'], from: 8, until: 9 },
    ],
    [{ users: ['ann'], from: 5, until: 7 }],
  ]);
  expect(times.get('ann')).toEqual({
    shifts: 3,
    intervals: [
      { from: 0, until: 7 },
      { from: 8, until: 9 },
    ],
  });
  expect(times.get('bob')).toEqual({ shifts: 1, intervals: [{ from: 4, until: 6 }] });
});

test('an instant is within intervals from their beginning up to their end', () => {
  const intervals = [
    { from: 0, until: 2 },
    { from: 4, until: 5 },
    { from: 7, until: 9 },
  ];
  expect([-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter(instant => isWithin(intervals, instant))).toEqual([0, 1, 4, 7, 8]);
});

test.each([
  [[], null],
  [[5], { median: 5, p90: 5 }],
  [[1, 3], { median: 2, p90: 3 }],
  [[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], { median: 5.5, p90: 9 }],
  [[3, 1, 2], { median: 2, p90: 3 }],
])('the spread of %j is %j', (values, expected) => {
  expect(spreadOf(values)).toEqual(expected);
});
