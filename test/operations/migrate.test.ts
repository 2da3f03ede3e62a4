/**
 * Databases of earlier versions are migrated.
 *
 * @module-tag sweep
 */
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/app.ts';
import { migrationNames } from '../../src/db/connection/migrate.ts';
import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

/** Applies all migrations up to a name. */
async function applyUntil(url: string, last: string): Promise<void> {
  await runSql(url, 'create table belfry_migrations (name varchar(255) primary key, timestamp varchar(255) not null)');
  for (const name of await migrationNames()) {
    if (name > last) break;
    await runSql(url, await readFile(new URL(`../../migrations/${name}.sql`, import.meta.url), 'utf8'));
    await runSql(url, `insert into belfry_migrations values ('${name}', now()::text)`);
  }
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
    expect(names).toContain('0001_foundation');
    expect(new Set(names).size).toBe(names.length);
    await Promise.all(houses.map(runtime => runtime.close()));
  });

  test('wait for a lock only briefly, and are retried', async () => {
    const url = await database('template1');
    await applyUntil(url, '0061');
    const other = new pg.Client(url);
    await other.connect();
    await other.query('begin; lock table occurrences in row exclusive mode');
    const opening = openRuntime(testConfig(url), silent);
    // Held until a migration has waited for it and given up.
    const waiting = `select from pg_locks where not granted and relation = 'occurrences'::regclass`;
    await eventually(async () => expect(await runSql(url, waiting)).toHaveLength(1));
    await eventually(async () => expect(await runSql(url, waiting)).toHaveLength(0));
    await other.query('commit');
    await other.end();
    await (await opening).close();
    const [last] = await runSql<{ name: string }>(url, 'select max(name) as name from belfry_migrations');
    expect(last!.name).toBe((await migrationNames()).at(-1));
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
    await applyUntil(url, '0032_schemas_and_registrations');
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
