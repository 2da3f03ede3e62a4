/** Replaces the engine's thread: marks the work it starts, then crashes or hangs as the test asks. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadData } from '../../src/engine/supervisor.ts';
import { WorkMarker } from '../../src/engine/work-marker.ts';

const { settings, marker: memory } = workerData as ThreadData;
const marker = new WorkMarker(memory);
const [way, occurrence, delivery] = settings.url.split(' ') as [string, string, string?];
parentPort!.postMessage({ kind: 'started' });
setInterval(() => marker.beat(), 20);
parentPort!.once('message', () => process.exit(0));
setTimeout(() => {
  const work = { organizationId: 7, occurrenceId: occurrence, deliveryId: delivery ? Number(delivery) : undefined };
  void marker.during(work, mark => {
    mark();
    return new Promise(() => {});
  });
  if (way === 'throws') throw new Error('broken on purpose');
  if (way === 'stalls') for (;;);
  if (way === 'fills') for (const kept = []; ; ) kept.push(new Array(1_000_000).fill(kept.length));
}, 50);
