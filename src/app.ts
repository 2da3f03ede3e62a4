/** The only wiring: config → database → services → HTTP; start and stop. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { type Config, isLoopback } from './config.ts';
import { commandLine } from './core/actor.ts';
import { AppError } from './core/errors.ts';
import { addressOf, type Surroundings } from './core/instance.ts';
import { storeOccurrencesAcrossTenants } from './db/accepting.ts';
import { storeKeyedAcrossTenants } from './db/dedup.ts';
import { inboxChannel } from './db/inbox.ts';
import { Listener } from './db/listen.ts';
import { migrate } from './db/migrate.ts';
import { type Database, isUnavailable, openDatabase } from './db/pool.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/embedded.ts';
import { Supervisor } from './engine/supervisor.ts';
import { createMetrics, createMetricsServer } from './http/metrics.ts';
import { createServer } from './http/server.ts';
import { createCipher } from './lib/cipher.ts';
import { openKeyring } from './lib/keyring.ts';
import { Oidc } from './lib/oidc.ts';
import { openTraces } from './lib/open-traces.ts';
import { createOutbound } from './lib/outbound.ts';
import { createSigner } from './lib/signer.ts';
import { smtp } from './providers/email/smtp/smtp.ts';
import { providers } from './providers/index.ts';
import { AcknowledgementTimes } from './services/acknowledgement-times.ts';
import { ContextSchemas } from './services/context-schemas.ts';
import type { Deps } from './services/deps.ts';
import { InboxStreams } from './services/inbox-streams.ts';
import { InstanceGuard } from './services/instance.ts';
import { KeyUse } from './services/key-use.ts';
import { Mailer } from './services/mail.ts';
import { runMaintenance } from './services/maintenance.ts';
import { createSampleAcknowledgeLinks, createSampleLinks } from './services/message-links.ts';
import { createOccurrenceBatcher } from './services/occurrences.ts';
import { OutboxDrains } from './services/outbox-drains.ts';
import { Plans } from './services/plans.ts';
import { WorkerRounds } from './services/queue.ts';
import { Rendering } from './services/rendering.ts';
import { createSignIn } from './services/sign-in-state.ts';
import { TenantCache } from './services/tenant-cache.ts';
import { UsageMeter } from './services/usage-meter.ts';
import { countCrash } from './services/workers.ts';
import { version } from './version.ts';

/** A database with everything that works on it. */
export interface Runtime {
  deps: Deps;
  database: Database;
  /** Of PostgreSQL itself, whatever pooler stands before it. */
  url: string;
  embedded: boolean;
  /** By which the database is recognised. */
  surroundings: Surroundings;
  close(): Promise<void>;
}

export interface Service {
  /** Where it listens. */
  address: string;
  /** Where metrics have a port of their own. */
  metricsAddress: string | undefined;
  runtime: Runtime;
  /** Stops accepting, finishes what is under way, lets the database go. */
  stop(): Promise<void>;
}

const timeoutMs = 30_000;
const lastUseEveryMs = 30_000;
const maintenanceEveryMs = 3_600_000;
/** Far longer than anything that the engine does without a pause. */
const engineStalledMs = 30_000;
/** Generous: what tenants write is bounded far below. */
const engineHeapMb = 2_048;
/** Of the ten seconds that a stop may take, what requests under way get. */
const graceMs = 6_000;

