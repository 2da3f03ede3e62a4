/** The hottest statements touch what they are about, however the tables looked when a connection first planned them. */
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { uuidv7 } from '../src/core/ids.ts';
import { claimDeliveriesAcrossTenants, type Settlement, settleDeliveriesAcrossTenants } from '../src/db/deliveries.ts';
import { byIndexAlone, type Database, openDatabase } from '../src/db/pool.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

const organization = 7;
const occurrence = uuidv7(Date.now());
const turn = { priority: 2, after: 0, most: 10, owner: 1, shares: { usual: 1_000, byOrganization: new Map<number, number>() } };
let database: TestDatabase;
let open: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  open = openDatabase({ url: database.url, name: 'plans', connections: 1, settings: byIndexAlone });
  // As after a month has begun, or an upgrade: known to be empty, not merely unknown.
  await open.pool.query('vacuum analyze deliveries');
  await claimDeliveriesAcrossTenants(open.pool, turn);
  await settleDeliveriesAcrossTenants(open.pool, outcomes([1]));
  await settleDeliveriesAcrossTenants(open.pool, outcomes(Array.from({ length: 30 }, (_, i) => i)));
  await open.pool.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status,
       attempts, priority, due_at)
     select $1, $2, 1, 1, 1, i, case when i % 1000 = 0 then 'pending' else 'sending' end, 1, 2, now()
     from generate_series(1, 20000) i`,
    [organization, occurrence],
  );
});
afterEach(() => vi.useRealTimers());
afterAll(async () => {
  await open.close();
  await database.drop();
});

test('a claim reads what is due, not every delivery', async () => {
  passTime();
  expect(await read(() => claimDeliveriesAcrossTenants(open.pool, turn))).toBeLessThan(200);
});

test('outcomes of one fan-out are written without reading all of it', async () => {
  passTime();
  const ids = (await someIds(1_000)).slice(500, 600);
  expect(await read(() => settleDeliveriesAcrossTenants(open.pool, outcomes(ids)))).toBeLessThan(500);
});

test('outcomes of any kind are written without reading every delivery', async () => {
  passTime();
  const ids = (await someIds(2_000)).filter((_, i) => i % 200 === 0);
  expect(await read(() => settleDeliveriesAcrossTenants(open.pool, outcomes(ids)))).toBeLessThan(200);
});

/** As long as plans are kept at the most. */
function passTime(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
}

async function someIds(count: number): Promise<number[]> {
  const { rows } = await open.pool.query<{ id: number }>(
    `select id from deliveries where status = 'sending' order by id limit $1`,
    [count],
  );
  return rows.map(({ id }) => id);
}

function outcomes(ids: number[]): Settlement[] {
  return ids.map(id => ({
    organization_id: organization,
    occurrence_id: occurrence,
    id,
    attempts: 1,
    tried: true,
    status: 'sent',
    reason: null,
    detail: null,
    provider: 'sandbox',
    provider_message_id: `name of ${id}`,
    provider_index: 0,
    provider_attempts: 1,
    due_at: null,
    wording: null,
    user_version: null,
    event_id: 1,
    since: new Date(),
  }));
}

/** How many rows of the ledger were fetched meanwhile, on the one connection that there is. */
async function read(work: () => Promise<unknown>): Promise<number> {
  const before = await fetched(open.pool);
  await work();
  return (await fetched(open.pool)) - before;
}

async function fetched(pool: pg.Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ count: number }>(
    `select sum(idx_tup_fetch + seq_tup_read)::int as count from pg_stat_user_tables where relname like 'deliveries%'`,
  );
  return rows[0]!.count;
}
