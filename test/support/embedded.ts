/** Embedded databases for tests: temporary folders, servers, and processes that share or kill them. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type EmbeddedOptions, openEmbedded } from '../../src/embedded/embedded.ts';

export const opener = fileURLToPath(new URL('embedded-opener.ts', import.meta.url));
export const run = promisify(execFile);
export const isRoot = process.getuid?.() === 0;

/** Makes the folder accessible to other users: `mkdtemp` alone does not, which has its own test. */
async function openParent(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'belfry-embedded-'));
  await chmod(parent, 0o755);
  return parent;
}

/** Returns a folder that does not exist yet, inside one that is deleted after the test. */
export async function newFolder(): Promise<string> {
  const parent = await openParent();
  onTestFinished(() => rm(parent, { recursive: true, force: true, maxRetries: 5 }));
  return join(parent, 'data');
}

/** Prepares a used cluster once per test file; each test gets a copy, which is faster than creating one. */
export function prepareCluster() {
  let template = '';
  beforeAll(async () => {
    template = join(await openParent(), 'data');
    await (await openEmbedded({ dataDir: template, durable: false })).release();
  });
  afterAll(() => rm(join(template, '..'), { recursive: true, force: true }));

  async function usedFolder(): Promise<string> {
    const dataDir = await newFolder();
    await run('cp', ['-Rp', template, dataDir]);
    return dataDir;
  }
  return { usedFolder, template: () => template };
}

/** Releases the database when the test ends, before its folder is deleted. */
export async function open(dataDir: string, options: Partial<EmbeddedOptions> = {}) {
  const db = await openEmbedded({ dataDir, durable: false, ...options });
  onTestFinished(db.release);
  return db;
}

export async function query<Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

interface Opener {
  url: string;
  created: boolean;
  process: ChildProcessWithoutNullStreams;
  leave(): Promise<void>;
}

export async function openElsewhere(
  dataDir: string,
  user: { uid?: number; gid?: number } = {},
  script = opener,
): Promise<Opener> {
  const child = spawn(process.execPath, [script, dataDir], { ...user, cwd: '/', detached: true });
  const exited = once(child, 'exit');
  const leave = async () => {
    child.stdin.end();
    await exited;
  };
  onTestFinished(leave);
  let complaints = '';
  child.stderr.on('data', chunk => {
    complaints += chunk;
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited.then(() => [undefined])]);
  if (!line) throw new Error(`The other process did not open the database: ${complaints}`);
  return { ...JSON.parse(line), process: child, leave };
}

export const cluster = (dataDir: string) => join(dataDir, 'postgres');
export const pidFile = (dataDir: string) => join(cluster(dataDir), 'postmaster.pid');
export const portOf = (url: string) => Number(new URL(url).port);

export async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(pidFile(dataDir), 'utf8'), 10);
}

/** A zombie counts as dead; on Linux it has no command line. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false;
  }
}

/** Occupies a port. */
export async function squat(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return server;
}
