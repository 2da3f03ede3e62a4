/** Runs the real program in its own process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { settings } from '../../src/config.ts';
import { waitFor } from './eventually.ts';
import { fairNow } from './fair-clock.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** The Node flags of `npm start`. */
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
const flags = scripts.start.split(' ').filter(word => word.startsWith('--'));
/** The command `belfry`, which rebuilds outdated code; another version runs as it was unpacked. */
const programOf = (folder: string) => [...flags, path.join(folder, folder === root ? 'bin/belfry.js' : 'src/main.ts')];

const startMs = 60_000;

export interface Running {
  process: ChildProcess;
  address: string;
  /** Returns everything printed so far. */
  output(): string;
  /** Sends the signal, waits for the exit, and returns the exit code and the duration. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }>;
}

/** Removes settings that the shell of the test run happens to have. */
export function cleanEnv(env: Record<string, string>): NodeJS.ProcessEnv {
  const own = new Set(Object.keys(settings).flatMap(name => [name, `${name}_FILE`]));
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.has(name))), ...env };
}

/**
 * Starts the service. With `file`, output goes to a file instead of a pipe, which would have to be read continuously.
 * `folder` contains the program, and selects another version. `prefix` is a command that executes the program.
 */
export async function startBelfry(
  env: Record<string, string>,
  args: string[] = [],
  logFile?: string,
  folder = root,
  prefix: readonly string[] = [],
): Promise<Running> {
  const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a');
  const [command, ...rest] = [...prefix, process.execPath, ...programOf(folder), 'serve', ...args];
  const child = spawn(command!, rest, {
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
  // A busy machine may have to compile another version first.
  const address = await waitFor('the server to listen', look, startMs).catch(error => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    process: child,
    address,
    output: text,
    end: async signal => {
      const began = fairNow();
      child.kill(signal);
      const code = await ended;
      return { code, ms: fairNow() - began };
    },
  };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a CLI command until it exits. */
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

/** Returns the pid of the postmaster of a data folder; its children exit with it. */
export async function postmasterPid(dataDir: string): Promise<number> {
  const text = await readFile(path.join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
  return Number(text.split('\n')[0]);
}

/** Kills the postmaster and all its children, like a power cut. */
export async function killDatabase(dataDir: string): Promise<void> {
  const pids = await signalDatabase(dataDir, 'SIGKILL');
  await waitFor('the database to be gone', () => pids.every(pid => !isRunning(pid)));
}

/** Signals the postmaster and all its children, and returns their pids. */
export async function signalDatabase(dataDir: string, signal: NodeJS.Signals): Promise<number[]> {
  const postmaster = await postmasterPid(dataDir);
  const pids = [postmaster];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    if (stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(postmaster)) pids.push(Number(entry));
  }
  // A backend may have exited since it was listed.
  for (const pid of pids) if (isRunning(pid)) process.kill(pid, signal);
  return pids;
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
