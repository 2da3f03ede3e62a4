/** The rate guard: what triggers far more often than ever is paused, and everything it holds is kept until someone decides. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { RateGuard } from '../../src/services/configuration/limits/rate-guard.ts';
import { TriggerCounts } from '../../src/services/configuration/limits/trigger-counts.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { asker } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const log = { warn: () => {}, error: () => {} } as never;

/** Another process, which accepts triggers that are only counted. */
function openProcess() {
  const { deps } = world.service.runtime;
  const triggerCounts = new TriggerCounts();
  const guard = new RateGuard({ ...deps, triggerCounts }, log);
  /** Counts triggers of an event with a key. */
  const count = async (tenant: Tenant, times: number, { urgent = false, event = 'go', keyId = tenant.keyId } = {}) => {
    const slugs = { org: tenant.slug, prj: 'shop', app: 'web', evt: event };
    const path = (await deps.tenantCache.resolvePath(slugs)) as Parameters<TriggerCounts['count']>[0];
    for (let i = 0; i < times; i++) triggerCounts.count(path, keyId, urgent ? 0 : 1);
  };
  return { guard, count, check: (how = {}) => guard.check(how) };
}

/** Adds a tenant whose key, event and application are a month old, and triggered so often in their busiest hour. */
async function usual(busiest: number, input: TenantInput = {}): Promise<Tenant> {
  const tenant = await world.tenant({ users: ['ann@x.test'], ...input });
  for (const table of ['keys', 'events', 'applications'])
    await tenant.sql(
      `update ${table} set created_at = now() - interval '30 days' where organization_id = $1`,
      tenant.id,
    );
  await remember(tenant, 'key', tenant.keyId, busiest);
  for (const kind of ['event', 'application'])
    await remember(
      tenant,
      kind,
      `(select id::text from ${kind}s where organization_id = ${tenant.id} limit 1)`,
      busiest,
    );
  return tenant;
}

async function remember(tenant: Tenant, kind: string, subject: string, busiest: number) {
  const id = subject.startsWith('(') ? subject : `'${subject}'`;
  await tenant.sql(
    `insert into trigger_rates (organization_id, kind, subject, day, hour, hour_count, minute)
     select $1, $2, ${id}, at, at, $3, at from (select date_trunc('day', now() - interval '2 days', 'UTC') as at) yesterday`,
    tenant.id,
    kind,
    busiest,
  );
}

async function pauses(tenant: Tenant): Promise<JsonObject[]> {
  return (await tenant.ask({ path: `/api/o/${tenant.slug}/pauses/` })).body;
}
const paused = async (tenant: Tenant) =>
  (await pauses(tenant)).map(({ kind, path, scope }) => `${kind} ${path} ${scope}`);

test('a key is held beyond twenty times its busiest hour, counted over all processes, and not before', async () => {
  // 300 a minute would be its limit, but up to 1,000 are never too many.
  const calm = await usual(900);
  const busy = await usual(3_600);
  const [one, two] = [openProcess(), openProcess()];
  for (const tenant of [calm, busy]) {
    const max = tenant === calm ? 1_000 : 1_200;
    await one.count(tenant, max - 400);
    await two.count(tenant, 400);
    await one.check();
    await two.check();
    // A second round of a process that counted nothing new adds nothing.
    await one.check();
    expect(await paused(tenant)).toEqual([]);
    await two.count(tenant, 1);
    await two.check();
    expect(await paused(tenant)).toEqual(['key test not_urgent']);
    const count = max.toLocaleString('en');
    const reason = `${(max + 1).toLocaleString('en')} triggers in a minute, and ${count} are allowed`;
    expect(await pauses(tenant)).toMatchObject([{ cause: 'guard.rate', reason }]);
  }
  // What the key triggers does not count for its event, however much it is.
  await one.count(busy, 5_000);
  await one.check();
  await one.check({ endsMinute: true });
  expect(await paused(busy)).toEqual(['key test not_urgent']);
  const log = await busy.ask({ path: `/api/o/${busy.slug}/audit/?action=pause` });
  expect(log.body).toMatchObject([{ actor: { name: 'rate guard' }, noun: 'key', after: { cause: 'guard.rate' } }]);
});

test('held triggers are accepted, explained and kept; urgent ones are sent; a release sends all and becomes usual', async () => {
  const tenant = await usual(60);
  const process = openProcess();
  await process.count(tenant, 1_001);
  await process.check();
  const ids = [await tenant.trigger(), await tenant.trigger()];
  const urgent = await tenant.trigger({ priority: 'urgent' });
  expect(await tenant.outcomes(urgent)).toEqual(['ann@x.test sent']);
  for (const id of ids)
    await eventually(async () =>
      expect(await tenant.occurrence(id)).toMatchObject({ reason: 'guard.rate', outcome: 'held' }),
    );
  expect(await pauses(tenant)).toMatchObject([{ kind: 'key', waiting: { messages: 0, occurrences: 2 } }]);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${ids[0]}/why/?user=ann@x.test` });
  expect(why.body.answers).toMatchObject([
    {
      reason: 'guard.rate',
      explanation:
        'It is held, and sent if someone releases it: its key, event or application triggered far more often than ever, ' +
        'and the rate guard paused it: 1,001 triggers in a minute, and 1,000 are allowed.',
    },
  ]);
  const occurrence = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${ids[0]}/` });
  expect(occurrence.body.summary).toContain('the rate guard paused it');

  // Who may not approve cannot release either, not even after pausing it, too; dropping sends nothing.
  const { deps, url } = world.service.runtime;
  expect(url).toBeTruthy();
  const { key } = await createKey(deps, tenant.slug, { name: 'editor', permissions: ['key:write', 'event:write'] });
  const editor = asker(world.service.address, key);
  const at = `/api/o/${tenant.slug}/k/${tenant.keyId}/`;
  expect(await editor({ method: 'POST', path: `${at}pause/`, body: {} })).toMatchObject({ status: 200 });
  expect(await paused(tenant)).toEqual(['key test all']);
  const refused = await editor({ method: 'POST', path: `${at}resume/`, body: {} });
  expect(refused.body).toMatchObject({ code: 'key.permission', detail: expect.stringContaining('occurrence:approve') });

  const released = await tenant.post(`${at}resume/`, { per_second: 100 });
  expect(released.body).toEqual({ paused: false, released: 2, dropped: 0 });
  for (const id of ids) expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
  await process.count(tenant, 2_000);
  await process.check();
  expect(await paused(tenant)).toEqual([]);
});

