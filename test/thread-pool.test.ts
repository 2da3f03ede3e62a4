/** Work in threads ends: by itself, at its deadline or at its limit of memory, and owners take turns. */
import { afterEach, describe, expect, test } from 'vitest';
import { ThreadPool, type ThreadPoolOptions, type ThreadStopped, ThreadsBusy } from '../src/lib/thread-pool.ts';

let pool: ThreadPool;
afterEach(() => pool.close());

function open(options: Partial<ThreadPoolOptions> = {}): ThreadPool {
  const file = new URL('./support/thread.ts', import.meta.url);
  pool = new ThreadPool({ file, threads: 2, deadlineMs: 30_000, memoryMb: 64, mostWaiting: 10, ...options });
  return pool;
}

describe('a task', () => {
  test('is answered', async () => {
    await expect(open().run('a', { echo: { text: 'é', list: [1, null] } })).resolves.toEqual({
      text: 'é',
      list: [1, null],
    });
  });

  test('that takes too long is stopped, and whose it was is told', async () => {
    const stopped: [string, string][] = [];
    open({ deadlineMs: 300, onStopped: ({ reason }, owner) => stopped.push([reason, owner]) });
    await expect(pool.run('a', { spin: true })).rejects.toMatchObject({ reason: 'deadline' });
    expect(stopped).toEqual([['deadline', 'a']]);
  });

  test('after one that was stopped finds a new thread', async () => {
    open({ deadlineMs: 2_000 });
    const spinning = pool.run('a', { spin: true }).catch((error: ThreadStopped) => error.reason);
    const after = pool.run('a', { echo: 'still here' });
    expect(await spinning).toBe('deadline');
    await expect(after).resolves.toBe('still here');
  });

  test('that takes too much memory ends its thread, not the process', async () => {
    await expect(open().run('a', { fill: true })).rejects.toMatchObject({ reason: 'memory' });
    await expect(pool.run('a', { echo: 1 })).resolves.toBe(1);
  });

  test('that fails is told as such', async () => {
    await expect(open().run('a', { fail: true })).rejects.toMatchObject({
      reason: 'crash',
      message: 'the thread failed: no luck',
    });
    await expect(pool.run('a', { echo: 1 })).resolves.toBe(1);
  });

  test('that cannot be sent to a thread costs nobody else anything', async () => {
    await expect(open().run('a', { echo: () => {} })).rejects.toThrow('could not be cloned');
    await expect(pool.run('a', { echo: 1 })).resolves.toBe(1);
  });
});

describe('owners', () => {
  test('do not wait for one whose tasks do not end', async () => {
    open({ deadlineMs: 20_000 });
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

  test('have only so many tasks waiting', async () => {
    open({ threads: 1, mostWaiting: 2 });
    const tasks = Array.from({ length: 5 }, (_, i) => pool.run('a', { echo: i }).catch((error: Error) => error));
    const answers = await Promise.all(tasks);
    expect(answers.slice(0, 3)).toEqual([0, 1, 2]);
    expect(answers.slice(3)).toEqual([expect.any(ThreadsBusy), expect.any(ThreadsBusy)]);
    await expect(pool.run('a', { echo: 'again' })).resolves.toBe('again');
  });
});
