/** Layers as they are typed in the console, and recipients that are on call. */
import { expect, test } from 'vitest';
import { audienceValue, readValue } from '../../console/src/designer/audience-value.ts';
import { type DraftLayer, type Layer, readLayer, toDraftLayer } from '../../console/src/pages/schedules/layer-text.ts';
import { readSchedule, toDraftSchedule } from '../../console/src/pages/schedules/schedule-text.ts';

const draft: DraftLayer = {
  name: 'Week',
  every: '1w',
  from: '2027-01-04T09:00',
  until: '',
  turns: 'ann@x.test',
  only: '',
};
const onlyOf = (only: string) => readLayer({ ...draft, only });

test.each<[string, Layer['only']]>([
  ['18:00-09:00', [{ from: '18:00', until: '09:00' }]],
  ['mon-fri 9:00 – 17:00', [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '09:00', until: '17:00' }]],
  ['sat, sun 00:00-24:00', [{ days: ['sat', 'sun'], from: '00:00', until: '24:00' }]],
  ['Fri-Mon 18:00-20:00', [{ days: ['fri', 'sat', 'sun', 'mon'], from: '18:00', until: '20:00' }]],
  [
    'mon 1:00-2:00\n\ntue 03:00-04:00',
    [
      { days: ['mon'], from: '01:00', until: '02:00' },
      { days: ['tue'], from: '03:00', until: '04:00' },
    ],
  ],
])('the times %s are read', (text, only) => {
  expect(onlyOf(text)).toEqual({ layer: expect.objectContaining({ only }) });
});

test.each(['weekends', 'mon', 'mon-fri', 'someday 09:00-17:00', 'mon-tue-wed 09:00-17:00', '9-17'])(
  'the times %s are refused with the line',
  text => {
    expect(onlyOf(`18:00-20:00\n${text}`).wrong).toBe(text);
  },
);

test('each line is a turn, and the users on one line have it together', () => {
  const { layer } = readLayer({ ...draft, turns: 'ann@x.test\n\nbob@x.test, cem@x.test; dee@x.test ' });
  expect(layer.users).toEqual(['ann@x.test', ['bob@x.test', 'cem@x.test', 'dee@x.test']]);
});

test('what is stored is typed so that reading it changes nothing', () => {
  const layer: Layer = {
    name: 'Nights',
    every: '12h',
    from: '2027-01-04T18:00',
    until: '2028-01-04T18:00',
    users: ['ann@x.test', ['bob@x.test', 'cem@x.test'], []],
    only: [
      { days: ['mon', 'tue', 'wed'], from: '18:00', until: '09:00' },
      { days: ['mon', 'wed'], from: '12:00', until: '13:00' },
      { from: '00:00', until: '24:00' },
    ],
  };
  const typed = toDraftLayer(layer);
  expect(typed.only).toBe('mon-wed 18:00-09:00\nmon,wed 12:00-13:00\n00:00-24:00');
  expect(readLayer(typed)).toEqual({ layer });
});

test.each([{ list: 'On call' }, { list: 'schedule x 1' }, { schedule: 'primary' }, { schedule: 'primary', offset: 3 }])(
  'the recipients %j are the same after they were an option',
  recipients => {
    expect(readValue(audienceValue(recipients))).toEqual({ ...recipients });
  },
);

const schedule = {
  ...{ name: 'Primary', timezone: 'Europe/Berlin', combine: 'all' as const },
  ...{ fallback: 'Team', on_change: 'web/change', page: 'web/page' },
  test: { event: 'web/test', every: '14d', at: '10:30', priority: 'urgent' as const },
  groups: [
    { channel: 'team', group: 'S0123ABCD' },
    { channel: 'matter', group: 'abc' },
  ],
  layers: [{ name: 'Days', every: '1d', from: '2027-01-04T09:00', users: ['ann@x.test'] }],
};

test.each([
  schedule,
  { ...schedule, test: { event: 'web/test', every: '30d', at: '08:00' } },
  { ...schedule, fallback: null, on_change: null, page: null, test: null, groups: null },
])('the form saves the fields %j as they were', stored => {
  expect(readSchedule(toDraftSchedule(stored))).toEqual(stored);
});
