/** Common code of the checks: temporary folders, running programs, and calling a Belfry server. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** Thrown if something cannot be checked on this machine; the message says why. */
export class Skipped extends Error {}

/** Generous: on an idle machine nothing takes a tenth of it. */
const timeoutMs = 300_000;

/** Returns the environment without Belfry settings from the shell. */
export function cleanEnv(env: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own =
    /^(BELFRY_|DATABASE_URL|HOST$|PORT$|BASE_URL|METRICS_|OTEL_|OIDC_|TRUST_PROXY|CORS_ORIGINS|LOG_LEVEL|npm_)/;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name))), ...env };
}

/** Cleanup functions that run when this process exits. */
const cleanups: (() => void)[] = [];
process.on('exit', () => {
  for (const cleanUp of cleanups) cleanUp();
});

/** Calls the function when this process exits, whatever the reason. */
export function atExit(cleanUp: () => void): void {
  cleanups.push(cleanUp);
}

/** Creates a folder that is removed when this process exits. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `belfry-${name}-`));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function hasProgram(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}

/** Runs a program and returns its standard output; throws with its last lines if it fails. */
export async function run(
  command: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<string> {
  const child = spawn(command, args, { cwd: options.cwd ?? root, env: cleanEnv(options.env), timeout: timeoutMs });
  child.stdin.on('error', () => {}).end(options.input ?? '');
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', text => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', text => (stderr += text));
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject));
  if (code === 0) return stdout;
  const lines = (stderr.trim() || stdout.trim()).split('\n').slice(-12).join('\n');
  throw new Error(`${path.basename(command)} ${args.join(' ')} exited with ${code}:\n${lines}`);
}

export interface Server {
  address: string;
  output(): string;
  stop(): Promise<void>;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
}

/** Starts `belfry serve` and waits until it listens. `argv` is the program and its arguments. */
export async function startServer(argv: string[], cwd: string, env: Record<string, string> = {}): Promise<Server> {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, { cwd, env: cleanEnv({ HOST: '127.0.0.1', PORT: '0', ...env }) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  const ended = new Promise<number | null>(resolve => child.on('close', resolve));
  cleanups.push(() => child.kill('SIGKILL'));
  const address = await eventually('the server to listen', () => {
    if (child.exitCode !== null) throw new Error(`belfry exited with ${child.exitCode}:\n${output}`);
    return /listens on (http:\/\/\S+?)["\s]/.exec(output)?.[1];
  });
  return {
    address,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) throw new Error(`belfry exited with ${code} after SIGTERM:\n${output.slice(-1_000)}`);
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export async function eventually<T>(what: string, check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`timed out after ${timeoutMs / 1000} s waiting for ${what}`);
    await sleep(50);
  }
}

/** Waits until every delivery of the occurrence has been sent, and returns how many there are. */
export async function countSent(
  address: string,
  key: string,
  organization: string,
  occurrence: string,
): Promise<number> {
  return eventually('the deliveries', async () => {
    const url = `${address}/api/o/${organization}/occurrence/${occurrence}/`;
    const response = await fetch(url, { headers: { authorization: `Key ${key}` } });
    const { status, counts } = (await response.json()) as { status: string; counts: Record<string, number> };
    if (status !== 'completed') return undefined;
    const others = Object.entries(counts).filter(([name, count]) => name !== 'sent' && count > 0);
    if (others.length > 0) throw new Error(`not everything was sent: ${JSON.stringify(counts)}`);
    return counts.sent;
  });
}

/** Pages that are read from the package on the first request. */
const pages = [
  '/',
  '/docs',
  '/docs/js/scalar.js',
  '/docs/guides/preferences',
  '/docs/images/preferences-page.png',
  '/docs/providers/smtp',
  '/docs/configuration',
  '/docs/changelog',
  '/docs/search.json',
  '/openapi.json',
];

export async function requirePages(address: string): Promise<void> {
  for (const page of pages) {
    const response = await fetch(address + page);
    if (response.status !== 200) throw new Error(`${page} responds with ${response.status}`);
    await response.arrayBuffer();
  }
}
