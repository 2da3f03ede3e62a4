/** Wires config, database, services and HTTP together; starts and stops the service. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { type Config, isLoopback, linkUrlOf } from './config.ts';
import { AppError } from './core/errors.ts';
import { commandLine } from './core/identity/actor.ts';
import { hostNameOf } from './core/mail-domain/lookups.ts';
import { addressesOf } from './core/operations/database-url.ts';
import type { ConnectionFacts } from './core/operations/instance.ts';
import { inboxChannel } from './db/audience/inbox.ts';
import { shiftsChannel } from './db/audience/on-call/watches.ts';
import { assignCell } from './db/connection/cell.ts';
import { Listener } from './db/connection/listen.ts';
import { migrate } from './db/connection/migrate.ts';
import { type Database, isUnavailable, openDatabase } from './db/connection/pool.ts';
import { writtenChannel } from './db/connection/replicas.ts';
import { recordServedUrl } from './db/operations/instance.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/embedded.ts';
import { Supervisor } from './engine/supervisor.ts';
import { listenForMails, type MailListener } from './http/history/feedback-mails.ts';
import { explainListen } from './http/server/listen-error.ts';
import { createMetrics, createMetricsServer, listenForMetrics } from './http/server/metrics/metrics.ts';
import { createServer } from './http/server/server.ts';
import { FairBudget } from './lib/load/fair-budget.ts';
import { FairSlots } from './lib/load/fair-slots.ts';
import { createOutbound } from './lib/network/outbound.ts';
import { Background } from './lib/process/background.ts';
import { createCipher } from './lib/secrets/cipher.ts';
import { openKeyring } from './lib/secrets/keyring.ts';
import { Oidc } from './lib/secrets/oidc.ts';
import { createSigner } from './lib/secrets/signer.ts';
import { openTraces } from './lib/telemetry/open-traces.ts';
import { currentTime } from './lib/time/clock.ts';
import { createSampleAcknowledgeLinks, createSampleLinks } from './pipeline/message-links.ts';
import { Plans } from './pipeline/plans.ts';
import { Rendering } from './pipeline/rendering/rendering.ts';
import { openAwsRole } from './providers/aws-role.ts';
import { smtp } from './providers/email/smtp/smtp.ts';
import { feedbackReaders } from './providers/feedback/index.ts';
import { MailReader } from './providers/feedback/mail-reader.ts';
import { providers } from './providers/index.ts';
import { InboxStreams } from './services/audience/inbox-streams.ts';
import { pollCalendars } from './services/audience/on-call/calendars/polls.ts';
import { CalendarReader } from './services/audience/on-call/calendars/reader.ts';
import { updateGroups } from './services/audience/on-call/groups.ts';
import { sendTestPages } from './services/audience/on-call/test-pages.ts';
import { watchSchedules } from './services/audience/on-call/watch.ts';
import { ContextSchemas } from './services/configuration/checks/context-schemas.ts';
import { DomainCheckLimits } from './services/configuration/checks/domain-check-limits.ts';
import { RateGuard } from './services/configuration/limits/rate-guard.ts';
import { TriggerCounts } from './services/configuration/limits/trigger-counts.ts';
import { UsageMeter } from './services/configuration/limits/usage-meter.ts';
import { TenantCache } from './services/configuration/paths/tenant-cache.ts';
import type { Deps } from './services/deps.ts';
import { AcknowledgementTimes } from './services/history/acknowledgements/acknowledgement-times.ts';
import { matchLateFeedback } from './services/history/feedback/feedback.ts';
import { pollMailboxes } from './services/history/feedback/mailboxes.ts';
import { HeartbeatCalls } from './services/history/heartbeats/call-store.ts';
import { HeartbeatWatch } from './services/history/heartbeats/watch.ts';
import { CallCounter } from './services/history/levels/call-counts.ts';
import { Watches } from './services/history/levels/watch.ts';
import { judgeOpenPayloads } from './services/history/sources/ingress.ts';
import { SourceStore } from './services/history/sources/source-store.ts';
import { TriggerStore } from './services/history/trigger-store.ts';
import { GuardMails } from './services/identity/guard-mails.ts';
import { KeyUse } from './services/identity/key-use.ts';
import { Mailer } from './services/identity/mail.ts';
import { createSignIn } from './services/identity/sign-in/sign-in-state.ts';
import { WorkerRounds } from './services/operations/backlog.ts';
import { findLinkUrl, InstanceGuard } from './services/operations/instance.ts';
import { runMaintenance } from './services/operations/maintenance.ts';
import { recoverMoves } from './services/operations/organization-moves.ts';
import { OutboxDrains } from './services/operations/outbox-drains.ts';
import { openReplicaReads } from './services/operations/replica-reads.ts';
import { countCrash } from './services/operations/workers.ts';
import { version } from './version.ts';

/** An open database with all dependencies of the use cases. */
export interface Runtime {
  deps: Deps;
  database: Database;
  /** Address of PostgreSQL itself, without a connection pooler. */
  url: string;
  embedded: boolean;
  /** What identifies the database from outside. */
  surroundings: ConnectionFacts;
  close(): Promise<void>;
}

