/**
 * The embedded server's process: found, started, stopped. PostgreSQL's own lock decides who runs on a cluster: the file
 * postmaster.pid, and behind it a shared memory segment tied to the folder's inode, which holds even if the file is
 * lost. So a start may always be tried; one that comes second ends by itself.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync, fchownSync, fstatSync, ftruncateSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { asAccount } from './account.ts';
import { type Cluster, hasCode, isAlive } from './cluster.ts';

export const POLL_MS = 15;
const FAST_STOP_MS = 8_000;
const IMMEDIATE_STOP_MS = 2_000;
const PORT_WAIT_MS = 500;
const START_LOG_LIMIT = 1_000_000;

export interface Postmaster {
  pid: number;
  port: number;
  /** The folder of its Unix socket, if it has one. */
  socketFolder: string | undefined;
  ready: boolean;
}

/** The server that runs on this cluster, whoever started it. A file left by a dead one is cleared out of the way. */
export async function findPostmaster(folder: string): Promise<Postmaster | undefined> {
  const file = join(folder, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(error => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const lines = text.split('\n').map(line => line.trim());
  const pid = Number(lines[0]);
  if (await isPostmasterOf(pid, folder)) return toPostmaster(lines);
  discardIfStale(file, text, pid);
  return undefined;
}

/** https://www.postgresql.org/docs/18/storage-file-layout.html: pid, folder, start, port, socket, address, memory, status. */
function toPostmaster(lines: string[]): Postmaster {
  const [pid, , , port, socketFolder] = lines;
  return { pid: Number(pid), port: Number(port), socketFolder: socketFolder || undefined, ready: lines[7] === 'ready' };
}

/**
 * PostgreSQL itself overrules the file of a dead process, but not one whose pid now belongs to a stranger, nor an
 * empty one. Read again just before it is removed, lest it is a new server's.
 */
function discardIfStale(file: string, text: string, pid: number): void {
  try {
    const inTheWay = pid ? isAlive(pid) : Date.now() - statSync(file).mtimeMs > 2_000;
    if (inTheWay && readFileSync(file, 'utf8') === text) rmSync(file);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

async function isPostmasterOf(pid: number, folder: string): Promise<boolean> {
  return pid > 0 && (await commandOf(pid)).includes(` -D ${folder} -c `);
}

/** Empty for a process that is gone, or dead and not yet collected by its parent. */
async function commandOf(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    return (await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', `${pid}`])).stdout;
  } catch {
    return '';
  }
}

/** Fast shutdown: sessions are cut, what was committed is written down. If that takes too long, recovery will do it. */
export async function stopPostmaster(folder: string): Promise<void> {
  const postmaster = await findPostmaster(folder);
  if (!postmaster) return;
  const steps = [
    ['SIGINT', FAST_STOP_MS],
    ['SIGQUIT', IMMEDIATE_STOP_MS],
  ] as const;
  for (const [signal, timeoutMs] of steps) {
    process.kill(postmaster.pid, signal);
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(POLL_MS)) {
      if (!(await isPostmasterOf(postmaster.pid, folder))) return;
    }
  }
}

/** One attempt to start a server. */
export interface Launch {
  /** Set once the server has ended. */
  ended?: { code: number | null; signal: string | null; error?: Error };
  /** What the server has logged since. */
  words(): Promise<string>;
}

/** Starts a server and does not wait for it. */
export async function launch(cluster: Cluster, options: LaunchOptions): Promise<Launch> {
  const settings = {
    ...serverSettings(options.durable),
    port: `${options.port}`,
    unix_socket_directories: options.withSocket && isShort(cluster.folder) ? cluster.folder : '',
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = asAccount(cluster.account, cluster.binaries.postgres, ['-D', cluster.folder, ...flags]);
  const attempt: Launch = { words: await listenToLogs(cluster) };
  const output = openStartLog(cluster);
  // A session of its own, so that Ctrl-C in our terminal does not reach it: the last one to leave stops it.
  const child = spawn(command.file, command.args, {
    ...command.options,
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  child.on('error', error => {
    attempt.ended = { code: null, signal: null, error };
  });
  child.on('exit', (code, signal) => {
    attempt.ended = { code, signal };
  });
  child.unref();
  return attempt;
}

/**
 * A socket's path has a limit: 107 bytes on Linux, 103 on macOS. A deep data folder breaks it, and its server is reached
 * by the loopback address alone.
 */
function isShort(folder: string): boolean {
  return Buffer.byteLength(join(folder, '.s.PGSQL.65535')) <= 103;
}

export interface LaunchOptions {
  port: number;
  /** Beside the loopback address: a statement over it takes less of the processor. */
  withSocket: boolean;
  durable: boolean;
  settings?: Record<string, string>;
}

/** Reasons to end that pass by themselves: another server is there, or still leaving, or the port was just taken. */
export function mayTryAgain(words: string): boolean {
  return /lock file .* (already exists|is empty)|is still in use|could not create any TCP\/IP sockets/.test(words);
}

/** Some shared folders of containers and networks take no sockets. */
export function lacksSocket(words: string): boolean {
  return /could not create any Unix-domain sockets/.test(words);
}

function openStartLog({ startLog, account }: Cluster): number {
  const fd = openSync(startLog, 'a', 0o600);
  if (account.owner) fchownSync(fd, account.owner.uid, account.owner.gid);
  if (fstatSync(fd).size > START_LOG_LIMIT) ftruncateSync(fd);
  return fd;
}

/** The server speaks first to the start log and then to its own; the returned function gives what is new in both. */
async function listenToLogs({ folder, startLog }: Cluster): Promise<() => Promise<string>> {
  const logFiles = async () => {
    const own = await readdir(join(folder, 'log')).catch(() => []);
    return [startLog, ...own.map(name => join(folder, 'log', name))];
  };
  const sizeOf = (file: string) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    );
  const before = new Map<string, number>();
  for (const file of await logFiles()) before.set(file, await sizeOf(file));
  return async () => {
    const news: string[] = [];
    for (const file of await logFiles()) news.push(await readFrom(file, before.get(file) ?? 0));
    return news.join('').trim();
  };
}

async function readFrom(file: string, offset: number): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return '';
  try {
    const { size } = await handle.stat();
    const start = size < offset ? 0 : offset;
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.alloc(Math.min(size - start, 64_000)),
      position: start,
    });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The wished port, or another when a stranger holds it; a killed server that is still going down is waited for. */
export async function pickPort(wish: number | undefined): Promise<number> {
  for (const deadline = Date.now() + PORT_WAIT_MS; wish && Date.now() < deadline; await sleep(POLL_MS)) {
    if (await tryPort(wish)) return wish;
  }
  return (await tryPort(0)) ?? 0;
}

/** The port if it is free, any free one for 0. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise(resolve => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}

/** Passed at every start, so that a newer Belfry tunes old clusters too. */
function serverSettings(durable: boolean): Record<string, string> {
  // A container's limit where there is one; it reads as 0 or as something huge where there is none.
  const memoryMb = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20;
  const megabytes = (share: number, least: number, most: number) =>
    `${Math.round(Math.min(Math.max(memoryMb * share, least), most))}MB`;
  return {
    listen_addresses: '127.0.0.1',
    max_connections: '100',

    shared_buffers: megabytes(1 / 8, 64, 512),
    effective_cache_size: megabytes(1 / 2, 128, 65_536),
    work_mem: '8MB',
    maintenance_work_mem: '64MB',

    // A 202 to a trigger promises that it is on disk.
    synchronous_commit: durable ? 'on' : 'off',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    // Each checkpoint makes the next change of every page log the whole page: rarer ones mean less to write.
    checkpoint_timeout: '15min',
    max_wal_size: '2GB',
    min_wal_size: '256MB',
    wal_buffers: '16MB',
    // Whole pages in the log, after a checkpoint, by a slow algorithm: it was the most expensive function of all.
    wal_compression: 'off',
    // Deliveries change state several times in seconds: dead rows pile up faster than the defaults expect.
    autovacuum_naptime: '15s',
    autovacuum_vacuum_scale_factor: '0.05',
    autovacuum_analyze_scale_factor: '0.05',

    // Solid-state disks; and short statements, for which compiling costs more than it saves.
    random_page_cost: '1.1',
    jit: 'off',

    timezone: 'UTC',
    log_timezone: 'UTC',
    // One file for each weekday, begun anew a week later.
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgresql-%a.log',
    log_rotation_age: '1d',
    log_rotation_size: '0',
    log_truncate_on_rotation: 'on',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
  };
}