test('what is dropped does not become usual: the guard holds it again', async () => {
  const tenant = await usual(60);
  const process = openProcess();
  const other = openProcess();
  await process.count(tenant, 600);
  await process.check();
  await process.count(tenant, 401);
  await process.check();
  const id = await tenant.trigger();
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ reason: 'guard.rate' }));
  const dropped = await tenant.post(`/api/o/${tenant.slug}/k/${tenant.keyId}/resume/`, { drop: true });
  expect(dropped.body).toEqual({ paused: false, released: 0, dropped: 1 });
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'cancelled' }));
  await process.check();
  await other.count(tenant, 1_000);
  await other.check();
  await process.check();
  expect(await paused(tenant)).toEqual([]);
  await other.count(tenant, 1);
  await other.check();
  expect(await paused(tenant)).toEqual(['key test not_urgent']);
});

test('urgent triggers have five times the limit, beyond which everything is held and webhooks are notified', async () => {
  const tenant = await usual(60);
  await tenant.post(`/api/o/${tenant.slug}/webhooks/`, {
    slug: 'ops',
    name: 'Ops',
    url: 'https://ops.x.test/',
    types: ['trigger.rate_high'],
  });
  const process = openProcess();
  await process.count(tenant, 5_000, { urgent: true });
  await process.check();
  expect(await paused(tenant)).toEqual([]);
  await process.count(tenant, 1, { urgent: true });
  await process.check();
  expect(await paused(tenant)).toEqual(['key test all']);
  const urgent = await tenant.trigger({ priority: 'urgent' });
  await eventually(async () => expect(await tenant.occurrence(urgent)).toMatchObject({ reason: 'guard.rate' }));
  const messages = await tenant.sql('select type, data from webhook_messages where organization_id = $1', tenant.id);
  expect(messages).toMatchObject([
    {
      type: 'trigger.rate_high',
      data: { kind: 'key', path: 'test', reason: 'guard.rate', urgent: true, triggers: 5_001, limit: 5_000 },
    },
  ]);
});

test('guards of the organization, application and event set limits, and what has its own counts for nothing else', async () => {
  const event = { guard: { rate: 3_000 } };
  const own = await usual(60, { event });
  const off = await usual(60, { organization: { guard: { rate: 'off', urgent_rate: 200 } } });
  const process = openProcess();
  await process.count(own, 3_000);
  await process.count(off, 100_000);
  await process.check();
  expect([await paused(own), await paused(off)]).toEqual([[], []]);
  await process.count(own, 1);
  await process.count(off, 201, { urgent: true });
  await process.check();
  expect(await paused(own)).toEqual(['event shop/web/go not_urgent']);
  expect(await paused(off)).toEqual(['key test all']);
  const { status } = await off.ask({ method: 'PATCH', path: off.application, body: { guard: { rate: 100 } } });
  expect(status).toBe(200);
  const { deps } = world.service.runtime;
  const { key } = await createKey(deps, off.slug, { name: 'editor', permissions: ['organization:write'] });
  const refused = await asker(
    world.service.address,
    key,
  )({
    method: 'PATCH',
    path: off.application,
    body: { guard: { rate: 'off' } },
  });
  expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('occurrence:approve') } });
  const wrong = await off.ask({ method: 'PATCH', path: off.application, body: { guard: { rate: 'many' } } });
  expect(wrong.body.errors).toEqual({ 'guard/rate': ['must be a number of triggers per minute, or off'] });
});

test('what is new has no history to exceed, and learns what is usual', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  const process = openProcess();
  await process.count(tenant, 50_000);
  await process.check({ endsMinute: true, learns: true });
  expect(await paused(tenant)).toEqual([]);
  const rates = () =>
    tenant.sql('select kind, hour_count::int from trigger_rates where organization_id = $1 order by 1', tenant.id);
  const each = (hour_count: number) => ['application', 'event', 'key'].map(kind => ({ kind, hour_count }));
  expect(await rates()).toEqual(each(50_000));
  // Everyday counts are stored every few minutes only.
  await process.count(tenant, 10);
  await process.check();
  expect(await rates()).toEqual(each(50_000));
  await process.guard.stop();
  expect(await rates()).toEqual(each(50_010));
});
