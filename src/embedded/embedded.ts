/**
 * A PostgreSQL server that Belfry starts automatically, shared by all processes that open the same data folder.
 *
 * A process that opens the folder creates the cluster if there is none, starts the server if none runs, and then holds a
 * shared advisory lock on a dedicated connection: its presence. A process that leaves releases the lock and tries to take
 * it exclusively; that succeeds only for the last one, which stops the server. A process that joins at that moment waits
 * for the lock, loses its connection instead, and starts the server again. The presence of a killed process ends with
 * its connection. Invariant: no process stops the server while another is present, and if the server dies, the processes
 * that are present start it again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { AppError } from '../core/errors.ts';
import {
  type Cluster,
  filesMadeAt,
  hasCode,
  isDenied,
  openCluster,
  readConnectionDetails,
  upgradeCluster,
  writeConnectionDetails,
} from './cluster.ts';
import { superuser } from './role.ts';
import {
  cannotCreateSocket,
  findPostmaster,
  isTemporaryFailure,
  type Launch,
  launch,
  POLL_MS,
  type Postmaster,
  pickPort,
  stopPostmaster,
} from './server.ts';

/** The key of the presence lock: the bytes of "embed". Any other use of the key would keep the server running. */
const PRESENCE_KEY = 0x65_6d_62_65_64;
/** Long enough to recover some gigabytes of WAL after a crash. */
const OPEN_MS = 60_000;
const REJOIN_MS = 5_000;
const LEAVE_QUERY_MS = 5_000;
const RESTART_MS = 100;
const FINAL_LOG_MS = 1_000;

export interface EmbeddedOptions {
  dataDir: string;
  log?: (message: string) => void;
  /** False trades durability after a crash of the machine for speed; for tests. */
  durable?: boolean;
  /** Server settings that override the defaults; they apply only if this call starts the server. */
  settings?: Record<string, string>;
  /** Called once the server is starting or already running. */
  onLaunched?: () => void;
}

export interface EmbeddedDatabase {
  url: string;
  /** Whether this call created the cluster, so that the database is empty. */
  created: boolean;
  /** When its files were created, if the file system records it. */
  filesMadeAt: number | undefined;
  /** Leaves; the last process to leave stops the server. Never fails, and may be called again. */
  release(): Promise<void>;
}

interface Presence {
  client: Client;
  url: string;
  port: number;
}

interface OpenContext {
  cluster: Cluster;
  log: (message: string) => void;
  durable: boolean;
  settings?: Record<string, string>;
  onLaunched: () => void;
}

export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { dataDir, log = () => {}, durable = true, settings, onLaunched = () => {} } = options;
  try {
    const cluster = await openCluster(dataDir, durable, log);
    const context = { cluster, log, durable, settings, onLaunched };
    const presence = await join(context, OPEN_MS);
    const madeAt = await filesMadeAt(cluster.folder);
    return {
      url: presence.url,
      created: cluster.created,
      filesMadeAt: madeAt,
      release: keepPresence(context, presence),
    };
  } catch (error) {
    throw toAppError(error, dataDir);
  }
}

/** Keeps the presence alive until the returned function is called. */
function keepPresence(context: OpenContext, presence: Presence): () => Promise<void> {
  let leaving: Promise<void> | undefined;
  let current: Promise<Presence | undefined>;

  function watch(joined: Presence): void {
    current = Promise.resolve(joined);
    joined.client.once('end', () => {
      if (leaving) return;
      context.log('The embedded PostgreSQL stopped; joining or starting it again');
      current = rejoin();
    });
  }

  async function rejoin(): Promise<Presence | undefined> {
    while (!leaving) {
      try {
        const joined = await join(context, REJOIN_MS, presence.port);
        if (joined.url !== presence.url)
          context.log('The embedded PostgreSQL had to move to another port: restart Belfry');
        watch(joined);
        return joined;
      } catch (error) {
        context.log(error instanceof Error ? error.message : String(error));
        await sleep(1_000);
      }
    }
    return undefined;
  }

  watch(presence);
  return () => {
    leaving ??= current.then(joined => joined && leave(joined.client, context));
    return leaving;
  };
}

