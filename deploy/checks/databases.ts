/**
 * Runs some engine tests on the oldest supported PostgreSQL, and on PgBouncer in transaction mode in front of it, with Debian's packages
 * if they are installed.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findPostgres, freePort, type SystemPostgres, startPostgres } from '../../test/support/postgres.ts';
import { eventually, hasProgram, run, Skipped, temporaryFolder } from './support.ts';

/** Cover triggers, fan-outs, sending, retries, pauses and change notifications. */
const tests = ['test/engine/engine.test.ts', 'test/configuration/pauses.test.ts'];
/** Query plans differ between versions. Not run behind a pooler, where nothing is prepared. */
const plans = ['test/engine/plans.test.ts', 'test/engine/on-call-plans.test.ts'];

export async function checkDatabases(): Promise<string> {
  const bin = findPostgres();
  if (!bin) throw new Skipped('PostgreSQL is not installed in /usr/lib/postgresql: apt install postgresql pgbouncer');
  const server = await startPostgres(bin, { max_connections: '300' });
  try {
    const direct = { BELFRY_TEST_POSTGRES_URL: server.url };
    const pooler = findPgBouncer();
    await runTests(pooler ? plans : [...tests, ...plans], direct);
    if (!pooler) {
      return `PostgreSQL ${server.major}; PgBouncer is not installed and was not tested`;
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
  // Debian installs it outside of an ordinary user's PATH.
  if (existsSync('/usr/sbin/pgbouncer')) return '/usr/sbin/pgbouncer';
  return hasProgram('pgbouncer') ? 'pgbouncer' : undefined;
}

/** Starts PgBouncer on loopback for all databases of the server. */
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
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  await chmod(folder, 0o755);
  const child = spawn(program, [file], { ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  await eventually('PgBouncer to listen', () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer exited with ${child.exitCode}:\n${output}`);
    return /process up/.test(output);
  });
  return { url: `postgres://belfry@127.0.0.1:${port}/postgres`, stop: () => void child.kill('SIGTERM') };
}
