/** A fan-out continues where it stopped, whatever happens to the event's notifications between two pages. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cursor } from '../../src/db/ledger/cursor.ts';
import { decidePage } from '../../src/pipeline/decide.ts';
import { RecipientReader } from '../../src/pipeline/recipients.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  // Only these tests expand anything.
  world = await openWorld({ BELFRY_ROLE: 'api' });
});
afterAll(() => world.close());

const users = ['ann', 'ben', 'cid', 'dan', 'eve'].map(name => `${name}@x.test`);
const three = [{ name: 'first' }, { name: 'second' }, { name: 'third' }];

interface Page {
  /** `notification email` of each decision, with the reason not to send it. */
  decisions: string[];
  cursor: Cursor | null;
}

/** Decides a page of two recipients. */
async function nextPage(tenant: Tenant, cursor: Cursor | null): Promise<Page> {
  const { deps } = world.service.runtime;
  const [event] = await tenant.sql<{ id: number }>('select id::int from events where organization_id = $1', tenant.id);
  const plan = (await deps.plans.findEvent(tenant.id, event!.id))!;
  const recipients = new RecipientReader(deps, {});
  const request = { context: {}, options: {}, cursor, limit: 2, now: Date.now() };
  const page = await decidePage({ plans: deps.plans, recipients }, plan, request);
  const decisions = page.decisions.map(({ notification, recipient, reason }) =>
    [notification.name, recipient.email, ...(reason ? [reason] : [])].join(' '),
  );
  return { decisions, cursor: page.cursor };
}

async function allPages(tenant: Tenant, from: Cursor | null): Promise<string[]> {
  const decisions: string[] = [];
  let cursor = from;
  do {
    const page = await nextPage(tenant, cursor);
    decisions.push(...page.decisions);
    cursor = page.cursor;
  } while (cursor);
  return decisions;
}

const decisionsFor = (name: string) => users.map(email => `${name} ${email}`);

/** Changes the configuration and waits until the cached plans include the change. */
async function change(tenant: Tenant, text: string, ...values: unknown[]): Promise<void> {
  const plans = () =>
    tenant.sql('select id, active, recipients from notifications where organization_id = $1', tenant.id);
  const before = await plans();
  await tenant.sql(text, tenant.id, ...values);
  expect(await plans()).not.toEqual(before);
  const { deps } = world.service.runtime;
  const [event] = await tenant.sql<{ id: number }>('select id::int from events where organization_id = $1', tenant.id);
  await eventually(async () => {
    const cached = (await deps.plans.findEvent(tenant.id, event!.id))!.notifications;
    expect(cached.map(one => one.active && one.recipients)).toEqual(
      (await plans()).map(row => row.active && row.recipients),
    );
  });
}

test('without a change, each recipient gets each notification once', async () => {
  const tenant = await world.tenant({ users, notifications: three });
  expect(await allPages(tenant, null)).toEqual(['first', 'second', 'third'].flatMap(decisionsFor));
});

test('deleting a notification during its fan-out puts the rest of its recipients on record, and skips none of later ones', async () => {
  const tenant = await world.tenant({ users, notifications: three });
  const { cursor } = await nextPage(tenant, null);
  await change(tenant, "delete from notifications where organization_id = $1 and name = 'first'");
  const missing = decisionsFor('first').slice(2);
  expect(await allPages(tenant, cursor)).toEqual([
    ...missing.map(one => `${one} notification.missing`),
    ...['second', 'third'].flatMap(decisionsFor),
  ]);
});

test('deactivating a notification, or deleting the one before, leaves out no recipient', async () => {
  const tenant = await world.tenant({ users, notifications: three });
  let page: Page = { decisions: [], cursor: null };
  do page = await nextPage(tenant, page.cursor);
  while (!page.decisions.some(one => one.startsWith('second')));
  await change(tenant, "delete from notifications where organization_id = $1 and name = 'first'");
  const rest = await allPages(tenant, page.cursor);
  expect([...page.decisions, ...rest].filter(one => one.startsWith('second'))).toEqual(decisionsFor('second'));
  await change(tenant, "update notifications set active = false where organization_id = $1 and name = 'second'");
  const inactive = rest.filter(one => one.startsWith('second')).map(one => `${one} notification.inactive`);
  expect(await allPages(tenant, page.cursor)).toEqual([...inactive, ...decisionsFor('third')]);
});

test('removing a channel during a fan-out puts the rest of its recipients on record', async () => {
  const tenant = await world.tenant({ users, notifications: [{ name: 'first', channels: ['hooks'] }] });
  const { cursor } = await nextPage(tenant, null);
  await tenant.sql("update notifications set channels = '{sms}' where organization_id = $1", tenant.id);
  const missing = decisionsFor('first').slice(2);
  await eventually(async () =>
    // No channel is left, so that the notification is not sent at all.
    expect(await allPages(tenant, cursor)).toEqual(missing.map(one => `${one} channel.missing`)),
  );
});

test('a notification whose list was replaced starts again with the new list', async () => {
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
