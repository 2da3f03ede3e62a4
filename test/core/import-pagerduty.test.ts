import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareShifts } from '../../src/core/import/check.ts';
import type { ImportedSchedule } from '../../src/core/import/imported.ts';
import type {
  PagerDutyEvent,
  PagerDutyLayer,
  PagerDutyRestriction,
} from '../../src/core/import/pagerduty/resources.ts';
import { type ScheduleContext, toSchedule } from '../../src/core/import/pagerduty/schedules.ts';
import { toShiftSchedule } from '../../src/core/import/pagerduty/shift-schedules.ts';
import { compileSchedule } from '../../src/core/oncall/schedule.ts';
import { type Computed, computedShifts, finalSchedule, type Interval, type Rotations } from '../support/pagerduty.ts';

const people = ['ann', 'bob', 'cem', 'dee'];
const emails = new Map(people.map(user => [user, user]));
const now = Date.parse('2026-11-19T00:00Z');
/** Without a change of the clocks, and with one. */
const winter = { from: now, until: now + 90 * 86_400_000 };
const spring = { from: Date.parse('2027-02-10T00:00Z'), until: Date.parse('2027-05-11T00:00Z') };
const iso = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');

interface Found {
  /** What differs from PagerDuty's shifts; undefined if nothing is carried over. */
  differences: object[] | undefined;
  notes: string[];
  layers: NonNullable<ImportedSchedule['entry']['layers']>;
}

function convert(
  make: (context: ScheduleContext) => ImportedSchedule | undefined,
  computed: Computed[],
  span: Interval,
): Found {
  const notes: string[] = [];
  const note = (subject: string, reason: string) => void notes.push(`${subject}: ${reason}`);
  const made = make({ now: span.from, project: 'acme/on-call', channels: ['personal'], emails, note });
  if (!made) return { differences: undefined, notes, layers: [] };
  const compiled = compileSchedule({ combine: 'cover', ...made.entry }, made.overrides);
  return { differences: compareShifts(compiled, computed, span.from, span.until), notes, layers: made.entry.layers };
}

const finalOf = (computed: Computed[], span: Interval) => ({
  from: iso(span.from),
  until: iso(span.until),
  shifts: computed.map(({ user, from, until, rotation }) => ({
    user,
    from: iso(from),
    until: iso(until),
    rotation: rotation ?? null,
  })),
});

function layerOf(layer: Partial<PagerDutyLayer> & { who?: string[] }): PagerDutyLayer {
  const { who = ['ann', 'bob', 'cem'], ...own } = layer;
  const start = '2026-08-03T09:00:00Z';
  const users = who.map(id => ({ user: { id } }));
  const times = { start, rotation_virtual_start: start, rotation_turn_length_seconds: 86_400 };
  return { id: 'L', name: 'Layer', ...times, users, ...own };
}

type Layered = Parameters<typeof finalSchedule>[0];

/** `layers` as the API lists them: the upper one first. */
function checkLayers(layers: PagerDutyLayer[], more: Partial<Layered> = {}, span: Interval = winter): Found {
  const layered = { zone: 'UTC', layers, ...more };
  const computed = finalSchedule(layered, span);
  const final = finalOf(computed, span);
  const schedule = { id: 'S', name: 'Primary', time_zone: layered.zone, schedule_layers: layers, overrides: [], final };
  return convert(context => toSchedule(schedule, 'primary', context), computed, span);
}

const office: PagerDutyRestriction = {
  type: 'daily_restriction',
  start_time_of_day: '09:00:00',
  duration_seconds: 32_400,
};
const weekend: PagerDutyRestriction = {
  type: 'weekly_restriction',
  start_time_of_day: '17:00:00',
  start_day_of_week: 5,
  duration_seconds: 64 * 3_600,
};

