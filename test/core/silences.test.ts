/** Matchers, indexes and times of silences, compared with slow references. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findSilenceMistakes,
  type Matcher,
  type Recurrence,
  type Silence,
} from '../../src/core/decision/silence-rules.ts';
import { matchesContext, parseMatcher, Silences, silentUntil } from '../../src/core/decision/silences.ts';

const at = (text: string) => Date.parse(text);

const base: Silence = {
  id: 'a',
  project_id: null,
  application_id: null,
  event_id: null,
  matchers: [],
  reason: 'maintenance',
  starts_at: new Date(0),
  ends_at: new Date(at('2100-01-01T00:00:00Z')),
  recurrence: null,
  created_by: 'ann',
};
const subject = { project: { id: 1 }, application: { id: 2 }, id: 3 };

describe('matchers', () => {
  const context = {
    title: 'Disk full',
    count: 3,
    tags: ['db', 'berlin'],
    none: [],
    labels: { alertname: 'DiskFull', 'app.kubernetes.io/name': 'shop', instance: 'db-1.berlin.test' },
  };
  test.each([
    ['labels.alertname=DiskFull', true],
    ['labels.alertname=diskfull', false],
    ['labels.alertname!=Other', true],
    ['labels.app.kubernetes.io/name=shop', true],
    ['labels.instance~db-*.test', true],
    ['labels.instance~*berlin*', true],
    ['labels.instance~db-*berlin*berlin*', false],
    ['labels.instance!~web-*', true],
    ['labels.instance!~db-*', false],
    ['labels.missing=', true],
    ['labels.missing!=', false],
    ['labels.missing~*', true],
    ['labels.missing!=x', true],
    ['title.deeper=x', false],
    ['constructor.name=Object', false],
    ['count=3', true],
    ['tags=berlin', true],
    ['tags!=berlin', false],
    ['tags!=paris', true],
    ['none=', true],
    ['title=Disk full', true],
  ])('%s is %s', (text, expected) => {
    expect(matchesContext([parseMatcher(text)!], context)).toBe(expected);
  });

  test('all of them have to match', () => {
    const read = (...texts: string[]) => texts.map(text => parseMatcher(text)!);
    expect(matchesContext(read('count=3', 'tags=db'), context)).toBe(true);
    expect(matchesContext(read('count=3', 'tags=paris'), context)).toBe(false);
  });

  test('a pattern matches as a regular expression would', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    fc.assert(
      fc.property(letters, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }), (pattern, text) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text);
        expect(matchesContext([{ field: 'x', op: '~', value: pattern }], { x: text })).toBe(expected);
      }),
    );
  });

  test('a pattern takes linear time', () => {
    const value = 'a*'.repeat(127);
    const began = performance.now();
    matchesContext([{ field: 'x', op: '~', value: `${value}b` }], { x: 'a'.repeat(1_024) });
    expect(performance.now() - began).toBeLessThan(50);
  });
});

test('the index finds what a search of all silences finds', () => {
  const values = fc.constantFrom('a', 'b', 'c', '');
  const matcher: fc.Arbitrary<Matcher> = fc.record({
    field: fc.constantFrom('labels.x', 'labels.y', 'tags'),
    op: fc.constantFrom('=', '!=', '~', '!~'),
    value: fc.oneof(values, fc.constant('a*')),
  });
  const silence = fc.record({
    id: fc.uuid(),
    project_id: fc.constantFrom(null, 1, 9),
    application_id: fc.constantFrom(null, 2, 9),
    event_id: fc.constantFrom(null, 3, 9),
    matchers: fc.array(matcher, { maxLength: 2 }),
    ends_at: fc.integer({ min: 1, max: 9 }).map(day => new Date(day * 86_400_000)),
  });
  const context = fc.record({ labels: fc.record({ x: values, y: values }), tags: fc.array(values, { maxLength: 2 }) });
  fc.assert(
    fc.property(fc.array(silence, { maxLength: 8 }), context, (rules, given) => {
      const silences = rules.map(rule => ({ ...base, ...rule }));
      const isIn = (one: Silence) =>
        [null, 1].includes(one.project_id) &&
        [null, 2].includes(one.application_id) &&
        [null, 3].includes(one.event_id);
      const matching = silences.filter(one => isIn(one) && matchesContext(one.matchers, given));
      const latest = Math.max(...matching.map(one => one.ends_at.getTime()));
      const found = new Silences(silences).find(subject, given, 0);
      expect(found?.until.getTime() ?? Number.NEGATIVE_INFINITY).toBe(latest);
    }),
  );
});

describe('times', () => {
  test('a silence applies from its start until before its end', () => {
    const one = { ...base, starts_at: new Date(1_000), ends_at: new Date(2_000) };
    expect([999, 1_000, 1_999, 2_000].map(now => silentUntil(one, now))).toEqual([undefined, 2_000, 2_000, undefined]);
  });

  const nightly: Recurrence = { timezone: 'Europe/Berlin', from: '01:30', to: '04:00' };
  test.each([
    // The clock skips 02:00 to 03:00: an hour less.
    ['spring', '2026-03-29T00:29:59Z', undefined],
    ['spring', '2026-03-29T00:30:00Z', '2026-03-29T02:00:00Z'],
    ['spring', '2026-03-29T01:59:59Z', '2026-03-29T02:00:00Z'],
    ['spring', '2026-03-29T02:00:00Z', undefined],
    // The hour from 02:00 to 03:00 is there twice: an hour more.
    ['autumn', '2026-10-24T23:29:59Z', undefined],
    ['autumn', '2026-10-24T23:30:00Z', '2026-10-25T03:00:00Z'],
    ['autumn', '2026-10-25T02:59:59Z', '2026-10-25T03:00:00Z'],
    ['autumn', '2026-10-25T03:00:00Z', undefined],
    ['winter', '2026-12-01T00:30:00Z', '2026-12-01T03:00:00Z'],
  ])('a recurring silence follows the wall clock in %s, at %s', (_, now, until) => {
    const found = silentUntil({ ...base, recurrence: nightly }, at(now));
    expect(found && new Date(found).toISOString()).toBe(until && new Date(until).toISOString());
  });

  test('a recurring silence is limited to its days, and to its last one', () => {
    const recurrence: Recurrence = { timezone: 'UTC', from: '22:00', to: '06:00', weekdays: ['sat'] };
    const one = { ...base, recurrence, ends_at: new Date('2026-11-22T02:00:00Z') };
    expect(silentUntil(one, at('2026-11-20T23:00:00Z'))).toBeUndefined();
    expect(silentUntil(one, at('2026-11-15T05:00:00Z'))).toBe(at('2026-11-15T06:00:00Z'));
    expect(silentUntil(one, at('2026-11-21T23:00:00Z'))).toBe(at('2026-11-22T02:00:00Z'));
  });

  test('what is remembered of a recurring silence changes with its hours, in both directions of time', () => {
    const silences = new Silences([{ ...base, recurrence: nightly }]);
    const find = (now: string) => silences.find(subject, {}, at(now))?.until.toISOString();
    for (let i = 0; i < 2; i++) {
      expect(find('2026-12-01T00:29:59Z')).toBeUndefined();
      expect(find('2026-12-01T00:30:00Z')).toBe('2026-12-01T03:00:00.000Z');
      expect(find('2026-12-01T02:59:59Z')).toBe('2026-12-01T03:00:00.000Z');
      expect(find('2026-12-01T03:00:00Z')).toBeUndefined();
    }
  });
});

test('a silence begins at most a month ago: an earlier start has a mistyped year', () => {
  const now = at('2026-11-19T12:00:00Z');
  const mistakes = (start: string) => {
    const [starts_at, ends_at] = [new Date(start), new Date('2026-11-20T12:00:00Z')];
    return findSilenceMistakes({ ...base, starts_at, ends_at }, true, now);
  };
  expect(mistakes('2026-11-16T08:00:00Z')).toEqual({});
  expect(mistakes('2025-11-19T08:00:00Z')).toEqual({ starts_at: expect.stringContaining('31 days ago') });
});
