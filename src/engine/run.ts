/** The engine in its thread: opens its own connections, works, and stops when it is told to. */
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Slots } from '../db/limits.ts';
import { Listener } from '../db/listen.ts';
import { byIndexAlone, type Database, openDatabase, type PoolOptions } from '../db/pool.ts';
import { createCipher } from '../lib/cipher.ts';
import { describeError } from '../lib/describe-error.ts';
import { endWhateverLingers } from '../lib/end-whatever-lingers.ts';
import { openKeyring } from '../lib/keyring.ts';
import { openTraces } from '../lib/open-traces.ts';
import { createOutbound } from '../lib/outbound.ts';
import { releaseMemoryWhenSettled } from '../lib/release-memory.ts';
import { createSigner } from '../lib/signer.ts';
import { untilNext } from '../lib/until-next.ts';
import { providers } from '../providers/index.ts';
import { createDigestCloser } from '../services/digests.ts';
import { createInboxWriter } from '../services/inbox.ts';
import { InstanceGuard } from '../services/instance.ts';
import { createAcknowledgeLinks, createLinks } from '../services/message-links.ts';
import { MissingVariables } from '../services/missing-variables.ts';
import { Plans } from '../services/plans.ts';
import { RenderSnapshots } from '../services/render-snapshots.ts';
import { Rendering } from '../services/rendering.ts';
import { TenantCache } from '../services/tenant-cache.ts';
import { UsageMeter } from '../services/usage-meter.ts';
import { ChannelOutages } from './channel-outages.ts';
import { Limits } from './limits.ts';
import type { Log } from './log.ts';
import { Meters } from './meters.ts';
import { Outcomes } from './outcomes.ts';
import { Senders } from './senders.ts';
import type { ThreadData, ThreadReport, ThreadRequest } from './supervisor.ts';
import { WebhookDispatcher } from './webhooks.ts';
import { WorkMarker } from './work-marker.ts';
import { Worker } from './worker.ts';

const tickEveryMs = 1_000;
/**
 * Where both want the processor, triggers are accepted first: while it sends at full speed, a third more of them are, and no
 * fewer messages are sent. Threads that are started from here yield as well.
 */
const yieldBy = 5;
const lowestPriority = 19;
let toldMissing = 0;

const { settings, marker: memory } = workerData as ThreadData;
if (settings.isBesideApi) yieldToApi();
const port = parentPort!;
const tell = (report: ThreadReport) => port.postMessage(report);
const logAt = (level: 'info' | 'warn' | 'error') => (fields: { err?: unknown }, message: string) => {
  const { err, ...others } = fields;
  tell({ kind: 'log', level, message, fields: err === undefined ? others : { ...others, err: describeError(err) } });
};
const log = { info: logAt('info'), warn: logAt('warn'), error: logAt('error') } as Log;

const open = (connections: number, more: Pick<PoolOptions, 'settings' | 'pipelined'> = {}): Database =>
  openDatabase({
    url: settings.url,
    name: 'belfry worker',
    connections,
    ...more,
    onError: error => log.warn({ err: error }, "one of the engine's database connections broke"),
  });
const plain = open(10);
// A claim goes to the server and back three times instead of five: a message by itself arrives after 9.1 ms instead of 9.6
// where it is on the same machine, and where it is not, sooner by twice the way.
const claims = open(1, { settings: byIndexAlone, pipelined: true });
const hot = open(4, { settings: byIndexAlone });

