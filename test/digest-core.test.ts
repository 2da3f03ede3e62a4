/** When digests close, what their templates know, and how a throttle that gathers counts. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileDigestEnd, digestScope, findDigestMistake } from '../src/core/digest.ts';
import { compileGroupKey } from '../src/core/group-key.ts';
import { type ThrottleClaim, takePlace, type Uses } from '../src/core/throttle.ts';

const ends = (every: string, timezone: string, now: string) =>
  new Date(compileDigestEnd(every)(timezone, Date.parse(now))).toISOString();

test('a duration counts from the first item', () => {
  expect(ends('1h', 'Europe/Berlin', '2026-03-29T00:30:00Z')).toBe('2026-03-29T01:30:00.000Z');
});

test('cron closes by the clock of the recipient, whatever daylight saving does', () => {
  // Eight in the morning before and after both changes.
  expect(ends('0 8 * * *', 'Europe/Berlin', '2026-03-28T06:00:00Z')).toBe('2026-03-28T07:00:00.000Z');
  expect(ends('0 8 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z')).toBe('2026-03-29T06:00:00.000Z');
  expect(ends('0 8 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z')).toBe('2026-10-25T07:00:00.000Z');
  // Half past two does not exist in spring, and comes twice in autumn: each time it is once.
  expect(ends('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(ends('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
  expect(ends('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
  expect(ends('0 8 * * 1-5', 'Asia/Kolkata', '2026-11-14T12:00:00Z')).toBe('2026-11-16T02:30:00.000Z');
  expect(ends('0 8 * * *', 'Europe/Nowhere', '2026-11-14T12:00:00Z')).toBe('2026-11-15T08:00:00.000Z');
});

test('what never comes, or not soon, closes after 31 days', () => {
  expect(ends('0 0 30 2 *', 'UTC', '2026-01-01T00:00:00Z')).toBe('2026-02-01T00:00:00.000Z');
  expect(ends('0 0 1 6 *', 'UTC', '2026-01-01T00:00:00Z')).toBe('2026-02-01T00:00:00.000Z');
});

test('when it closes is checked', () => {
  for (const fine of ['1m', '31d', '0 8 * * *', '*/15 9-17 * * 1-5', '0 8 L * *']) {
    expect(findDigestMistake(fine)).toBeUndefined();
  }
  expect(findDigestMistake('59s')).toBe('must be 1m at least');
  expect(findDigestMistake('32d')).toBe('must be 31d at most');
  for (const wrong of ['soon', '* * * * * *', '61 8 * * *', '']) {
    expect(findDigestMistake(wrong)).toContain('a cron expression of five fields');
  }
});

test('what cannot be evaluated gathers together', () => {
  expect(compileGroupKey('server')({ server: 'a' })).toBe('"a"');
  expect(compileGroupKey('sum(server)')({ server: 'a' })).toBe('');
  expect(compileGroupKey(undefined)({ server: 'a' })).toBe('');
});

test('items that are not in the message are counted', () => {
  const created_at = new Date('2026-11-15T08:00:00Z');
  expect(digestScope([{ context: { n: 1 }, created_at }], 3)).toEqual({
    items: [{ context: { n: 1 }, time: '2026-11-15T08:00:00.000Z' }],
    count: 3,
    more: 2,
  });
});

const claim: ThrottleClaim = { notificationId: 1, userId: 1, key: '', most: 2, perMs: 100, gathers: true };
const cap: ThrottleClaim = { notificationId: 0, userId: 1, key: '', most: 3, perMs: 1_000 };

test('what is over gathers until the person may get the next one, and its digest takes a place', () => {
  const uses: Uses = new Map();
  expect(takePlace([claim], uses, 0)).toBe('taken');
  expect(takePlace([claim], uses, 10)).toBe('taken');
  expect(takePlace([claim], uses, 20)).toEqual({ until: 100 });
  expect(takePlace([claim], uses, 90)).toEqual({ until: 100 });
  // The digest and the message of 10 count.
  expect(takePlace([claim], uses, 101)).toEqual({ until: 110 });
  expect(takePlace([claim], uses, 211)).toBe('taken');
});

test('the cap of a day counts a digest once, and a full one leaves no digest to open', () => {
  const uses: Uses = new Map();
  const places = [0, 10, 20, 30].map(now => takePlace([claim, cap], uses, now));
  expect(places).toEqual(['taken', 'taken', { until: 100 }, { until: 100 }]);
  expect(takePlace([claim, cap], uses, 101)).toBe('full');
  expect(takePlace([cap], uses, 101)).toBe('full');
});

test('messages and digests together are never more than allowed in any window', () => {
  const rule = fc.record({ most: fc.integer({ min: 1, max: 4 }), perMs: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(rule, fc.array(fc.nat(8)), (given, gaps) => {
      const uses: Uses = new Map();
      const sent = new Set<string>();
      let now = 0;
      for (const [n, gap] of gaps.entries()) {
        now += gap;
        const place = takePlace([{ ...claim, ...given }], uses, now);
        if (place === 'taken') sent.add(`${now} ${n}`);
        else if (place !== 'full') sent.add(`${place.until} digest`);
      }
      const times = [...sent].map(name => Number.parseInt(name, 10));
      for (const at of times) {
        expect(times.filter(one => one > at - given.perMs && one <= at).length).toBeLessThanOrEqual(given.most);
      }
    }),
  );
});