export interface Service {
  /** URL of the HTTP server. */
  address: string;
  /** URL of the metrics, if they have their own port. */
  metricsAddress: string | undefined;
  /** Port of the listener for bounce mails, if there is one. */
  mailPort: number | undefined;
  runtime: Runtime;
  replicaReads: Deps['replicaReads'];
  /** Stops accepting requests, finishes those in flight and closes the database. */
  stop(): Promise<void>;
}

/** How long a starting server waits for its database. */
const databaseTimeoutMs = 30_000;
const lastUseEveryMs = 30_000;
/** How often events are matched again that came before the outcome of their message. */
const feedbackEveryMs = 60_000;
const maintenanceEveryMs = 3_600_000;
/** How soon an organization is served again after its move was interrupted. */
const movesEveryMs = 3_000;
const payloadsEveryMs = 5_000;
const callCountsEveryMs = 5_000;
/** Far longer than the engine ever blocks its thread. */
const engineStalledMs = 30_000;
/** Generous: the limits on tenants' templates stay far below it. */
const engineHeapMb = 2_048;
/** The end of a stop, after requests and sends in flight have ended or were given up. */
const closeMs = 1_000;
const closeIdleEveryMs = 100;
/** Test messages at once; one organization gets half of it. */
const maxTestSends = 100;
/** Imports and pages of exports at once, in all and of one organization: fewer than there are connections. */
const maxBulk = { all: 4, organization: 2 };

/** Calendars of users that are fetched at once, in all and of one organization, and how long one may take while others wait. */
const maxCalendars = { all: 6, organization: 2 };
const calendarMs = 2_000;