describe('a schedule of layers', () => {
  test.each<[string, PagerDutyLayer[]]>([
    ['of days', [layerOf({})]],
    ['of weeks', [layerOf({ rotation_turn_length_seconds: 604_800 })]],
    ['of hours', [layerOf({ rotation_turn_length_seconds: 12 * 3_600 })]],
    [
      'of parts of a day for an even number of users',
      [layerOf({ rotation_turn_length_seconds: 8 * 3_600, who: people })],
    ],
    ['in the hours of an office', [layerOf({ restrictions: [office] })]],
    ['of hours in those of an office', [layerOf({ rotation_turn_length_seconds: 6 * 3_600, restrictions: [office] })]],
    ['at nights', [layerOf({ restrictions: [{ ...office, start_time_of_day: '22:00:00' }] })]],
    ['over the weekend', [layerOf({ rotation_turn_length_seconds: 604_800, restrictions: [weekend] })]],
    ['with a layer for the weekend above', [layerOf({ restrictions: [weekend], who: ['dee'] }), layerOf({})]],
    [
      'of one user, whatever the length of the turns',
      [layerOf({ who: ['cem'], rotation_turn_length_seconds: 50_000 })],
    ],
    [
      'that began in the middle of a turn',
      [layerOf({ start: '2026-10-07T15:00:00Z', rotation_turn_length_seconds: 604_800 })],
    ],
    [
      'that begins in the middle of a turn',
      [layerOf({ start: '2026-12-09T15:00:00Z', rotation_turn_length_seconds: 604_800 }), layerOf({ who: ['dee'] })],
    ],
    ['that was moved before its virtual start', [layerOf({ start: '2026-07-01T10:00:00Z' })]],
    ['that ends at the end of a month', [layerOf({ end: '2026-12-31T23:00:00Z' }), layerOf({ who: ['dee'] })]],
    [
      'that ends within its first turn',
      [layerOf({ start: '2026-12-09T15:00:00Z', end: '2026-12-09T18:00:00Z' }), layerOf({ who: ['dee'] })],
    ],
  ])('%s has the same shifts, also where the clocks change', (_, layers) => {
    for (const [zone, span] of [
      ['Europe/Berlin', winter],
      ['America/New_York', spring],
    ] as const) {
      const { differences, notes } = checkLayers(layers, { zone }, span);
      expect({ zone, differences, notes: notes.filter(one => !one.includes('ended')) }).toEqual({
        zone,
        differences: [],
        notes: [],
      });
    }
  });

  test('follows the clocks or elapsed hours, as the shifts of PagerDuty do', () => {
    for (const clock of ['local', 'elapsed'] as const) {
      for (const hours of [8, 12, 24, 168]) {
        const layer = layerOf({ rotation_turn_length_seconds: hours * 3_600 });
        const { differences } = checkLayers([layer], { zone: 'America/New_York', clock }, spring);
        expect({ clock, hours, differences }).toEqual({ clock, hours, differences: [] });
      }
    }
  });

  test('is read in the order that PagerDuty has computed its shifts in', () => {
    const layers = [layerOf({ who: ['ann'] }), layerOf({ who: ['bob'], restrictions: [office] })];
    const computed = finalSchedule({ layers: layers.toReversed(), zone: 'UTC' }, winter);
    const schedule = {
      id: 'S',
      name: 'S',
      time_zone: 'UTC',
      schedule_layers: layers,
      overrides: [],
      final: finalOf(computed, winter),
    };
    const { differences } = convert(context => toSchedule(schedule, 's', context), computed, winter);
    expect(differences).toEqual([]);
  });

  test.each<[string, Partial<PagerDutyLayer> & { who?: string[] }, string]>([
    ['without users', { who: [] }, 'it has no users'],
    ['of a user who is gone', { who: ['ann', 'zoe'] }, 'no user who still exists'],
    ['with turns of no length', { rotation_turn_length_seconds: 0 }, 'is not positive'],
    ['with turns of 7 minutes', { rotation_turn_length_seconds: 420 }, 'neither whole hours nor parts of a day'],
    [
      'with an unknown restriction',
      { restrictions: [{ ...office, type: 'monthly_restriction' }] },
      'monthly_restriction',
    ],
    [
      'with a weekly restriction without a day',
      { restrictions: [{ ...office, type: 'weekly_restriction' }] },
      'no day of the week',
    ],
    ['that is restricted from noon on', { restrictions: [{ ...office, start_time_of_day: 'noon' }] }, 'noon'],
  ])('leaves out a layer %s, with the reason', (_, layer, reason) => {
    const schedule = { id: 'S', name: 'S', time_zone: 'UTC', schedule_layers: [layerOf(layer)], overrides: [] };
    const { differences, notes } = convert(context => toSchedule(schedule, 's', context), [], winter);
    expect(differences).toBeUndefined();
    expect(notes[0]).toContain(reason);
    expect(notes.at(-1)).toContain('it has no layers that can be carried over: steps that name it are left out');
  });

  test('notes turns that cannot follow the clocks', () => {
    const { differences, notes } = checkLayers(
      [layerOf({ rotation_turn_length_seconds: 36 * 3_600 })],
      { zone: 'America/New_York' },
      spring,
    );
    expect(differences).not.toEqual([]);
    expect(notes).toEqual([expect.stringContaining('its turns are elapsed hours here')]);
  });

  test('with any layers has the same shifts, or a note', { tags: ['sweep'] }, () => {
    const hours = (most: number) => fc.integer({ min: 0, max: most }).map(half => half * 1_800_000);
    const restriction = fc.record({
      type: fc.constantFrom('daily_restriction', 'weekly_restriction'),
      start_time_of_day: fc.constantFrom('00:00:00', '08:30:00', '09:00:00', '17:00:00', '22:00:00'),
      start_day_of_week: fc.integer({ min: 1, max: 7 }),
      duration_seconds: fc.constantFrom(8, 9, 14, 24, 48, 64, 168).map(one => one * 3_600),
    });
    const layer = fc.record({
      virtual: fc.integer({ min: -200, max: 60 }),
      clock: fc.constantFrom('T00:00', 'T08:30', 'T09:00', 'T17:00', 'T22:00'),
      start: hours(220 * 48),
      end: fc.option(hours(400 * 48)),
      length: fc.constantFrom(4, 8, 12, 24, 24, 36, 48, 72, 168, 168, 336, 24 * 30, 24 * 365),
      who: fc.array(fc.constantFrom(...people), { minLength: 1, maxLength: 5 }),
      restrictions: fc.array(restriction, { maxLength: 2 }),
    });
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe');
    const kinds = fc.constantFrom<'local' | 'elapsed'>('local', 'local', 'elapsed');
    let same = 0;
    fc.assert(
      fc.property(
        fc.array(layer, { minLength: 1, maxLength: 4 }),
        zones,
        kinds,
        fc.constantFrom(winter, spring),
        (all, zone, clock, span) => {
          const layers = all.map(one => {
            const virtual = Date.parse(`2026-09-01${one.clock}Z`) + one.virtual * 86_400_000;
            // Whole half hours in every zone.
            const start = Date.parse('2026-06-01T00:00Z') + one.start;
            return layerOf({
              start: iso(start),
              end: one.end === null ? null : iso(start + one.end),
              rotation_virtual_start: iso(virtual),
              rotation_turn_length_seconds: one.length * 3_600,
              restrictions: one.restrictions,
              who: one.who,
            });
          });
          const found = checkLayers(layers, { zone, clock }, span);
          const notes = found.notes.filter(one => !one.includes('have ended'));
          if (notes.length > 0) return;
          same++;
          expect(found.differences, JSON.stringify({ layers, zone, clock })).toEqual([]);
        },
      ),
      { numRuns: 400, seed: 20_261_119 },
    );
    expect(same).toBeGreaterThan(200);
  });
});

