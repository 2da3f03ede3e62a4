/** Sends what its parent asks for, and tells what came of it: see load.ts. */
import { createRequire } from 'node:module';
import type { Job, Outcome } from './load.ts';

interface Request {
  path: string;
  body: string;
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

async function work({ origins, paths, headers, bodies, connections, amount }: Job): Promise<Outcome> {
  let began = 0;
  let beganAt = 0;
  let ended = 0;
  let answers = 0;
  let opened = 0;
  const tracker = autocannon({
    url: origins,
    method: 'POST',
    headers,
    connections,
    amount,
    // How often it looks whether all are answered, in ms.
    sampleInt: 100,
    // Each connection has its share of the paths and bodies: all of them with all would be many, and all at the same one
    // at a time.
    requests: [{ path: paths[0]!, body: bodies[0]! }],
    setupClient: (client: { setRequests(requests: Request[]): void }) => {
      const first = opened++;
      const own = <Item>(items: Item[]) => items.filter((_, i) => i % connections === first % items.length);
      const [ownPaths, ownBodies] = [own(paths), own(bodies)];
      const requests = Array.from({ length: Math.max(ownPaths.length, ownBodies.length) }, (_, i) => ({
        path: ownPaths[i % ownPaths.length]!,
        body: ownBodies[i % ownBodies.length]!,
      }));
      if (paths.length > 1 || bodies.length > 1) client.setRequests(requests);
    },
  });
  tracker.on('start', () => {
    began = performance.now();
    beganAt = Date.now();
  });
  tracker.on('response', () => {
    if (++answers < amount) return;
    ended = performance.now();
    process.send!({ answered: true });
  });
  const told = await tracker;
  return { told, beganAt, perSecond: (answers * 1_000) / ((ended || performance.now()) - began) };
}
