/** Readiness while the disk of the database is full. */
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { checkHealth } from '../../src/services/operations/health.ts';
import { testDatabase } from '../support/database.ts';
import { runSql } from '../support/sql.ts';

test('a process is not ready while the disk of the database is full, and ready again when it has room', async () => {
  const { deps, url, close } = await testDatabase();
  // The check sorts by md5(): this one fails as PostgreSQL does when it cannot write a file.
  await runSql(url, 'create schema faulty');
  const fail = () =>
    runSql(
      url,
      `create function faulty.md5(text) returns text language plpgsql as
       $$ begin raise exception 'could not write to file: No space left on device' using errcode = '53100'; end $$`,
    );
  const settings = { search_path: 'faulty,pg_catalog,public' };
  const { db, close: closeOther } = openDatabase({ url, name: 'test', settings });
  onTestFinished(async () => {
    await closeOther();
    await close();
  });
  const storageAt = async (minute: number) =>
    (await checkHealth({ ...deps, db }, undefined, minute * 60_000)).find(({ name }) => name === 'storage');
  expect(await storageAt(1)).toEqual({ name: 'storage', ok: true, detail: 'has room' });
  await fail();
  const full = { name: 'storage', ok: false, detail: 'the disk of the database is full: free some space' };
  expect(await storageAt(2)).toEqual(full);
  await runSql(url, 'drop function faulty.md5');
  // Probes within seconds get the same result, which costs the database nothing.
  expect(await storageAt(2)).toEqual(full);
  expect(await storageAt(3)).toMatchObject({ ok: true });
});
