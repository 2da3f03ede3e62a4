/** When digests close, which variables their templates have, and how a throttle with a digest counts. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileDigestEnd, digestScope, findDigestMistake } from '../../src/core/decision/digest.ts';
import { type ThrottleClaim, type ThrottleUses, takeThrottleSlot } from '../../src/core/decision/throttle.ts';
import { compileGroupKey } from '../../src/core/expressions/group-key.ts';

const ends = (every: string, timezone: string, now: string) =>
  new Date(compileDigestEnd(every)(timezone, Date.parse(now))).toISOString();

test('a duration counts from the first item', () => {
  expect(ends('1h', 'Europe/Berlin', '2026-03-29T00:30:00Z')).toBe('2026-03-29T01:30:00.000Z');
});

test('a cron expression uses the recipient’s local time across changes of daylight saving time', () => {
  // 08:00 before and after both changes.
  expect(ends('0 8 * * *', 'Europe/Berlin', '2026-03-28T06:00:00Z')).toBe('2026-03-28T07:00:00.000Z');
  expect(ends('0 8 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z')).toBe('2026-03-29T06:00:00.000Z');
  expect(ends('0 8 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z')).toBe('2026-10-25T07:00:00.000Z');
  // 02:30 does not exist in spring and occurs twice in autumn: the digest closes once each time.
  expect(ends('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(ends('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
  expect(ends('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
  expect(ends('0 8 * * 1-5', 'Asia/Kolkata', '2026-11-14T12:00:00Z')).toBe('2026-11-16T02:30:00.000Z');
  expect(ends('0 8 * * *', 'Europe/Nowhere', '2026-11-14T12:00:00Z')).toBe('2026-11-15T08:00:00.000Z');
});

test('a digest closes after 31 days if its cron time is later or never comes', () => {
  expect(ends('0 0 30 2 *', 'UTC', '2026-01-01T00:00:00Z')).toBe('2026-02-01T00:00:00.000Z');
  expect(ends('0 0 1 6 *', 'UTC', '2026-01-01T00:00:00Z')).toBe('2026-02-01T00:00:00.000Z');
});

test('invalid values of every are refused', () => {
  for (const fine of ['1m', '31d', '0 8 * * *', '*/15 9-17 * * 1-5', '0 8 L * *']) {
    expect(findDigestMistake(fine)).toBeUndefined();
  }
  expect(findDigestMistake('59s')).toBe('must be at least 1m');
  expect(findDigestMistake('32d')).toBe('must be at most 31d');
  for (const wrong of ['soon', '* * * * * *', '61 8 * * *', '']) {
    expect(findDigestMistake(wrong)).toContain('a cron expression of five fields');
  }
});

test('items whose key cannot be evaluated share one digest', () => {
  expect(compileGroupKey('server')({ server: 'a' })).toBe('"a"');
  expect(compileGroupKey('sum(server)')({ server: 'a' })).toBe('');
  expect(compileGroupKey(undefined)({ server: 'a' })).toBe('');
});

test('items that are not in the message are counted in more', () => {
  const created_at = new Date('2026-11-15T08:00:00Z');
  expect(digestScope([{ context: { n: 1 }, created_at }], 3)).toEqual({
    items: [{ context: { n: 1 }, time: '2026-11-15T08:00:00.000Z' }],
    count: 3,
    more: 2,
  });
});

const claim: ThrottleClaim = { notificationId: 1, userId: 1, key: '', max: 2, perMs: 100, digestsOverflow: true };
const cap: ThrottleClaim = { notificationId: 0, userId: 1, key: '', max: 3, perMs: 1_000 };

test('messages over the limit wait in a digest until the next one is allowed, and the digest counts as a message', () => {
  const uses: ThrottleUses = new Map();
  expect(takeThrottleSlot([claim], uses, 0)).toBe('taken');
  expect(takeThrottleSlot([claim], uses, 10)).toBe('taken');
  expect(takeThrottleSlot([claim], uses, 20)).toEqual({ until: 100 });
  expect(takeThrottleSlot([claim], uses, 90)).toEqual({ until: 100 });
  // The digest and the message at 10 count.
  expect(takeThrottleSlot([claim], uses, 101)).toEqual({ until: 110 });
  expect(takeThrottleSlot([claim], uses, 211)).toBe('taken');
});

test('the daily limit counts a digest once, and opens no digest when it is reached', () => {
  const uses: ThrottleUses = new Map();
  const results = [0, 10, 20, 30].map(now => takeThrottleSlot([claim, cap], uses, now));
  expect(results).toEqual(['taken', 'taken', { until: 100 }, { until: 100 }]);
  expect(takeThrottleSlot([claim, cap], uses, 101)).toBe('full');
  expect(takeThrottleSlot([cap], uses, 101)).toBe('full');
});

test('messages and digests together never exceed the limit in any window', () => {
  const rule = fc.record({ max: fc.integer({ min: 1, max: 4 }), perMs: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(rule, fc.array(fc.nat(8)), (limit, gaps) => {
      const uses: ThrottleUses = new Map();
      const sent = new Set<string>();
      let now = 0;
      for (const [n, gap] of gaps.entries()) {
        now += gap;
        const result = takeThrottleSlot([{ ...claim, ...limit }], uses, now);
        if (result === 'taken') sent.add(`${now} ${n}`);
        else if (result !== 'full') sent.add(`${result.until} digest`);
      }
      const times = [...sent].map(name => Number.parseInt(name, 10));
      for (const at of times) {
        expect(times.filter(one => one > at - limit.perMs && one <= at).length).toBeLessThanOrEqual(limit.max);
      }
    }),
  );
});
