/** Where a worker looks for work. */
import { beforeEach, describe, expect, test } from 'vitest';
import { priorities } from '../src/core/trigger.ts';
import type { Queue } from '../src/db/turns.ts';
import { WorkHints } from '../src/engine/work-hints.ts';

const queues: Queue[] = ['accepted', 'expanding', 'deliveries'];
let hints: WorkHints;

beforeEach(() => {
  hints = new WorkHints();
});

/** Takes all there is to take. */
function everything(): string[] {
  return queues.flatMap(queue => [...priorities.keys()].filter(p => hints.take(queue, p)).map(p => `${queue} ${p}`));
}

describe('a worker', () => {
  test('looks at all queues at first, and again within about a second', () => {
    expect(hints.isLookDue(1_000_000)).toBe(true);
    expect(hints.lookAt).toBeGreaterThan(1_000_000);
    expect(hints.lookAt).toBeLessThan(1_001_100);
    expect(hints.isLookDue(hints.lookAt - 1)).toBe(false);
    expect(hints.isLookDue(hints.lookAt)).toBe(true);
  });

  test('looks for triggers of the classes that were announced, and no further', () => {
    hints.announced('0 2');
    expect(everything()).toEqual(['accepted 0', 'accepted 2']);
  });

  test('looks everywhere when something is announced without a name', () => {
    hints.announced('');
    expect(everything()).toHaveLength(9);
  });

  test('does not forget what is announced while it looks', () => {
    hints.announced('1');
    expect(hints.take('accepted', 1)).toBe(true);
    hints.announced('1');
    expect(hints.take('accepted', 1)).toBe(true);
    expect(hints.take('accepted', 1)).toBe(false);
  });

  test('keeps looking for the next page of a list that it cannot claim right now', () => {
    hints.expectMore(2, 1_000_000);
    expect(everything()).toEqual(['expanding 2']);
    expect(hints.remarkIfMore(2, 1_001_000)).toBe(true);
    expect(everything()).toEqual(['expanding 2']);
    expect(hints.remarkIfMore(1, 1_001_000)).toBe(false);
    expect(hints.remarkIfMore(2, 1_003_000)).toBe(false);
    expect(everything()).toEqual([]);
  });
});
