/** The worker thread of test/lib/thread-pool.test.ts. */
import { parentPort } from 'node:worker_threads';

type Task = { echo: unknown } | { spin: true } | { waitMs: number } | { fill: true } | { fail: true };

parentPort!.on('message', (task: Task) => {
  if ('spin' in task) for (;;);
  if ('waitMs' in task) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, task.waitMs);
    return parentPort!.postMessage('waited');
  }
  if ('fail' in task) throw new Error('no luck');
  const kept: unknown[] = [];
  while ('fill' in task) kept.push(Array.from({ length: 10_000 }, (_, i) => ({ i })));
  parentPort!.postMessage('echo' in task ? task.echo : kept.length);
});
parentPort!.postMessage('ready');
