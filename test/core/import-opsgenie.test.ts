import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileExpression } from '../../src/core/expressions/expressions.ts';
import { compareShifts } from '../../src/core/import/check.ts';
import { toCondition } from '../../src/core/import/opsgenie/conditions.ts';
import { convertOpsgenie } from '../../src/core/import/opsgenie/convert.ts';
import type { OpsgenieExport } from '../../src/core/import/opsgenie/resources.ts';
import { compileSchedule } from '../../src/core/oncall/schedule.ts';
import { readCreation } from '../../src/core/sources/presets/opsgenie.ts';
import { type Schedule, timelineOf } from '../support/opsgenie.ts';

const names = ['ann', 'bob', 'cem', 'dee'];
const user = (name: string) => ({ type: 'user', id: name, username: `${name}@acme.test` });
const dayMs = 86_400_000;
const autumn = Date.parse('2026-10-01T00:00Z');
const spring = Date.parse('2027-02-20T00:00Z');

type Rotation = NonNullable<Schedule['rotations']>[number];
const rotationOf = (rotation: Partial<Rotation>): Rotation => ({
  id: 'R1',
  name: 'Rotation',
  startDate: '2026-08-03T07:00:00Z',
  type: 'weekly',
  length: 1,
  participants: [user('ann'), user('bob'), user('cem')],
  ...rotation,
});

function exportOf(parts: Partial<OpsgenieExport>): OpsgenieExport {
  return {
    source: 'opsgenie',
    version: 1,
    fetched_at: '2026-10-01T00:00:00Z',
    users: names.map(name => ({ id: name, username: `${name}@acme.test` })),
    teams: [],
    schedules: [],
    escalations: [],
    integrations: [],
    forwarding_rules: [],
    policies: [],
    maintenance: [],
    unread: [],
    ...parts,
  };
}

const options = { now: autumn, project: 'acme/on-call', channels: ['personal'] };
const textsOf = ({ notes }: ReturnType<typeof convertOpsgenie>) => notes.map(one => `${one.subject}: ${one.reason}`);

/** Returns what differs within 90 days, and the notes. */
function check(rotations: Rotation[], more: Partial<Schedule> = {}, now = autumn, parts: Partial<OpsgenieExport> = {}) {
  const schedule: Schedule = { id: 'S', name: 'S', timezone: 'Europe/Berlin', enabled: true, rotations, ...more };
  const timeline = timelineOf(schedule, parts.forwarding_rules ?? [], now, now + 90 * dayMs);
  const converted = convertOpsgenie(exportOf({ ...parts, schedules: [{ ...schedule, timeline }] }), {
    ...options,
    now,
  });
  const [made] = converted.schedules;
  if (!made) return { differences: undefined, notes: textsOf(converted) };
  const { from, until, shifts } = made.expected!;
  const compiled = compileSchedule({ combine: 'cover', ...made.entry }, made.overrides);
  return { differences: compareShifts(compiled, shifts, from, until), notes: textsOf(converted), shifts };
}

const timeOfDay = (startHour: number, startMin: number, endHour: number, endMin: number) => ({
  type: 'time-of-day',
  restriction: { startHour, startMin, endHour, endMin },
});
const ofWeek = (...restrictions: [startDay: string, startHour: number, endDay: string, endHour: number][]) => ({
  type: 'weekday-and-time-of-day',
  restrictions: restrictions.map(([startDay, startHour, endDay, endHour]) => ({
    ...{ startDay, startHour, startMin: 30, endDay, endHour, endMin: 0 },
  })),
});
const none = { type: 'none' };

