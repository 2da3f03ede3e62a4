/** Slots that groups share: turns, and what happens to tasks that hang. */
import { expect, test } from 'vitest';
import { FairSlots } from '../../src/lib/load/fair-slots.ts';
import { eventually } from '../support/eventually.ts';

/** Runs until it is given up. */
const hang = (signal: AbortSignal) => new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()));

test('groups take turns, each with at most its share', async () => {
  const slots = new FairSlots(3, 2);
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string) =>
    slots.run(name.charCodeAt(0), () => {
      started.push(name);
      return new Promise<void>(resolve => ends.push(resolve));
    });
  const all = ['A1', 'A2', 'A3', 'A4', 'B1', 'B2', 'C1'].map(run);
  for (let ended = 0; ended < all.length; ended++) {
    await eventually(() => expect(ends.length).toBeGreaterThan(ended));
    ends[ended]!();
  }
  await Promise.all(all);
  expect(started).toEqual(['A1', 'A2', 'B1', 'C1', 'A3', 'B2', 'A4']);
});

test('a group that runs nothing gets the slot of a task that hangs, of the group that has the most', async () => {
  const slots = new FairSlots(3, 2, { guaranteedMs: 20 });
  const givenUp: string[] = [];
  for (const name of ['B1', 'A1', 'A2']) {
    void slots.run(name.charCodeAt(0), async signal => {
      await hang(signal);
      givenUp.push(name);
    });
  }
  expect(await slots.run(1, async () => 'ran')).toBe('ran');
  expect(givenUp).toEqual(['A1']);
});

test('nothing is given up while there are free slots, or for a group that runs something', async () => {
  const slots = new FairSlots(3, 2, { guaranteedMs: 20 });
  const givenUp: string[] = [];
  const run = (name: string) =>
    slots.run(name.charCodeAt(0), async signal => {
      await hang(signal);
      givenUp.push(name);
    });
  void run('A1');
  void run('A2');
  void run('A3');
  await slots.run(1, () => new Promise(resolve => setTimeout(resolve, 60)));
  expect(givenUp).toEqual([]);
  void run('B1');
  await slots.run(1, async () => {});
  expect(givenUp).toEqual(['A1']);
});
