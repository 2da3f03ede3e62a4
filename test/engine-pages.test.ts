/** A fan-out goes on where it stopped, whatever has happened to the event's notifications between two pages. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cursor } from '../src/db/expansion.ts';
import { decidePage } from '../src/services/deciding.ts';
import { RecipientReader } from '../src/services/recipients.ts';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  // Nobody expands anything but these tests.
  world = await openWorld({ BELFRY_ROLE: 'api' });
});
afterAll(() => world.close());

const users = ['ann', 'ben', 'cid', 'dan', 'eve'].map(name => `${name}@x.test`);
const three = [{ name: 'first' }, { name: 'second' }, { name: 'third' }];

interface Page {
  /** `notification email` of each decision. */
  told: string[];
  cursor: Cursor | null;
}

/** Two recipients at a time. */
async function nextPage(tenant: Tenant, cursor: Cursor | null): Promise<Page> {
  const { deps } = world.service.runtime;
  const [event] = await tenant.sql<{ id: number }>('select id::int from events where organization_id = $1', tenant.id);
  const plan = (await deps.plans.findEvent(tenant.id, event!.id))!;
  const recipients = new RecipientReader(deps);
  const question = { context: {}, options: {}, cursor, limit: 2, now: Date.now() };
  const page = await decidePage({ plans: deps.plans, recipients }, plan, question);
  return { told: page.decisions.map(one => `${one.notification.name} ${one.person.email}`), cursor: page.cursor };
}

async function allPages(tenant: Tenant, from: Cursor | null): Promise<string[]> {
  const told: string[] = [];
  let cursor = from;
  do {
    const page = await nextPage(tenant, cursor);
    told.push(...page.told);
    cursor = page.cursor;
  } while (cursor);
  return told;
}

const everybody = (name: string) => users.map(email => `${name} ${email}`);

/** Once the change is known to whoever decides. */
async function change(tenant: Tenant, text: string, ...values: unknown[]): Promise<void> {
  const plans = () =>
    tenant.sql('select id, active, recipients from notifications where organization_id = $1', tenant.id);
  const before = await plans();
  await tenant.sql(text, tenant.id, ...values);
  expect(await plans()).not.toEqual(before);
  const { deps } = world.service.runtime;
  const [event] = await tenant.sql<{ id: number }>('select id::int from events where organization_id = $1', tenant.id);
  await eventually(async () => {
    const known = (await deps.plans.findEvent(tenant.id, event!.id))!.notifications;
    expect(known.map(one => one.active && one.recipients)).toEqual(
      (await plans()).map(row => row.active && row.recipients),
    );
  });
}

test('without a change, everybody is told once of each notification', async () => {
  const tenant = await world.tenant({ users, notifications: three });
  expect(await allPages(tenant, null)).toEqual(['first', 'second', 'third'].flatMap(everybody));
});

test('deleting an earlier notification skips nobody of the later ones', async () => {
  const tenant = await world.tenant({ users, notifications: three });
  const { cursor } = await nextPage(tenant, null);
  await change(tenant, "delete from notifications where organization_id = $1 and name = 'first'");
  expect(await allPages(tenant, cursor)).toEqual(['second', 'third'].flatMap(everybody));
});

test('nor does deactivating one, or deleting the one before', async () => {
  const tenant = await world.tenant({ users, notifications: three });
  let page: Page = { told: [], cursor: null };
  do page = await nextPage(tenant, page.cursor);
  while (!page.told.some(one => one.startsWith('second')));
  await change(tenant, "delete from notifications where organization_id = $1 and name = 'first'");
  const rest = await allPages(tenant, page.cursor);
  expect([...page.told, ...rest].filter(one => one.startsWith('second'))).toEqual(everybody('second'));
  await change(tenant, "update notifications set active = false where organization_id = $1 and name = 'second'");
  expect(await allPages(tenant, page.cursor)).toEqual(everybody('third'));
});

test('where its list has been exchanged, a notification begins anew with the other one', async () => {
  const tenant = await world.tenant({ users, notifications: [{ name: 'first' }] });
  await tenant.sql(
    `with made as (
       insert into distribution_lists (organization_id, project_id, name, name_key)
       select $1, id, 'Few', 'few' from projects where organization_id = $1 returning id
     )
     insert into members (organization_id, list_id, address_id)
     select $1, made.id, a.id from made, addresses a where a.organization_id = $1 and a.value = 'ann@x.test'`,
    tenant.id,
  );
  const { cursor } = await nextPage(tenant, null);
  await change(tenant, `update notifications set recipients = '{"list": "Few"}' where organization_id = $1`);
  expect(await allPages(tenant, cursor)).toEqual(['first ann@x.test']);
});