describe('a schedule of Opsgenie', () => {
  test.each<[string, Partial<Rotation>[]]>([
    ['with turns of a week', [{}]],
    ['with turns of twelve hours', [{ type: 'hourly', length: 12 }]],
    ['that is restricted to nights', [{ type: 'daily', timeRestriction: timeOfDay(22, 0, 6, 30) }]],
    ['that is restricted to a whole day', [{ type: 'daily', timeRestriction: timeOfDay(0, 0, 24, 0) }]],
    ['whose restriction begins in the hour that clocks skip', [{ timeRestriction: timeOfDay(2, 30, 10, 0) }]],
    [
      'that is restricted to weekdays and weekends',
      [
        { timeRestriction: ofWeek(['monday', 8, 'friday', 18]) },
        {
          id: 'R2',
          name: 'Weekend',
          participants: [user('dee')],
          timeRestriction: ofWeek(['friday', 17, 'monday', 9]),
        },
      ],
    ],
    [
      'with two rotations of the same name',
      [{}, { id: 'R2', type: 'daily', participants: [user('dee'), user('ann')] }],
    ],
    ['with turns of no one', [{ participants: [user('ann'), none, user('bob'), none] }]],
    ['that ends', [{ endDate: '2026-11-11T11:00:00Z' }, { id: 'R2', startDate: '2026-11-11T11:00:00Z' }]],
    ['with a disabled rotation', [{}, { id: 'R2', type: 'daily', participants: [user('dee')], enabled: false }]],
    [
      'that hands over at the hour that clocks show twice',
      [{ type: 'hourly', startDate: '2025-10-26T01:30:00Z', length: 7 }],
    ],
  ])('%s has the same people on call', (_, rotations) => {
    for (const now of [autumn, spring]) {
      const { differences, shifts } = check(rotations.map(rotationOf), {}, now);
      expect(shifts!.length).toBeGreaterThan(0);
      expect(differences).toEqual([]);
    }
  });

  test('has the same overrides and forwardings', () => {
    const rotations = [
      rotationOf({}),
      rotationOf({ id: 'R2', name: 'Nights', participants: [user('dee')], timeRestriction: timeOfDay(20, 0, 8, 0) }),
    ];
    const override = (alias: string, name: string, day: string, more: object = {}) => ({
      ...{
        alias,
        user: user(name),
        startDate: `2026-10-${day}T10:00:00Z`,
        endDate: `2026-10-${day}T23:00:00Z`,
        ...more,
      },
    });
    const { differences, notes } = check(
      rotations,
      {
        overrides: [
          override('all', 'cem', '12'),
          override('one', 'dee', '20', { rotations: [{ id: 'R1', name: 'Rotation' }] }),
        ],
      },
      autumn,
      {
        forwarding_rules: [
          {
            fromUser: user('bob'),
            toUser: user('ann'),
            startDate: '2026-11-01T00:00:00Z',
            endDate: '2026-11-20T00:00:00Z',
          },
        ],
      },
    );
    expect(differences).toEqual([]);
    expect(notes).toContain(
      'schedule S, override all: enter it: belfry cover acme/on-call/s cem@acme.test --from 2026-10-12T10:00:00Z --until 2026-10-12T23:00:00Z',
    );
    expect(notes.join('\n')).toMatch(
      /override one: enter it: belfry cover acme\/on-call\/s dee@acme.test --instead-of \w+@/,
    );
    expect(notes.join('\n')).toContain(
      'forwarding: enter it: belfry cover acme/on-call/s ann@acme.test --instead-of bob@',
    );
  });

  test('of a team has all of its members on call, and of an escalation those whom it notifies first', () => {
    const team = { id: 'T1', name: 'Ops', members: [{ user: user('ann') }, { user: user('bob') }] };
    const rule = (name: string, timeAmount: number) => ({
      recipient: user(name),
      delay: { timeAmount, timeUnit: 'minutes' },
    });
    const escalation = { id: 'E1', name: 'Page', rules: [rule('dee', 5), rule('cem', 0)] };
    const participants = [
      { type: 'team', id: 'T1', name: 'Ops' },
      { type: 'escalation', id: 'E1', name: 'Page' },
    ];
    const { differences, shifts, notes } = check([rotationOf({ participants })], {}, autumn, {
      teams: [team],
      escalations: [escalation],
    });
    expect(differences).toEqual([]);
    expect(new Set(shifts!.map(one => one.user))).toEqual(new Set(['ann@acme.test', 'bob@acme.test', 'cem@acme.test']));
    expect(notes.join('\n')).toContain('its participant Ops is a team');
  });

  test.each<[string, Partial<Rotation>, string]>([
    ['of an unknown type', { type: 'lunar' }, 'its turns are of the type lunar, which is not known'],
    ['that has ended', { endDate: '2026-09-01T00:00:00Z' }, 'it has ended'],
    ['without a date', { startDate: 'soon' }, 'its start, soon, is not a date'],
    ['of users who are gone', { participants: [user('zoe')] }, 'zoe@acme.test, of the type user, does not exist'],
    ['with a length that is none', { length: 0.5 }, 'its length, 0.5, is not between'],
  ])('names a rotation %s with the reason', (_, rotation, reason) => {
    const { differences, notes } = check(
      [rotationOf(rotation)].filter(one => one.length !== 0.5 && one.startDate !== 'soon'),
    );
    const data = exportOf({ schedules: [{ id: 'S', name: 'S', timezone: 'UTC', rotations: [rotationOf(rotation)] }] });
    expect(differences).toBeUndefined();
    expect(notes.join('\n')).toContain('steps that name it are left out');
    expect(textsOf(convertOpsgenie(data, options)).join('\n')).toContain(reason);
  });

  test('whose restriction is of an unknown type is on call at all times, with a note', () => {
    const { notes } = check([rotationOf({})]);
    expect(notes).toEqual([]);
    const odd = rotationOf({ timeRestriction: { type: 'moon-phase' } });
    const data = exportOf({ schedules: [{ id: 'S', name: 'S', timezone: 'UTC', rotations: [odd] }] });
    const converted = convertOpsgenie(data, options);
    expect(converted.schedules[0]!.entry.layers[0]).not.toHaveProperty('only');
    expect(textsOf(converted).join('\n')).toContain(
      'of the type moon-phase, cannot be read: it is on call at all times',
    );
  });

  const halfHours = (first: string, most: number) =>
    fc
      .integer({ min: 0, max: most })
      .map(n => new Date(Date.parse(first) + n * 1_800_000).toISOString().replace('.000Z', 'Z'));
  const weekday = fc.constantFrom('monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday');
  const [hour, minute] = [fc.integer({ min: 0, max: 24 }), fc.constantFrom(0, 30)];
  const times = { startHour: fc.integer({ min: 0, max: 23 }), startMin: minute, endHour: hour, endMin: minute };
  const valid = <T extends { endHour: number; endMin: number }>(one: T) => ({
    ...one,
    endMin: one.endHour === 24 ? 0 : one.endMin,
  });
  const restriction = fc.oneof(
    fc.record(times).map(one => ({ type: 'time-of-day', restriction: valid(one) })),
    fc
      .array(fc.record({ ...times, startDay: weekday, endDay: weekday }).map(valid), { minLength: 1, maxLength: 3 })
      .map(restrictions => ({ type: 'weekday-and-time-of-day', restrictions })),
  );
  const participant = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...names).map(user) },
    { weight: 1, arbitrary: fc.constant(none) },
  );
  const rotation = fc.record({
    startDate: halfHours('2026-03-01T00:00Z', 400 * 48),
    endDate: fc.option(halfHours('2026-11-01T00:00Z', 200 * 48), { nil: undefined, freq: 4 }),
    type: fc.constantFrom('hourly', 'daily', 'weekly'),
    length: fc.integer({ min: 1, max: 14 }),
    participants: fc.array(participant, { minLength: 1, maxLength: 5 }),
    timeRestriction: fc.option(restriction, { nil: undefined }),
  });
  const schedule = fc.record({
    rotations: fc.array(rotation, { minLength: 1, maxLength: 4 }),
    timezone: fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
      'America/Santiago',
    ),
    now: fc.constantFrom(autumn, spring),
  });
  /** What may differ, as the notes say. */
  const explained = /clocks show twice/;

  test('with any rotations has the same people on call', { tags: ['sweep'] }, () => {
    let [compared, found] = [0, 0];
    fc.assert(
      fc.property(schedule, ({ rotations, timezone, now }) => {
        const own = rotations
          .filter(({ startDate, endDate }) => !endDate || endDate > startDate)
          .map((one, i) => ({ ...one, id: `R${i}`, name: `R${i}` }) as Rotation);
        const { differences, notes, shifts } = check(own, { timezone }, now);
        if (!differences || explained.test(notes.join('\n'))) return;
        compared++;
        found += shifts!.length;
        expect(differences, JSON.stringify({ own, timezone, now })).toEqual([]);
      }),
      { numRuns: 200, seed: 20_261_119 },
    );
    expect(compared).toBeGreaterThan(150);
    expect(found).toBeGreaterThan(5_000);
  });
});