/** Opens the database, unless that is under way already, and brings its schema up to date. */
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
    onError: error => log.warn({ err: error }, 'a database connection broke'),
  });
  const outbound = createOutbound({ allow: config.outboundAllow });
  const rendering = new Rendering(log);
  const mailer = openMailer(config, log);
  const close = async () => {
    await rendering.close();
    await mailer?.close();
    await outbound.close();
    await database.close();
    await embedded?.release();
  };
  try {
    const applied = await migrateWhenReachable(database, log, wait ? timeoutMs : 0);
    if (applied.length > 0) log.info({ applied }, 'migrated the database');
    const { db } = database;
    const tenantCache = new TenantCache(db);
    const keyring = await openKeyring(config);
    const cipher = createCipher(keyring);
    const signer = createSigner(keyring);
    const deps: Deps = {
      db,
      tenantCache,
      contextSchemas: new ContextSchemas(db),
      cipher,
      keyring,
      signer,
      providers,
      occurrences: createOccurrenceBatcher(items => storeOccurrencesAcrossTenants(database.writer, items)),
      keyedOccurrences: createOccurrenceBatcher(items => storeKeyedAcrossTenants(database.pool, items)),
      acknowledgementTimes: new AcknowledgementTimes(),
      keyUse: new KeyUse(),
      usage: new UsageMeter(db),
      signIn: createSignIn(signer, config.oidc && new Oidc(config.oidc)),
      mailer,
      plans: new Plans({
        db,
        tenantCache,
        cipher,
        providers,
        rendering,
        linksFor: createSampleLinks(config.baseUrl),
        acknowledgeUrlFor: createSampleAcknowledgeLinks(config.baseUrl),
      }),
      rendering,
      inboxStreams: new InboxStreams(database.pool, log),
      pool: database.pool,
      outbound,
      ended: new Map(),
      traces: undefined,
      actor: commandLine,
    };
    const { instance: name, databaseUrl } = config;
    const address = databaseUrl && addressOf(databaseUrl);
    const surroundings = { name, address, filesMadeAt: embedded?.filesMadeAt };
    return { deps, database, url, embedded: embedded !== undefined, surroundings, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The operator's own mail server may stand anywhere, also in a private network. */
function openMailer({ mail }: Config, log: FastifyBaseLogger): Mailer | undefined {
  if (!mail) return undefined;
  const outbound = createOutbound({ allow: ['0.0.0.0/0', '::/0'] });
  return new Mailer(smtp.open(mail, { outbound }), log);
}

export async function startService(
  config: Config,
  log: FastifyBaseLogger,
  opening?: Promise<EmbeddedDatabase>,
): Promise<Service> {
  const runtime = await openRuntime(config, log, true, opening);
  const { database, url, surroundings } = runtime;
  const deps: Deps = { ...runtime.deps, traces: await openTraces(config.traces, log) };
  const { tenantCache, traces } = deps;
  const instance = new InstanceGuard(deps.db, surroundings, log);
  const rounds =
    config.role === 'api'
      ? undefined
      : new WorkerRounds(
          deps.db,
          error => log.warn({ err: error }, 'noting that a round is finished failed; it will be tried again'),
          Date.now(),
        );
  const engineCounts = { missingVariables: 0 };
  const { secretKey, previousSecretKeys, dataDir, outboundAllow, baseUrl } = config;
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
            isBesideApi: config.role === 'all',
            baseUrl,
            traces: config.traces,
          },
          log,
          onCrash: marked => countCrash(deps, marked, log),
          onReport: report => {
            if (report.kind === 'missing-variables') engineCounts.missingVariables = report.total;
            if (report.kind === 'round') rounds?.finished(report.worker, Date.now());
          },
        });
  const listener = new Listener({
    url,
    name: 'belfry listener',
    channels: config.role === 'worker' ? ['belfry_changed'] : ['belfry_changed', inboxChannel],
    onNotify: (channel, payload) => {
      if (channel === inboxChannel) deps.inboxStreams.announced(payload);
      else tenantCache.announced(payload);
    },
    onReady: () => {
      tenantCache.connected();
      deps.inboxStreams.connected();
    },
    onLost: error => {
      tenantCache.disconnected();
      log.warn({ err: error }, 'lost the connection that hears of changes; asking the database until it is back');
    },
  });
  const noteUse = async () => {
    await deps.keyUse.flush(deps.db);
    await deps.signIn.use.flush(deps.db);
  };
  const timers = [
    setInterval(() => run(log, 'noting the last use of keys and sessions', noteUse), lastUseEveryMs),
    setInterval(() => run(log, 'maintenance', () => runMaintenance(deps, Date.now())), maintenanceEveryMs),
  ];
  const outboxes =
    config.role === 'api' || config.outboxes.length === 0
      ? undefined
      : new OutboxDrains(config.outboxes, deps, log, () => instance.isPaused);
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
  // Its thread reads the program while the server is made here.
  const working = engine?.start();
  working?.catch(() => {});
  const server = await createServer({
    deps,
    logger: log,
    withApi: config.role !== 'worker',
    baseUrl: config.baseUrl,
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins,
    withDemo: runtime.embedded,
    metrics,
    metricsAccess: { ownPort: metricsServer !== undefined, token },
    rounds,
  });

  const stop = async () => {
    for (const timer of timers) clearInterval(timer);
    deps.inboxStreams.closeAll();
    const impatience = setTimeout(() => server.server.closeAllConnections(), graceMs);
    await Promise.all([server.close(), outboxes?.stop(), instance.stop()]);
    clearTimeout(impatience);
    metricsServer?.close().closeAllConnections();
    await Promise.all([deps.occurrences.drain(), deps.keyedOccurrences.drain()]);
    // What a provider takes too long to answer is recovered as unknown, like after any other end.
    await Promise.all([engine?.stop(graceMs), traces?.close()]);
    await run(log, 'noting the last use of keys and sessions', noteUse);
    await listener.close();
    await runtime.close();
  };
  try {
    await instance.check();
    instance.start();
    await listener.start();
    await working;
    outboxes?.start();
    const metricsAddress = metricsServer && (await listenForMetrics(metricsServer, config, log));
    if (!metricsServer && !token && !isLoopback(config.host)) {
      log.warn(
        'whoever reaches this address can read /metrics: set METRICS_TOKEN, or METRICS_PORT for a port of its own',
      );
    }
    const address = await server.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: where => `Belfry ${version} (role ${config.role}) listens on ${where}`,
    });
    return { address, metricsAddress, runtime, stop };
  } catch (error) {
    await stop();
    throw explainListen(error, 'PORT', config);
  }
}

