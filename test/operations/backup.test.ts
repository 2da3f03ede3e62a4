/** Backup and restore, without the client programs of PostgreSQL. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSchema } from '../../scripts/schema-read.ts';
import { startService } from '../../src/app.ts';
import { createSchema, migrate, migrationNames, migrationState } from '../../src/db/connection/migrate.ts';
import { createMonths } from '../../src/db/connection/partitions.ts';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { checkBackup, restoreBackup, writeBackup } from '../../src/services/operations/backup.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { findPostgres, startPostgres } from '../support/postgres.ts';
import { belfry } from '../support/process.ts';
import { disconnect, runSql, withDatabase } from '../support/sql.ts';
import { buildTenants } from '../support/tenants.ts';

const secretKey = 'a secret of at least 32 characters';
const keys = { secretKey, previousSecretKeys: [], dataDir: 'unused' };
const good = () => fileOf('good.backup');

let folder: string;
let source: string;
const databases: TestDatabase[] = [];
const fileOf = (name: string) => path.join(folder, name);
const createEmpty = async () => {
  const database = await createTestDatabase('template1');
  databases.push(database);
  return database.url;
};
const restore = async (url: string, file = good(), options = {}) =>
  restoreBackup(url, file, await checkBackup(file, keys), options);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-backup-'));
  source = await createEmpty();
  // The first serving process records the identity of the database.
  const service = await startService(testConfig(source), silent);
  await buildTenants(service.runtime.deps);
  await service.stop();
  // A month that only a retention of years keeps, and values that text formats have to escape.
  await runSql(source, "update users set first_name = E'a\\tb\\nc\\\\.\\\\N \\u00e9'");
  const database = openDatabase({ url: source, name: 'test', connections: 1 });
  await database.db.transaction().execute(trx => createMonths(trx, ['2024_03']));
  await database.close();
  await disconnect(source);
  const made = await writeBackup(source, good(), keys);
  expect(made).toMatchObject({ bytes: (await stat(good())).size, rows: expect.any(Number) });
}, 120_000);
afterAll(async () => {
  for (const { drop } of databases) await drop();
  await rm(folder, { recursive: true, force: true });
});

/** Everything in a database that a restore must keep. */
async function describeDatabase(url: string) {
  const database = openDatabase({ url, name: 'test', connections: 1 });
  try {
    const schema = await readSchema(database.pool);
    const rows: Record<string, unknown> = {};
    for (const { name, partition, unlogged } of schema.tables) {
      if (partition || unlogged) continue;
      const [one] = await runSql(url, `select count(*), md5(string_agg(t::text, ',' order by t::text)) from ${name} t`);
      rows[name] = one;
    }
    const sequences = await runSql(url, 'select sequencename, last_value from pg_sequences order by 1');
    const partitions = await runSql(
      url,
      'select c.relname, pg_get_expr(relpartbound, oid) from pg_class c where relispartition order by 1',
    );
    const triggers = await runSql(
      url,
      'select tgrelid::regclass::text, tgname, tgenabled from pg_trigger where not tgisinternal order by 1, 2',
    );
    return { schema, rows, sequences, partitions, triggers };
  } finally {
    await database.close();
    await disconnect(url);
  }
}

test('a restored database has the rows, sequences, partitions, keys and triggers of the original', async () => {
  const target = await createEmpty();
  await restore(target);
  const original = await describeDatabase(source);
  expect(await describeDatabase(target)).toEqual(original);
  expect(Object.values(original.rows).filter(row => (row as { count: number }).count > 0).length).toBeGreaterThan(30);
  expect((await stat(good())).mode & 0o777).toBe(0o600);
  const service = await startService(testConfig(target), silent);
  const { status } = (await (await fetch(`${service.address}/readyz`)).json()) as { status: string };
  await service.stop();
  expect(status).toBe('ready, sending is paused');
});

test('a backup shows one moment, and blocks no one', async () => {
  const file = fileOf('moment.backup');
  let changed: Promise<unknown> | undefined;
  await writeBackup(source, file, keys, () => {
    changed ??= runSql(source, "update organizations set name = 'Changed'; update users set first_name = 'Changed'");
  });
  await changed;
  const { tables } = await checkBackup(good(), keys);
  expect((await checkBackup(file, keys)).tables).toEqual(tables);
  expect(await runSql(source, 'select distinct first_name as name from users')).toEqual([{ name: 'Changed' }]);
});

