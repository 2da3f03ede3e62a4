/**
 * The entry point of the engine's thread: opens its own connections, runs the worker, the webhook dispatcher and the message updater, and
 * stops on request.
 */

import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { returnPathOf } from '../core/feedback/return-path.ts';
import { hostNameOf } from '../core/mail-domain/lookups.ts';
import { Listener } from '../db/connection/listen.ts';
import { type Database, indexScansOnly, openDatabase, type PoolOptions } from '../db/connection/pool.ts';
import { Slots } from '../db/ledger/deliver/channel-limits.ts';
import { AnnouncedCache } from '../lib/caching/announced-cache.ts';
import { Announcements } from '../lib/caching/announcements.ts';
import { createOutbound } from '../lib/network/outbound.ts';
import { forceExitSoon } from '../lib/process/force-exit.ts';
import { releaseMemoryWhenSettled } from '../lib/process/release-memory.ts';
import { createCipher } from '../lib/secrets/cipher.ts';
import { openKeyring } from '../lib/secrets/keyring.ts';
import { createSigner } from '../lib/secrets/signer.ts';
import { describeError } from '../lib/telemetry/describe-error.ts';
import { openTraces } from '../lib/telemetry/open-traces.ts';
import { alignedDelayMs } from '../lib/time/aligned-delay.ts';
import { currentTime } from '../lib/time/clock.ts';
import { createButtons } from '../pipeline/buttons.ts';
import { createAcknowledgeLinks, createLinks, createTracking } from '../pipeline/message-links.ts';
import { MissingVariables } from '../pipeline/missing-variables.ts';
import { Plans } from '../pipeline/plans.ts';
import { RenderSnapshots } from '../pipeline/rendering/render-snapshots.ts';
import { Rendering } from '../pipeline/rendering/rendering.ts';
import { openAwsRole } from '../providers/aws-role.ts';
import { providers } from '../providers/index.ts';
import { createInboxWriter } from '../services/audience/inbox.ts';
import { UsageMeter } from '../services/configuration/limits/usage-meter.ts';
import { createDigestCloser } from '../services/history/digests.ts';
import { InstanceGuard } from '../services/operations/instance.ts';
import { AttachmentFiles } from './attachments/files.ts';
import { createBundleJoiner } from './deliver/bundles.ts';
import { ChannelOutages } from './deliver/channel-outages.ts';
import type { DeliverTools } from './deliver/deliver.ts';
import { createStateReader } from './deliver/delivery-states.ts';
import { Fence } from './deliver/fence.ts';
import { GoneAddresses } from './deliver/gone-addresses.ts';
import type { MessageTools } from './deliver/message.ts';
import { MessageUpdater } from './deliver/message-updates.ts';
import { Outcomes } from './deliver/outcomes.ts';
import { Senders } from './deliver/senders.ts';
import { createSilencedWriter } from './deliver/silenced.ts';
import { AudienceGuard } from './expand/audiences.ts';
import type { ExpandTools } from './expand/frame.ts';
import { HoldCounter } from './expand/holds.ts';
import { UnexpandedCounter } from './expand/unexpanded-counts.ts';
import { ChannelLimits } from './limits/channel-limits.ts';
import { DayLimits } from './limits/day-limits.ts';
import { type Log, RareWarnings } from './log.ts';
import { SourceUpdater } from './source-updates.ts';
import type { ThreadData, ThreadReport, ThreadRequest } from './supervisor.ts';
import { Meters } from './telemetry/meters.ts';
import { WebhookDispatcher } from './webhooks.ts';
import { WorkMarker } from './work-marker.ts';
import { Worker } from './worker.ts';

const tickEveryMs = 1_000;
/**
 * Lowers the engine's CPU priority below the API's: at full sending speed, a third more triggers are accepted and no
 * fewer messages are sent. Threads started from here inherit the priority.
 */
const niceIncrement = 5;
const maxNice = 19;
let reportedMissing = 0;

const { settings, marker: memory } = workerData as ThreadData;
if (settings.sharesProcessWithApi) yieldToApi();
const port = parentPort!;
const report = (message: ThreadReport) => port.postMessage(message);
const logAt = (level: 'info' | 'warn' | 'error') => (fields: { err?: unknown }, message: string) => {
  const { err, ...others } = fields;
  report({ kind: 'log', level, message, fields: err === undefined ? others : { ...others, err: describeError(err) } });
};
const log = { info: logAt('info'), warn: logAt('warn'), error: logAt('error') } as Log;

