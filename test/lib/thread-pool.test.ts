/** Work in threads ends on its own, at its limit of CPU time or memory, and owners take turns. */
import { afterEach, describe, expect, test } from 'vitest';
import {
  ThreadPool,
  type ThreadPoolOptions,
  type ThreadStoppedError,
  ThreadsBusyError,
} from '../../src/lib/load/thread-pool.ts';

let pool: ThreadPool;
afterEach(() => pool.close());

function open(options: Partial<ThreadPoolOptions> = {}): ThreadPool {
  const file = new URL('../support/thread.ts', import.meta.url);
  pool = new ThreadPool({ file, threads: 2, cpuMs: 30_000, memoryMb: 64, maxWaiting: 10, ...options });
  return pool;
}

describe('a task', () => {
  test('is answered', async () => {
    await expect(open().run('a', { echo: { text: 'é', list: [1, null] } })).resolves.toEqual({
      text: 'é',
      list: [1, null],
    });
  });

  test('that takes too long is stopped, and its owner is reported', { tags: ['sweep'] }, async () => {
    const stopped: [string, string][] = [];
    open({ cpuMs: 300, onStopped: ({ reason }, owner) => stopped.push([reason, owner]) });
    await expect(pool.run('a', { spin: true })).rejects.toMatchObject({ reason: 'cpu' });
    expect(stopped).toEqual([['cpu', 'a']]);
  });

  test('runs in a new thread after one was stopped', { tags: ['sweep'] }, async () => {
    open({ cpuMs: 2_000 });
    const spinning = pool.run('a', { spin: true }).catch((error: ThreadStoppedError) => error.reason);
    const after = pool.run('a', { echo: 'still here' });
    // A starved machine gives it up as an overload.
    expect(await spinning).toMatch(/^(cpu|overload)$/);
    await expect(after).resolves.toBe('still here');
  });

  test('that gets little CPU time from the machine is not stopped', async () => {
    open({ cpuMs: 200 });
    await expect(pool.run('a', { waitMs: 1_000 })).resolves.toBe('waited');
  });

  test('that gets no CPU time for long is given up as an overload, not as the fault of its owner', {
    tags: ['sweep'],
  }, async () => {
    open({ cpuMs: 100 });
    await expect(pool.run('a', { waitMs: 60_000 })).rejects.toMatchObject({ reason: 'overload' });
  });

  test('that takes too much memory ends its thread, not the process', { tags: ['sweep'] }, async () => {
    await expect(open().run('a', { fill: true })).rejects.toMatchObject({ reason: 'memory' });
    await expect(pool.run('a', { echo: 1 })).resolves.toBe(1);
  });

  test('that fails is reported as a crash', async () => {
    await expect(open().run('a', { fail: true })).rejects.toMatchObject({
      reason: 'crash',
      message: 'the thread failed: no luck',
    });
    await expect(pool.run('a', { echo: 1 })).resolves.toBe(1);
  });

  test('that cannot be sent to a thread affects no other task', async () => {
    await expect(open().run('a', { echo: () => {} })).rejects.toThrow('could not be cloned');
    await expect(pool.run('a', { echo: 1 })).resolves.toBe(1);
  });
});

describe('owners', () => {
  test('do not wait for another whose tasks do not end', async () => {
    open({ cpuMs: 20_000 });
    const spinning = Array.from({ length: 3 }, () => pool.run('greedy', { spin: true }).catch(() => 'stopped'));
    await expect(pool.run('modest', { echo: 1 })).resolves.toBe(1);
    await expect(pool.run('modest', { echo: 2 })).resolves.toBe(2);
    await pool.close();
    expect(await Promise.all(spinning)).toEqual(['stopped', 'stopped', 'stopped']);
  });

  test('take turns', async () => {
    open({ threads: 1 });
    const order: string[] = [];
    const run = (owner: string, i: number) => pool.run(owner, { echo: i }).then(() => order.push(`${owner}${i}`));
    await Promise.all([run('a', 1), run('a', 2), run('a', 3), run('b', 1), run('b', 2)]);
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
  });

  test('have a maximum of waiting tasks', async () => {
    open({ threads: 1, maxWaiting: 2 });
    const tasks = Array.from({ length: 5 }, (_, i) => pool.run('a', { echo: i }).catch((error: Error) => error));
    const answers = await Promise.all(tasks);
    expect(answers.slice(0, 3)).toEqual([0, 1, 2]);
    expect(answers.slice(3)).toEqual([expect.any(ThreadsBusyError), expect.any(ThreadsBusyError)]);
    await expect(pool.run('a', { echo: 'again' })).resolves.toBe('again');
  });
});
