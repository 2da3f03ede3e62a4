import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import { notCopied, organizationTables } from '../../src/db/operations/organization-tables.ts';
import { testDatabase } from '../support/database.ts';

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const names: string[] = organizationTables.map(({ name }) => name);

test('every table of an organization is copied when it moves, or excluded with a reason', async () => {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class t
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and exists (select from pg_attribute a
        where a.attrelid = t.oid and a.attname = 'organization_id' and not a.attisdropped)`.execute(runtime.deps.db);
  const listed = [...names, ...Object.keys(notCopied)].filter(name => name !== 'organizations');
  expect(listed.sort()).toEqual(rows.map(row => row.name).sort());
});

test('a table is copied after the tables that it refers to, and with them if these can change', async () => {
  const { rows } = await sql<{ name: string; target: string }>`
    select distinct conrelid::regclass::text as name, confrelid::regclass::text as target from pg_constraint
    where contype = 'f' and conrelid::regclass::text = any(${names}::text[])`.execute(runtime.deps.db);
  const wrong = rows.filter(
    ({ name, target }) =>
      names.indexOf(target) >= names.indexOf(name) ||
      (target !== 'organizations' && organizationTables.find(table => table.name === name)!.phase !== 'referring'),
  );
  expect(wrong).toEqual([]);
});

test('every table that is copied has a primary key', async () => {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${names}::text[]) as name
    where not exists (select from pg_index where indrelid = name::regclass and indisprimary)`.execute(runtime.deps.db);
  expect(rows).toEqual([]);
});
