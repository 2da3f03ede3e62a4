/** Where a worker looks for work. */
import { beforeEach, describe, expect, test } from 'vitest';
import { priorities } from '../src/core/trigger.ts';
import { Expected, type Kind } from '../src/engine/expected.ts';

const kinds: Kind[] = ['occurrences', 'deliveries'];
let expected: Expected;

beforeEach(() => {
  expected = new Expected();
});

/** Takes all there is to take. */
function everything(): string[] {
  return kinds.flatMap(kind => [...priorities.keys()].filter(p => expected.take(kind, p)).map(p => `${kind} ${p}`));
}

describe('a worker', () => {
  test('looks everywhere at first, and again after a second', () => {
    expected.pass(1_000_000);
    expect(everything()).toHaveLength(6);
    expected.pass(1_000_999);
    expect(everything()).toEqual([]);
    expected.pass(1_001_000);
    expect(everything()).toHaveLength(6);
  });

  test('looks for triggers of the classes that were announced, and no further', () => {
    expected.announced('0 2');
    expect(everything()).toEqual(['occurrences 0', 'occurrences 2']);
  });

  test('looks everywhere when something is announced without a name', () => {
    expected.announced('');
    expect(everything()).toHaveLength(6);
  });

  test('does not forget what is announced while it looks', () => {
    expected.announced('1');
    expect(expected.take('occurrences', 1)).toBe(true);
    expected.announced('1');
    expect(expected.take('occurrences', 1)).toBe(true);
    expect(expected.take('occurrences', 1)).toBe(false);
  });

  test('keeps looking for the next page of a list that it cannot have right now', () => {
    expected.more(2, 1_000_000);
    expect(expected.hasMore(2, 1_001_000)).toBe(true);
    expect(everything()).toEqual(['occurrences 2']);
    expect(expected.hasMore(1, 1_001_000)).toBe(false);
    expect(expected.hasMore(2, 1_003_000)).toBe(false);
    expect(everything()).toEqual([]);
  });
});
