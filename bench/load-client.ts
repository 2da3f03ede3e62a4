/** Sends what its parent asks for, and tells what came of it: see load.ts. */
import { createRequire } from 'node:module';
import type { Job, Outcome } from './load.ts';

interface Request {
  path: string;
}

interface Tracker extends PromiseLike<Outcome['told']> {
  on(name: 'start' | 'response', listener: () => void): void;
}

// It comes without types.
const autocannon = createRequire(import.meta.url)('autocannon') as (options: object) => Tracker;

process.on('message', (job: Job) => {
  work(job).then(
    outcome => process.send!({ outcome }),
    error => process.send!({ error: String(error.stack) }),
  );
});
process.on('disconnect', () => process.exit(0));

async function work({ origins, paths, headers, body, connections, amount }: Job): Promise<Outcome> {
  let began = 0;
  let ended = 0;
  let answers = 0;
  let opened = 0;
  const tracker = autocannon({
    url: origins,
    method: 'POST',
    headers,
    body,
    connections,
    amount,
    // How often it looks whether all are answered, in ms.
    sampleInt: 100,
    // Each connection has its share of the paths: all of them with all would be many, and all at the same one at a time.
    requests: [{ path: paths[0]! }],
    setupClient: (client: { setRequests(requests: Request[]): void }) => {
      const first = opened++;
      const own = paths.filter((_, i) => i % connections === first % paths.length);
      if (paths.length > 1) client.setRequests(own.map(path => ({ path })));
    },
  });
  tracker.on('start', () => {
    began = performance.now();
  });
  tracker.on('response', () => {
    if (++answers === amount) ended = performance.now();
  });
  const told = await tracker;
  return { told, perSecond: (answers * 1_000) / ((ended || performance.now()) - began) };
}
