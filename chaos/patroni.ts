/** Two PostgreSQL servers managed by Patroni, and an etcd, all on this machine: the configuration of deploy/patroni. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, chown, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { pickPort } from '../src/embedded/server.ts';
import { waitFor } from '../test/support/eventually.ts';
import { runSql } from '../test/support/sql.ts';
import { Skipped } from './scenario.ts';

const run = promisify(execFile);
const configuration = fileURLToPath(new URL('../deploy/patroni/patroni.yml', import.meta.url));
const password = 'chaos';
/** Patroni accepts no smaller `ttl`. It is the time after which a leader that is lost is replaced. */
const timing = { ttl: 20, loop_wait: 2, retry_timeout: 3 };

interface Member {
  name: string;
  /** The port of Patroni's API. */
  api: number;
  port: number;
  dataDir: string;
  process: ChildProcess;
}

export interface PatroniCluster {
  url: string;
  /** Hands the leadership over, and resolves when the other server has it. */
  switchOver(): Promise<void>;
  /** Kills the leader's Patroni and PostgreSQL, as the loss of its machine would, and waits for the next one. */
  killLeader(): Promise<void>;
  release(): Promise<void>;
}

export async function openPatroni(folder: string): Promise<PatroniCluster> {
  const binaries = await findBinaries();
  const user = await findUser();
  await chmod(folder, 0o755);
  const started: ChildProcess[] = [];
  const start = (command: string, args: string[], env: Record<string, string>) => {
    const [program, ...before] = user
      ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', command]
      : [command];
    const child = spawn(program!, [...before, ...args], {
      env: { PATH: process.env.PATH, ...env },
      stdio: process.env.CHAOS_VERBOSE ? 'inherit' : 'ignore',
      cwd: folder,
    });
    started.push(child);
    return child;
  };
  const folderFor = async (name: string) => {
    const made = path.join(folder, name);
    await mkdir(made, { mode: 0o700 });
    if (user) await chown(made, user, user);
    return made;
  };
  const etcd = await pickPort(undefined);
  const peer = await pickPort(undefined);
  const own = `http://127.0.0.1:${peer}`;
  const client = `http://127.0.0.1:${etcd}`;
  const etcdArgs = [
    '--data-dir',
    await folderFor('etcd'),
    '--listen-client-urls',
    client,
    '--advertise-client-urls',
    client,
  ];
  start(
    'etcd',
    [
      ...etcdArgs,
      '--listen-peer-urls',
      own,
      '--initial-advertise-peer-urls',
      own,
      '--initial-cluster',
      `default=${own}`,
    ],
    {
      ETCD_UNSUPPORTED_ARCH: process.arch,
    },
  );
  await waitFor(
    'etcd',
    () =>
      fetch(`${client}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    30_000,
  );

  const members: Member[] = [];
  for (const name of ['a', 'b']) {
    const [api, port, dataDir] = [await pickPort(undefined), await pickPort(undefined), await folderFor(name)];
    const patroni = start('patroni', [configuration], {
      PATRONI_NAME: name,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${api}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${api}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_DATA_DIR: path.join(dataDir, 'data'),
      PATRONI_POSTGRESQL_BIN_DIR: binaries,
      PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcd}`,
      PATRONI_SUPERUSER_USERNAME: 'postgres',
      PATRONI_SUPERUSER_PASSWORD: password,
      PATRONI_REPLICATION_USERNAME: 'replicator',
      PATRONI_REPLICATION_PASSWORD: password,
    });
    members.push({ name, api, port, dataDir, process: patroni });
    if (name === 'a') await waitFor('the first leader', async () => (await findLeader(members)) !== undefined, 90_000);
  }
  const [first] = members;
  await fetch(`http://127.0.0.1:${first!.api}/config`, { method: 'PATCH', body: JSON.stringify(timing) });
  const superuser = `postgres://postgres:${password}@127.0.0.1:${first!.port}/postgres`;
  await runSql(superuser, `create role belfry login password '${password}'`);
  await runSql(superuser, 'create database belfry owner belfry');
  await waitFor('a synchronous standby', () => hasSynchronousStandby(members), 90_000);
  const next = (former: Member) =>
    waitFor('another leader', async () => ((await findLeader(members)) ?? former) !== former, 90_000);
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `postgres://belfry:${password}@${hosts}/belfry?target_session_attrs=read-write`,
    async switchOver() {
      const leader = (await findLeader(members))!;
      const body = JSON.stringify({ leader: leader.name });
      const response = await fetch(`http://127.0.0.1:${leader.api}/switchover`, { method: 'POST', body });
      if (!response.ok) throw new Error(`the switchover failed: ${await response.text()}`);
      await next(leader);
    },
    async killLeader() {
      await waitFor('a synchronous standby', () => hasSynchronousStandby(members), 90_000);
      const leader = (await findLeader(members))!;
      leader.process.kill('SIGKILL');
      await killPostgres(leader);
      await next(leader);
    },
    async release() {
      for (const child of started) child.kill('SIGKILL');
      for (const member of members) await killPostgres(member);
    },
  };
}

async function findLeader(members: readonly Member[]): Promise<Member | undefined> {
  for (const member of members) {
    const isLeader = await fetch(`http://127.0.0.1:${member.api}/primary`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isLeader) return member;
  }
  return undefined;
}

async function hasSynchronousStandby(members: readonly Member[]): Promise<boolean> {
  for (const { api } of members) {
    const response = await fetch(`http://127.0.0.1:${api}/synchronous`, { signal: AbortSignal.timeout(2_000) }).catch(
      () => undefined,
    );
    if (response?.ok) return true;
  }
  return false;
}

/** Kills the postmaster and its children, which notice its end. */
async function killPostgres({ dataDir }: Member): Promise<void> {
  const file = await readFile(path.join(dataDir, 'data/postmaster.pid'), 'utf8').catch(() => '');
  const [pid] = file.split('\n');
  if (pid) await run('sh', ['-c', `kill -9 $(ps -o pid= --ppid ${Number(pid)}) ${Number(pid)} 2>/dev/null || true`]);
}

/** Returns the folder of PostgreSQL's programs. */
async function findBinaries(): Promise<string> {
  const script = 'command -v patroni etcd setpriv >/dev/null && ls -d /usr/lib/postgresql/*/bin | tail -1';
  const { stdout } = await run('sh', ['-c', script]).catch(() => ({ stdout: '' }));
  if (!stdout.trim()) throw new Skipped('patroni, etcd and a PostgreSQL in /usr/lib/postgresql are not installed');
  return stdout.trim();
}

/** Returns the id of the user `postgres` if this is root, as which PostgreSQL does not run. */
async function findUser(): Promise<number | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  return Number((await run('id', ['-u', 'postgres'])).stdout);
}
