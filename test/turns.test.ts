/** How turns go on after a claim. */
import { describe, expect, test } from 'vitest';
import { nextTurn } from '../src/db/turns.ts';

/** Rows of organizations: `{ 3: 2 }` is two rows of the third. */
function rows(counts: Record<number, number>): { organization_id: number }[] {
  return Object.entries(counts).flatMap(([id, count]) =>
    Array.from({ length: count }, () => ({ organization_id: +id })),
  );
}

const everyone = (size: number) => rows(Object.fromEntries(Array.from({ length: size }, (_, i) => [i + 1, 1])));

describe('after a claim', () => {
  test('that took as many as it may, the organizations after the last one are next', () => {
    expect(nextTurn({ after: 0, most: 4 }, rows({ 3: 2, 7: 2 })).after).toBe(7);
  });

  test('of as many organizations as a claim looks at, those after them are next', () => {
    expect(nextTurn({ after: 0, most: 100 }, everyone(64)).after).toBe(64);
    expect(nextTurn({ after: 0, most: 100 }, everyone(63)).after).toBe(0);
  });

  test('that found less, it begins anew', () => {
    expect(nextTurn({ after: 0, most: 4 }, rows({ 3: 2, 7: 1 })).after).toBe(0);
    expect(nextTurn({ after: 7, most: 4 }, []).after).toBe(0);
  });
});

describe('a claim has taken all that was due', () => {
  test('when it looked at everybody and found less than anybody’s share', () => {
    expect(nextTurn({ after: 0, most: 100 }, rows({ 3: 1 })).isAll).toBe(true);
    expect(nextTurn({ after: 0, most: 250 }, rows({ 3: 2, 7: 1 })).isAll).toBe(true);
    expect(nextTurn({ after: 0, most: 100 }, []).isAll).toBe(true);
  });

  test('but maybe not when somebody may have had a share and no more', () => {
    expect(nextTurn({ after: 0, most: 100 }, rows({ 3: 2 })).isAll).toBe(false);
    expect(nextTurn({ after: 0, most: 1 }, rows({ 3: 1 })).isAll).toBe(false);
  });

  test('nor when it began in the middle', () => {
    expect(nextTurn({ after: 2, most: 100 }, rows({ 3: 1 })).isAll).toBe(false);
  });
});
