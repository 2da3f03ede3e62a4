/**
 * The oldest PostgreSQL that is supported, and PgBouncer in transaction mode before it: a handful of the engine's tests on
 * those that Debian brings, where they are installed.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findPostgres, freePort, type SystemPostgres, startPostgres } from '../../test/support/postgres.ts';
import { eventually, hasProgram, run, Skipped, temporaryFolder } from './support.ts';

/** Triggers, fan-outs, sending, retries, pauses, and changes that are announced. */
const tests = ['test/engine.test.ts', 'test/pauses.test.ts'];
/** What statements read: planners differ from version to version. Nothing is prepared behind a pooler. */
const plans = ['test/engine-plans.test.ts'];

export async function checkDatabases(): Promise<string> {
  const bin = findPostgres();
  if (!bin) throw new Skipped('there is no PostgreSQL in /usr/lib/postgresql: apt install postgresql pgbouncer');
  const server = await startPostgres(bin, { max_connections: '300' });
  try {
    const direct = { BELFRY_TEST_POSTGRES_URL: server.url };
    const pooler = findPgBouncer();
    await runTests(pooler ? plans : [...tests, ...plans], direct);
    if (!pooler) {
      return `PostgreSQL ${server.major}; PgBouncer is not installed, and was not tried`;
    }
    const bouncer = await startPgBouncer(pooler, server);
    try {
      await runTests(tests, { ...direct, BELFRY_TEST_POOLER_URL: bouncer.url });
    } finally {
      bouncer.stop();
    }
    return `PostgreSQL ${server.major} behind ${(await run(pooler, ['--version'])).split('\n')[0]} in transaction mode`;
  } finally {
    await server.stop();
  }
}

async function runTests(files: string[], env: Record<string, string>): Promise<void> {
  await run('npx', ['vitest', 'run', ...files], { env });
}

function findPgBouncer(): string | undefined {
  // Debian puts it where only root looks.
  if (existsSync('/usr/sbin/pgbouncer')) return '/usr/sbin/pgbouncer';
  return hasProgram('pgbouncer') ? 'pgbouncer' : undefined;
}

/** On loopback, for whatever database of the server. */
async function startPgBouncer(program: string, server: SystemPostgres): Promise<{ url: string; stop(): void }> {
  const folder = temporaryFolder('pgbouncer');
  const port = await freePort();
  const { hostname, port: serverPort } = new URL(server.url);
  const settings = `
[databases]
* = host=${hostname} port=${serverPort} user=belfry
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
max_client_conn = 1000
server_idle_timeout = 5
`;
  const file = path.join(folder, 'pgbouncer.ini');
  await writeFile(file, settings);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  await chmod(folder, 0o755);
  const child = spawn(program, [file], { ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (words += text));
  await eventually('PgBouncer to listen', () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}:\n${words}`);
    return /process up/.test(words);
  });
  return { url: `postgres://belfry@127.0.0.1:${port}/postgres`, stop: () => void child.kill('SIGTERM') };
}
