/**
 * Finds, starts and stops the embedded server's process. PostgreSQL's own locks allow one server per cluster: the file
 * postmaster.pid, and a shared memory segment tied to the folder's inode, which works even if the file is lost. So it is
 * always safe to start a server; a second one ends on its own.
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

/** Returns the server that runs on this cluster, whichever process started it. Removes a stale postmaster.pid. */
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
 * PostgreSQL itself ignores the file of a dead process, but not one whose pid was reused by another program, nor an empty
 * one. The file is read again just before it is removed, in case a new server has written it.
 */
function discardIfStale(file: string, text: string, pid: number): void {
  try {
    const blocksStart = pid ? isAlive(pid) : Date.now() - statSync(file).mtimeMs > 2_000;
    if (blocksStart && readFileSync(file, 'utf8') === text) rmSync(file);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

async function isPostmasterOf(pid: number, folder: string): Promise<boolean> {
  return pid > 0 && (await commandOf(pid)).includes(` -D ${folder} -c `);
}

/** Returns the command line; empty for a process that is gone or a zombie. */
async function commandOf(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    return (await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', `${pid}`])).stdout;
  } catch {
    return '';
  }
}

/** Stops the server by a fast shutdown, and after a timeout by an immediate one, which leaves the rest to recovery. */
export async function stopPostmaster(folder: string): Promise<void> {
  const postmaster = await findPostmaster(folder);
  if (!postmaster) return;
  const steps = [
    ['SIGINT', FAST_STOP_MS],
    ['SIGQUIT', IMMEDIATE_STOP_MS],
  ] as const;
  for (const [signal, timeoutMs] of steps) {
    process.kill(postmaster.pid, signal);
    for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(POLL_MS)) {
      if (!(await isPostmasterOf(postmaster.pid, folder))) return;
    }
  }
}

/** One attempt to start a server. */
export interface Launch {
  /** Set once the server has ended. */
  ended?: { code: number | null; signal: string | null; error?: Error };
  /** Returns what the server has logged since the start. */
  readLog(): Promise<string>;
}

/** Starts a server without waiting until it is ready. */
export async function launch(cluster: Cluster, options: LaunchOptions): Promise<Launch> {
  const settings = {
    ...serverSettings(options.durable),
    port: `${options.port}`,
    unix_socket_directories: options.withSocket && fitsSocketPath(cluster.folder) ? cluster.folder : '',
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = asAccount(cluster.account, cluster.binaries.postgres, ['-D', cluster.folder, ...flags]);
  const launched: Launch = { readLog: await watchLogs(cluster) };
  const output = openStartLog(cluster);
  // Detached, so that Ctrl-C in our terminal does not reach it: the last process to leave stops it.
  const child = spawn(command.file, command.args, {
    ...command.options,
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  child.on('error', error => {
    launched.ended = { code: null, signal: null, error };
  });
  child.on('exit', (code, signal) => {
    launched.ended = { code, signal };
  });
  child.unref();
  return launched;
}

/**
 * The path of a Unix socket is limited: 107 bytes on Linux, 103 on macOS. In a deeper data folder, the server is reached
 * only by the loopback address.
 */
function fitsSocketPath(folder: string): boolean {
  return Buffer.byteLength(join(folder, '.s.PGSQL.65535')) <= 103;
}

interface LaunchOptions {
  port: number;
  /** Whether to open a Unix socket besides the loopback address: statements over it take less CPU. */
  withSocket: boolean;
  durable: boolean;
  settings?: Record<string, string>;
}

/** Returns whether a start failed temporarily: another server is running or still stopping, or the port was just taken. */
export function isTemporaryFailure(output: string): boolean {
  return /lock file .* (already exists|is empty)|is still in use|could not create any TCP\/IP sockets/.test(output);
}

/** Some shared folders of containers and networks do not support sockets. */
export function cannotCreateSocket(output: string): boolean {
  return /could not create any Unix-domain sockets/.test(output);
}

function openStartLog({ startLog, account }: Cluster): number {
  const fd = openSync(startLog, 'a', 0o600);
  if (account.owner) fchownSync(fd, account.owner.uid, account.owner.gid);
  if (fstatSync(fd).size > START_LOG_LIMIT) ftruncateSync(fd);
  return fd;
}

/** The server logs first to the start log and then to its own; the returned function reads what is new in both. */
async function watchLogs({ folder, startLog }: Cluster): Promise<() => Promise<string>> {
  const logFiles = async () => {
    const own = await readdir(join(folder, 'log')).catch(() => []);
    return [startLog, ...own.map(name => join(folder, 'log', name))];
  };
  const sizeOf = (file: string) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    );
  const sizes = new Map<string, number>();
  for (const file of await logFiles()) sizes.set(file, await sizeOf(file));
  return async () => {
    const newText: string[] = [];
    for (const file of await logFiles()) newText.push(await readFrom(file, sizes.get(file) ?? 0));
    return newText.join('').trim();
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

/** Returns the preferred port, or another if it is taken. Waits briefly for a killed server to release the port. */
export async function pickPort(preferred: number | undefined): Promise<number> {
  for (
    const deadline = performance.now() + PORT_WAIT_MS;
    preferred && performance.now() < deadline;
    await sleep(POLL_MS)
  ) {
    if (await tryPort(preferred)) return preferred;
  }
  return (await tryPort(0)) ?? 0;
}

/** Returns the port if it is free; for 0, any free port. */
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

/** Passed at every start, so that a newer Belfry also tunes existing clusters. */
function serverSettings(durable: boolean): Record<string, string> {
  // The container's limit, if there is one; otherwise it reads as 0 or as a huge number.
  const memoryMb = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20;
  const megabytes = (share: number, min: number, max: number) =>
    `${Math.round(Math.min(Math.max(memoryMb * share, min), max))}MB`;
  return {
    listen_addresses: '127.0.0.1',
    max_connections: '100',

    shared_buffers: megabytes(1 / 8, 64, 512),
    effective_cache_size: megabytes(1 / 2, 128, 65_536),
    work_mem: '8MB',
    maintenance_work_mem: '64MB',

    // A 202 response to a trigger promises that it is on disk.
    synchronous_commit: durable ? 'on' : 'off',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    // After a checkpoint, the first change of a page logs the whole page: fewer checkpoints mean less WAL.
    checkpoint_timeout: '15min',
    max_wal_size: '2GB',
    min_wal_size: '256MB',
    wal_buffers: '16MB',
    // Compressing full pages after a checkpoint was the most expensive function of all.
    wal_compression: 'off',
    // Deliveries change state several times within seconds: dead rows accumulate faster than the defaults expect.
    autovacuum_naptime: '15s',
    autovacuum_vacuum_scale_factor: '0.05',
    autovacuum_analyze_scale_factor: '0.05',

    // For solid-state disks, and for short statements, where compiling costs more than it saves.
    random_page_cost: '1.1',
    jit: 'off',

    timezone: 'UTC',
    log_timezone: 'UTC',
    // One file per weekday, overwritten a week later.
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