describe('conditions of Opsgenie', () => {
  const condition = (field: string, operation: string, expectedValue?: string, more: object = {}) => ({
    ...{ field, operation, ...(expectedValue !== undefined && { expectedValue }), ...more },
  });
  const { context, title } = readCreation({
    message: 'Disk of db1 is full',
    priority: 'P2',
    tags: ['db', 'disk'],
    details: { region: 'eu-west' },
    source: 'zabbix',
    responders: [{ type: 'team', name: 'Ops' }],
  });
  const alert = { ...context, title, source: 'opsgenie' };

  test.each([
    [condition('message', 'starts-with', 'Disk'), true],
    [condition('message', 'contains', 'web', { not: true }), true],
    [condition('message', 'ends-with', 'db1'), false],
    [condition('source', 'equals', 'zabbix'), true],
    [condition('description', 'contains', 'x'), false],
    [condition('entity', 'is-empty'), true],
    [condition('tags', 'contains', 'db'), true],
    [condition('actions', 'is-empty'), true],
    [condition('priority', 'greater-than', 'P3'), true],
    [condition('priority', 'less-than', 'P2'), false],
    [condition('extra-properties', 'equals', 'eu-west', { key: 'region' }), true],
    [condition('extra-properties', 'is-empty', undefined, { key: 'region' }), false],
    [condition('details', 'contains-key', 'region'), true],
    [condition('details', 'contains-value', 'us'), false],
    [condition('responders', 'contains', 'Ops'), true],
  ])('%j is translated, and for an alert it is %s', (one, expected) => {
    const when = toCondition({ type: 'match-all-conditions', conditions: [one] })!;
    expect(compileExpression(when)(alert).value).toBe(expected);
    const any = toCondition({ type: 'match-any-condition', conditions: [one, condition('alias', 'equals', 'no')] })!;
    expect(compileExpression(any)(alert).value).toBe(expected);
  });

  test.each([
    [{ type: 'match-all-conditions', conditions: [condition('message', 'matches', '.*db.*')] }],
    [{ type: 'match-all-conditions', conditions: [condition('message', 'equals', "it's")] }],
    [{ type: 'match-all-conditions', conditions: [condition('message', 'equals', '\x24{env:HOME}')] }],
    [{ type: 'match-all-conditions', conditions: [condition('phase', 'equals', 'x')] }],
    [{ type: 'match-some', conditions: [condition('message', 'equals', 'x')] }],
    [{ type: 'match-any-condition', conditions: [] }],
  ])('%j is not translated', criteria => {
    expect(toCondition(criteria)).toBeUndefined();
  });
});
