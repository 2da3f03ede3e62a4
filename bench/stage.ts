/** Runs the real program in its own processes, on its own durable PostgreSQL. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { pino } from 'pino';
import { openRuntime } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { applyConfiguration } from '../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../src/services/identity/keys.ts';
import { cleanEnv, type Running, startBelfry } from '../test/support/process.ts';

export type Role = 'all' | 'api' | 'worker';

export interface Stage {
  url: string;
  /** An API key with all permissions in the organization `bench`. */
  key: string;
  sql: pg.Client;
  /** Adds an organization with the same channels and events, and returns an API key with all permissions in it. */
  addOrganization(slug: string): Promise<string>;
  /** Starts a process; `env` adds settings to the default ones. */
  start(role: Role, env?: Record<string, string>): Promise<Running>;
  close(): Promise<void>;
}

type Fields = Record<string, unknown>;

export const secretKey = 'a secret of at least 32 characters';
let settings: Record<string, string> = {};
const open = new Set<Stage>();

/** Opens a database with one organization, its channels, and the events of the application `shop/web`. */
export async function openStage(channels: Fields[], events: Fields[], more: Fields = {}): Promise<Stage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-bench-'));
  const { url, release } = await openEmbedded({ dataDir, durable: true });
  const close = async () => {
    await release();
    await rm(dataDir, { recursive: true, force: true });
  };
  // An error in a scenario must not leave a server running.
  const key = await configure(url, channels, events, more).catch(async error => {
    await close();
    throw error;
  });
  const sql = new pg.Client({ connectionString: url });
  // If the server stops first, the statement in flight fails and reports the error.
  sql.on('error', () => {});
  await sql.connect();
  await readSettings(sql);
  const processes: Running[] = [];
  const stage: Stage = {
    url,
    key,
    sql,
    addOrganization: slug => configure(url, channels, events, more, slug),
    async start(role, extra) {
      const env = {
        DATABASE_URL: url,
        BELFRY_SECRET_KEY: secretKey,
        BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8',
        ...extra,
      };
      // The log goes to a file, as for a real service. Reading it here cost 3 µs per trigger, and up to 10 µs in the service.
      const log = path.join(dataDir, `${role}-${processes.length}.log`);
      const running = await startBelfry(env, ['--role', role], log);
      processes.push(running);
      return running;
    },
    async close() {
      if (!open.delete(stage)) return;
      await Promise.all(processes.map(running => running.end('SIGTERM')));
      // Awaited only after the server has stopped: when a run is interrupted, a statement may still be in flight.
      const ended = sql.end().catch(() => {});
      await close();
      await ended;
    },
  };
  open.add(stage);
  return stage;
}

/** Closes all open stages when a run is interrupted. */
export async function closeStages(): Promise<void> {
  await Promise.all([...open].map(stage => stage.close()));
}

/** Applies the configuration and returns an API key of the organization. */
async function configure(
  url: string,
  channels: Fields[],
  events: Fields[],
  more: Fields,
  slug = 'bench',
): Promise<string> {
  const runtime = await openRuntime(loadConfig({ DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey }), silent, true);
  try {
    const applications = [{ slug: 'web', name: 'Web', events }];
    const projects = [{ slug: 'shop', name: 'Shop', applications, ...more }];
    // Fan-outs without history would wait for an approval.
    const organizations = [{ slug, name: slug, guard: { audience: 'off' }, channels, projects }];
    await applyConfiguration(runtime.deps, { organizations }, { prune: false });
    const { key } = await createKey(runtime.deps, slug, { name: 'bench', permissions: ['*'] });
    return key;
  } finally {
    await runtime.close();
  }
}

/** Returns the settings of the last opened database, without which results mean little. */
export function settingsOfDatabase(): Record<string, string> {
  return settings;
}

async function readSettings(sql: pg.Client): Promise<void> {
  const names = ['server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size'];
  const { rows } = await sql.query<{ name: string; setting: string }>(
    `select name, current_setting(name) as setting from pg_settings where name = any($1) order by name`,
    [names],
  );
  settings = Object.fromEntries(rows.map(row => [row.name, row.setting]));
}

/** Starts a peer process from a file in this folder; its first line of output is the port. */
export async function openPeer(
  file: string,
  env: Record<string, string> = {},
): Promise<{ peer: ChildProcess; port: number }> {
  const peer = fork(fileURLToPath(new URL(file, import.meta.url)), {
    env: cleanEnv(env),
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const ended = once(peer, 'exit').then(([code]) => {
    throw new Error(`${file} ended with ${code} before it was ready`);
  });
  const [line] = await Promise.race([once(peer.stdout!.setEncoding('utf8'), 'data'), ended]);
  // It is expected to end later.
  ended.catch(() => {});
  return { peer, port: Number(/\d+/.exec(String(line))![0]) };
}

/** Returns the resident memory of a process and its descendants in MB; shared file pages count once. */
export async function residentMb(running: Pick<Running, 'process'>): Promise<number> {
  let [own, files] = [0, 0];
  for (const pid of await treeOf(running.process.pid!)) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
    own += kb('RssAnon') + kb('RssShmem');
    files = Math.max(files, kb('RssFile'));
  }
  return (own + files) / 1024;
}

/** Returns the user and system CPU time of a process, its threads and its descendants so far, in ms. */
export async function cpuMs(running: Pick<Running, 'process'>): Promise<number> {
  let sum = 0;
  for (const pid of await treeOf(running.process.pid!)) {
    // A process that ends in the meantime is counted by its parent next time.
    const { ownMs, endedMs } = await statOf(pid).catch(() => ({ ownMs: 0, endedMs: 0 }));
    sum += ownMs + endedMs;
  }
  return sum;
}

/** Returns the ids of a process and its descendants. */
async function treeOf(root: number): Promise<number[]> {
  const found = [root];
  for (const pid of found) {
    // Any thread may have started a child process.
    for (const thread of await readdir(`/proc/${pid}/task`).catch(() => [])) {
      const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '');
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return found;
}

/** Returns the CPU time of the whole PostgreSQL server: the postmaster and its running and ended children. */
export async function postgresCpuMs(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
  const { parent: postmaster } = await statOf(rows[0]!.pid);
  const { ownMs, endedMs } = await statOf(postmaster);
  let sum = ownMs + endedMs;
  for (const entry of await readdir('/proc')) {
    // A process that ends in the meantime is counted by its parent next time.
    const stat = /^\d+$/.test(entry) ? await statOf(Number(entry)).catch(() => undefined) : undefined;
    if (stat?.parent === postmaster) sum += stat.ownMs;
  }
  return sum;
}

async function statOf(pid: number): Promise<{ parent: number; ownMs: number; endedMs: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Skips the process name, which may contain anything.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15) as [number, number, number, number];
  // Linux counts in hundredths of a second.
  return { parent: fields[1]!, ownMs: (user + system) * 10, endedMs: (endedUser + endedSystem) * 10 };
}

export async function until(
  what: string,
  check: () => Promise<boolean>,
  withinMs: number,
  everyMs = 50,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`timed out after ${withinMs / 1_000} s waiting for ${what}`);
    await sleep(everyMs);
  }
}

const silent = pino({ level: 'silent' });
