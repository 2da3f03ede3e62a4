/** The real program in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { settings } from '../../src/config.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Node's flags as `npm start` gives them. */
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
const flags = scripts.start.split(' ').filter(word => word.startsWith('--'));
/** The command `belfry` itself, which never runs a program older than its sources; another version as it was unpacked. */
const programOf = (folder: string) => [...flags, path.join(folder, folder === root ? 'bin/belfry.js' : 'src/main.ts')];

const startMs = 60_000;

export interface Running {
  process: ChildProcess;
  address: string;
  /** Everything printed so far. */
  output(): string;
  /** Sends the signal and waits for the end; tells the exit code and how long it took. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }>;
}

/** Without settings that the shell which runs the tests happens to have. */
export function cleanEnv(env: Record<string, string>): NodeJS.ProcessEnv {
  const own = new Set(Object.keys(settings).flatMap(name => [name, `${name}_FILE`]));
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.has(name))), ...env };
}

/**
 * Prints to a file instead of a pipe where one is given: then nobody has to read along. `folder` is where the program is:
 * another than this one for another version.
 */
export async function startBelfry(
  env: Record<string, string>,
  args: string[] = [],
  logFile?: string,
  folder = root,
): Promise<Running> {
  const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a');
  const child = spawn(process.execPath, [...programOf(folder), 'serve', ...args], {
    env: cleanEnv({ PORT: '0', ...env }),
    cwd: env.BELFRY_DATA_DIR ?? root,
    stdio: ['ignore', log, log],
  });
  if (typeof log === 'number') closeSync(log);
  const text = logFile === undefined ? collect(child) : () => readFileSync(logFile, 'utf8');
  const ended = new Promise<number | null>(resolve => child.on('exit', resolve));
  const look = () => {
    if (child.exitCode !== null) throw new Error(`belfry ended with ${child.exitCode}:\n${text()}`);
    return /listens on (http:\/\/\S+?)["\s]/.exec(text())?.[1];
  };
  // A busy machine compiles another version for the first time.
  const address = await waitFor('the server to listen', look, startMs).catch(error => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    process: child,
    address,
    output: text,
    end: async signal => {
      const began = Date.now();
      child.kill(signal);
      const code = await ended;
      return { code, ms: Date.now() - began };
    },
  };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command of the command line to its end. */
export async function belfry(
  args: string[],
  env: Record<string, string>,
  input = '',
  folder = root,
): Promise<Finished> {
  const child = spawn(process.execPath, [...programOf(folder), ...args], { env: cleanEnv(env), cwd: root });
  child.stdin.end(input);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', text => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', text => (stderr += text));
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  return { code, stdout, stderr };
}

export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what} in vain`);
    await sleep(20);
  }
}

/** The postmaster of a data folder; its children end with it. */
export async function postmasterPid(dataDir: string): Promise<number> {
  const text = await readFile(path.join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
  return Number(text.split('\n')[0]);
}

/** Ends the postmaster and all its children as a power cut would. */
export async function killDatabase(dataDir: string): Promise<void> {
  const postmaster = await postmasterPid(dataDir);
  const pids = [postmaster];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    if (stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(postmaster)) pids.push(Number(entry));
  }
  // A backend may have ended by itself since it was listed.
  for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  await waitFor('the database to be gone', () => pids.every(pid => !isRunning(pid)));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function collect(child: ChildProcess): () => string {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', chunk => (text += chunk));
  child.stderr?.setEncoding('utf8').on('data', chunk => (text += chunk));
  return () => text;
}
