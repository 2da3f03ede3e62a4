/** Limits of providers per day: what exceeds them waits for the next day, and a warm-up raises them day by day. */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reserveMessagesOfDay } from '../../src/db/ledger/deliver/day-limits.ts';
import { type EngineWorld, hooks, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const users = ['a@x.test', 'b@x.test', 'c@x.test'];

/** Gives the only channel of a tenant a provider with these limits, and others after it. */
async function limit(tenant: Tenant, limits: object, ...others: object[]): Promise<void> {
  const channel = hooks(`${world.peer.url}/${tenant.slug}/hook`, {}, { ...limits });
  await tenant.apply({ users, channels: [{ ...channel, providers: [...(channel.providers as object[]), ...others] }] });
}

const midnight = () => new Date(Math.ceil(Date.now() / 86_400_000) * 86_400_000).toISOString();
const statesOf = async (tenant: Tenant, id: string) => (await tenant.deliveries(id)).map(({ status }) => status).sort();

test('messages above the limit wait until midnight UTC without an attempt, and a raised limit applies at once', async () => {
  const tenant = await world.tenant({ users });
  await limit(tenant, { per_day: 2 });
  const id = await tenant.trigger();
  await tenant.until(id, 'sent', 'pending');
  expect(await statesOf(tenant, id)).toEqual(['pending', 'sent', 'sent']);
  const waiting = (await tenant.deliveries(id)).find(({ status }) => status === 'pending');
  expect(waiting).toMatchObject({
    state: 'waiting',
    reason: 'provider.day_limit',
    detail: 'the provider standard-webhooks is limited to 2 messages on this day (UTC)',
    attempts: 0,
    next_attempt_at: midnight(),
  });
  expect(await tenant.occurrence(id)).toMatchObject({ state: 'waiting', waiting_until: midnight() });
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=${waiting!.user}` });
  expect(why.body.answers[0]).toMatchObject({ reason: 'provider.day_limit' });
  const channel = { path: `/api/o/${tenant.slug}/c/hooks/` };
  expect((await tenant.ask(channel)).body).toMatchObject({
    states: ['enabled', 'day_limit'],
    limited_until: midnight(),
  });
  await limit(tenant, { per_day: 4 });
  expect((await tenant.ask(channel)).body).toMatchObject({ states: ['enabled'], limited_until: null });
  expect(await tenant.outcomes(id)).toEqual(users.map(user => `${user} sent`));
});

test('the next provider of the channel sends what the first one may not', async () => {
  const tenant = await world.tenant({ users });
  await limit(tenant, { per_day: 1 }, { use: 'sandbox' });
  const id = await tenant.trigger();
  expect(await tenant.outcomes(id)).toEqual(users.map(user => `${user} sent`));
  const providers = (await tenant.deliveries(id)).map(({ provider }) => provider).sort();
  expect(providers).toEqual(['sandbox', 'sandbox', 'standard-webhooks']);
});

test('a message that was refused does not count', async () => {
  const tenant = await world.tenant({ users });
  await limit(tenant, { per_day: 1 });
  tenant.answer({ status: 400 });
  expect(await tenant.outcomes(await tenant.trigger({ limit_to: ['a@x.test'] }))).toEqual([
    'a@x.test failed: provider.failed',
  ]);
  tenant.answer({});
  expect(await tenant.outcomes(await tenant.trigger({ limit_to: ['b@x.test'] }))).toEqual(['b@x.test sent']);
  const [third] = await tenant.until(await tenant.trigger({ limit_to: ['c@x.test'] }), 'pending');
  expect(third).toMatchObject({ reason: 'provider.day_limit' });
});

test('the limit holds over all workers, starts again every day and grows during a warm-up', async () => {
  const tenant = await world.tenant({ users });
  const [{ id: channelId }] = (await tenant.sql(
    'select id::int from channels where organization_id = $1',
    tenant.id,
  )) as [{ id: number }];
  const pools = [0, 1].map(() => new pg.Pool({ connectionString: world.service.runtime.url, max: 2 }));
  const request = { channelId, provider: 'smtp', perDay: 50, start: 10, growth: 2 };
  const reserve = (requested: number, n = 0) => reserveMessagesOfDay(pools[n]!, tenant.id, { ...request, requested });
  const grants = await Promise.all(Array.from({ length: 10 }, (_, i) => reserve(3, i % 2)));
  expect(grants.reduce((sum, { granted }) => sum + granted, 0)).toBe(10);
  expect(grants[0]!.endsAt.toISOString()).toBe(midnight());
  const dayBefore = (days: number) =>
    tenant.sql(
      `update provider_days set day = day - interval '1 day', first_day = date_trunc('day', now(), 'UTC') - make_interval(days => $2)
       where organization_id = $1`,
      tenant.id,
      days,
    );
  const limits: number[] = [];
  for (const days of [1, 2, 3, 400]) {
    await dayBefore(days);
    const { granted, limit } = await reserve(1_000);
    expect(granted).toBe(limit);
    limits.push(limit);
  }
  expect(limits).toEqual([20, 40, 50, 50]);
  expect(await reserve(1)).toMatchObject({ granted: 0, limit: 50 });
  for (const pool of pools) await pool.end();
});
