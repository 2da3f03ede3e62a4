/**
 * Databases are migrated, from 0.1.0 on.
 *
 * @module-tag sweep
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/app.ts';
import { migrate } from '../../src/db/connection/migrate.ts';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

/** Writes the migrations of 0.1.0 and a later one into a folder. */
async function writeMigrations(later: string): Promise<URL> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-migrations-'));
  await cp(new URL('../../migrations/', import.meta.url), folder, { recursive: true });
  await writeFile(path.join(folder, '9998_later.sql'), later);
  return pathToFileURL(`${folder}/`);
}

describe('migrations', () => {
  const drops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const drop of drops.splice(0)) await drop();
  });
  const database = async (from?: string) => {
    const created = await createTestDatabase(from);
    drops.push(created.drop);
    return created.url;
  };

  test('run once, however many processes start at the same time', async () => {
    const url = await database('template1');
    const houses = await Promise.all(Array.from({ length: 8 }, () => openRuntime(testConfig(url), silent)));
    const rows = await runSql<{ name: string }>(url, 'select name from belfry_migrations order by name');
    const names = rows.map(row => row.name);
    expect(names).toContain('0001_initial');
    expect(new Set(names).size).toBe(names.length);
    await Promise.all(houses.map(runtime => runtime.close()));
  });

  test('wait for a lock only briefly, are retried, and keep the rows of 0.1.0', async () => {
    const url = await database();
    await runSql(url, "insert into organizations (slug, name) values ('acme', 'Acme')");
    const folder = await writeMigrations("alter table organizations add column later text not null default 'added'");
    const other = new pg.Client(url);
    await other.connect();
    await other.query('begin; lock table organizations in row exclusive mode');
    const { db, close } = openDatabase({ url, name: 'test', connections: 1 });
    const migrating = migrate(db, folder);
    // Held until the migration has waited for it and given up.
    const waiting = `select from pg_locks where not granted and relation = 'organizations'::regclass`;
    await eventually(async () => expect(await runSql(url, waiting)).toHaveLength(1));
    await eventually(async () => expect(await runSql(url, waiting)).toHaveLength(0));
    await other.query('commit');
    await other.end();
    expect(await migrating).toEqual(['9998_later']);
    await close();
    await rm(folder, { recursive: true });
    expect(await runSql(url, 'select slug, later from organizations')).toEqual([{ slug: 'acme', later: 'added' }]);
  });

  test('refuse a database from before 0.1.0, and say what to do', async () => {
    const url = await database('template1');
    await runSql(
      url,
      'create table belfry_migrations (name varchar(255) primary key, timestamp varchar(255) not null)',
    );
    await runSql(url, "insert into belfry_migrations values ('0001_foundation', ''), ('0084_retries', '')");
    await expect(openRuntime(testConfig(url), silent)).rejects.toMatchObject({
      code: 'schema.unsupported',
      message: expect.stringMatching(/0001_foundation to 0084_retries.*belfry export.*new database/),
    });
    expect(await runSql(url, "select to_regclass('organizations') as found")).toEqual([{ found: null }]);
  });

  test('refuse a database that a newer Belfry has migrated', async () => {
    const url = await database();
    await runSql(url, `insert into belfry_migrations values ('9999_from_the_future', now()::text)`);
    await expect(openRuntime(testConfig(url), silent)).rejects.toMatchObject({
      code: 'schema.newer',
      message: expect.stringContaining('9999_from_the_future'),
    });
  });

  test('create a partition for the current month, so that no row goes to the default partition', async () => {
    const url = await database();
    const month = new Date().toISOString().slice(0, 7).replace('-', '_');
    const [row] = await runSql<{ there: boolean }>(
      url,
      `select to_regclass('occurrences_${month}') is not null as there`,
    );
    expect(row!.there).toBe(true);
  });
});
