/** An occurrence that stops before all recipients were expanded says how many it did not reach, and why. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const users = ['ann', 'ben', 'cid', 'dan', 'eve'].map(name => `${name}@x.test`);

/** Triggers a fan-out, and stops it after two of five recipients, as if it had many pages. */
async function stopAfterTwo(tenant: Tenant): Promise<string> {
  await tenant.sql('update organizations set deliveries_per_trigger = 2 where id = $1', tenant.id);
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  await tenant.sql(
    `update occurrences o set status = 'expanding', due_at = 'infinity', completed_at = null, reason = null,
       unexpanded = null, cursor = jsonb_build_object('notification', n.id, 'source', 'list all', 'after', (
         select max(position) from (
           select m.id as position from members m where m.organization_id = $1 order by m.id limit 2) first),
         'definition', jsonb_build_object('name', n.name, 'recipients', n.recipients, 'channels', n.channels, 'version', 1))
     from notifications n where o.organization_id = $1 and n.organization_id = $1`,
    tenant.id,
  );
  await tenant.sql('update organizations set deliveries_per_trigger = null where id = $1', tenant.id);
  return id;
}

async function resume(tenant: Tenant): Promise<void> {
  await tenant.sql(
    "update occurrences set due_at = now() where organization_id = $1 and due_at = 'infinity'",
    tenant.id,
  );
  await tenant.sql(`select pg_notify('belfry_work', '')`);
}

async function expectStopped(tenant: Tenant, id: string, reason: string): Promise<void> {
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({
      status: 'completed',
      reason,
      unexpanded: 3,
      counts: { sent: 2, pending: 0 },
    });
  });
  expect(tenant.received()).toHaveLength(2);
}

async function why(tenant: Tenant, id: string, user: string): Promise<string[]> {
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=${user}` });
  return body.answers.map((one: { reason: string; explanation: string }) => `${one.reason}: ${one.explanation}`);
}

test('a cancelled fan-out says how many it did not reach, who cancelled it, and explains it to each of them', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users });
  const id = await stopAfterTwo(tenant);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  await expectStopped(tenant, id, 'cancelled');
  expect(await tenant.occurrence(id)).toMatchObject({ cancelled_by: 'API key test', cancelled_at: expect.any(String) });
  expect(await why(tenant, id, 'eve@x.test')).toEqual([
    'cancelled: It was not sent: it was cancelled before it was sent (the occurrence stopped before it reached this user).',
  ]);
  expect(await tenant.sql('select from unexpanded_counts where organization_id = $1', tenant.id)).toEqual([]);
});

test('an occurrence that is cancelled before it was expanded counts all of its recipients, on each channel', async () => {
  const channels = [sandbox, { ...sandbox, slug: 'other' }];
  const tenant = await world.tenant({ users, channels, notifications: [{ channels: ['email'] }] });
  const id = await tenant.trigger({ recipients: ['new@x.test'], delay: '1h' });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', outcome: 'cancelled' });
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ unexpanded: 12 }));
  // Counting creates no users.
  const made = await tenant.sql("select from users where organization_id = $1 and email = 'new@x.test'", tenant.id);
  expect(made).toEqual([]);
});

test('a deleted event ends its fan-out, and the rest of the list is counted', async () => {
  const tenant = await world.tenant({ users });
  const id = await stopAfterTwo(tenant);
  const { status } = await tenant.ask({ method: 'DELETE', path: `${tenant.event}?cascade=true` });
  expect(status).toBeLessThan(300);
  await resume(tenant);
  await expectStopped(tenant, id, 'event.missing');
});

test('an event that is switched off ends its fan-out, and the rest of the list is counted', async () => {
  const tenant = await world.tenant({ users });
  const id = await stopAfterTwo(tenant);
  const { status } = await tenant.ask({ method: 'PATCH', path: tenant.event, body: { active: false } });
  expect(status).toBeLessThan(300);
  await resume(tenant);
  await expectStopped(tenant, id, 'event.inactive');
});

test('recipients beyond the limit of a trigger are counted', async () => {
  const tenant = await world.tenant({ users });
  await tenant.sql('update organizations set deliveries_per_trigger = 2 where id = $1', tenant.id);
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  await expectStopped(tenant, id, 'limit.fan_out');
});

test('an occurrence that reached everyone has no others', async () => {
  const tenant = await world.tenant({ users });
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  expect(await tenant.occurrence(id)).toMatchObject({ unexpanded: 0, cancelled_at: null, cancelled_by: null });
});

test('a count that fails again and again is given up, and its number stays unknown', async () => {
  const tenant = await world.tenant({ users });
  const id = await tenant.trigger({ delay: '1h' });
  await tenant.sql(
    `with stopped as (update occurrences set unexpanded = -1 where organization_id = $1 returning id)
     insert into unexpanded_counts (organization_id, occurrence_id, claims, claimed_at)
     select $1, id, 3, now() - interval '2 minutes' from stopped`,
    tenant.id,
  );
  await tenant.sql(`select pg_notify('belfry_stop', '0 ${id}')`);
  await eventually(async () =>
    expect(await tenant.sql('select from unexpanded_counts where organization_id = $1', tenant.id)).toEqual([]),
  );
  expect(await tenant.occurrence(id)).toMatchObject({ unexpanded: null });
});
