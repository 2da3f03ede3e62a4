/** The only wiring: config → database → services → HTTP; start and stop. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from './config.ts';
import { commandLine } from './core/actor.ts';
import { AppError } from './core/errors.ts';
import { type EmbeddedDatabase, openEmbedded } from './db/embedded.ts';
import { Slots } from './db/limits.ts';
import { Listener } from './db/listen.ts';
import { migrate } from './db/migrate.ts';
import { byIndexAlone, type Database, isUnavailable, openDatabase } from './db/pool.ts';
import { Limits } from './engine/limits.ts';
import { Outcomes } from './engine/outcomes.ts';
import { Senders } from './engine/senders.ts';
import { Worker } from './engine/worker.ts';
import { createServer } from './http/server.ts';
import { createCipher } from './lib/cipher.ts';
import { Oidc } from './lib/oidc.ts';
import { createOutbound } from './lib/outbound.ts';
import { createSigner } from './lib/signer.ts';
import { providers } from './providers/index.ts';
import type { Deps } from './services/deps.ts';
import { Directory } from './services/directory.ts';
import { createInboxWriter } from './services/inbox.ts';
import { KeyUse } from './services/keys.ts';
import { MissingVariables } from './services/missing-variables.ts';
import { createOccurrenceBatcher } from './services/occurrences.ts';
import { Plans } from './services/plans.ts';
import { WorkerRounds } from './services/queue.ts';
import { createSignIn } from './services/sessions.ts';
import { keepUp } from './services/upkeep.ts';
import { Wordings } from './services/wordings.ts';
import { version } from './version.ts';

/** A database with everything that works on it. */
export interface House {
  deps: Deps;
  database: Database;
  url: string;
  embedded: boolean;
  close(): Promise<void>;
}

export interface Service {
  /** Where it listens. */
  address: string;
  house: House;
  /** Stops accepting, finishes what is under way, lets the database go. */
  stop(): Promise<void>;
}

const patienceMs = 30_000;
const lastUseEveryMs = 30_000;
const missingVariablesEveryMs = 5_000;
const upkeepEveryMs = 3_600_000;
/** Of the ten seconds that a stop may take, what requests under way get. */
const graceMs = 6_000;