async function listenForMetrics(server: Server, { metrics }: Config, log: FastifyBaseLogger): Promise<string> {
  const { host, port = 0 } = metrics;
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    throw explainListen(error, 'METRICS_PORT', { host, port });
  }
  const { address, port: chosen, family } = server.address() as AddressInfo;
  const where = `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}/metrics`;
  log.info(`metrics are at ${where}`);
  return where;
}

/** A server and its database are often started together: the database may be given time to come up. */
async function migrateWhenReachable(database: Database, log: FastifyBaseLogger, patience: number): Promise<string[]> {
  const deadline = Date.now() + patience;
  for (;;) {
    try {
      return await migrate(database.db);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const reason = (error as Error).message || String((error as NodeJS.ErrnoException).code);
      if (Date.now() >= deadline) {
        throw new AppError('service.unavailable', `the database cannot be reached: ${reason}`, { cause: error });
      }
      log.warn(`waiting for the database: ${reason}`);
      await sleep(1_000);
    }
  }
}

async function run(log: FastifyBaseLogger, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn({ err: error }, `${what} failed; it will be tried again`);
  }
}

function explainListen(
  error: unknown,
  setting: 'PORT' | 'METRICS_PORT',
  { host, port }: { host: string; port: number },
) {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new AppError(
        'config.invalid',
        `port ${port} on ${host} is taken: stop what uses it, or set ${setting} to another`,
      );
    case 'EACCES':
      return new AppError('config.invalid', `port ${port} needs privileges: set ${setting} to 1024 or above`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND': {
      const name = setting.replace('PORT', 'HOST');
      return new AppError('config.invalid', `${name} ${host} is not an address of this machine`);
    }
    default:
      return error;
  }
}
