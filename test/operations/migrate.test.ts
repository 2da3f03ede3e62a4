/**
 * Databases of earlier versions are migrated.
 *
 * @module-tag sweep
 */
import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/app.ts';
import { migrationNames } from '../../src/db/connection/migrate.ts';
import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { runSql } from '../support/sql.ts';

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

  test('move preferences and registrations into the table of users', async () => {
    const url = await database('template1');
    await runSql(
      url,
      'create table belfry_migrations (name varchar(255) primary key, timestamp varchar(255) not null)',
    );
    for (const name of await migrationNames()) {
      await runSql(url, await readFile(new URL(`../../migrations/${name}.sql`, import.meta.url), 'utf8'));
      await runSql(url, `insert into belfry_migrations values ('${name}', now()::text)`);
      if (name === '0032_schemas_and_registrations') break;
    }
    await runSql(
      url,
      `with organization as (insert into organizations (slug, name) values ('acme', 'Acme') returning id),
       project as (insert into projects (organization_id, slug, name) select id, 'shop', 'Shop' from organization returning *),
       application as (
         insert into applications (organization_id, project_id, slug, name)
         select organization_id, id, 'web', 'Web' from project returning *)
       insert into users (organization_id, username, email)
       select organization_id, person, person from application, unnest('{ann@x.test,ben@x.test}'::text[]) as person;
       insert into preferences (organization_id, user_id, scope, enabled, source)
       select organization_id, id, 'news', false, 'link' from users where username = 'ann@x.test';
       insert into registrations (organization_id, application_id, user_id, custom_fields)
       select u.organization_id, a.id, u.id, '{"plan": "gold"}' from users u join applications a using (organization_id)
       where u.username = 'ann@x.test'`,
    );
    await (await openRuntime(testConfig(url), silent)).close();
    const [application] = await runSql<{ id: number }>(url, 'select id from applications');
    const people = await runSql(url, 'select username, chosen, memberships from users order by username');
    expect(people).toEqual([
      {
        username: 'ann@x.test',
        chosen: { news: { on: false, source: 'link', at: expect.any(String) } },
        memberships: { [application!.id]: { plan: 'gold' } },
      },
      { username: 'ben@x.test', chosen: null, memberships: null },
    ]);
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
