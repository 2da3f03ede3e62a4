/** Test pages: who gets them, once, and whose acknowledgement counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimTestPages } from '../../src/db/audience/on-call/test-pages.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const primary = {
  slug: 'primary',
  name: 'Primary',
  timezone: 'UTC',
  layers: [{ name: 'days', every: '1d', from: '2026-01-05T09:00', users: ['ann@x.test', 'bob@x.test'] }],
  test: { event: 'web/go', every: '30d', at: '10:00' },
};

const tenantOf = () =>
  world.tenant({
    users: ['ann@x.test', 'bob@x.test', 'eve@x.test'],
    notifications: [{ recipients: { trigger: true } }],
    schedules: [primary],
  });

const becomeDue = (tenant: Tenant) =>
  tenant.sql(`update schedules set test_due_at = now(), test_planned = true where organization_id = ${tenant.id}`);

/** Waits until it is planned for the future again. */
const settled = (tenant: Tenant) =>
  eventually(async () => {
    const [row] = await tenant.sql<{ at: Date }>(
      `select to_char(test_due_at at time zone 'UTC', 'HH24:MI') as at from schedules
       where organization_id = ${tenant.id} and test_planned and test_due_at > now()`,
    );
    expect(row?.at).toBe('10:00');
  }, 20_000);

const pageOf = async (tenant: Tenant, user = 'ann@x.test') =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/u/${user}/test-page/` })).body;
const send = (tenant: Tenant, user = 'ann@x.test') => tenant.post(`/api/o/${tenant.slug}/u/${user}/test-page/`);
const gapsOf = async (tenant: Tenant) => {
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/on-call/gaps/` });
  return body.gaps.flatMap((gap: { kind: string; user: string }) => (gap.kind === 'untested' ? gap.user : [])).sort();
};

test('each user of the layers gets one when it is due, and no other before the time has passed', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantOf();
  await settled(tenant);
  expect(tenant.received()).toEqual([]);
  await becomeDue(tenant);
  await settled(tenant);
  await eventually(
    () =>
      expect(
        tenant
          .received()
          .map(({ to }) => to)
          .sort(),
      ).toEqual(['ann@x.test', 'bob@x.test']),
    10_000,
  );
  await tenant.sql(`update test_pages set sent_at = now() - interval '30 days'
    where organization_id = ${tenant.id} and user_id = (select id from users where organization_id = ${tenant.id} and username = 'bob@x.test')`);
  await becomeDue(tenant);
  await settled(tenant);
  await eventually(
    () =>
      expect(
        tenant
          .received()
          .map(({ to }) => to)
          .sort(),
      ).toEqual(['ann@x.test', 'bob@x.test', 'bob@x.test']),
    10_000,
  );
});

test('only the acknowledgement of its user counts, and ends it', async () => {
  const tenant = await tenantOf();
  const { status, body } = await send(tenant);
  expect(status).toBe(201);
  expect(body).toMatchObject({ schedule: 'shop/primary', confirmed_at: null });
  expect(await gapsOf(tenant)).toEqual(['ann@x.test', 'bob@x.test']);
  const acknowledge = (by: string) =>
    tenant.post(`/api/o/${tenant.slug}/occurrence/${body.occurrence}/acknowledge/?user=${by}`);
  expect((await acknowledge('eve@x.test')).status).toBe(200);
  expect(await pageOf(tenant)).toMatchObject({ confirmed_at: null });
  expect((await acknowledge('ann@x.test')).status).toBe(200);
  expect(await pageOf(tenant)).toMatchObject({ confirmed_at: expect.any(String) });
  expect(await gapsOf(tenant)).toEqual(['bob@x.test']);
  expect((await tenant.occurrence(body.occurrence)).resolved_at).not.toBeNull();
});

test('on demand, it is refused for a user who gets none, and within a minute of the last one', async () => {
  const tenant = await tenantOf();
  expect(await send(tenant, 'eve@x.test')).toMatchObject({ status: 409, body: { code: 'test_page.off' } });
  expect(await send(tenant)).toMatchObject({ status: 201 });
  expect(await send(tenant)).toMatchObject({ status: 429, body: { code: 'test_page.limited' } });
});

test('someone who only covers a shift can get one, which closes the gap', async () => {
  const tenant = await tenantOf();
  const overrides = `/api/o/${tenant.slug}/p/shop/schedules/primary/overrides/`;
  await tenant.post(overrides, { user: 'eve@x.test', duration: '200h' });
  expect(await gapsOf(tenant)).toEqual(['eve@x.test']);
  const { status, body } = await send(tenant, 'eve@x.test');
  expect([status, body.schedule]).toEqual([201, 'shop/primary']);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${body.occurrence}/acknowledge/?user=eve@x.test`);
  expect(await gapsOf(tenant)).toEqual([]);
});

test('a page that is not known to be stored is claimed again under the same id', async () => {
  const tenant = await tenantOf();
  const claim = (id: string) =>
    claimTestPages(
      world.service.runtime.deps.db,
      tenant.id,
      [{ username: 'ann@x.test', occurrence: `00000000-0000-7000-8000-00000000000${id}` }],
      86_400_000,
    );
  const [first] = await claim('1');
  expect(await claim('2')).toEqual([first]);
});

describe('the test pages of a schedule are refused', () => {
  test.each<[string, object, string, RegExp]>([
    ['for an unknown event', { event: 'web/gone' }, 'test/event', /no event "gone"/],
    ['for an unknown application', { event: 'other/go' }, 'test/event', /no event "go" in the application other/],
    ['for an event without its application', { event: 'go' }, 'test/event', /application/],
    ['for a time that is too long', { every: '91d' }, 'test/every', /90d/],
    ['for a time that does not exist', { at: '24:00' }, 'test/at', /10:00/],
  ])('%s', async (_, more, field, message) => {
    const tenant = await tenantOf();
    const body = { ...primary, slug: 'wrong', test: { ...primary.test, ...more } };
    const answer = await tenant.post(`/api/o/${tenant.slug}/p/shop/schedules/`, body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[field]?.join()).toMatch(message);
  });
});
