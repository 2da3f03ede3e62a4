/** Starts a system-installed PostgreSQL on loopback for one test, to cover versions other than the embedded one. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const debian = '/usr/lib/postgresql';

export interface SystemPostgres {
  major: number;
  url: string;
  stop(): Promise<void>;
}

/** Returns the folder of the newest PostgreSQL installed by Debian packages. */
export function findPostgres(): string | undefined {
  if (!existsSync(debian)) return undefined;
  const versions = readdirSync(debian).sort((a, b) => Number(b) - Number(a));
  return versions.map(version => path.join(debian, version, 'bin')).find(bin => existsSync(path.join(bin, 'initdb')));
}

/** Runs as the current user; as root, which PostgreSQL refuses, as the user `postgres`. */
export async function startPostgres(bin: string, settings: Record<string, string> = {}): Promise<SystemPostgres> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-pg-'));
  const user = process.getuid?.() === 0 ? await systemUser() : undefined;
  if (user) await chown(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  const data = path.join(folder, 'data');
  await run(path.join(bin, 'initdb'), ['-D', data, '-U', 'belfry', '--auth=trust', '--no-sync', '-E', 'UTF8'], options);
  const port = await freePort();
  const flags = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    port: `${port}`,
    ...settings,
  };
  const given = Object.entries(flags).map(([name, value]) => `-c ${name}='${value}'`);
  const log = path.join(folder, 'log');
  await run(path.join(bin, 'pg_ctl'), ['start', '-w', '-D', data, '-l', log, '-o', given.join(' ')], options);
  const { stdout } = await run(path.join(bin, 'postgres'), ['--version']);
  return {
    major: Number(/ (\d+)/.exec(stdout)![1]),
    url: `postgres://belfry@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await run(path.join(bin, 'pg_ctl'), ['stop', '-w', '-m', 'immediate', '-D', data], options);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function systemUser(): Promise<{ uid: number; gid: number }> {
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/** Returns a free port below those that the system gives to outgoing connections, so that it stays free for a while. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>(resolve => {
      probe.on('error', () => resolve(false)).listen({ host: '127.0.0.1', port }, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise(resolve => probe.close(resolve));
    return port;
  }
}