/** Opens the database, unless that is under way already, and brings its schema up to date. */
export async function openHouse(
  config: Config,
  log: FastifyBaseLogger,
  wait = false,
  opening?: Promise<EmbeddedDatabase>,
): Promise<House> {
  const embedded = config.databaseUrl
    ? undefined
    : await (opening ?? openEmbedded({ dataDir: config.dataDir, log: message => log.info(message) }));
  const url = config.databaseUrl ?? embedded!.url;
  const database = openDatabase({
    url,
    name: 'belfry',
    onError: error => log.warn({ err: error }, 'a database connection broke'),
  });
  const outbound = createOutbound({ allow: config.outboundAllow });
  const close = async () => {
    await outbound.close();
    await database.close();
    await embedded?.release();
  };
  try {
    const applied = await migratePatiently(database, log, wait ? patienceMs : 0);
    if (applied.length > 0) log.info({ applied }, 'migrated the database');
    const { db } = database;
    const directory = new Directory(db);
    const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
    const cipher = createCipher(secretKey);
    const deps: Deps = {
      db,
      directory,
      cipher,
      providers,
      occurrences: createOccurrenceBatcher(database.writer),
      keyUse: new KeyUse(),
      missingVariables: new MissingVariables(),
      signIn: createSignIn(createSigner(secretKey), config.oidc && new Oidc(config.oidc)),
      plans: new Plans({ db, directory, cipher, providers }),
      pool: database.pool,
      outbound,
      actor: commandLine,
    };
    return { deps, database, url, embedded: embedded !== undefined, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export async function startService(
  config: Config,
  log: FastifyBaseLogger,
  opening?: Promise<EmbeddedDatabase>,
): Promise<Service> {
  const house = await openHouse(config, log, true, opening);
  const { deps, database, url } = house;
  const { directory } = deps;
  const rounds =
    config.role === 'api'
      ? undefined
      : new WorkerRounds(
          deps.db,
          error => log.warn({ err: error }, 'noting that a round is finished failed; it will be tried again'),
          Date.now(),
        );
  const worker = rounds && openWorker(config, house, log, rounds);
  const listener = new Listener({
    url,
    name: 'belfry listener',
    channels: worker ? ['belfry_changed', 'belfry_work'] : ['belfry_changed'],
    onNotify: (channel, payload) => {
      if (channel === 'belfry_work') worker?.wake(payload);
      else directory.heard(payload);
    },
    onReady: () => directory.listening(),
    onLost: error => {
      directory.deaf();
      log.warn({ err: error }, 'lost the connection that hears of changes; asking the database until it is back');
    },
  });
  const noteUse = async () => {
    await deps.keyUse.flush(deps.db);
    await deps.signIn.use.flush(deps.db);
  };
  const noteMissing = () =>
    run(log, 'noting missing variables', () => deps.missingVariables.flush(deps.db, log, Date.now()));
  const timers = [
    setInterval(() => run(log, 'noting the last use of keys and sessions', noteUse), lastUseEveryMs),
    setInterval(noteMissing, missingVariablesEveryMs),
    setInterval(() => run(log, 'upkeep', () => keepUp(deps, Date.now())), upkeepEveryMs),
  ];
  const server = await createServer({
    deps,
    logger: log,
    withApi: config.role !== 'worker',
    baseUrl: config.baseUrl,
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins,
    rounds,
    pool: () => ({
      total: database.pool.totalCount,
      idle: database.pool.idleCount,
      waiting: database.pool.waitingCount,
    }),
  });

  const stop = async () => {
    for (const timer of timers) clearInterval(timer);
    const impatience = setTimeout(() => server.server.closeAllConnections(), graceMs);
    await server.close();
    clearTimeout(impatience);
    await deps.occurrences.drain();
    // What a provider takes too long to answer is recovered as unknown, like after any other end.
    await Promise.race([worker?.stop(), sleep(graceMs, undefined, { ref: false })]);
    await run(log, 'noting the last use of keys and sessions', noteUse);
    await noteMissing();
    await listener.close();
    await house.close();
  };
  try {
    await listener.start();
    await worker?.start();
    const address = await server.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: where => `Belfry ${version} (role ${config.role}) listens on ${where}`,
    });
    return { address, house, stop };
  } catch (error) {
    await stop();
    throw explainListen(error, config);
  }
}

interface RunningWorker {
  start(): Promise<void>;
  wake(payload: string): void;
  stop(): Promise<void>;
}

/** With connections of its own: a blast of messages never keeps the API waiting for one. */
function openWorker(config: Config, { deps, url }: House, log: FastifyBaseLogger, rounds: WorkerRounds): RunningWorker {
  const database = openDatabase({
    url,
    name: 'belfry worker',
    onError: error => log.warn({ err: error }, "one of the worker's database connections broke"),
  });
  const claims = openDatabase({
    url,
    name: 'belfry worker',
    connections: 1,
    settings: byIndexAlone,
    onError: error => log.warn({ err: error }, 'the connection that claims broke'),
  });
  const hot = openDatabase({
    url,
    name: 'belfry worker',
    connections: 4,
    settings: byIndexAlone,
    onError: error => log.warn({ err: error }, "one of the worker's database connections broke"),
  });
  const { db, pool } = database;
  const outbound = createOutbound({ allow: config.outboundAllow });
  const senders = new Senders({ outbound });
  const outcomes = new Outcomes(hot.pool, log);
  const slots = new Slots(url, error => {
    log.warn({ err: error }, 'lost the connection that keeps within the limits of channels; opening another');
    limits.lost();
  });
  const limits = new Limits({ pool }, slots);
  const engine = {
    db,
    pool,
    claims: claims.pool,
    hot: hot.pool,
    plans: deps.plans,
    senders,
    outcomes,
    inbox: createInboxWriter(pool),
    wordings: new Wordings(db),
    missingVariables: deps.missingVariables,
    limits,
    log,
    turns: { occurrences: [], deliveries: [] },
  };
  const dedupe = Object.values(providers).filter(provider => provider.dedupes);
  const worker = new Worker(
    engine,
    url,
    dedupe.map(provider => provider.name),
  );
  worker.onRound = workerId => rounds.finished(workerId, Date.now());
  return {
    start: () => worker.start(),
    wake: payload => worker.wake(payload),
    stop: async () => {
      await worker.stop();
      await senders.close();
      await slots.close();
      await outbound.close();
      await Promise.all([database.close(), claims.close(), hot.close()]);
    },
  };
}

/** A server and its database are often started together: the database may be given time to come up. */
async function migratePatiently(database: Database, log: FastifyBaseLogger, patience: number): Promise<string[]> {
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

/** Generated at the first start; whoever has the file can read the channels' credentials. */
async function loadSecretKey(dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'secret.key');
  await mkdir(dataDir, { recursive: true });
  try {
    await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return (await readFile(file, 'utf8')).trim();
}

async function run(log: FastifyBaseLogger, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn({ err: error }, `${what} failed; it will be tried again`);
  }
}

function explainListen(error: unknown, { host, port }: Config): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new AppError(
        'config.invalid',
        `port ${port} on ${host} is taken: stop what uses it, or set PORT to another`,
      );
    case 'EACCES':
      return new AppError('config.invalid', `port ${port} needs privileges: set PORT to 1024 or above`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new AppError('config.invalid', `HOST ${host} is not an address of this machine`);
    default:
      return error;
  }
}
