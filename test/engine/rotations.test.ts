/** Steps that notify one recipient at a time: each occurrence begins with another one, whatever happens in between. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let second: Service;
beforeAll(async () => {
  world = await openWorld();
  second = await startService(testConfig(world.service.runtime.url, { BELFRY_ROLE: 'worker' }), silent);
});
afterAll(async () => {
  await world.checkLedger();
  await second.stop();
  await world.close();
});

const users = ['ann@x.test', 'bob@x.test', 'eve@x.test'];
const rotating = { channels: ['hooks'], round_robin: true };

const tenantWith = (...steps: object[]) => world.tenant({ users, notifications: [{ steps }] });

/** Who was notified by each run of an occurrence, in order. */
const notified = async (tenant: Tenant, id: string) =>
  (await tenant.deliveries(id))
    .filter(({ status }) => status === 'sent')
    .sort((a, b) => a.step! - b.step!)
    .map(({ user }) => user?.split('@')[0]);

/** Makes the runs that wait due, and waits for their messages. */
async function next(tenant: Tenant, id: string, messages: number): Promise<void> {
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
  await eventually(async () => expect(await notified(tenant, id)).toHaveLength(messages), 8_000);
}

test('each occurrence begins with the next recipient, and each run of it goes on to the next one', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith({ ...rotating, after: '1h', repeat: 4 });
  const orders: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    const id = await tenant.trigger();
    await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'escalating' }), 8_000);
    for (let run = 1; run <= 4; run++) await next(tenant, id, run);
    orders.push(await notified(tenant, id));
  }
  expect(orders).toEqual([
    ['ann', 'bob', 'eve', 'ann'],
    ['bob', 'eve', 'ann', 'bob'],
    ['eve', 'ann', 'bob', 'eve'],
    ['ann', 'bob', 'eve', 'ann'],
  ]);
});

test('recipients who cannot be notified are passed over, and the others share their turns evenly', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith(rotating);
  await tenant.sql(`update users set locked = true where organization_id = ${tenant.id} and username = 'bob@x.test'`);
  const found: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    const id = await tenant.trigger();
    await tenant.outcomes(id);
    found.push(...(await notified(tenant, id)));
  }
  expect(found).toEqual(['ann', 'eve', 'ann', 'eve']);
});

test('a run without anyone to notify is skipped, and its deliveries say why', async () => {
  const tenant = await tenantWith(rotating, { channels: ['hooks'], unless: 'sent' });
  await tenant.sql(`update users set locked = true where organization_id = ${tenant.id}`);
  const id = await tenant.trigger();
  expect(await tenant.outcomes(id)).toEqual([...users, ...users].sort().map(user => `${user} suppressed: user.locked`));
});

test('two workers that decide at the same time give everyone the same number of turns', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith(rotating);
  const ids = await Promise.all(Array.from({ length: 60 }, () => tenant.trigger()));
  await Promise.all(ids.map(id => tenant.outcomes(id, 20_000)));
  const all = await Promise.all(ids.map(id => notified(tenant, id)));
  const counts = Object.groupBy(all.flat(), name => name!);
  expect(
    Object.entries(counts)
      .map(([name, own]) => `${name} ${own!.length}`)
      .sort(),
  ).toEqual(['ann 20', 'bob 20', 'eve 20']);
});

test('a turn that was taken before a crash is kept, and no other is taken', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith({ ...rotating, after: '1h' });
  const id = await tenant.trigger();
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'escalating' }), 8_000);
  await tenant.sql(`update steps set turn = 2 where organization_id = ${tenant.id}`);
  await next(tenant, id, 1);
  expect(await notified(tenant, id)).toEqual(['eve']);
  expect(await tenant.sql(`select turns from rotations where organization_id = ${tenant.id}`)).toEqual([]);
});

test('another round of an occurrence begins with the same recipient', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith(rotating, { ...rotating, after: '1h' });
  const first = await tenant.trigger();
  await eventually(async () => expect(await notified(tenant, first)).toEqual(['ann']), 8_000);
  const id = await tenant.trigger();
  await eventually(async () => expect(await notified(tenant, id)).toEqual(['bob']), 8_000);
  const path = `/api/o/${tenant.slug}/occurrence/${id}`;
  await tenant.post(`${path}/acknowledge/`);
  await tenant.post(`${path}/unacknowledge/`);
  await eventually(async () => expect(await notified(tenant, id)).toEqual(['bob', 'bob']), 8_000);
});

test('a simulation shows whose turn is next, and takes none', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith({ ...rotating, after: '1s', repeat: 2 });
  const simulate = async () => {
    const { body } = await tenant.post(`${tenant.event}simulate/`, {});
    const [{ steps: runs }] = body.notifications;
    expect(runs).toMatchObject([
      { deliveries: 1, round_robin: true },
      { deliveries: 1, round_robin: true },
    ]);
    return body.deliveries.map(({ user }: { user: string }) => user.split('@')[0]);
  };
  expect(await simulate()).toEqual(['ann', 'bob']);
  expect(await simulate()).toEqual(['ann', 'bob']);
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  expect(await notified(tenant, id)).toEqual(['ann', 'bob']);
  expect(await simulate()).toEqual(['bob', 'eve']);
});