const open = (connections: number, more: Pick<PoolOptions, 'settings' | 'pipelined'> = {}): Database =>
  openDatabase({
    url: settings.url,
    name: 'belfry worker',
    connections,
    pipelined: more.pipelined ?? false,
    // A frozen process must not hold locks that its successor needs.
    settings: { ...more.settings, idle_in_transaction_session_timeout: '12s' },
    onError: error => log.warn({ err: error }, 'the engine lost a database connection'),
  });
const plain = open(10);
// Pipelining saves two of five round trips per claim.
const claims = open(1, { settings: indexScansOnly, pipelined: true });
const hot = open(4, { settings: indexScansOnly });
const disabling = open(1, { settings: indexScansOnly });

const { db, pool } = plain;
const cache = new AnnouncedCache();
const stops = new Announcements();
const outbound = createOutbound({ allow: [...settings.outboundAllow] });
const awsRole = openAwsRole(settings.awsRoleFor);
const outages = new ChannelOutages(pool, hot.pool, log);
const senders = new Senders({ outbound, hostName: hostNameOf(settings.baseUrl), awsRole }, outages);
const meters: Meters = new Meters({
  inFlight: () => worker.inFlight(),
  circuits: now => senders.circuits(now),
  pools: { plain: plain.pool, claims: claims.pool, hot: hot.pool },
});
const outcomes = new Outcomes(hot.pool, log, (size, ended) => {
  meters.batch('settle', size);
  meters.ended(ended);
});
const goneAddresses = new GoneAddresses(disabling);
const missingVariables = new MissingVariables();
const slots = new Slots(settings.url, error => {
  log.warn({ err: error }, 'lost the connection that holds channel slots; opening another');
  channelLimits.connectionLost();
});
const channelLimits = new ChannelLimits({ pool }, slots);
const dayLimits = new DayLimits(pool);
const marker = new WorkMarker(memory);
const rendering = new Rendering(log);
const keyring = await openKeyring(settings.keys);
const cipher = createCipher(keyring);
const signer = createSigner(keyring);
const linksFor = createLinks(signer, settings.baseUrl);
const instance = new InstanceGuard(db, settings.surroundings, log);
const traces = await openTraces(settings.traces, log);
const acknowledgeUrlFor = createAcknowledgeLinks(signer, settings.linkUrl);
const plans = new Plans({ db, cache, cipher, providers, rendering, linksFor, acknowledgeUrlFor });
const fence = new Fence();
const audiences = new AudienceGuard({ pool: hot.pool, plans, log });
const shared = { claims: claims.pool, hot: hot.pool, plans, stops, marker, meters, log, traces };
const expand: ExpandTools = {
  ...shared,
  db,
  usage: new UsageMeter(db),
  audiences,
  lastServed: { accepted: [], expanding: [], steps: [] },
};
const messages: MessageTools = {
  plans,
  marker,
  digests: createDigestCloser(pool, outcomes => meters.ended(outcomes)),
  snapshots: new RenderSnapshots(db),
  attachments: new AttachmentFiles(db, outbound),
  returnPathOf: ({ organization_id: organizationId, occurrence_id: occurrence, id }) =>
    returnPathOf({ organizationId, occurrence, id }, signer.signShort),
  buttonsFor: createButtons(signer, settings.linkUrl),
  track: createTracking(signer, settings.baseUrl),
};
const deliver: DeliverTools = {
  ...shared,
  messages,
  states: createStateReader({ pool: hot.pool, plans }),
  fence,
  limits: [channelLimits, senders, dayLimits],
  channelLimits,
  dayLimits,
  senders,
  inbox: createInboxWriter(pool),
  outcomes,
  goneAddresses,
  lateAlerts: createBundleJoiner(hot.pool),
  silenced: createSilencedWriter(hot.pool),
  missingVariables,
  warnings: new RareWarnings(log),
};
const worker: Worker = new Worker({
  ...shared,
  url: settings.url,
  pool,
  instance,
  outages,
  startReads: () => listener.startReads(),
  dedupe: Object.values(providers)
    .filter(provider => provider.dedupes)
    .map(provider => provider.name),
  fence,
  senders,
  outcomes,
  channelLimits,
  expand,
  deliver,
});
/** Reporting a round wakes the main thread; health checks only need a resolution of a minute. */
const reportRoundsEveryMs = 5_000;
let reportedRoundAt = Number.NEGATIVE_INFINITY;
worker.onRound = id => {
  if (performance.now() - reportedRoundAt < reportRoundsEveryMs) return;
  reportedRoundAt = performance.now();
  report({ kind: 'round', worker: id });
};
const webhooks = new WebhookDispatcher({
  db,
  pool: hot.pool,
  cipher,
  outbound,
  meters,
  log,
  isHeld: () => instance.isPaused,
  baseUrl: settings.baseUrl,
});
const updates = new MessageUpdater({
  db,
  pool,
  queue: hot.pool,
  plans,
  rendering,
  providers,
  senders,
  limits: [channelLimits, senders],
  meters,
  log,
  isHeld: () => instance.isPaused,
});
const sourceUpdates = new SourceUpdater({
  pool: hot.pool,
  cipher,
  outbound,
  rendering,
  meters,
  log,
  isHeld: () => instance.isPaused,
  baseUrl: settings.baseUrl,
});
const countTools = { db, pool, hot: hot.pool, plans, marker, log, isHeld: () => instance.isPaused };
const unexpanded = new UnexpandedCounter(countTools);
const holds = new HoldCounter({ ...countTools, meters });
const listener = new Listener({
  url: settings.url,
  name: 'belfry worker listener',
  // It also reads recipients of triggers.
  settings: indexScansOnly,
  channels: ['belfry_changed', 'belfry_stop', 'belfry_work'],
  onNotify: (channel, payload, processId) => {
    if (channel === 'belfry_work') worker.wake(payload);
    else if (channel === 'belfry_stop') {
      if (!goneAddresses.isOwn(processId)) handleStop(payload);
    } else {
      stops.handleAnnouncement(payload);
      cache.handleAnnouncement(payload);
      webhooks.configurationChanged();
    }
  },
  onReady: () => {
    cache.markConnected();
    stops.markConnected();
    webhooks.configurationChanged();
    updates.loop.wake();
    sourceUpdates.loop.wake();
    unexpanded.loop.wake();
    holds.loop.wake();
  },
  onLost: error => {
    cache.markDisconnected();
    stops.markDisconnected();
    log.warn({ err: error }, 'lost the connection that listens for changes; polling the database until it is back');
  },
});