// The oldest version is 0.1.0, which has the first migration.
test('a backup of an older version is restored and migrated', { tags: ['sweep'] }, async () => {
  const old = await createEmpty();
  const names = await migrationNames();
  const database = openDatabase({ url: old, name: 'test', connections: 1 });
  await database.db.transaction().execute(trx => createSchema(trx, names.slice(0, 1)));
  await database.close();
  await runSql(old, "insert into organizations (slug, name) values ('acme', 'Acme')");
  await runSql(old, 'create table guests (id integer)');
  await disconnect(old);
  const file = fileOf('old.backup');
  await writeBackup(old, file, keys);
  const target = await createEmpty();
  expect(await restore(target, file)).toEqual({ skipped: ['guests'] });
  const restored = openDatabase({ url: target, name: 'test', connections: 1 });
  expect((await migrationState(restored.db)).applied).toEqual(names.slice(0, 1));
  await migrate(restored.db);
  expect((await migrationState(restored.db)).applied).toEqual(names);
  await restored.close();
  expect(await runSql(target, 'select slug from organizations')).toEqual([{ slug: 'acme' }]);
});

describe('before anything is changed', () => {
  const refusal = (file: string, changedKeys = {}) =>
    checkBackup(file, { ...keys, ...changedKeys }).then(
      () => 'accepted',
      error => error.message as string,
    );

  test('a file that ends early or was altered anywhere is refused', async () => {
    const content = await readFile(good());
    const lengths = [10, 500, Math.floor(content.length / 2), content.length - 1];
    const altered = [200, Math.floor(content.length / 3), content.length - 6].map(at => {
      const copy = Buffer.from(content);
      copy[at]! ^= 0x01;
      return copy;
    });
    // A valid gzip file with other content, as a program that edits text would write it.
    const text = gunzipSync(content).toString('latin1');
    const edited = [text.replace('jane@', 'jame@'), text.replace('"months"', '"Months"'), `${text}more`].map(changed =>
      gzipSync(Buffer.from(changed, 'latin1')),
    );
    const cut = gzipSync(Buffer.from(text.slice(0, text.lastIndexOf('{')), 'latin1'));
    const damaged = [...lengths.map(length => content.subarray(0, length)), ...altered, ...edited, cut];
    for (const [index, bytes] of damaged.entries()) {
      await writeFile(fileOf('damaged.backup'), bytes);
      expect([index, await refusal(fileOf('damaged.backup'))]).toEqual([
        index,
        expect.stringMatching(/damaged\.backup is damaged or incomplete \(.+\): nothing was changed$/),
      ]);
    }
  });

  test('a file that is not a backup is refused with what it is', async () => {
    await writeFile(fileOf('text.backup'), 'no backup');
    await writeFile(fileOf('old.dump'), 'PGDMP…');
    expect(await refusal(fileOf('text.backup'))).toMatch(/text\.backup is not a backup of Belfry$/);
    expect(await refusal(fileOf('old.dump'))).toMatch(/it was made by pg_dump. Use pg_restore --no-owner/);
    expect(await refusal(fileOf('none.backup'))).toMatch(/file not found/);
  });

  test('a backup of a newer version is refused', async () => {
    const newer = await createEmpty();
    await runSql(newer, 'create table belfry_migrations (name text)');
    await runSql(newer, "insert into belfry_migrations values ('9999_later')");
    await disconnect(newer);
    // A database of a newer version has all tables of this one too.
    await runSql(newer, 'create table occurrences (); create table deliveries (); create table feedback ()');
    await writeBackup(newer, fileOf('newer.backup'), keys);
    expect(await refusal(fileOf('newer.backup'))).toMatch(/migrated by a newer Belfry \(9999_later\)/);
  });

  test('a backup made with another secret key is refused with what is needed', async () => {
    const other = { secretKey: 'another secret of at least 32 characters' };
    expect(await refusal(good(), other)).toMatch(
      /another secret key: set BELFRY_SECRET_KEY to the key that was in use/,
    );
    expect(await refusal(good(), { ...other, previousSecretKeys: [secretKey] })).toBe('accepted');
    const dataDir = fileOf('fresh');
    const embedded = { secretKey: undefined, dataDir };
    expect(await refusal(good(), embedded)).toContain(
      `copy secret.key from the data folder of that installation to ${dataDir}`,
    );
    await mkdir(dataDir);
    await writeFile(path.join(dataDir, 'secret.key'), `${secretKey}\n`);
    expect(await refusal(good(), embedded)).toBe('accepted');
    expect(await checkBackup(good(), { ...keys, ...other }, { withoutKey: true })).toHaveProperty('rows');
  });
});