const { db, pool } = plain;
const tenantCache = new TenantCache(db);
const outbound = createOutbound({ allow: [...settings.outboundAllow] });
const outages = new ChannelOutages(pool, log);
const senders = new Senders({ outbound }, outages);
const meters: Meters = new Meters({
  inFlight: () => worker.inFlight(),
  circuits: now => senders.circuits(now),
  pools: { plain: plain.pool, claims: claims.pool, hot: hot.pool },
});
const outcomes = new Outcomes(hot.pool, log, (size, ended) => {
  meters.batch('settle', size);
  meters.ended(ended);
});
const missingVariables = new MissingVariables();
const slots = new Slots(settings.url, error => {
  log.warn({ err: error }, 'lost the connection that keeps within the limits of channels; opening another');
  limits.lost();
});
const limits = new Limits({ pool }, slots);
const marker = new WorkMarker(memory);
const rendering = new Rendering(log);
const keyring = await openKeyring(settings.keys);
const cipher = createCipher(keyring);
const signer = createSigner(keyring);
const linksFor = createLinks(signer, settings.baseUrl);
const instance = new InstanceGuard(db, settings.surroundings, log);
const traces = await openTraces(settings.traces, log);
const acknowledgeUrlFor = createAcknowledgeLinks(signer, settings.baseUrl);
const worker: Worker = new Worker(
  {
    db,
    pool,
    instance,
    claims: claims.pool,
    hot: hot.pool,
    plans: new Plans({ db, tenantCache, cipher, providers, rendering, linksFor, acknowledgeUrlFor }),
    senders,
    outcomes,
    inbox: createInboxWriter(pool),
    digests: createDigestCloser(pool, outcomes => meters.ended(outcomes)),
    snapshots: new RenderSnapshots(db),
    missingVariables,
    usage: new UsageMeter(db),
    limits,
    marker,
    meters,
    log,
    traces,
    turns: { accepted: [], expanding: [], steps: [], deliveries: [] },
  },
  settings.url,
  Object.values(providers)
    .filter(provider => provider.dedupes)
    .map(provider => provider.name),
);
/** Often enough for whoever asks whether this worker works, which is judged by the minute: each time wakes the other thread. */
const tellRoundsEveryMs = 5_000;
let toldRoundAt = 0;
worker.onRound = id => {
  if (Date.now() - toldRoundAt < tellRoundsEveryMs) return;
  toldRoundAt = Date.now();
  tell({ kind: 'round', worker: id });
};
const webhooks = new WebhookDispatcher({
  db,
  pool: hot.pool,
  cipher,
  outbound,
  outages,
  meters,
  log,
  isHeld: () => instance.isPaused,
  baseUrl: settings.baseUrl,
});
const listener = new Listener({
  url: settings.url,
  name: 'belfry worker',
  channels: ['belfry_changed', 'belfry_work'],
  onNotify: (channel, payload) => {
    if (channel === 'belfry_work') worker.wake(payload);
    else {
      tenantCache.announced(payload);
      webhooks.changed();
    }
  },
  onReady: () => {
    tenantCache.connected();
    webhooks.changed();
  },
  onLost: error => {
    tenantCache.disconnected();
    log.warn({ err: error }, 'lost the connection that hears of changes; asking the database until it is back');
  },
});

function yieldToApi(): void {
  // Elsewhere a priority is that of the whole process.
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.min(lowestPriority, getPriority() + yieldBy));
  } catch {
    // A sandbox that forbids it: then both are equal.
  }
}

async function noteMissing(): Promise<void> {
  try {
    const { total } = missingVariables;
    if (total === toldMissing) return;
    await missingVariables.flush(db, log, Date.now());
    tell({ kind: 'missing-variables', total });
    toldMissing = total;
  } catch (error) {
    log.warn({ err: error }, 'noting missing variables failed; it will be tried again');
  }
}

let ticking = setTimeout(tick, untilNext(tickEveryMs));
function tick(): void {
  marker.beat();
  meters.tick();
  void noteMissing();
  ticking = setTimeout(tick, untilNext(tickEveryMs));
}

async function stop(): Promise<void> {
  // The beat goes on: what is in flight may take its time.
  await Promise.all([worker.stop(), webhooks.stop()]);
  clearTimeout(ticking);
  await noteMissing();
  await listener.close();
  await senders.close();
  await slots.close();
  await outbound.close();
  await rendering.close();
  await Promise.all([plain.close(), claims.close(), hot.close(), traces?.close()]);
  port.close();
  endWhateverLingers();
}

port.on('message', (request: ThreadRequest) => {
  if (request === 'stop') void stop();
  else void meters.read().then(metrics => tell({ kind: 'metrics', metrics }));
});

await listener.start();
await worker.start();
webhooks.start();
tell({ kind: 'started' });
releaseMemoryWhenSettled();
