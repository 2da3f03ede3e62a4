import { expect, test } from 'vitest';
import { PrioritySemaphore } from '../src/lib/priority-semaphore.ts';

test('so many enter at once, and the others when one leaves', async () => {
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

test('the more urgent go first, and among equals whoever came first', async () => {
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
