import { expect, test } from 'vitest';
import { PrioritySemaphore } from '../../src/lib/load/priority-semaphore.ts';

test('the maximum number enter at once, and the others when one leaves', async () => {
  const line = new PrioritySemaphore(2);
  expect(line.enter(1)).toBeUndefined();
  expect(line.enter(1)).toBeUndefined();
  const third = line.enter(1);
  expect(third).toBeInstanceOf(Promise);
  line.leave();
  await third;
  line.leave();
  line.leave();
  expect(line.enter(1)).toBeUndefined();
  expect(line.enter(1)).toBeUndefined();
  expect(line.enter(1)).toBeInstanceOf(Promise);
});

test('the more urgent go first, and among equals the first to arrive', async () => {
  const line = new PrioritySemaphore(1);
  line.enter(0);
  const entered: string[] = [];
  for (const [name, priority] of [
    ['bulk', 2],
    ['normal', 1],
    ['another', 1],
    ['urgent', 0],
  ] as const) {
    line.enter(priority)!.then(() => {
      entered.push(name);
      line.leave();
    });
  }
  line.leave();
  await new Promise(setImmediate);
  expect(entered).toEqual(['urgent', 'normal', 'another', 'bulk']);
});

test('those with a tag are interrupted without entering, and the others keep their turn', async () => {
  const line = new PrioritySemaphore(1);
  line.enter(0);
  const waits = ['a', 'b', 'a', 'c'].map(tag => line.enter(1, tag)!);
  line.interrupt('a');
  expect(await Promise.all([waits[0], waits[2]])).toEqual([false, false]);
  line.leave();
  expect(await waits[1]).toBe(true);
  line.interrupt();
  expect(await waits[3]).toBe(false);
});
