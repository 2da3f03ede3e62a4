/**
 * The priority of a message: as the trigger states, else as its notification states, else by the number of recipients.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const [urgent, normal, bulk] = [0, 1, 2];
const one = ['ann@x.test'];
/** More than the largest page, so that the last page is one of the last notification alone. */
const crowd = Array.from({ length: 1_010 }, (_, i) => `p${i}@x.test`);

const tenantOf = (users: string[], ...priorities: (string | undefined)[]) =>
  world.tenant({
    users,
    channels: [sandbox],
    notifications: priorities.map(priority => ({ channels: ['sandbox'], ...(priority && { priority }) })),
  });

/** Returns the priorities of the occurrence and of the deliveries of each notification. */
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

test("a notification's priority applies to its deliveries, and the most urgent one to the occurrence", {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantOf(one, 'urgent', undefined, 'bulk');
  expect(await prioritiesOf(tenant, await tenant.trigger())).toEqual({
    occurrence: urgent,
    deliveries: [[urgent], [normal], [bulk]],
  });
});

test('an occurrence is bulk if all notifications are, and normal if none states a priority', async () => {
  const calm = await tenantOf(one, 'bulk');
  expect(await prioritiesOf(calm, await calm.trigger())).toEqual({ occurrence: bulk, deliveries: [[bulk]] });
  const usual = await tenantOf(one, undefined);
  expect(await prioritiesOf(usual, await usual.trigger())).toEqual({ occurrence: normal, deliveries: [[normal]] });
});

test("the trigger's priority overrides that of every notification", async () => {
  const tenant = await tenantOf(one, 'urgent', undefined);
  expect(await prioritiesOf(tenant, await tenant.trigger({ priority: 'normal' }))).toEqual({
    occurrence: normal,
    deliveries: [[normal], [normal]],
  });
});

test('in a fan-out, stated priorities apply and all other deliveries are bulk, on every page', {
  tags: ['sweep'],
}, async () => {
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

test('changing or removing the priority applies to the next trigger', { tags: ['sweep'] }, async () => {
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
