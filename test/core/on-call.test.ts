import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Layer, parseLocalTime } from '../../src/core/oncall/rotation.ts';
import {
  compileSchedule,
  listShifts,
  type Override,
  type ScheduleRules,
  whoIsOnCall,
} from '../../src/core/oncall/schedule.ts';
import { findTurn } from '../../src/core/oncall/turns.ts';
import { dayMs, hourMs, zoneOf } from '../../src/core/oncall/zone.ts';
import { costOf, limitMs, maxMsFor } from '../support/cpu-time.ts';

const at = (text: string) => Date.parse(text);

function scheduleOf(layers: Partial<Layer>[], more: Partial<ScheduleRules> & { overrides?: Override[] } = {}) {
  const { overrides, ...rules } = more;
  const complete = layers.map((layer, i) => ({
    ...{ name: `l${i}`, every: '1d', from: '2027-01-04T09:00', users: ['ann', 'bob'] },
    ...layer,
  }));
  return compileSchedule({ timezone: 'Europe/Berlin', combine: 'cover', layers: complete, ...rules }, overrides);
}

const usersAt = (schedule: ReturnType<typeof scheduleOf>, text: string) => whoIsOnCall(schedule, at(text)).users;

describe('a time of a zone', () => {
  const instant = (timezone: string, local: string) =>
    new Date(zoneOf(timezone).toInstant(parseLocalTime(local)!)).toISOString();

  test.each([
    ['Europe/Berlin', '2027-03-28T02:30', '2027-03-28T01:00:00.000Z'],
    ['Australia/Lord_Howe', '2027-10-03T02:15', '2027-10-02T15:30:00.000Z'],
    // The whole day was skipped.
    ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T10:00:00.000Z'],
  ])('%s that the clocks skip is the moment at which they do: %s', (timezone, local, expected) => {
    expect(instant(timezone, local)).toBe(expected);
  });

  test.each([
    ['Europe/Berlin', '2027-10-31T02:30', '2027-10-31T00:30:00.000Z'],
    ['America/Santiago', '2027-04-03T23:30', '2027-04-04T02:30:00.000Z'],
  ])('%s that the clocks show twice is the first of the two: %s', (timezone, local, expected) => {
    expect(instant(timezone, local)).toBe(expected);
  });
});

describe('a rotation', () => {
  test('hands over at the same local time across a change of the clocks', () => {
    const schedule = scheduleOf([{ every: '1w' }]);
    expect(usersAt(schedule, '2027-03-29T06:59Z')).toEqual(['bob']);
    expect(usersAt(schedule, '2027-03-29T07:00Z')).toEqual(['ann']);
    expect(usersAt(schedule, '2027-11-01T07:59Z')).toEqual(['ann']);
    expect(usersAt(schedule, '2027-11-01T08:00Z')).toEqual(['bob']);
  });

  test('can have turns of no one, in which an earlier layer is not covered', () => {
    const schedule = scheduleOf([{ users: ['dee'] }, { users: ['ann', []] }]);
    expect(usersAt(schedule, '2027-01-04T09:00Z')).toEqual(['ann']);
    expect(usersAt(schedule, '2027-01-05T09:00Z')).toEqual(['dee']);
    expect(usersAt(schedule, '2027-01-06T09:00Z')).toEqual(['ann']);
  });

  test('of hours counts elapsed hours', () => {
    const schedule = scheduleOf([{ every: '12h', from: '2027-03-27T09:00' }]);
    expect(usersAt(schedule, '2027-03-28T07:59Z')).toEqual(['bob']);
    expect(usersAt(schedule, '2027-03-28T08:00Z')).toEqual(['ann']);
  });

  test('of months hands over on the last day of months that are too short, and then on the original day', () => {
    const schedule = scheduleOf([{ every: '1mo', from: '2027-01-31T00:00', users: ['ann', 'bob', 'cem'] }], {
      timezone: 'UTC',
    });
    const changes = listShifts(schedule, at('2027-01-01'), at('2027-06-01')).map(({ from, users }) => [
      new Date(from).toISOString().slice(0, 10),
      ...users,
    ]);
    expect(changes).toEqual([
      ['2027-01-01'],
      ['2027-01-31', 'ann'],
      ['2027-02-28', 'bob'],
      ['2027-03-31', 'cem'],
      ['2027-04-30', 'ann'],
      ['2027-05-31', 'bob'],
    ]);
  });

  test('has no one before its beginning and from its end on', () => {
    const schedule = scheduleOf([{ until: '2027-01-06T09:00' }]);
    expect(usersAt(schedule, '2027-01-04T07:59Z')).toEqual([]);
    expect(usersAt(schedule, '2027-01-06T07:59Z')).toEqual(['bob']);
    expect(usersAt(schedule, '2027-01-06T08:00Z')).toEqual([]);
  });

  test('is restricted to the windows of its layer, of which one over midnight belongs to the day on which it begins', () => {
    const schedule = scheduleOf([{ only: [{ days: ['fri'], from: '18:00', until: '09:00' }], users: ['ann'] }]);
    expect(usersAt(schedule, '2027-01-08T16:59Z')).toEqual([]);
    expect(usersAt(schedule, '2027-01-08T17:00Z')).toEqual(['ann']);
    expect(usersAt(schedule, '2027-01-09T07:59Z')).toEqual(['ann']);
    expect(usersAt(schedule, '2027-01-09T08:00Z')).toEqual([]);
    expect(usersAt(schedule, '2027-01-09T17:00Z')).toEqual([]);
  });
});

