/** Statements that run on the partitions of one month. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { type Database, openDatabase } from '../../src/db/connection/pool.ts';
import { settleDeliveriesAcrossTenants } from '../../src/db/ledger/deliver/deliveries.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let open: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  open = openDatabase({ url: database.url, name: 'months', connections: 1 });
});
afterAll(async () => {
  await open.close();
  await database.drop();
});

/** Stores occurrences with one delivery each that is being sent, settles them, and returns their outcomes. */
async function settle(...ids: string[]): Promise<string[]> {
  const { rows } = await open.pool.query<{ occurrence_id: string; id: string }>(
    `with stored as (
       insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options, due_at,
         created_at, deliveries)
       select 1, id, 1, 1, 1, 'sending', '{}', '{}', now(), now(), 1 from unnest($1::uuid[]) id
     )
     insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status, priority,
       attempts, due_at)
     select 1, id, 1, 1, 1, 1, 'sending', 1, 1, now() from unnest($1::uuid[]) id returning occurrence_id, id`,
    [ids],
  );
  await settleDeliveriesAcrossTenants(
    open.pool,
    rows.map(({ occurrence_id, id }) => ({
      ...{
        organization_id: 1,
        occurrence_id,
        id: Number(id),
        digest_id: null,
        attempts: 1,
        tried: true,
        status: 'sent',
      },
      ...{ reason: null, detail: null, provider: 'smtp', provider_message_id: null, provider_index: 0, due_at: null },
      ...{ provider_attempts: 1, snapshot_id: null, user_version: null, attempt: null, event_id: null, since: null },
    })),
  );
  const text = 'select outcome from occurrences where id = any($1) order by array_position($1::uuid[], id)';
  return (await open.pool.query<{ outcome: string }>(text, [ids])).rows.map(({ outcome }) => outcome);
}

async function preparedStatements(): Promise<string[]> {
  const { rows } = await open.pool.query<{ name: string }>('select name from pg_prepared_statements order by name');
  return rows.map(({ name }) => name);
}

test('a batch of one month uses only the partitions of that month', async () => {
  expect(await settle(uuidv7(Date.now()), uuidv7(Date.now()))).toEqual(['sent', 'sent']);
  const month = new Date().toISOString().slice(0, 7).replace('-', '_');
  expect(await preparedStatements()).toEqual([`settle_deliveries_${month}`]);
  const { rows } = await open.pool.query<{ statement: string }>('select statement from pg_prepared_statements');
  expect(rows[0]!.statement).not.toMatch(/(update|into|from) (occurrences|deliveries) /);
});

test('a month without partitions, and a batch of several months, are settled through the parent tables', async () => {
  expect(await settle(uuidv7(Date.UTC(2001, 0)))).toEqual(['sent']);
  expect(await settle(uuidv7(Date.now()), uuidv7(Date.UTC(2001, 1)))).toEqual(['sent', 'sent']);
  expect(await preparedStatements()).toContain('settle_deliveries');
});
