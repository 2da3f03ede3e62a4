import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../src/app.ts';
import { createTestDatabase, silent, testConfig } from './support/database.ts';
import { runSql } from './support/sql.ts';

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

  test('run once however many processes start at the same moment', async () => {
    const url = await database('template1');
    const houses = await Promise.all(Array.from({ length: 8 }, () => openRuntime(testConfig(url), silent)));
    const rows = await runSql<{ name: string }>(url, 'select name from belfry_migrations order by name');
    const names = rows.map(row => row.name);
    expect(names).toContain('0001_foundation');
    expect(new Set(names).size).toBe(names.length);
    await Promise.all(houses.map(runtime => runtime.close()));
  });

  test('refuse a database that a newer Belfry has migrated', async () => {
    const url = await database();
    await runSql(url, `insert into belfry_migrations values ('9999_from_the_future', now()::text)`);
    await expect(openRuntime(testConfig(url), silent)).rejects.toMatchObject({
      code: 'schema.newer',
      message: expect.stringContaining('9999_from_the_future'),
    });
  });

  test('make a partition for this month, so that nothing lands in the rest', async () => {
    const url = await database();
    const month = new Date().toISOString().slice(0, 7).replace('-', '_');
    const [row] = await runSql<{ there: boolean }>(
      url,
      `select to_regclass('occurrences_${month}') is not null as there`,
    );
    expect(row!.there).toBe(true);
  });
});
