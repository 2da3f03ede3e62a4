/**
 * The script of the API reference, a 4.4 MB string inside Scalar's plugin. Importing the plugin costs 0.4 s and 41 MB, and
 * blocks the event loop for 0.16 s per request. So the first request starts a thread that extracts the script and exits;
 * only the script stays in memory. A packaged Belfry has the script as a file instead: see scripts/package.ts.
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
