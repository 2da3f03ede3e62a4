import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareShifts } from '../../src/core/import/check.ts';
import type { OnCallShift } from '../../src/core/import/grafana-oncall/resources.ts';
import { toCondition } from '../../src/core/import/grafana-oncall/routes.ts';
import { toLayers } from '../../src/core/import/grafana-oncall/shifts.ts';
import { compileSchedule } from '../../src/core/oncall/schedule.ts';
import { finalShifts } from '../support/grafana-oncall.ts';

const users = ['ann', 'bob', 'cem', 'dee'];
const emails = new Map(users.map(user => [user, user]));
const now = Date.parse('2026-11-19T00:00Z');
const until = now + 90 * 86_400_000;

function shiftOf(shift: Partial<OnCallShift>): OnCallShift {
  const rolling = { type: 'rolling_users', rolling_users: [['ann'], ['bob']], interval: 1 };
  return { id: 'O1', name: 'Shift', start: '2026-08-03T09:00:00', duration: 86_400, ...rolling, ...shift };
}

/** Returns what differs between OnCall and the layers, or why there are none. */
function check(shift: OnCallShift, timezone = 'UTC', isWeb = true, span = [now, until] as const) {
  const made = toLayers(shift, { isWeb, timezone, now: span[0], emails });
  if ('refused' in made) return made.refused;
  const layers = 'layers' in made ? made.layers : [];
  const schedule = compileSchedule({ timezone, combine: 'all', layers });
  return compareShifts(
    schedule,
    finalShifts([{ ...shift, time_zone: timezone }], { isWeb, timezone }, ...span),
    ...span,
  );
}

