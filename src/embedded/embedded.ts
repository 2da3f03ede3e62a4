/**
 * A real PostgreSQL that Belfry starts by itself, shared by all processes that open the same data folder.
 *
 * Whoever opens the folder makes the cluster if there is none, starts the server if none runs, and then holds a shared
 * advisory lock on a connection of its own: its presence. Whoever leaves gives the lock back and tries to take it
 * exclusively; that succeeds only for the last one, who stops the server. One who comes at that very moment waits for
 * the lock, sees its connection break instead, and starts the server anew. The presence of a killed process ends with
 * its connection. Invariant: while someone is present nobody stops the server; and should the server die, those
 * present bring it back.
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
  readFacts,
  upgradeCluster,
  writeFacts,
} from './cluster.ts';
import { superuser } from './role.ts';
import {
  findPostmaster,
  type Launch,
  lacksSocket,
  launch,
  mayTryAgain,
  POLL_MS,
  type Postmaster,
  pickPort,
  stopPostmaster,
} from './server.ts';

/** The advisory lock that stands for presence: the bytes of "embed". Any other use of the key would keep it running. */
const PRESENCE_KEY = 0x65_6d_62_65_64;
/** Long enough to recover some gigabytes of log after a crash. */
const OPEN_MS = 60_000;
const RETURN_MS = 5_000;
const LEAVE_QUERY_MS = 5_000;
const RESTART_MS = 100;
const LAST_WORDS_MS = 1_000;

export interface EmbeddedOptions {
  dataDir: string;
  log?: (message: string) => void;
  /** False gives up safety against a crash of the machine for speed; for tests. */
  durable?: boolean;
  /** Server settings over the usual ones; they count only if this call starts the server. */
  settings?: Record<string, string>;
  /** Called once the server is on its way or there already: what follows is waiting. */
  onLaunched?: () => void;
}

export interface EmbeddedDatabase {
  url: string;
  /** Whether this call made the cluster, so that the database is empty. */
  created: boolean;
  /** When its files were made, where the file system tells. */
  filesMadeAt: number | undefined;
  /** Leaves; the last one to leave stops the server. Never fails, and may be called again. */
  release(): Promise<void>;
}

interface Presence {
  client: Client;
  url: string;
  port: number;
}

interface Visit {
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
    const visit = { cluster, log, durable, settings, onLaunched };
    const presence = await enter(visit, OPEN_MS);
    const madeAt = await filesMadeAt(cluster.folder);
    return { url: presence.url, created: cluster.created, filesMadeAt: madeAt, release: stay(visit, presence) };
  } catch (error) {
    throw explain(error, dataDir);
  }
}

/** Keeps the presence alive until the returned function is called. */
function stay(visit: Visit, presence: Presence): () => Promise<void> {
  let leaving: Promise<void> | undefined;
  let current: Promise<Presence | undefined>;

  function watch(present: Presence): void {
    current = Promise.resolve(present);
    present.client.once('end', () => {
      if (leaving) return;
      visit.log('The embedded PostgreSQL went away; joining or starting it again');
      current = comeBack();
    });
  }

  async function comeBack(): Promise<Presence | undefined> {
    while (!leaving) {
      try {
        const present = await enter(visit, RETURN_MS, presence.port);
        if (present.url !== presence.url)
          visit.log('The embedded PostgreSQL had to move to another port: restart Belfry');
        watch(present);
        return present;
      } catch (error) {
        visit.log(error instanceof Error ? error.message : String(error));
        await sleep(1_000);
      }
    }
    return undefined;
  }

  watch(presence);
  return () => {
    leaving ??= current.then(present => present && leave(present.client, visit));
    return leaving;
  };
}