test('a database is not overwritten without replace, while it is in use, or by a restore that fails', {
  tags: ['sweep'],
}, async () => {
  const target = await createEmpty();
  await runSql(target, 'create table precious (id integer)');
  await expect(restore(target)).rejects.toThrow('the database is not empty');
  await disconnect(target);
  const other = new pg.Client(target);
  await other.connect();
  await expect(restore(target, good(), { replace: true })).rejects.toThrow(/1 other connection is open/);
  await other.end();
  const checked = await checkBackup(good(), keys);
  const wrong = { ...checked, tables: checked.tables.map(table => ({ ...table, rows: table.rows + 1 })) };
  await expect(restoreBackup(target, good(), wrong, { replace: true })).rejects.toThrow(/rows instead of/);
  expect(await runSql(target, 'select from precious')).toEqual([]);
  await disconnect(target);
  await restore(target, good(), { replace: true });
  expect(await runSql(target, "select to_regclass('precious') as gone")).toEqual([{ gone: null }]);
});

test('an existing file is not overwritten, and a failed backup leaves no file', async () => {
  await expect(writeBackup(source, good(), keys)).rejects.toThrow('already exists');
  await expect(writeBackup(source, fileOf('nowhere/x.backup'), keys)).rejects.toThrow(/^cannot write .*nowhere/);
  const abroad = writeBackup(source, fileOf('x.backup'), keys, () => {
    throw new Error('interrupted');
  });
  await expect(abroad).rejects.toThrow('interrupted');
  expect((await readdir(folder)).filter(name => /part|x\.backup/.test(name))).toEqual([]);
});

test('memory stays bounded with 200,000 large rows', { tags: ['sweep'], timeout: 600_000 }, async () => {
  const large = await createTestDatabase();
  databases.push(large);
  await runSql(large.url, "insert into organizations (slug, name) values ('acme', 'Acme')");
  await runSql(
    large.url,
    `insert into audit (organization_id, actor_kind, actor_name, action, noun, path, after)
     select 1, 'key', 'x', 'x', 'x', n::text, jsonb_build_object('text', repeat(md5(n::text), 10)) from generate_series(1, 200000) n`,
  );
  await disconnect(large.url);
  const used = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return (heapUsed + arrayBuffers) / 1e6;
  };
  const before = used();
  let max = 0;
  const onProgress = () => {
    max = Math.max(max, used() - before);
  };
  const file = fileOf('large.backup');
  expect((await writeBackup(large.url, file, keys, onProgress)).rows).toBeGreaterThan(200_000);
  const target = await createEmpty();
  await restoreBackup(target, file, await checkBackup(file, keys, { onProgress }), { onProgress });
  expect(await runSql(target, 'select count(*) from audit')).toEqual([{ count: 200_000 }]);
  expect(max).toBeLessThan(100);
});

const bin = findPostgres();
test.skipIf(!bin)(
  'versions of PostgreSQL restore the backups of each other',
  { tags: ['sweep'], timeout: 300_000 },
  async () => {
    const server = await startPostgres(bin!);
    try {
      await runSql(server.url, 'create database other');
      const other = withDatabase(server.url, 'other');
      await restore(other);
      const { rows } = await describeDatabase(other);
      await writeBackup(other, fileOf('other.backup'), keys);
      const target = await createEmpty();
      await restore(target, fileOf('other.backup'));
      expect((await describeDatabase(target)).rows).toEqual(rows);
    } finally {
      await server.stop();
    }
  },
);

test('the commands report what they did, as text and as JSON', { tags: ['sweep'], timeout: 120_000 }, async () => {
  const at = (url: string) => ({ DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey, PATH: folder });
  const made = await belfry(['backup', fileOf('cli.backup')], at(source));
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/^Wrote .*cli\.backup: [\d,]+ rows in \d+ tables, [\d.]+ KB\.\n/);
  const checked = await belfry(['restore', fileOf('cli.backup'), '--check'], at(source));
  expect(checked).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/cli\.backup is complete: /) });
  const target = await createEmpty();
  const restored = await belfry(['restore', fileOf('cli.backup'), '--json'], at(target));
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(restored.stdout)).toMatchObject({ rows: expect.any(Number), unreadable: [] });
  const doctor = await belfry(['doctor'], at(target));
  expect(doctor.stdout).toMatch(/FAIL +sending +Sending has been paused since .* was restored from a backup/);
});