describe('a shift of Grafana OnCall', () => {
  test.each<[string, Partial<OnCallShift>]>([
    ['of a week', { frequency: 'weekly', duration: 7 * 86_400, week_start: 'MO' }],
    ['of two weeks', { frequency: 'weekly', interval: 2, duration: 14 * 86_400, week_start: 'SU' }],
    ['that begins with another user', { frequency: 'daily', start_rotation_from_user_index: 1 }],
    ['of several users together', { frequency: 'daily', rolling_users: [['ann', 'dee'], ['bob'], ['cem', 'ann']] }],
    ['with a turn of no one', { frequency: 'daily', rolling_users: [['ann'], [], ['bob']] }],
    ['at night', { frequency: 'daily', start: '2026-08-03T22:00:00', duration: 8 * 3_600 }],
    [
      'on weekdays',
      { frequency: 'weekly', by_day: ['MO', 'TU', 'WE', 'TH', 'FR'], week_start: 'MO', duration: 8 * 3_600 },
    ],
    [
      'over the weekend, across the beginning of the week',
      { frequency: 'weekly', by_day: ['FR'], start: '2026-08-07T18:00:00', week_start: 'SU', duration: 62 * 3_600 },
    ],
    ['on some days that pass it on', { frequency: 'daily', by_day: ['MO', 'WE', 'FR'], duration: 6 * 3_600 }],
    [
      'on some days, two for each',
      {
        frequency: 'daily',
        interval: 2,
        by_day: ['TU', 'TH', 'SA'],
        duration: 86_400,
        rolling_users: users.map(one => [one]),
      },
    ],
    ['of twelve hours', { frequency: 'hourly', interval: 12, duration: 12 * 3_600 }],
    ['of a month, on weekdays', { frequency: 'monthly', by_day: ['MO', 'TU', 'FR'], duration: 3_600 }],
    ['every week of a month for one user', { frequency: 'monthly', duration: 31 * 86_400, rolling_users: [['cem']] }],
    [
      'that was changed',
      { frequency: 'weekly', week_start: 'MO', duration: 7 * 86_400, rotation_start: '2026-11-25T00:00:00' },
    ],
    ['that ends', { frequency: 'daily', until: '2026-12-03T12:00:00' }],
    [
      'that ends within a week',
      { frequency: 'weekly', by_day: ['MO', 'WE', 'FR'], week_start: 'MO', until: '2026-12-31T23:59:59' },
    ],
    [
      'once, across the end of a month',
      { type: 'single_event', start: '2026-11-29T10:00:00', duration: 5 * 86_400, users: ['ann'] },
    ],
    [
      'on each of some days',
      { type: 'recurrent_event', frequency: 'weekly', by_day: ['SA', 'SU'], week_start: 'MO', users: ['bob', 'cem'] },
    ],
  ])('%s is on call at the same times', (_, shift) => {
    expect(check(shiftOf(shift))).toEqual([]);
    expect(check(shiftOf(shift), 'Asia/Kolkata', false)).toEqual([]);
  });

  test('with any rule that is carried over is on call at the same times', { tags: ['sweep'] }, () => {
    const arbitrary = fc.record({
      type: fc.constantFrom('rolling_users', 'rolling_users', 'recurrent_event'),
      start: fc.integer({ min: 0, max: 150 * 48 }),
      begins: fc.integer({ min: 0, max: 100 * 48 }),
      hours: fc.constantFrom(1, 8, 12, 15, 24, 36, 48, 62, 120, 168, 336, 744),
      frequency: fc.constantFrom('hourly', 'daily', 'weekly', 'monthly'),
      interval: fc.integer({ min: 1, max: 3 }),
      by_day: fc.option(fc.uniqueArray(fc.constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'), { minLength: 1 })),
      week_start: fc.constantFrom('MO', 'SU', 'WE'),
      rolling_users: fc.array(fc.uniqueArray(fc.constantFrom(...users), { minLength: 1, maxLength: 2 }), {
        minLength: 1,
        maxLength: 4,
      }),
      until: fc.option(fc.integer({ min: 0, max: 250 * 24 })),
    });
    const local = (halfHours: number) =>
      new Date(Date.parse('2026-06-01T00:00Z') + halfHours * 1_800_000).toISOString().slice(0, 19);
    let carried = 0;
    fc.assert(
      fc.property(arbitrary, fc.constantFrom('UTC', 'Asia/Kolkata'), fc.boolean(), (one, timezone, isWeb) => {
        const shift = shiftOf({
          ...one,
          start: local(one.start),
          // Within the turn in which it begins, a layer is on call from the beginning.
          rotation_start: local(Math.max(one.start, Math.min(one.start + one.begins, 100 * 48))),
          duration: one.hours * 3_600,
          until: one.until === null ? null : local(one.until * 2),
          users: one.rolling_users[0]!,
        });
        const found = check(shift, timezone, isWeb);
        if (typeof found === 'string') return;
        carried++;
        expect(found, JSON.stringify({ shift, timezone, isWeb })).toEqual([]);
      }),
      { numRuns: 400 },
    );
    expect(carried).toBeGreaterThan(100);
  });

  test.each<[string, Partial<OnCallShift>, string]>([
    ['in some months only', { frequency: 'daily', by_month: [7] }, 'by_month'],
    ['on the last of each month', { frequency: 'monthly', by_monthday: [-1] }, 'by_monthday'],
    ['on the 31st', { frequency: 'monthly', start: '2026-08-31T09:00:00' }, 'a day that not every month has'],
    ['every second week on weekdays', { frequency: 'weekly', interval: 2, by_day: ['MO'] }, 'no empty turns'],
    ['with turns that overlap', { frequency: 'daily', duration: 2 * 86_400 }, 'its turns overlap'],
    ['without users', { frequency: 'daily', rolling_users: [] }, 'it has no users'],
    ['of users who are gone', { frequency: 'daily', rolling_users: [['yan'], ['zoe']] }, 'no user who still exists'],
  ])('%s is refused with the reason', (_, shift, reason) => {
    expect(check(shiftOf(shift))).toContain(reason);
  });

  test('that overlaps itself at the end of a short month differs there', () => {
    const found = check(shiftOf({ frequency: 'monthly', start: '2026-08-01T00:00:00', duration: 31 * 86_400 }));
    const [from, to] = [Date.parse('2026-12-01T00:00Z'), Date.parse('2026-12-02T00:00Z')];
    expect(found).toEqual([{ from, until: to, source: ['ann', 'bob'], imported: ['ann'] }]);
  });

  test('differs for the hour that a change of the clocks adds, because its events last as long as ever', () => {
    const span = [Date.parse('2027-03-20T00:00Z'), Date.parse('2027-04-20T00:00Z')] as const;
    const found = check(shiftOf({ frequency: 'daily' }), 'Europe/Berlin', false, span);
    const [from, to] = [Date.parse('2027-03-28T07:00Z'), Date.parse('2027-03-28T08:00Z')];
    expect(found).toMatchObject([{ from, until: to, source: ['ann', 'bob'] }]);
  });
});

describe('a route of Grafana OnCall', () => {
  test.each<[string, string, 'alertmanager' | 'formatted' | undefined, string | undefined]>([
    ['regex', '"severity": "critical"', 'alertmanager', "labels.severity == 'critical'"],
    [
      'regex',
      '"region": "(us-east|us-west)"',
      'alertmanager',
      "labels.region == 'us-east' || labels.region == 'us-west'",
    ],
    ['regex', 'us-(east|west)', 'alertmanager', undefined],
    ['jinja2', '{{ payload.commonLabels.severity == "page" }}', 'alertmanager', "labels.severity == 'page'"],
    [
      'jinja2',
      '{{ payload.labels.team == "db" and payload.alerts[0].labels["env"] != "test" }}',
      'alertmanager',
      "labels.team == 'db' && labels.env != 'test'",
    ],
    ['jinja2', "{{ payload.get('env') == 'prod' }}", 'formatted', "payload.env == 'prod'"],
    ['jinja2', "{{ payload.severity == 'P1' }}", undefined, undefined],
    ['jinja2', '{{ "db" in payload.title }}', 'formatted', undefined],
    ['jinja2', "{{ payload.env == '\x24{env:HOME}' }}", 'formatted', undefined],
    ['labels', '', 'alertmanager', undefined],
  ])('of the type %s, %s, becomes the condition of a source (%s)', (routing_type, routing_regex, use, expected) => {
    expect(toCondition({ routing_type, routing_regex }, use)).toBe(expected);
  });
});
