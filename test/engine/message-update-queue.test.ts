/** The queue of updates to sent messages, without a worker. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import type { OccurrenceChange } from '../../src/core/message/message-updates.ts';
import { inLedgerTransaction } from '../../src/db/connection/transaction.ts';
import {
  claimUpdates,
  discardUpdatesAcrossTenants,
  listMessagesToUpdate,
  listWaitingUpdatesAcrossTenants,
  queueOccurrenceUpdate,
  settleUpdatesAcrossTenants,
} from '../../src/db/ledger/deliver/message-updates.ts';
import { testDatabase } from '../support/database.ts';

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const updatable = ['slack', 'inbox'];
let count = 0;

/** Creates an organization with an occurrence that has this many deliveries, of which every third can be updated. */
async function createOccurrence(deliveries: number, providers = [{ use: 'slack' }], open = 0) {
  const { pool } = runtime.deps;
  const { rows } = await pool.query<{ id: number }>(
    `insert into organizations (slug, name) values ($1, 'T') returning id`,
    [`t${++count}`],
  );
  const { id: organization } = rows[0]!;
  const id = uuidv7(Date.now());
  await pool.query(
    `insert into channels (organization_id, slug, name, type, providers) values ($1, 'c', 'C', 'slack', $2)`,
    [organization, JSON.stringify(providers)],
  );
  await pool.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, created_at, due_at, context, options,
       deliveries, sent)
     values ($1, $2, 1, 1, 1, 'sending', now(), now(), '{}', '{}', $3, $3 - $4::int)`,
    [organization, id, deliveries, open],
  );
  await pool.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status, priority,
       due_at, provider)
     select $1, $2, 1, 1, 1, i, case when i % 3 = 1 then 'failed' else 'sent' end, 2, now(),
       case when i % 3 = 2 then 'slack' else 'smtp' end from generate_series(1, $3::int) i`,
    [organization, id, deliveries],
  );
  const queue = (change: OccurrenceChange) =>
    inLedgerTransaction(pool, client =>
      queueOccurrenceUpdate(client, organization, id, { change, by: 'Jane', updatable }),
    );
  const list = () => listMessagesToUpdate(pool, organization, id, { updatable, pageSize: 10 });
  const rowsOf = async () => {
    const text = `select delivery_id, change, status, claimed, attempts, cursor from message_updates
      where organization_id = $1 order by delivery_id`;
    return (await pool.query(text, [organization])).rows;
  };
  const waitingMs = async () =>
    (await listWaitingUpdatesAcrossTenants(pool)).find(one => one.organization_id === organization)?.ms;
  return { pool, organization, id, queue, list, rowsOf, waitingMs };
}

test('the deliveries of an occurrence are listed page by page, and only messages that can change are queued', async () => {
  const { pool, id, queue, list, rowsOf, waitingMs } = await createOccurrence(25);
  // A digest contains other occurrences, and a message that it is resolved needs no update.
  await pool.query('update deliveries set digest_id = gen_random_uuid() where occurrence_id = $1 and user_id = 2', [
    id,
  ]);
  await pool.query('update deliveries set step = -1 where occurrence_id = $1 and user_id = 5', [id]);
  await queue('acknowledged');
  const listed: number[] = [];
  for (let page = 0; page < 3; page++) {
    expect((await rowsOf())[0]).toMatchObject({ delivery_id: 0, status: 'waiting' });
    await list();
    listed.push((await rowsOf()).filter(row => row.delivery_id > 0).length);
  }
  expect(listed).toEqual([1, 5, 6]);
  expect((await rowsOf()).every(row => row.delivery_id > 0 && row.change === 'acknowledged')).toBe(true);
  expect(await waitingMs()).toBe(0);
});

test('nothing is queued if no provider of the organization can change messages', async () => {
  const { queue, rowsOf } = await createOccurrence(1, [{ use: 'smtp' }]);
  await queue('acknowledged');
  expect(await rowsOf()).toEqual([]);
});

test('deliveries are listed again while some of them have no outcome', async () => {
  const { pool, organization, queue, list, rowsOf, waitingMs } = await createOccurrence(3, undefined, 1);
  await queue('cancelled');
  await list();
  expect(await rowsOf()).toMatchObject([{ delivery_id: 0, attempts: 1, cursor: 0 }, { status: 'waiting' }]);
  await list();
  expect((await rowsOf())[0]).toMatchObject({ delivery_id: 0, attempts: 2 });
  await pool.query('update message_updates set status = $2 where organization_id = $1 and delivery_id > 0', [
    organization,
    'done',
  ]);
  expect(await waitingMs()).toBeGreaterThan(500);
  await pool.query('update occurrences set sent = 3 where organization_id = $1', [organization]);
  await list();
  expect(await rowsOf()).toMatchObject([{ change: 'cancelled', status: 'done' }]);
});

test('a change replaces an earlier one, which cannot end it', async () => {
  const { pool, organization, queue, list, rowsOf, waitingMs } = await createOccurrence(3);
  const outcome = { organization_id: organization, status: 'done' as const, due_at: null, entry: null };
  await queue('acknowledged');
  await list();
  const [claimed] = await claimUpdates(pool, organization, 10);
  expect(claimed).toMatchObject({ change: 'acknowledged', changed_by: 'Jane', provider: 'slack', attempts: 1 });
  await queue('resolved');
  await list();
  expect(await rowsOf()).toMatchObject([{ change: 'resolved', claimed: true, status: 'waiting', attempts: 0 }]);
  expect(await claimUpdates(pool, organization, 10)).toEqual([]);
  // The outcome of the earlier change makes the later one due.
  expect(await settleUpdatesAcrossTenants(pool, [{ ...claimed!, ...outcome }])).toBe(true);
  expect(await waitingMs()).toBe(0);
  const [later] = await claimUpdates(pool, organization, 10);
  expect(later).toMatchObject({ change: 'resolved', attempts: 1 });
  // A late outcome of an earlier claim has no effect.
  await settleUpdatesAcrossTenants(pool, [{ ...claimed!, ...outcome, change: 'resolved' }]);
  expect(await rowsOf()).toMatchObject([{ status: 'waiting', claimed: true }]);
  expect(await settleUpdatesAcrossTenants(pool, [{ ...later!, ...outcome }])).toBe(false);
  expect(await rowsOf()).toMatchObject([{ status: 'done', claimed: false }]);
  // Listing the same change again queues nothing.
  await queue('resolved');
  await list();
  expect(await rowsOf()).toMatchObject([{ status: 'done' }]);
});

test('a copy of the database gives up what waits, because its original makes the updates', async () => {
  const { pool, queue, list, rowsOf, waitingMs } = await createOccurrence(6);
  await queue('acknowledged');
  await list();
  await queue('resolved');
  await discardUpdatesAcrossTenants(pool);
  expect(await rowsOf()).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
  expect(await waitingMs()).toBeUndefined();
});
