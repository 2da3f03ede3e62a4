import { describe, expect, test } from 'vitest';
import { listDuties } from '../../src/core/oncall/duties.ts';
import { type Coverage, findGaps, type Readiness } from '../../src/core/oncall/gaps.ts';
import { compileSchedule, type Override } from '../../src/core/oncall/schedule.ts';
import { findNextTest } from '../../src/core/oncall/test-pages.ts';
import { dayMs } from '../../src/core/oncall/zone.ts';

const at = (text: string) => Date.parse(text);
const from = at('2027-01-04T00:00Z');
const until = at('2027-01-11T00:00Z');

/** Ann and Bob take turns of a day, on weekdays. */
const layer = {
  name: 'days',
  every: '1d',
  from: '2027-01-04T00:00',
  users: ['ann', 'bob'],
  only: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'] as ('mon' | 'tue')[], from: '00:00', until: '24:00' }],
};

function duties(overrides: Override[] = [], budget = { left: 100_000, isCutOff: false }) {
  const schedule = compileSchedule({ timezone: 'UTC', combine: 'cover', layers: [layer] }, overrides);
  const work = listDuties(schedule, { from, until, max: 100 }, budget);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

const ready: Readiness = {
  ...{
    state: 'active',
    reachable: new Set(['sms', 'email']),
    ruled: ['sms'],
    verified: ['sms', 'email'],
    absences: [],
    testedAt: from,
  },
};

function gaps(people: Record<string, Partial<Readiness>> = {}, more: Partial<Coverage> = {}): string[] {
  const readinessOf = (user: string) => ({ ...ready, ...people[user] });
  return findGaps({ duties: duties(), fallback: null, isTested: true, ...more }, from, readinessOf).map(one => {
    const span = [one.from, one.until].map(time => new Date(time).toISOString().slice(8, 13));
    return `${one.kind} ${one.user} ${span.join(' to ')}`;
  });
}

const weekend = 'no_one null 09T00 to 11T00';

describe('a time at which no one is on call', () => {
  test('is one gap, however many days it has', () => {
    expect(gaps()).toEqual([weekend]);
  });

  test('is no gap with a fallback list that has members, but with an empty one', () => {
    expect(gaps({}, { fallback: { name: 'Managers', isEmpty: false } })).toEqual([]);
    expect(gaps({}, { fallback: { name: 'Managers', isEmpty: true } })).toEqual([weekend]);
  });

  test('is also one at which everyone on call is locked or deleted', () => {
    expect(gaps({ ann: { state: 'locked' } })).toEqual([
      weekend,
      'no_one null 04T00 to 05T00',
      'no_one null 06T00 to 07T00',
      'no_one null 08T00 to 09T00',
      'locked ann 04T00 to 05T00',
    ]);
  });

  test('is covered by an override', () => {
    const cem = { id: 1, user: 'cem', replaces: null, from: at('2027-01-09T00:00Z'), until };
    expect(gaps({}, { duties: duties([cem]) })).toEqual([]);
  });
});

describe('someone on call', () => {
  test.each<[string, Partial<Readiness>, string[]]>([
    ['who was deleted', { state: 'missing' }, ['missing']],
    ['without any address', { reachable: new Set(), verified: [] }, ['unreachable']],
    ['whose rules need another address', { ruled: ['sms', 'voice'] }, ['rules']],
    ['with verified addresses of one type', { verified: ['sms'] }, ['unverified']],
    ['who never confirmed a test page', { testedAt: null }, ['untested']],
    ['whose last test page was too long ago', { testedAt: from - 91 * dayMs }, ['untested']],
    ['whose last test page was confirmed', { testedAt: from - 89 * dayMs }, []],
  ])('%s is reported with the first time on call', (_, bob, kinds) => {
    const found = gaps({ bob }).filter(one => one.includes('bob'));
    expect(found).toEqual(kinds.map(kind => `${kind} bob 05T00 to 06T00`));
  });

  test('who gets no test pages needs none', () => {
    expect(gaps({ bob: { testedAt: null } }, { isTested: false })).toEqual([weekend]);
  });

  test('who is absent is reported for that part of each time on call', () => {
    const absences = [{ from: at('2027-01-05T12:00Z'), until: at('2027-01-07T06:00Z') }];
    expect(gaps({ bob: { absences } })).toEqual([weekend, 'absent bob 05T12 to 06T00', 'absent bob 07T00 to 07T06']);
  });
});

test('the search ends when the budget is spent', () => {
  const budget = { left: 8, isCutOff: false };
  expect(duties([], budget).at(-1)!.until).toBeLessThan(until);
  expect(budget.isCutOff).toBe(true);
  const enough = { left: 100_000, isCutOff: false };
  expect(duties([], enough).at(-1)!.until).toBe(until);
  expect(enough.isCutOff).toBe(false);
});

test('the next test page is at its local time, across a change of the clocks', () => {
  const next = (instant: string) =>
    new Date(findNextTest({ event: 'a/b', every: '1d', at: '10:00' }, 'Europe/Berlin', at(instant))).toISOString();
  expect(next('2027-03-27T08:59Z')).toBe('2027-03-27T09:00:00.000Z');
  expect(next('2027-03-27T09:00Z')).toBe('2027-03-28T08:00:00.000Z');
});
