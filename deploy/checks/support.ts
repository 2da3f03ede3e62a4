/** What the checks share: folders that go away, programs that are run, a Belfry that is asked. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** What cannot be checked on this machine; the message says why. */
export class Skipped extends Error {}

/** Generous: on a quiet machine nothing takes a tenth of it. */
const timeoutMs = 300_000;

/** Without settings of Belfry that the shell happens to have. */
export function cleanEnv(env: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own =
    /^(BELFRY_|DATABASE_URL|HOST$|PORT$|BASE_URL|METRICS_|OTEL_|OIDC_|TRUST_PROXY|CORS_ORIGINS|LOG_LEVEL|npm_)/;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name))), ...env };
}

/** What is undone when this process ends, however it does. */
const leftovers: (() => void)[] = [];
process.on('exit', () => {
  for (const undo of leftovers) undo();
});

/** Goes away when this process ends. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `belfry-${name}-`));
  leftovers.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function hasProgram(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}

/** Runs a program to its end and returns what it printed; throws with its last words when it fails. */
export async function run(
  command: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<string> {
  const child = spawn(command, args, { cwd: options.cwd ?? root, env: cleanEnv(options.env), timeout: timeoutMs });
  child.stdin.on('error', () => {}).end(options.input ?? '');
  let [printed, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', text => (printed += text));
  child.stderr.setEncoding('utf8').on('data', text => (said += text));
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject));
  if (code === 0) return printed;
  const words = (said.trim() || printed.trim()).split('\n').slice(-12).join('\n');
  throw new Error(`${path.basename(command)} ${args.join(' ')} ended with ${code}:\n${words}`);
}

export interface Server {
  address: string;
  output(): string;
  stop(): Promise<void>;
}

/** Starts `belfry serve` and waits until it listens. `words` are the program and its arguments. */
export async function startServer(words: string[], cwd: string, env: Record<string, string> = {}): Promise<Server> {
  const [command = '', ...args] = words;
  const child = spawn(command, args, { cwd, env: cleanEnv({ HOST: '127.0.0.1', PORT: '0', ...env }) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  const ended = new Promise<number | null>(resolve => child.on('close', resolve));
  leftovers.push(() => child.kill('SIGKILL'));
  const address = await eventually('the server to listen', () => {
    if (child.exitCode !== null) throw new Error(`belfry ended with ${child.exitCode}:\n${output}`);
    return /listens on (http:\/\/\S+?)["\s]/.exec(output)?.[1];
  });
  return {
    address,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) throw new Error(`belfry ended with ${code} after SIGTERM:\n${output.slice(-1_000)}`);
    },
  };
}

export async function eventually<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs / 1000} s for ${what} in vain`);
    await sleep(50);
  }
}

/** Waits until every delivery of the occurrence has been sent; tells how many. */
export async function countSent(
  address: string,
  key: string,
  organization: string,
  occurrence: string,
): Promise<number> {
  return eventually('the deliveries', async () => {
    const url = `${address}/api/o/${organization}/occurrence/${occurrence}/`;
    const answer = await fetch(url, { headers: { authorization: `Key ${key}` } });
    const { status, counts } = (await answer.json()) as { status: string; counts: Record<string, number> };
    if (status !== 'completed') return undefined;
    const others = Object.entries(counts).filter(([name, count]) => name !== 'sent' && count > 0);
    if (others.length > 0) throw new Error(`not everything was sent: ${JSON.stringify(counts)}`);
    return counts.sent;
  });
}

/** What is read from the package when somebody looks at it, and not before. */
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
    const answer = await fetch(address + page);
    if (answer.status !== 200) throw new Error(`${page} answers ${answer.status}`);
    await answer.arrayBuffer();
  }
}