const strategy = (type: string, members: string[], shifts_per_member: number | null = null) => ({
  type: `${type}_member_assignment_strategy`,
  members: members.map(user_id => ({ type: 'user_member', user_id })),
  shifts_per_member,
});

/** From 3 August 2026, a Monday, at 09:00 in UTC. */
function eventOf(rule: string, hours: number, event: Partial<PagerDutyEvent> = {}): PagerDutyEvent {
  const start = Date.parse('2026-08-03T09:00:00Z');
  return {
    id: 'E',
    name: 'Event',
    start_time: { date_time: iso(start), time_zone: null },
    end_time: { date_time: iso(start + hours * 3_600_000), time_zone: null },
    effective_since: iso(start),
    recurrence: [`RRULE:${rule}`],
    assignment_strategy: strategy('rotating', ['ann', 'bob', 'cem'], 1),
    ...event,
  };
}

function checkEvents(events: PagerDutyEvent[], more: Partial<Rotations> = {}, span: Interval = winter): Found {
  const rotations = events.map((event, i) => ({ id: `R${i}`, events: [event] }));
  const source = { zone: 'UTC', rotations, ...more };
  const computed = computedShifts(source, span);
  const final = finalOf(computed, span);
  const lists = { rotations, custom_shifts: [], overrides: [] };
  const schedule = { id: 'S', name: 'Shifts', time_zone: source.zone, ...lists, final };
  return convert(context => toShiftSchedule(schedule, 'shifts', context), computed, span);
}

