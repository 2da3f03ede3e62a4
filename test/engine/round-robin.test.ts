/** Where the next claim starts. */
import { describe, expect, test } from 'vitest';
import { claimProgress } from '../../src/db/ledger/round-robin.ts';

/** Returns rows of organizations: `{ 3: 2 }` is two rows of organization 3. */
function rows(counts: Record<number, number>): { organization_id: number }[] {
  return Object.entries(counts).flatMap(([id, count]) =>
    Array.from({ length: count }, () => ({ organization_id: +id })),
  );
}

const oneRowEach = (size: number) => rows(Object.fromEntries(Array.from({ length: size }, (_, i) => [i + 1, 1])));

describe('the next claim', () => {
  test('starts after the last organization when this one took its maximum', () => {
    expect(claimProgress({ after: 0, max: 4 }, rows({ 3: 2, 7: 2 })).after).toBe(7);
  });

  test('starts after the last organization when this one had the maximum number of organizations', () => {
    expect(claimProgress({ after: 0, max: 100 }, oneRowEach(64)).after).toBe(64);
    expect(claimProgress({ after: 0, max: 100 }, oneRowEach(63)).after).toBe(0);
  });

  test('starts from the beginning when this one found less', () => {
    expect(claimProgress({ after: 0, max: 4 }, rows({ 3: 2, 7: 1 })).after).toBe(0);
    expect(claimProgress({ after: 7, max: 4 }, []).after).toBe(0);
  });
});

describe('a claim has drained its queue', () => {
  test('when it started from the beginning and found less than the smallest share', () => {
    expect(claimProgress({ after: 0, max: 100 }, rows({ 3: 1 })).isDrained).toBe(true);
    expect(claimProgress({ after: 0, max: 250 }, rows({ 3: 2, 7: 1 })).isDrained).toBe(true);
    expect(claimProgress({ after: 0, max: 100 }, []).isDrained).toBe(true);
  });

  test('but not when an organization may have more than its share', () => {
    expect(claimProgress({ after: 0, max: 100 }, rows({ 3: 2 })).isDrained).toBe(false);
    expect(claimProgress({ after: 0, max: 1 }, rows({ 3: 1 })).isDrained).toBe(false);
  });

  test('but not when it started in the middle', () => {
    expect(claimProgress({ after: 2, max: 100 }, rows({ 3: 1 })).isDrained).toBe(false);
  });
});
