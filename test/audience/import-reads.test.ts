/**
 * The rows that an import reads per line must not grow with the list, also while the statistics know only other lists.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListRow } from '../../src/core/audience/list-file.ts';
import { importMembers } from '../../src/db/audience/list-import.ts';
import { type Database, openDatabase } from '../../src/db/connection/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const organization = 1;
const perBatch = 1_000;

let database: TestDatabase;
let open: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  open = openDatabase({ url: database.url, name: 'imports', connections: 1 });
  await open.pool.query(`
    alter table users set (autovacuum_enabled = off);
    alter table addresses set (autovacuum_enabled = off);
    alter table members set (autovacuum_enabled = off);
    insert into organizations (id, slug, name) overriding system value values (${organization}, 'acme', 'Acme');
    insert into projects (organization_id, id, slug, name) overriding system value values (${organization}, 1, 'p', 'P');
    insert into distribution_lists (organization_id, id, project_id, name, name_key)
    overriding system value select ${organization}, i, 1, 'l' || i, 'l' || i from generate_series(1, 2) i`);
});
afterAll(async () => {
  await open?.close();
  await database?.drop();
});

const rowsOf = (batch: number): ListRow[] =>
  Array.from({ length: perBatch }, (_, i) => {
    const email = `user${String(batch * perBatch + i).padStart(6, '0')}@x.test`;
    return { username: email, email, addresses: [] } as unknown as ListRow;
  });

async function importInto(list: number, batches: number): Promise<number> {
  for (let batch = 0; batch < batches; batch++) {
    const rows = rowsOf(batch);
    const counts = await open.db.transaction().execute(trx => importMembers(trx, organization, list, rows));
    expect(counts.added).toBe(perBatch);
  }
  await open.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await open.pool.query<{ read: number }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables
     where relname in ('users', 'addresses', 'members')`,
  );
  return rows[0]!.read;
}

test('a list that is new to the statistics reads a few rows per line', async () => {
  const first = await importInto(1, 5);
  for (const table of ['users', 'addresses', 'members']) await open.pool.query(`vacuum analyze ${table}`);
  const both = await importInto(2, 5);
  expect(both - first).toBeLessThan(10 * 5 * perBatch);
});