describe('layers', () => {
  const nights = { users: ['dee'], only: [{ from: '18:00', until: '09:00' }] };

  test('cover earlier ones where they have someone', () => {
    const schedule = scheduleOf([{ users: [['ann', 'bob']] }, nights]);
    expect(usersAt(schedule, '2027-01-05T12:00Z')).toEqual(['ann', 'bob']);
    expect(whoIsOnCall(schedule, at('2027-01-05T20:00Z'))).toEqual({ users: ['dee'], layers: ['l1'], overrides: [] });
  });

  test('can be added up instead', () => {
    const schedule = scheduleOf([{ users: ['ann'] }, nights], { combine: 'all' });
    expect(usersAt(schedule, '2027-01-05T20:00Z')).toEqual(['ann', 'dee']);
  });
});

describe('an override', () => {
  const span = { from: at('2027-01-05T00:00Z'), until: at('2027-01-06T00:00Z') };
  const during = '2027-01-05T12:00Z';

  test('replaces everyone, or one user if that user is on call', () => {
    const both = [{ users: [['ann', 'bob']] }];
    const changed = (replaces: string | null) =>
      usersAt(scheduleOf(both, { overrides: [{ id: 1, user: 'eve', replaces, ...span }] }), during);
    expect([changed(null), changed('bob'), changed('zoe')]).toEqual([['eve'], ['ann', 'eve'], ['ann', 'bob']]);
  });

  test('that was created later takes precedence', () => {
    const [first, second] = ['eve', 'fay'].map((user, id) => ({ id, user, replaces: null, ...span })) as [
      Override,
      Override,
    ];
    expect(usersAt(scheduleOf([{}], { overrides: [second, first] }), during)).toEqual(['fay']);
  });

  test('ends at its end', () => {
    const schedule = scheduleOf([{ users: ['ann'] }], { overrides: [{ id: 1, user: 'eve', replaces: null, ...span }] });
    expect([usersAt(schedule, '2027-01-05T23:59:59Z'), usersAt(schedule, '2027-01-06T00:00Z')]).toEqual([
      ['eve'],
      ['ann'],
    ]);
  });
});

test('the next user is the one of the next shift with other users', () => {
  const eve = { id: 1, user: 'ann', replaces: null, from: at('2027-01-05T08:00Z'), until: at('2027-01-05T20:00Z') };
  const schedule = scheduleOf([{}], { overrides: [eve] });
  const next = (offset: number) => findTurn(schedule, at('2027-01-04T12:00Z'), offset).shift;
  expect([next(1), next(2)]).toMatchObject([{ users: ['bob'], from: eve.until }, { users: ['ann'] }]);
  expect(findTurn(scheduleOf([{ users: ['ann'] }]), at('2027-01-05T12:00Z'), 1)).toMatchObject({
    users: [],
    shift: undefined,
  });
});