/** Opens the database, or awaits `opening`, and applies pending migrations. `wait`: retry until the database is reachable. */
export async function openRuntime(
  config: Config,
  log: FastifyBaseLogger,
  wait = false,
  opening?: Promise<EmbeddedDatabase>,
): Promise<Runtime> {
  const embedded = config.databaseUrl
    ? undefined
    : await (opening ?? openEmbedded({ dataDir: config.dataDir, log: message => log.info(message) }));
  const { directDatabaseUrl } = config;
  const url = directDatabaseUrl ?? config.databaseUrl ?? embedded!.url;
  const database = openDatabase({
    url: config.databaseUrl ?? url,
    pooled: directDatabaseUrl !== undefined,
    name: 'belfry',
    onError: error => log.warn({ err: error }, 'a database connection was lost'),
  });
  const outbound = createOutbound({ allow: config.outboundAllow });
  const awsRole = openAwsRole(config.awsRoleFor);
  const rendering = new Rendering(log);
  const mailReader = new MailReader();
  const calendarReader = new CalendarReader();
  const mailer = openMailer(config, log);
  const background = new Background(error => log.warn({ err: error }, 'recording a failed sign-in failed'));
  const close = async () => {
    await rendering.close();
    await mailReader.close();
    await calendarReader.close();
    await mailer?.close();
    await background.drain();
    await outbound.close();
    await awsRole?.close();
    await database.close();
    await embedded?.release();
  };
  try {
    const applied = await migrateWhenReachable(database, log, wait ? databaseTimeoutMs : 0);
    if (applied.length > 0) log.info({ applied }, 'migrated the database');
    const { db } = database;
    if (config.cell !== undefined) await assignCell(db, config.cell);
    const tenantCache = new TenantCache(db);
    const keyring = await openKeyring(config);
    const linkUrl = wait ? linkUrlOf(config) : await findLinkUrl(db, linkUrlOf(config), config);
    const cipher = createCipher(keyring);
    const signer = createSigner(keyring);
    const deps: Deps = {
      db,
      tenantCache,
      contextSchemas: new ContextSchemas(db),
      domainCheckLimits: new DomainCheckLimits(config.dnsServers),
      cipher,
      keyring,
      signer,
      providers,
      feedbackReaders,
      mailReader,
      calendarReader,
      calendarSlots: new FairSlots(maxCalendars.all, maxCalendars.organization, { guaranteedMs: calendarMs }),
      triggers: new TriggerStore(database),
      sources: new SourceStore(database.pool),
      heartbeats: new HeartbeatCalls(database.pool),
      calls: new CallCounter(db),
      acknowledgementTimes: new AcknowledgementTimes(),
      keyUse: new KeyUse(),
      usage: new UsageMeter(db),
      triggerCounts: new TriggerCounts(),
      signIn: createSignIn(signer, background, config.oidc && new Oidc(config.oidc)),
      testSends: new FairBudget(maxTestSends),
      bulk: new FairSlots(maxBulk.all, maxBulk.organization),
      mailer,
      plans: new Plans({
        db,
        cache: tenantCache,
        cipher,
        providers,
        rendering,
        linksFor: createSampleLinks(config.baseUrl),
        acknowledgeUrlFor: createSampleAcknowledgeLinks(linkUrl),
      }),
      rendering,
      inboxStreams: new InboxStreams(database.pool, log),
      pool: database.pool,
      outbound,
      hostName: hostNameOf(config.baseUrl),
      awsRole,
      endedByOutcome: new Map(),
      feedbackCounts: new Map(),
      traces: undefined,
      replicaReads: undefined,
      actor: commandLine,
    };
    const { instance: name, databaseUrl } = config;
    const addresses = databaseUrl ? addressesOf(databaseUrl) : undefined;
    const surroundings = { name, addresses, filesMadeAt: embedded?.filesMadeAt };
    return { deps, database, url, embedded: embedded !== undefined, surroundings, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The operator's own mail server may be in a private network. */
function openMailer({ mail, baseUrl }: Config, log: FastifyBaseLogger): Mailer | undefined {
  if (!mail) return undefined;
  const outbound = createOutbound({ allow: ['0.0.0.0/0', '::/0'] });
  return new Mailer(smtp.open(mail, { outbound, hostName: hostNameOf(baseUrl) }), log);
}

export async function startService(
  config: Config,
  log: FastifyBaseLogger,
  opening?: Promise<EmbeddedDatabase>,
): Promise<Service> {
  const runtime = await openRuntime(config, log, true, opening);
  const { database, url, surroundings } = runtime;
  const deps: Deps = {
    ...runtime.deps,
    ...(config.role === 'all' && { triggers: new TriggerStore(database, () => engine!) }),
    traces: await openTraces(config.traces, log),
    replicaReads: openReplicaReads(config, database, log, () => listener),
  };
  const { tenantCache, traces, replicaReads } = deps;
  const instance = new InstanceGuard(deps.db, surroundings, log);
  const rounds =
    config.role === 'api'
      ? undefined
      : new WorkerRounds(
          deps.db,
          error => log.warn({ err: error }, 'storing the time of the last worker round failed; retrying later'),
          performance.now(),
        );
  const engineCounts = { missingVariables: 0 };
  const { secretKey, previousSecretKeys, dataDir, outboundAllow, awsRoleFor, baseUrl } = config;
  const engine =
    config.role === 'api'
      ? undefined
      : new Supervisor({
          entry: new URL('./engine/run.ts', import.meta.url),
          stalledMs: engineStalledMs,
          heapMb: engineHeapMb,
          settings: {
            url,
            keys: { secretKey, previousSecretKeys, dataDir },
            surroundings,
            outboundAllow,
            awsRoleFor,
            sharesProcessWithApi: config.role === 'all',
            baseUrl,
            linkUrl: linkUrlOf(config),
            traces: config.traces,
          },
          log,
          onCrash: work => countCrash(deps, work, log),
          onReport: report => {
            if (report.kind === 'missing-variables') engineCounts.missingVariables = report.total;
            if (report.kind === 'round') rounds?.recordRound(report.worker, performance.now());
          },
        });
  const listener = new Listener({
    url,
    name: 'belfry listener',
    channels:
      config.role === 'worker'
        ? ['belfry_changed', shiftsChannel]
        : ['belfry_changed', shiftsChannel, inboxChannel, ...(replicaReads ? [writtenChannel] : [])],
    onNotify: (channel, payload) => {
      if (channel === shiftsChannel) wakeShiftLoops();
      else if (channel === inboxChannel) deps.inboxStreams.announced(payload);
      else if (channel === writtenChannel) replicaReads?.handleAnnouncement(payload);
      else tenantCache.handleAnnouncement(payload);
    },
    onReady: () => {
      tenantCache.markConnected();
      deps.inboxStreams.connected();
      replicaReads?.handleConnected();
    },
    onLost: error => {
      tenantCache.markDisconnected();
      log.warn({ err: error }, 'lost the connection that listens for changes; caches are off until it is back');
    },
  });
  const saveLastUse = async () => {
    await deps.keyUse.flush(deps.db);
    await deps.signIn.use.flush(deps.db);
  };
  const timers = [
    setInterval(() => runSafely(log, 'storing the last use of keys and sessions', saveLastUse), lastUseEveryMs),
    setInterval(() => runSafely(log, 'maintenance', () => runMaintenance(deps, currentTime())), maintenanceEveryMs),
    setInterval(() => runSafely(log, 'judging payloads of sources', () => judgeOpenPayloads(deps)), payloadsEveryMs),
    setInterval(() => runSafely(log, 'storing counts of calls', () => deps.calls.flush()), callCountsEveryMs),
    setInterval(() => runSafely(log, 'recovering interrupted moves', () => recoverMoves(deps)), movesEveryMs),
    setInterval(
      () => runSafely(log, 'matching feedback', () => matchLateFeedback(deps, currentTime())),
      feedbackEveryMs,
    ),
  ];
  const isPaused = () => instance.isPaused;
  const outboxes =
    config.role === 'api' || config.outboxes.length === 0
      ? undefined
      : new OutboxDrains(config.outboxes, deps, log, isPaused);
  const rateGuard = new RateGuard(deps, log);
  const { mailer } = deps;
  const heartbeats = new HeartbeatWatch(deps, log, { isPaused, receives: config.role !== 'worker' });
  const groups = config.role === 'api' ? undefined : updateGroups(deps, log, isPaused);
  const scheduleWatch = watchSchedules(deps, log, isPaused);
  const wakeShiftLoops = () => {
    scheduleWatch.wake();
    groups?.wake();
  };
  const loops = [
    ...(outboxes ? [outboxes] : []),
    // The address is required with a mail server.
    ...(mailer ? [new GuardMails({ ...deps, mailer }, log, { isPaused, baseUrl: config.baseUrl! }).loop] : []),
    scheduleWatch,
    sendTestPages(deps, log, isPaused),
    new Watches(deps, log, isPaused).loop,
    ...(groups ? [groups, pollCalendars(deps, log, isPaused), ...pollMailboxes(deps, log, isPaused)] : []),
  ];
  const metrics = createMetrics({
    deps,
    ...(outboxes && { outboxes }),
    engineCounts,
    ...(engine && { readEngine: () => engine.readMetrics() }),
    pool: () => ({
      total: database.pool.totalCount,
      idle: database.pool.idleCount,
      waiting: database.pool.waitingCount,
    }),
  });
  const { token, port: metricsPort } = config.metrics;
  const metricsServer = metricsPort === undefined ? undefined : createMetricsServer(metrics, token);
  // The engine's thread loads its code while the server is created here.
  const engineStarted = engine?.start();
  engineStarted?.catch(() => {});
  const server = await createServer({
    deps,
    logger: log,
    withApi: config.role !== 'worker',
    baseUrl: config.baseUrl,
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins,
    withDemo: runtime.embedded,
    metrics,
    metricsAccess: { ownPort: metricsServer !== undefined, token, isPublic: !isLoopback(config.host) },
    rounds,
  });

  let mails: MailListener | undefined;
  const stop = async () => {
    await mails?.close();
    for (const timer of timers) clearInterval(timer);
    deps.inboxStreams.closeAll();
    const graceMs = config.stopTimeoutMs - closeMs;
    const forceClose = setTimeout(() => server.server.closeAllConnections(), graceMs);
    // Clients keep a connection open after the response to a request that was in flight.
    const closeIdle = setInterval(() => server.server.closeIdleConnections(), closeIdleEveryMs);
    // A send whose provider does not answer in time is recovered as unknown, as after a crash.
    const engineStopped = engine?.stop(graceMs);
    // A failure is reported where it is awaited.
    engineStopped?.catch(() => {});
    await Promise.all([server.close(), heartbeats.stop(), ...loops.map(loop => loop.stop()), instance.stop()]);
    clearTimeout(forceClose);
    clearInterval(closeIdle);
    metricsServer?.close().closeAllConnections();
    await deps.triggers.drain();
    await deps.sources.drain();
    await deps.heartbeats.drain();
    await runSafely(log, 'storing counts of calls', () => deps.calls.flush());
    await Promise.all([engineStopped, traces?.close()]);
    await runSafely(log, 'storing the last use of keys and sessions', saveLastUse);
    await runSafely(log, 'storing usual rates of triggers', () => rateGuard.stop());
    await replicaReads?.replicas.stop();
    await listener.close();
    await runtime.close();
  };
  try {
    await instance.check();
    instance.start();
    await listener.start();
    await replicaReads?.replicas.start();
    await engineStarted;
    rateGuard.loop.start();
    for (const loop of loops) loop.start();
    const metricsAddress = metricsServer && (await listenForMetrics(metricsServer, config.metrics, log));
    if (!metricsServer && !token && !isLoopback(config.host)) {
      log.info('/metrics is closed: set METRICS_TOKEN to read it, or METRICS_PORT to serve metrics on their own port');
    }
    mails = await openMailListener(deps, log, config);
    const address = await server.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: where => `Belfry ${version} (role ${config.role}) listens on ${where}`,
    });
    await heartbeats.start();
    if (config.role !== 'worker') {
      const port = Number(new URL(address).port);
      await recordServedUrl(deps.db, linkUrlOf({ ...config, port }) ?? '');
    }
    return { address, metricsAddress, mailPort: mails?.port, runtime, replicaReads, stop };
  } catch (error) {
    await stop();
    throw explainListen(error, 'PORT', config);
  }
}

async function openMailListener(deps: Deps, log: FastifyBaseLogger, config: Config) {
  const { smtpIn, role, secretKey, previousSecretKeys, dataDir } = config;
  if (!smtpIn || role === 'worker') return undefined;
  const keys = { secretKey, previousSecretKeys, dataDir };
  return listenForMails(deps, log, { ...smtpIn, keys }).catch(error => {
    throw explainListen(error, 'BELFRY_SMTP_IN', smtpIn);
  });
}

/** Retries until the timeout: a server and its database are often started together. */
async function migrateWhenReachable(database: Database, log: FastifyBaseLogger, timeoutMs: number): Promise<string[]> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await migrate(database.db);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const reason = (error as Error).message || String((error as NodeJS.ErrnoException).code);
      if (performance.now() >= deadline) {
        throw new AppError('service.unavailable', `the database cannot be reached: ${reason}`, { cause: error });
      }
      log.warn(`waiting for the database: ${reason}`);
      await sleep(1_000);
    }
  }
}

/** Logs a failure instead of throwing it: the next interval tries again. */
async function runSafely(log: FastifyBaseLogger, task: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn({ err: error }, `${task} failed; retrying later`);
  }
}