/** An organization, and the occurrence if one has ended: its messages that wait for a provider are settled at once. */
function handleStop(payload: string): void {
  const [organization = '', occurrenceId] = payload.split(' ');
  stops.handleAnnouncement(organization);
  if (!occurrenceId) return;
  senders.interrupt(occurrenceId);
  updates.loop.wake();
  sourceUpdates.loop.wake();
  unexpanded.loop.wake();
  holds.loop.wake();
}

function yieldToApi(): void {
  // On other systems, the priority applies to the whole process.
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.min(maxNice, getPriority() + niceIncrement));
  } catch {
    // A sandbox may forbid it. Then both threads have the same priority.
  }
}

async function reportMissingVariables(): Promise<void> {
  try {
    const { total } = missingVariables;
    if (total === reportedMissing) return;
    await missingVariables.flush(db, log, currentTime());
    report({ kind: 'missing-variables', total });
    reportedMissing = total;
  } catch (error) {
    log.warn({ err: error }, 'recording missing variables failed; trying again');
  }
}

let ticking = setTimeout(tick, alignedDelayMs(tickEveryMs));
function tick(): void {
  marker.beat();
  meters.tick();
  void reportMissingVariables();
  void audiences.flush();
  ticking = setTimeout(tick, alignedDelayMs(tickEveryMs));
}

async function stop(): Promise<void> {
  // The heartbeat continues, because deliveries in flight may take long.
  await Promise.all([
    worker.stop(),
    webhooks.stop(),
    updates.stop(),
    sourceUpdates.stop(),
    unexpanded.loop.stop(),
    holds.loop.stop(),
  ]);
  clearTimeout(ticking);
  await reportMissingVariables();
  await audiences.flush();
  await listener.close();
  await senders.close();
  await slots.close();
  await outbound.close();
  await awsRole?.close();
  await rendering.close();
  await Promise.all([plain.close(), claims.close(), hot.close(), disabling.close(), traces?.close()]);
  port.close();
  forceExitSoon();
}

port.on('message', (request: ThreadRequest) => {
  if (request === 'stop') void stop();
  else if (request === 'metrics') void meters.read().then(metrics => report({ kind: 'metrics', metrics }));
  else {
    const { offer, triggers } = request;
    worker.offer({ triggers, answer: ids => report({ kind: 'accepted', offer, ids }) });
  }
});

await Promise.all([outbound.load(), listener.start()]);
await worker.start();
for (const { loop } of [webhooks, updates, sourceUpdates, unexpanded, holds]) loop.start();
report({ kind: 'started' });
releaseMemoryWhenSettled();
