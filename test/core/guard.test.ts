/** How many recipients an occurrence may have without an approval. */
import { expect, test } from 'vitest';
import { expiresMsOf, findGuardMistakes, maxUnapproved, minUnapproved } from '../../src/core/decision/guards/guard.ts';

const none = { event: null, organization: null };

test('ten times the largest audience needs no approval, nor do 1,000 recipients', () => {
  expect([0, 20, 100, 101, 50_000].map(largest => maxUnapproved(none, largest))).toEqual([
    1_000, 1_000, 1_000, 1_010, 500_000,
  ]);
});

test('without history, the first audience of the organization applies', () => {
  expect(maxUnapproved(none, null)).toBe(5_000);
  expect(maxUnapproved({ ...none, organization: { first_audience: 50 } }, null)).toBe(50);
  expect(maxUnapproved({ ...none, organization: { first_audience: 'off' } }, null)).toBe(Number.POSITIVE_INFINITY);
  expect(maxUnapproved({ ...none, organization: { first_audience: 50 } }, 7)).toBe(1_000);
});

test('the number of the event replaces that of the organization, and both replace the history', () => {
  const organization = { audience: 300 };
  expect(maxUnapproved({ event: null, organization }, 9_000)).toBe(300);
  expect(maxUnapproved({ event: { audience: 20_000 }, organization }, 1)).toBe(20_000);
  expect(maxUnapproved({ event: { audience: 'off' }, organization }, 1)).toBe(Number.POSITIVE_INFINITY);
  expect(maxUnapproved({ event: { audience: 0 }, organization }, 1)).toBe(0);
});

test('an audience that needs no history is at most the smaller of both defaults', () => {
  expect(minUnapproved(none)).toBe(1_000);
  expect(minUnapproved({ ...none, organization: { first_audience: 50 } })).toBe(50);
  expect(minUnapproved({ ...none, event: { audience: 20_000 } })).toBe(20_000);
});

test('a huge history does not exceed what can be stored', () => {
  expect(maxUnapproved(none, 1_999_999_999)).toBe(2_000_000_000);
});

test('an approval is awaited for a day, or for the time of the organization, up to 30 days', () => {
  expect(expiresMsOf(none)).toBe(86_400_000);
  expect(expiresMsOf({ ...none, organization: { expires: '90m' } })).toBe(5_400_000);
  expect(findGuardMistakes({ expires: '30d' })).toEqual({});
  expect(findGuardMistakes({ expires: '31d' })).toEqual({ expires: 'must be at most 30d' });
});