async function leave(client: Client, { cluster, log }: Visit): Promise<void> {
  try {
    await callLock(client, 'pg_advisory_unlock_shared', LEAVE_QUERY_MS);
    const isLast = await callLock(client, 'pg_try_advisory_lock', LEAVE_QUERY_MS);
    if (!isLast) return;
    await stopPostmaster(cluster.folder);
    log('Stopped the embedded PostgreSQL');
  } catch {
    // The server is dead already: there is no presence to give back and nothing to stop.
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Joins the server that runs on the cluster, starting one as often as there is none. Who comes back names the port,
 * for that is where its own pools look for the server; else a taken port is exchanged for another.
 */
async function enter(visit: Visit, waitMs: number, port?: number): Promise<Presence> {
  const { cluster, log } = visit;
  const deadline = Date.now() + waitMs;
  let attempt: Launch | undefined;
  let trouble: Error | undefined;
  let withSocket = true;
  while (Date.now() < deadline) {
    const postmaster = await findPostmaster(cluster.folder);
    if (postmaster) visit.onLaunched();
    if (postmaster?.ready) {
      const present = await appear(cluster, postmaster, deadline);
      if (!(present instanceof Error)) return present;
      trouble = present;
    } else if (!postmaster && (!attempt || attempt.ended)) {
      if (attempt && withSocket && lacksSocket(await lastWords(attempt))) withSocket = false;
      else if (attempt) await checkEnd(attempt);
      else log('Starting the embedded PostgreSQL');
      const facts = await readFacts(cluster.folder);
      // Who comes back has pools that sign in as before.
      if (facts.user === undefined && port === undefined && !(await upgrade(visit))) continue;
      attempt = await launch(cluster, { ...visit, withSocket, port: port ?? (await pickPort(facts.port)) });
    }
    await sleep(POLL_MS);
  }
  const words = (await attempt?.words()) || trouble?.message || 'it is still starting or stopping';
  throw failure(`not ready after ${waitMs / 1000} s; try again, or look into ${cluster.startLog}`, words, trouble);
}

/** Returns whether it was done; false when another process is at the cluster, who may have done it by then. */
async function upgrade({ cluster, durable, log }: Visit): Promise<boolean> {
  try {
    await upgradeCluster(cluster, durable);
    log('Upgraded the embedded PostgreSQL: Belfry is no superuser of it any more');
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || !mayTryAgain(error.message)) throw error;
    await sleep(RESTART_MS);
    return false;
  }
}

/** Why it ended. Its log is written by a process of its own, which may be a moment later than the end. */
async function lastWords({ words }: Pick<Launch, 'words'>): Promise<string> {
  const deadline = Date.now() + LAST_WORDS_MS;
  for (;;) {
    const said = await words();
    if (/FATAL|PANIC|ERROR/.test(said) || Date.now() > deadline) return said;
    await sleep(POLL_MS);
  }
}

/** Returns when it is worth while, and time, to start again. */
async function checkEnd({ ended, words }: Launch): Promise<void> {
  if (ended?.error) throw ended.error;
  // Stopped or killed by someone; a server that cannot start ends otherwise.
  if (ended?.code === 0 || ended?.signal === 'SIGKILL') return;
  const said = await lastWords({ words });
  if (!mayTryAgain(said)) throw failure(`it ended with ${ended?.signal ?? `exit code ${ended?.code}`}`, said);
  await sleep(RESTART_MS);
}

/** Connects and takes the shared lock; returns the error if the server is only just coming or going. */
async function appear(cluster: Cluster, postmaster: Postmaster, deadline: number): Promise<Presence | Error> {
  const { port, socketFolder } = postmaster;
  const facts = await readFacts(cluster.folder);
  const host = socketFolder ? encodeURIComponent(socketFolder) : '127.0.0.1';
  const url = `postgres://${facts.user ?? superuser}:${facts.password}@${host}:${port}/belfry`;
  const client = new Client({
    connectionString: url,
    application_name: 'belfry presence',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => {}); // The server may die; 'end' follows, and `stay` listens to that.
  try {
    await client.connect();
    if (facts.port !== port) await writeFacts(cluster.folder, { ...facts, port }, cluster.account);
    // Last, so that a connection which breaks before someone watches it is noticed here.
    await callLock(client, 'pg_advisory_lock_shared', Math.max(deadline - Date.now(), 1));
    return { client, url, port };
  } catch (error) {
    client.end().catch(() => {});
    if (hasCode(error, '28P01', '28000', '3D000')) throw refused(cluster.folder, error);
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

function refused(folder: string, cause: unknown): AppError {
  return new AppError(
    'embedded.failed',
    `The PostgreSQL that runs on ${folder} refuses the password in ${folder}/belfry.json. Restore that file, or stop ` +
      'that server and move the folder away, or set DATABASE_URL to a PostgreSQL of your own',
    { cause },
  );
}

function failure(what: string, words: string, cause?: unknown): AppError {
  const lastWords = words.split('\n').slice(-8).join('\n');
  return new AppError('embedded.failed', `The embedded PostgreSQL did not start (${what}):\n${lastWords}`, { cause });
}

function explain(error: unknown, dataDir: string): AppError {
  if (error instanceof AppError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const remedy = isDenied(error)
    ? `The folder ${dataDir} belongs to another user, perhaps because Belfry ran as root before. Run Belfry as that ` +
      'user, choose another BELFRY_DATA_DIR, or set DATABASE_URL to a PostgreSQL of your own'
    : 'The embedded PostgreSQL did not start. Set DATABASE_URL to use a PostgreSQL of your own';
  return new AppError('embedded.failed', `${remedy} (${reason})`, { cause: error });
}
