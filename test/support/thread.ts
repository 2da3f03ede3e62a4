/** What the threads of test/thread-pool.test.ts do. */
import { parentPort } from 'node:worker_threads';

type Task = { echo: unknown } | { spin: true } | { fill: true } | { fail: true };

parentPort!.on('message', (task: Task) => {
  if ('spin' in task) for (;;);
  if ('fail' in task) throw new Error('no luck');
  const kept: unknown[] = [];
  while ('fill' in task) kept.push(Array.from({ length: 10_000 }, (_, i) => ({ i })));
  parentPort!.postMessage('echo' in task ? task.echo : kept.length);
});
parentPort!.postMessage('ready');
