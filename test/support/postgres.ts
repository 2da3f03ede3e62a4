/** A PostgreSQL of the system, on loopback and for one test: other versions than the embedded one, with their programs. */
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

/** Where the programs of a PostgreSQL are that is installed as Debian's packages do; the newest of several. */
export function findPostgres(): string | undefined {
  if (!existsSync(debian)) return undefined;
  const versions = readdirSync(debian).sort((a, b) => Number(b) - Number(a));
  return versions.map(version => path.join(debian, version, 'bin')).find(bin => existsSync(path.join(bin, 'initdb')));
}

/** Also for whoever is not root: PostgreSQL refuses to run as root, and then the system's own user does. */
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

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen({ host: '127.0.0.1', port: 0 }, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