async function leave(client: Client, { cluster, log }: OpenContext): Promise<void> {
  try {
    await callLock(client, 'pg_advisory_unlock_shared', LEAVE_QUERY_MS);
    const isLast = await callLock(client, 'pg_try_advisory_lock', LEAVE_QUERY_MS);
    if (!isLast) return;
    await stopPostmaster(cluster.folder);
    log('Stopped the embedded PostgreSQL');
  } catch {
    // The server is gone already: there is no lock to release and nothing to stop.
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Joins the server that runs on the cluster, and starts one whenever there is none. A process that rejoins passes its
 * previous port, where its pools look for the server; otherwise another port is used if the last one is taken.
 */
async function join(context: OpenContext, waitMs: number, port?: number): Promise<Presence> {
  const { cluster, log } = context;
  const deadline = performance.now() + waitMs;
  let attempt: Launch | undefined;
  let lastError: Error | undefined;
  let withSocket = true;
  while (performance.now() < deadline) {
    const postmaster = await findPostmaster(cluster.folder);
    if (postmaster) context.onLaunched();
    if (postmaster?.ready) {
      const result = await connect(cluster, postmaster, deadline);
      if (!(result instanceof Error)) return result;
      lastError = result;
    } else if (!postmaster && (!attempt || attempt.ended)) {
      if (attempt && withSocket && cannotCreateSocket(await readFinalLog(attempt))) withSocket = false;
      else if (attempt) await throwUnlessRetryable(attempt);
      else log('Starting the embedded PostgreSQL');
      const details = await readConnectionDetails(cluster.folder);
      // A process that rejoins has pools that sign in as the previous user.
      if (details.user === undefined && port === undefined && !(await upgrade(context))) continue;
      attempt = await launch(cluster, { ...context, withSocket, port: port ?? (await pickPort(details.port)) });
    }
    await sleep(POLL_MS);
  }
  const output = (await attempt?.readLog()) || lastError?.message || 'it is still starting or stopping';
  throw failure(`not ready after ${waitMs / 1000} s; try again, or look into ${cluster.startLog}`, output, lastError);
}

/** Returns false if another process uses the cluster, which may be upgrading it too. */
async function upgrade({ cluster, durable, log }: OpenContext): Promise<boolean> {
  try {
    await upgradeCluster(cluster, durable);
    log('Upgraded the embedded PostgreSQL: Belfry no longer signs in as its superuser');
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || !isTemporaryFailure(error.message)) throw error;
    await sleep(RESTART_MS);
    return false;
  }
}

/** Reads why the server ended. A separate process writes the log, so the reason may appear a moment after the end. */
async function readFinalLog({ readLog }: Pick<Launch, 'readLog'>): Promise<string> {
  const deadline = performance.now() + FINAL_LOG_MS;
  for (;;) {
    const output = await readLog();
    if (/FATAL|PANIC|ERROR/.test(output) || performance.now() > deadline) return output;
    await sleep(POLL_MS);
  }
}

/** Waits before the next start, or throws if the server cannot start. */
async function throwUnlessRetryable({ ended, readLog }: Launch): Promise<void> {
  if (ended?.error) throw ended.error;
  // The server was stopped or killed; one that cannot start ends differently.
  if (ended?.code === 0 || ended?.signal === 'SIGKILL') return;
  const output = await readFinalLog({ readLog });
  if (!isTemporaryFailure(output))
    throw failure(`it ended with ${ended?.signal ?? `exit code ${ended?.code}`}`, output);
  await sleep(RESTART_MS);
}

/** Connects and takes the shared lock; returns the error if the server is starting or stopping. */
async function connect(cluster: Cluster, postmaster: Postmaster, deadline: number): Promise<Presence | Error> {
  const { port, socketFolder } = postmaster;
  const details = await readConnectionDetails(cluster.folder);
  const host = socketFolder ? encodeURIComponent(socketFolder) : '127.0.0.1';
  const url = `postgres://${details.user ?? superuser}:${details.password}@${host}:${port}/belfry`;
  const client = new Client({
    connectionString: url,
    application_name: 'belfry presence',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => {}); // The server may die; 'end' follows, which `keepPresence` handles.
  try {
    await client.connect();
    if (details.port !== port) await writeConnectionDetails(cluster.folder, { ...details, port }, cluster.account);
    // Last, so that a connection that breaks before it is watched fails here.
    await callLock(client, 'pg_advisory_lock_shared', Math.max(deadline - performance.now(), 1));
    return { client, url, port };
  } catch (error) {
    client.end().catch(() => {});
    if (hasCode(error, '28P01', '28000', '3D000')) throw passwordRefused(cluster.folder, error);
    if (error instanceof Error && !isDenied(error)) return error;
    throw error;
  }
}

type LockFunction = 'pg_advisory_lock_shared' | 'pg_advisory_unlock_shared' | 'pg_try_advisory_lock';

async function callLock(client: Client, name: LockFunction, timeoutMs: number): Promise<boolean> {
  // `query_timeout` of a single query is missing in the types of `pg`.
  const query = { text: `select ${name}($1) as answer`, values: [PRESENCE_KEY], query_timeout: timeoutMs };
  const { rows } = await client.query<{ answer: boolean }>(query);
  return rows[0]?.answer === true;
}

function passwordRefused(folder: string, cause: unknown): AppError {
  return new AppError(
    'embedded.failed',
    `The PostgreSQL that runs on ${folder} refuses the password in ${folder}/belfry.json. Restore that file, or stop ` +
      'that server and move the folder away, or set DATABASE_URL to your own PostgreSQL',
    { cause },
  );
}

function failure(what: string, output: string, cause?: unknown): AppError {
  const lastLines = output.split('\n').slice(-8).join('\n');
  return new AppError('embedded.failed', `The embedded PostgreSQL did not start (${what}):\n${lastLines}`, { cause });
}

function toAppError(error: unknown, dataDir: string): AppError {
  if (error instanceof AppError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const remedy = isDenied(error)
    ? `The folder ${dataDir} belongs to another user, perhaps because Belfry ran as root before. Run Belfry as that ` +
      'user, choose another BELFRY_DATA_DIR, or set DATABASE_URL to your own PostgreSQL'
    : 'The embedded PostgreSQL did not start. Set DATABASE_URL to use your own PostgreSQL';
  return new AppError('embedded.failed', `${remedy} (${reason})`, { cause: error });
}
