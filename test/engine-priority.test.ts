/** How urgent a message is: as the trigger says, else as its notification says, else as its recipients are many. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from './support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const [urgent, normal, bulk] = [0, 1, 2];
const one = ['ann@x.test'];
const crowd = Array.from({ length: 510 }, (_, i) => `p${i}@x.test`);

const tenantOf = (users: string[], ...priorities: (string | undefined)[]) =>
  world.tenant({
    users,
    channels: [sandbox],
    notifications: priorities.map(priority => ({ channels: ['sandbox'], ...(priority && { priority }) })),
  });

/** Of the occurrence, and of the deliveries of each notification in turn. */
async function prioritiesOf(tenant: Tenant, id: string) {
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed' }), 20_000);
  const [occurrence] = await tenant.sql<{ priority: number }>('select priority from occurrences where id = $1', id);
  const rows = await tenant.sql<{ name: string; priorities: number[] }>(
    `select n.name, array_agg(distinct d.priority) as priorities
     from deliveries d join notifications n on n.id = d.notification_id where d.occurrence_id = $1 group by 1 order by 1`,
    id,
  );
  return { occurrence: occurrence!.priority, deliveries: rows.map(row => row.priorities) };
}

test("a notification's own priority is that of its deliveries, and the most urgent is that of the occurrence", async () => {
  const tenant = await tenantOf(one, 'urgent', undefined, 'bulk');
  expect(await prioritiesOf(tenant, await tenant.trigger())).toEqual({
    occurrence: urgent,
    deliveries: [[urgent], [normal], [bulk]],
  });
});

test('an occurrence of nothing but bulk is bulk, and of nothing stated is normal', async () => {
  const calm = await tenantOf(one, 'bulk');
  expect(await prioritiesOf(calm, await calm.trigger())).toEqual({ occurrence: bulk, deliveries: [[bulk]] });
  const usual = await tenantOf(one, undefined);
  expect(await prioritiesOf(usual, await usual.trigger())).toEqual({ occurrence: normal, deliveries: [[normal]] });
});

test("the trigger's own priority wins over every notification's", async () => {
  const tenant = await tenantOf(one, 'urgent', undefined);
  expect(await prioritiesOf(tenant, await tenant.trigger({ priority: 'normal' }))).toEqual({
    occurrence: normal,
    deliveries: [[normal], [normal]],
  });
});

test('of a fan-out, what is stated stays and all else is bulk, from the first page to the last', async () => {
  const tenant = await tenantOf(crowd, 'urgent', undefined);
  expect(await prioritiesOf(tenant, await tenant.trigger())).toEqual({
    occurrence: bulk,
    deliveries: [[urgent], [bulk]],
  });
  const last = await tenantOf(crowd, undefined, 'normal');
  expect(await prioritiesOf(last, await last.trigger())).toEqual({
    occurrence: normal,
    deliveries: [[bulk], [normal]],
  });
});

test('a change of it holds for the next trigger, also that it is taken away', async () => {
  const tenant = await tenantOf(one, undefined);
  const change = (priority?: string) =>
    tenant.apply({ channels: [sandbox], notifications: [{ channels: ['sandbox'], ...(priority && { priority }) }] });
  await change('urgent');
  await eventually(async () =>
    expect(await prioritiesOf(tenant, await tenant.trigger())).toEqual({ occurrence: urgent, deliveries: [[urgent]] }),
  );
  await change();
  await eventually(async () =>
    expect(await prioritiesOf(tenant, await tenant.trigger())).toEqual({ occurrence: normal, deliveries: [[normal]] }),
  );
});
