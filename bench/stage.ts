/** The real program in processes of its own, on a durable PostgreSQL of its own. */
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
import { applyConfiguration } from '../src/services/declarative.ts';
import { createKey } from '../src/services/keys.ts';
import { cleanEnv, type Running, startBelfry } from '../test/support/process.ts';

export type Role = 'all' | 'api' | 'worker';

export interface Stage {
  url: string;
  /** May do everything in the organization `bench`. */
  key: string;
  sql: pg.Client;
  /** With settings besides the usual ones. */
  start(role: Role, more?: Record<string, string>): Promise<Running>;
  close(): Promise<void>;
}

type Fields = Record<string, unknown>;

const secretKey = 'a secret of at least 32 characters';
let settings: Record<string, string> = {};
const open = new Set<Stage>();

/** With one organization: channels, and events of the application `shop/web`. */
export async function openStage(channels: Fields[], events: Fields[], more: Fields = {}): Promise<Stage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-bench-'));
  const { url, release } = await openEmbedded({ dataDir, durable: true });
  const close = async () => {
    await release();
    await rm(dataDir, { recursive: true, force: true });
  };
  // A mistake in a scenario must not leave a server behind.
  const key = await configure(url, channels, events, more).catch(async error => {
    await close();
    throw error;
  });
  const sql = new pg.Client({ connectionString: url });
  // When the server goes first, a statement that is under way fails and tells.
  sql.on('error', () => {});
  await sql.connect();
  await rememberSettings(sql);
  const processes: Running[] = [];
  const stage: Stage = {
    url,
    key,
    sql,
    async start(role, more) {
      const env = {
        DATABASE_URL: url,
        BELFRY_SECRET_KEY: secretKey,
        BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8',
        ...more,
      };
      // As a service does it. Read by this process, the log of a trigger took 3 µs here, and up to 10 more there.
      const log = path.join(dataDir, `${role}-${processes.length}.log`);
      const running = await startBelfry(env, ['--role', role], log);
      processes.push(running);
      return running;
    },
    async close() {
      if (!open.delete(stage)) return;
      await Promise.all(processes.map(running => running.end('SIGTERM')));
      // Not waited for until the server is gone: it would wait for a statement that is under way when a run is stopped.
      const ended = sql.end().catch(() => {});
      await close();
      await ended;
    },
  };
  open.add(stage);
  return stage;
}

/** Those that a run leaves when it is stopped. */
export async function closeStages(): Promise<void> {
  await Promise.all([...open].map(stage => stage.close()));
}

/** Returns a key of the organization. */
async function configure(url: string, channels: Fields[], events: Fields[], more: Fields): Promise<string> {
  const runtime = await openRuntime(loadConfig({ DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey }), silent, true);
  try {
    const applications = [{ slug: 'web', name: 'Web', events }];
    const projects = [{ slug: 'shop', name: 'Shop', applications, ...more }];
    const organizations = [{ slug: 'bench', name: 'Bench', channels, projects }];
    await applyConfiguration(runtime.deps, { organizations }, { prune: false });
    const { key } = await createKey(runtime.deps, 'bench', { name: 'bench', permissions: ['*'] });
    return key;
  } finally {
    await runtime.close();
  }
}

/** Of the last database that was opened: a figure without them says little. */
export function settingsOfDatabase(): Record<string, string> {
  return settings;
}

async function rememberSettings(sql: pg.Client): Promise<void> {
  const names = ['server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size'];
  const { rows } = await sql.query<{ name: string; setting: string }>(
    `select name, current_setting(name) as setting from pg_settings where name = any($1) order by name`,
    [names],
  );
  settings = Object.fromEntries(rows.map(row => [row.name, row.setting]));
}

/** A peer in a process of its own, from a file beside this one; its first line tells the port. */
export async function openPeer(
  file: string,
  env: Record<string, string> = {},
): Promise<{ peer: ChildProcess; port: number }> {
  const peer = fork(fileURLToPath(new URL(file, import.meta.url)), {
    env: cleanEnv(env),
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [line] = await once(peer.stdout!.setEncoding('utf8'), 'data');
  return { peer, port: Number(/\d+/.exec(String(line))![0]) };
}

/** Of the process and all below it, in MB; pages of files, which they share, count once. */
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

/** How long the process, its threads and all below it have had a processor so far, user and system, in ms. */
export async function processorMs(running: Pick<Running, 'process'>): Promise<number> {
  let sum = 0;
  for (const pid of await treeOf(running.process.pid!)) {
    // One that ends meanwhile counts as ended the next time.
    const { ownMs, endedMs } = await statOf(pid).catch(() => ({ ownMs: 0, endedMs: 0 }));
    sum += ownMs + endedMs;
  }
  return sum;
}

/** The process and all below it. */
async function treeOf(root: number): Promise<number[]> {
  const found = [root];
  for (const pid of found) {
    // Of every thread, since any of them may have started one.
    for (const thread of await readdir(`/proc/${pid}/task`).catch(() => [])) {
      const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '');
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return found;
}

/** The same of the whole server: the postmaster, what runs below it, and what has ended there. */
export async function postgresMs(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
  const { parent: postmaster } = await statOf(rows[0]!.pid);
  const { ownMs, endedMs } = await statOf(postmaster);
  let sum = ownMs + endedMs;
  for (const entry of await readdir('/proc')) {
    // One that ends meanwhile counts as ended the next time.
    const stat = /^\d+$/.test(entry) ? await statOf(Number(entry)).catch(() => undefined) : undefined;
    if (stat?.parent === postmaster) sum += stat.ownMs;
  }
  return sum;
}

async function statOf(pid: number): Promise<{ parent: number; ownMs: number; endedMs: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold anything.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15) as [number, number, number, number];
  // In hundredths of a second, on every Linux.
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
    if (Date.now() > deadline) throw new Error(`waited ${withinMs / 1_000} s for ${what} in vain`);
    await sleep(everyMs);
  }
}

const silent = pino({ level: 'silent' });