test('a time before the rules were replaced follows the earlier ones, and what both say is one shift', () => {
  const layers = [{ name: 'l0', every: '1d', from: '2027-01-04T09:00', users: ['ann', 'bob'] }];
  const rules = { timezone: 'UTC', combine: 'cover', layers } as const;
  const earlier = { ...rules, layers: [{ ...layers[0]!, users: ['cem'] }], until: at('2027-01-07T12:00Z') };
  const same = { ...rules, until: at('2027-01-09T12:00Z') };
  const schedule = compileSchedule(rules, [], [earlier, same]);
  expect(usersAt(schedule, '2027-01-07T11:59Z')).toEqual(['cem']);
  expect(usersAt(schedule, '2027-01-07T12:00Z')).toEqual(['bob']);
  const shifts = listShifts(schedule, at('2027-01-06T00:00Z'), at('2027-01-10T09:00Z'));
  expect(shifts.map(({ from, users }) => [new Date(from).toISOString().slice(5, 13), ...users])).toEqual([
    ['01-06T00', 'cem'],
    ['01-07T12', 'bob'],
    ['01-08T09', 'ann'],
    ['01-09T09', 'bob'],
  ]);
});

const zones = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Santiago', 'Africa/Cairo', 'Pacific/Chatham', 'UTC'];
const time = fc.integer({ min: 0, max: 23 }).map(hour => `${String(hour).padStart(2, '0')}:30`);
const layer = fc.record(
  {
    name: fc.constant('layer'),
    every: fc.tuple(fc.integer({ min: 1, max: 40 }), fc.constantFrom('h', 'd', 'w', 'mo')).map(parts => parts.join('')),
    from: fc.tuple(fc.constantFrom('2027-01-31', '2027-03-27', '2027-10-30'), time).map(parts => parts.join('T')),
    users: fc.array(fc.constantFrom('ann', 'bob', 'cem'), { minLength: 1, maxLength: 5 }),
    only: fc.array(
      fc.record({ days: fc.subarray(['sat', 'sun', 'mon'] as const, { minLength: 1 }), from: time, until: time }),
      { minLength: 1, maxLength: 3 },
    ),
  },
  { requiredKeys: ['name', 'every', 'from', 'users'] },
);

test('shifts say at every moment what is decided for that moment', () => {
  const begin = at('2027-03-20T00:00Z');
  const end = begin + 300 * dayMs;
  const moments = fc.array(fc.integer({ min: begin, max: end - 1 }), { minLength: 20, maxLength: 20 });
  fc.assert(
    fc.property(
      fc.array(layer, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...zones),
      fc.constantFrom('cover' as const, 'all' as const),
      fc.array(fc.array(layer, { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
      moments,
      (layers, timezone, combine, replaced, instants) => {
        const override = { id: 1, user: 'eve', replaces: 'ann', from: instants[0]!, until: instants[0]! + 30 * hourMs };
        const ends = instants.slice(1, 1 + replaced.length).sort((a, b) => a - b);
        const history = replaced.map((layers, i) => ({ timezone: 'UTC', combine, layers, until: ends[i]! }));
        const schedule = compileSchedule({ timezone, combine, layers }, [override], history);
        const shifts = listShifts(schedule, begin, end);
        for (const [i, shift] of shifts.entries()) expect(shift.from).toBe(shifts[i - 1]?.until ?? begin);
        expect(shifts.at(-1)!.until).toBe(end);
        for (const instant of [...instants, ...ends, ...shifts.map(({ from }) => from)]) {
          const { from: _, until: __, ...decided } = shifts.find(shift => shift.until > instant)!;
          expect(decided).toEqual(whoIsOnCall(schedule, instant));
        }
      },
    ),
    { numRuns: 25 },
  );
});

test('a schedule with 50 layers is decided in less than a millisecond, and a month of it in less than 20', () => {
  const layers = Array.from({ length: 50 }, (_, i) => ({
    ...{ every: '1d', only: [{ from: '18:00', until: '09:00' }] },
    ...{
      from: `2026-01-${String((i % 28) + 1).padStart(2, '0')}T09:00`,
      users: i === 0 ? ['ann', 'bob'] : [`user${i}`],
    },
  }));
  const schedule = scheduleOf(layers, { combine: 'all' });
  const begin = at('2027-03-15T00:00Z');
  // The best of several rounds: a busy neighbor makes the others slower.
  const best = (run: () => void, times: number) => {
    const round = () => costOf(() => Array.from({ length: times }, run));
    return Math.min(...Array.from({ length: 10 }, round)) / times;
  };
  const decision = best(() => whoIsOnCall(schedule, begin + Math.random() * 30 * dayMs), 30);
  const month = best(() => listShifts(schedule, begin, begin + 31 * dayMs), 2);
  const slowness = maxMsFor(Number.POSITIVE_INFINITY) / limitMs;
  expect(decision).toBeLessThan(slowness);
  expect(month).toBeLessThan(20 * slowness);
});
