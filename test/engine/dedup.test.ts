/** Triggers with dedup keys that several processes store at the same time. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { withoutSync } from '../../src/db/connection/transaction.ts';
import { encodeKeyedOccurrence, storeKeyedAcrossTenants } from '../../src/db/ledger/accept/dedup.ts';
import { type EngineWorld, joinWorld } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  // Workers change the same occurrences meanwhile, and what is interrupted by them is retried: this is about the batches alone.
  world = await joinWorld({ BELFRY_ROLE: 'api' });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

async function openTenant() {
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{}] });
  const [event] = await tenant.sql<{ id: string; project_id: string; application_id: string }>(
    `select e.id, a.project_id, e.application_id from events e
     join applications a on a.organization_id = e.organization_id and a.id = e.application_id where e.organization_id = ${tenant.id}`,
  );
  const trigger = (key: string, idempotency?: { key: string; body_hash: string }) =>
    encodeKeyedOccurrence(
      {
        ...{ organization_id: tenant.id, id: uuidv7(Date.now()), created_at: new Date(), priority: 1 },
        ...{ project_id: Number(event!.project_id), application_id: Number(event!.application_id) },
        ...{ event_id: Number(event!.id), context: {}, options: { dedup_key: key } },
        ...(idempotency && { idempotency }),
      },
      key,
      new Date(Date.now() + 3_600_000),
    );
  const { pool } = world.service.runtime.deps;
  const store = (...items: ReturnType<typeof trigger>[]) => storeKeyedAcrossTenants(pool, items);
  const occurrences = () =>
    tenant.sql<{ dedup_key: string; triggers: number }>(
      `select dedup_key, triggers from occurrences where organization_id = ${tenant.id} order by dedup_key`,
    );
  return { tenant, trigger, store, occurrences };
}

test('batches with the same keys in any order open one occurrence of each, and never deadlock', async () => {
  const { trigger, store, occurrences } = await openTenant();
  const keys = Array.from({ length: 60 }, (_, i) => `key ${i}`);
  // Some exist already.
  await store(...keys.slice(20, 40).map(key => trigger(key)));
  const batches = Array.from({ length: 8 }, (_, n) => (n % 2 ? keys.toReversed() : keys).map(key => trigger(key)));
  await Promise.all(batches.map(batch => store(...batch)));
  expect(await occurrences()).toEqual(
    keys
      .map((dedup_key, i) => ({ dedup_key, triggers: i >= 20 && i < 40 ? 9 : 8 }))
      .sort((a, b) => (a.dedup_key < b.dedup_key ? -1 : 1)),
  );
});

test('a batch counts its triggers of a key, opens a key again that is over, and knows repetitions', async () => {
  const { tenant, trigger, store, occurrences } = await openTenant();
  const report = (body_hash: string) => ({ key: 'report', body_hash });
  const hash = 'ab'.repeat(32);
  const [first, same, repeated, conflict] = await store(
    trigger('a', report(hash)),
    trigger('a'),
    trigger('a', report(hash)),
    trigger('a', report('cd'.repeat(32))),
  );
  expect([same, repeated, conflict]).toEqual([first, first, { conflict: 'idempotency' }]);
  expect(await occurrences()).toEqual([{ dedup_key: 'a', triggers: 2 }]);
  const { id } = first as { id: string };
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/resolve/`);
  const [again, late] = await store(trigger('a'), trigger('a', report(hash)));
  expect(late).toEqual(first);
  expect((again as { id: string }).id).not.toBe(id);
  expect(await store(trigger('a'))).toEqual([again]);
  expect((await occurrences()).map(({ triggers }) => triggers).sort()).toEqual([2, 2]);
});

test('a statement that does not wait for the disk leaves the setting of the connection alone', async () => {
  const client = await world.service.runtime.deps.pool.connect();
  try {
    const show = async () => (await client.query('show synchronous_commit')).rows[0]!.synchronous_commit;
    const before = await show();
    await client.query('begin; set local synchronous_commit = on');
    await client.query(`with ${withoutSync} select 1 from without_sync`);
    expect(await show()).toBe('off');
    await client.query('commit');
    expect(await show()).toBe(before);
  } finally {
    client.release();
  }
});
