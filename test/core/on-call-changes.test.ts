import { describe, expect, test } from 'vitest';
import {
  changeLimits,
  findChange,
  findNextLook,
  type PlannedShift,
  planShifts,
} from '../../src/core/oncall/changes.ts';
import { compileSchedule, type Override } from '../../src/core/oncall/schedule.ts';
import { dayMs, hourMs } from '../../src/core/oncall/zone.ts';

/** Ann and Bob take turns of a day, from midnight on. */
const midnight = Date.parse('2027-01-04T00:00:00Z');
const noon = midnight + 12 * hourMs;

function plan(now: number, overrides: Partial<Override>[] = [], users = ['ann', 'bob'], from = now): PlannedShift[] {
  const layer = { name: 'days', every: '1d', from: '2027-01-04T00:00', users };
  const complete = overrides.map((one, id) => ({ id, user: 'eve', replaces: null, from: 0, until: 0, ...one }));
  const schedule = compileSchedule({ timezone: 'UTC', combine: 'cover', layers: [layer] }, complete);
  return planShifts(schedule, from, now);
}

const turn = (n: number) => ({ from: midnight + n * dayMs, until: midnight + (n + 1) * dayMs });

test('shifts are planned for a day more than is compared, and looked at again when they change, once a day at least', () => {
  const shifts = plan(noon);
  expect(shifts.slice(0, 2)).toEqual([
    { from: noon, until: turn(0).until, users: ['ann'] },
    { ...turn(1), users: ['bob'] },
  ]);
  expect(shifts.at(-1)!.until).toBe(noon + (changeLimits.days + 1) * dayMs);
  expect(findNextLook(shifts, noon)).toBe(turn(0).until);
  expect(findNextLook(plan(noon, [], ['ann']), noon)).toBe(noon + dayMs);
});

test('a schedule that changes very often is planned for fewer days', () => {
  const layer = { name: 'hours', every: '1h', from: '2027-01-01T00:00', users: ['ann', 'bob'] };
  const layers = Array.from({ length: 50 }, (_, i) => ({ ...layer, name: `l${i}` }));
  const shifts = planShifts(compileSchedule({ timezone: 'UTC', combine: 'all', layers }), noon, noon);
  expect(shifts.at(-1)!.until).toBeLessThan(noon + 4 * dayMs);
});

describe('a hand-over', () => {
  test('is found at the time at which it was due', () => {
    const now = turn(1).from + 2_000;
    const change = findChange(plan(noon), plan(now, [], undefined, noon), now);
    expect(change).toEqual({ reason: 'hand_over', ...turn(1), leaves: ['ann'], takes_over: ['bob'], changes: [] });
  });

  test('is one, however many were missed, and none if the same users are on call again', () => {
    const now = noon + 3 * dayMs;
    expect(findChange(plan(noon), plan(now, [], undefined, noon), now)).toMatchObject({
      ...turn(3),
      leaves: ['ann'],
      takes_over: ['bob'],
      changes: [],
    });
    const month = noon + 31 * dayMs;
    expect(findChange(plan(noon), plan(month), month)).toMatchObject({ leaves: ['ann'], takes_over: ['bob'] });
    expect(findChange(plan(noon), plan(noon + 30 * dayMs), noon + 30 * dayMs)).toBeUndefined();
  });

  test('by an override that begins now comes with the shifts that it takes later', () => {
    const override = { from: noon, until: noon + dayMs };
    expect(findChange(plan(noon), plan(noon, [override]), noon)).toEqual({
      reason: 'hand_over',
      from: noon,
      until: noon + dayMs,
      leaves: ['ann'],
      takes_over: ['eve'],
      changes: [{ from: turn(1).from, until: noon + dayMs, leaves: ['bob'], takes_over: ['eve'] }],
    });
  });

  test('to no one is one, too', () => {
    const before = plan(noon).map(shift => ({ ...shift, users: ['eve'] }));
    const uncovered = plan(noon).map(shift => ({ ...shift, users: [] }));
    expect(findChange(before, uncovered, noon)).toMatchObject({ leaves: ['eve'], takes_over: [], changes: [] });
  });

  test('is none if only the order of the users differs', () => {
    const together = (users: string[]) => plan(noon).map(shift => ({ ...shift, users }));
    expect(findChange(together(['ann', 'bob']), together(['bob', 'ann']), noon)).toBeUndefined();
  });
});

describe('a change of a later shift', () => {
  test('names who had it and who has it, for each time', () => {
    const taken = plan(noon, [{ from: turn(1).from, until: turn(2).from + hourMs }]);
    const [first, second] = [
      { ...turn(1), leaves: ['bob'], takes_over: ['eve'] },
      { from: turn(2).from, until: turn(2).from + hourMs, leaves: ['ann'], takes_over: ['eve'] },
    ];
    expect(findChange(plan(noon), taken, noon)).toEqual({ reason: 'changed', ...first, changes: [second] });
    expect(findChange(taken, plan(noon), noon)).toMatchObject({ leaves: ['eve'], takes_over: ['bob'] });
  });

  test('is announced within the days ahead only', () => {
    const end = noon + changeLimits.days * dayMs;
    const taken = (from: number) => findChange(plan(noon), plan(noon, [{ from, until: end + dayMs }]), noon);
    expect(taken(end - 1)).toMatchObject({ from: end - 1, changes: [] });
    expect(taken(end)).toBeUndefined();
  });

  test('that is cancelled at the moment at which it would begin is announced to both', () => {
    const [, ...expected] = plan(noon);
    const before = [
      { from: noon - dayMs, until: noon, users: ['bob'] },
      { from: noon, until: turn(0).until, users: ['ann'] },
    ];
    const kept = [{ from: noon - dayMs, until: turn(0).until, users: ['bob'] }, ...expected];
    expect(findChange([...before, ...expected], kept, noon)).toMatchObject({
      reason: 'changed',
      from: noon,
      leaves: ['ann'],
      takes_over: ['bob'],
    });
  });
});
