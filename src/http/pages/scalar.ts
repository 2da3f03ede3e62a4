/**
 * The script of the API reference. Scalar's plugin keeps it as a string of 4.4 MB in its module. Importing that at the
 * start would cost every process 0.4 s and 41 MB though few ever show the reference, and each time the plugin sends it
 * the event loop stands still for 0.16 s. So the first request starts a thread that fetches the script and ends: a
 * second until the page shows, no pause longer than 25 ms for anybody else, and of the heap only the script stays taken.
 * An installed Belfry has the script as a file, and not the plugin: see scripts/package.ts.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

let script: Promise<Buffer> | undefined;

export function scalarScript(): Promise<Buffer> {
  script ??= load().catch(error => {
    script = undefined; // The next request tries again.
    throw error;
  });
  return script;
}

async function load(): Promise<Buffer> {
  const packed = await readFile(new URL('reference.js', import.meta.url)).catch(() => undefined);
  if (packed) return packed;
  // `once` rejects when the thread fails.
  const [bytes] = (await once(new Worker(new URL('scalar-worker.ts', import.meta.url)), 'message')) as [Uint8Array];
  return Buffer.from(bytes.buffer);
}
