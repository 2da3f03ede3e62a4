/** A source that rejects what it receives is reported to members who can correct it, however much it rejects. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reportRejection } from '../../src/db/history/sources/rejections.ts';
import { alert, group, openSource } from '../support/alert-source.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const bad = { status: 'odd', labels: { a: 'b' } };

async function watchedSource(fields: object = {}) {
  const source = await openSource(world, { ...fields });
  const { tenant } = source;
  const made = await tenant.post(`/api/o/${tenant.slug}/webhooks/`, {
    ...{ slug: 'ops', name: 'Ops', url: 'https://ops.x.test/', types: ['source.rejected'] },
  });
  expect(made.status, made.text).toBe(201);
  return source;
}

const reported = async (tenant: Tenant) =>
  (
    await tenant.sql<{ data: object }>(
      `select data from webhook_messages where organization_id = ${tenant.id} and type = 'source.rejected' order by id`,
    )
  ).map(({ data }) => data);

test('a payload with an alert that is rejected is reported with the first error', async () => {
  const { tenant, post } = await watchedSource();
  const answer = await post(group(alert('a'), bad));
  expect(await reported(tenant)).toEqual([
    {
      source: 'shop/web/prom',
      payload: answer.body.payload,
      state: 'partly',
      error: 'has a status other than firing and resolved',
    },
  ]);
});

test('payloads that are taken are not reported', async () => {
  const { tenant, post } = await watchedSource();
  await post(group(alert('a'), alert('never', 'resolved')));
  expect(await reported(tenant)).toEqual([]);
});

test('a request that cannot be read, or is not from the sender, is reported', { tags: ['sweep'] }, async () => {
  const unreadable = await watchedSource();
  expect((await unreadable.post('{')).status).toBe(400);
  expect(await reported(unreadable.tenant)).toMatchObject([
    { state: 'refused', error: expect.stringMatching(/payload/) },
  ]);
  const forged = await watchedSource({ secret: 'a-long-enough-secret' });
  expect((await forged.post(group(alert('a')))).status).toBe(401);
  expect(await reported(forged.tenant)).toMatchObject([{ state: 'refused' }]);
});

test('a broken sender is reported once', async () => {
  const { tenant, post } = await watchedSource();
  await Promise.all(Array.from({ length: 40 }, () => post(group(bad))));
  await post(group(bad));
  expect(await reported(tenant)).toMatchObject([{ state: 'rejected' }]);
});

test('several processes report a source once an hour', async () => {
  const { tenant } = await watchedSource();
  const [row] = await tenant.sql<{ id: number }>(
    `select id::int as id from sources where organization_id = ${tenant.id}`,
  );
  const rejection = { payload: '019a8a5d-ac96-774b-bcce-b302099a8057', state: 'rejected', error: 'is odd' } as const;
  const report = () => reportRejection(world.service.runtime.deps.db, tenant.id, row!.id, rejection);
  const pass = (time: string) =>
    tenant.sql(
      `update sources set rejection_reported_at = rejection_reported_at - $1::interval where organization_id = ${tenant.id}`,
      time,
    );
  await Promise.all(Array.from({ length: 8 }, report));
  expect(await reported(tenant)).toHaveLength(1);
  await pass('59 minutes');
  await report();
  expect(await reported(tenant)).toHaveLength(1);
  await pass('1 minute');
  await report();
  expect(await reported(tenant)).toHaveLength(2);
});
