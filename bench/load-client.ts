/** Sends the requests that its parent asks for, and reports the results: see load.ts. */
import { createRequire } from 'node:module';
import { type Job, type Outcome, uniqueMark } from './load.ts';

interface Request {
  path: string;
  body: string;
  setupRequest?: (request: Request) => Request;
}

interface Tracker extends PromiseLike<Outcome['stats']> {
  on(name: 'start' | 'response', listener: () => void): void;
}

// autocannon has no types.
const autocannon = createRequire(import.meta.url)('autocannon') as (options: object) => Tracker;

process.on('message', (job: Job) => {
  work(job).then(
    outcome => process.send!({ outcome }),
    error => process.send!({ error: String(error.stack) }),
  );
});
process.on('disconnect', () => process.exit(0));

let sent = 0;

/** Puts another text into each request where its body says so. */
function prepare(request: Request): Request {
  if (!request.body.includes(uniqueMark)) return request;
  const setupRequest = (one: Request) => ({
    ...one,
    body: request.body.replaceAll(uniqueMark, `${process.pid}-${++sent}`),
  });
  return { ...request, setupRequest };
}

async function work({ origins, paths, headers, bodies, connections, amount }: Job): Promise<Outcome> {
  let began = 0;
  let beganAt = 0;
  let ended = 0;
  let responses = 0;
  let opened = 0;
  const tracker = autocannon({
    url: origins,
    method: 'POST',
    headers,
    connections,
    amount,
    // Interval in which it checks for the end of the run, in ms.
    sampleInt: 100,
    // Each connection gets a part of the paths and bodies: all of them for each connection would be too many, and all
    // connections would use the same one at a time.
    requests: [prepare({ path: paths[0]!, body: bodies[0]! })],
    setupClient: (client: { setRequests(requests: Request[]): void }) => {
      const first = opened++;
      const own = <Item>(items: Item[]) => items.filter((_, i) => i % connections === first % items.length);
      const [ownPaths, ownBodies] = [own(paths), own(bodies)];
      const requests = Array.from({ length: Math.max(ownPaths.length, ownBodies.length) }, (_, i) =>
        prepare({ path: ownPaths[i % ownPaths.length]!, body: ownBodies[i % ownBodies.length]! }),
      );
      if (paths.length > 1 || bodies.length > 1) client.setRequests(requests);
    },
  });
  tracker.on('start', () => {
    began = performance.now();
    beganAt = Date.now();
  });
  tracker.on('response', () => {
    if (++responses < amount) return;
    ended = performance.now();
    process.send!({ lastResponse: true });
  });
  const stats = await tracker;
  return { stats, beganAt, perSecond: (responses * 1_000) / ((ended || performance.now()) - began) };
}