const workdays = 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR';

describe('a shift-based schedule', () => {
  test.each<[string, PagerDutyEvent[]]>([
    ['of weeks', [eventOf('FREQ=WEEKLY', 168)]],
    ['of two weeks', [eventOf('FREQ=WEEKLY;INTERVAL=2', 336)]],
    ['of days, three for each', [eventOf('FREQ=DAILY', 24, { assignment_strategy: strategy('rotating', people, 3) })]],
    ['on workdays, a week for each', [eventOf(workdays, 8, { assignment_strategy: strategy('rotating', people, 5) })]],
    ['on workdays, a day for each', [eventOf(workdays, 8)]],
    [
      'on workdays, two days for each',
      [eventOf(workdays, 24, { assignment_strategy: strategy('rotating', people, 2) })],
    ],
    ['that begins on another day than its first', [eventOf('FREQ=WEEKLY;BYDAY=WE,SU', 12)]],
    ['of nights that overlap', [eventOf('FREQ=WEEKLY;BYDAY=MO,WE', 60)]],
    ['of all members together', [eventOf('FREQ=DAILY', 9, { assignment_strategy: strategy('every', ['ann', 'dee']) })]],
    ['of rotations that are on call together', [eventOf('FREQ=WEEKLY', 168), eventOf(workdays, 8)]],
    ['that ends after some shifts', [eventOf('FREQ=DAILY;COUNT=150', 24)]],
    ['that ends at a time', [eventOf(`${workdays};UNTIL=20261224T120000Z`, 8)]],
    ['that stops', [eventOf('FREQ=WEEKLY', 168, { effective_until: '2026-12-24T12:00:00Z' })]],
    ['that was changed', [eventOf('FREQ=WEEKLY', 168, { effective_since: '2026-09-30T12:00:00Z' })]],
    ['that will be changed', [eventOf('FREQ=DAILY', 24, { effective_since: '2026-12-09T12:00:00Z' })]],
  ])('%s has the same shifts, also where the clocks change', (_, events) => {
    for (const [zone, span] of [
      ['Europe/Berlin', winter],
      ['America/New_York', spring],
    ] as const) {
      for (const countFrom of ['since', 'start'] as const) {
        const { differences, notes } = checkEvents(events, { zone, countFrom }, span);
        if (differences === undefined) expect(notes[0]).toContain('have ended');
        else expect({ zone, countFrom, differences }).toEqual({ zone, countFrom, differences: [] });
      }
    }
  });

  test.each<[string, PagerDutyEvent, string]>([
    ['every month', eventOf('FREQ=MONTHLY', 24), 'it recurs monthly'],
    ['every second week for a day', eventOf('FREQ=WEEKLY;INTERVAL=2', 24), 'layers have no empty turns'],
    ['at some hours', eventOf('FREQ=DAILY;BYHOUR=9,17', 4), 'BYHOUR'],
    ['on the first Monday', eventOf('FREQ=WEEKLY;BYDAY=1MO', 4), '1MO'],
    ['without a rule', eventOf('FREQ=DAILY', 4, { recurrence: [] }), 'has 0 recurrence rules'],
    ['that overlaps itself each day', eventOf('FREQ=DAILY', 30), 'its shifts overlap'],
    [
      'of a user who is gone',
      eventOf('FREQ=DAILY', 4, { assignment_strategy: strategy('rotating', ['zoe'], 1) }),
      'no user who still exists',
    ],
    [
      'of an unknown kind',
      eventOf('FREQ=DAILY', 4, { assignment_strategy: strategy('random', ['ann'], 1) }),
      'random_member',
    ],
    [
      'with an empty member',
      eventOf('FREQ=DAILY', 4, {
        assignment_strategy: {
          ...strategy('rotating', ['ann'], 1),
          members: [{ type: 'empty_member' }, { type: 'user_member', user_id: 'ann' }],
        },
      }),
      'some of its shifts are empty',
    ],
  ])('leaves out an event %s, with the reason', (_, event, reason) => {
    const lists = { rotations: [{ id: 'R', events: [event] }], custom_shifts: [], overrides: [] };
    const schedule = { id: 'S', name: 'S', time_zone: 'UTC', ...lists };
    const { differences, notes } = convert(context => toShiftSchedule(schedule, 's', context), [], winter);
    expect(differences).toBeUndefined();
    expect(notes[0]).toContain(reason);
  });

  test('with any rotations has the same shifts, or a note', { tags: ['sweep'] }, () => {
    const event = fc.record({
      start: fc.integer({ min: -80, max: 60 }),
      clock: fc.constantFrom('T00:00', 'T08:30', 'T09:00', 'T17:00', 'T22:00'),
      hours: fc.constantFrom(1, 8, 9, 14, 24, 24, 48, 62, 120, 168, 168, 336),
      freq: fc.constantFrom('DAILY', 'WEEKLY', 'WEEKLY'),
      interval: fc.constantFrom(1, 1, 1, 2, 7),
      days: fc.option(fc.uniqueArray(fc.constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'), { minLength: 1 })),
      end: fc.option(fc.constantFrom('COUNT=9', 'COUNT=130', 'UNTIL=20270301T080000Z')),
      since: fc.integer({ min: 0, max: 200 }),
      until: fc.option(fc.integer({ min: 1, max: 200 })),
      members: fc.array(fc.constantFrom(...people), { minLength: 1, maxLength: 4 }),
      each: fc.constantFrom(1, 1, 2, 5, 7),
      together: fc.boolean(),
    });
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata');
    const bases = fc.constantFrom<'since' | 'start'>('since', 'start');
    let same = 0;
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1, maxLength: 3 }),
        zones,
        bases,
        fc.constantFrom(winter, spring),
        (all, zone, countFrom, span) => {
          const events = all.map(one => {
            const start = Date.parse(`2026-09-01${one.clock}Z`) + one.start * 86_400_000;
            const since = start + one.since * 86_400_000;
            const rule = [`FREQ=${one.freq}`, `INTERVAL=${one.interval}`, one.days && `BYDAY=${one.days}`, one.end];
            return eventOf(rule.filter(Boolean).join(';'), 0, {
              start_time: { date_time: iso(start) },
              end_time: { date_time: iso(start + one.hours * 3_600_000) },
              effective_since: iso(since),
              effective_until: one.until === null ? null : iso(since + one.until * 86_400_000),
              assignment_strategy: strategy(one.together ? 'every' : 'rotating', [...new Set(one.members)], one.each),
            });
          });
          const found = checkEvents(events, { zone, countFrom }, span);
          if (found.notes.some(one => !one.includes('have ended'))) return;
          same++;
          expect(found.differences, JSON.stringify({ events, zone, countFrom })).toEqual([]);
        },
      ),
      { numRuns: 400, seed: 20_261_119 },
    );
    expect(same).toBeGreaterThan(100);
  });
});
