/** How much one person gets: exact under four workers, by key, and over all events of a day. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../src/app.ts';
import { groupKey } from '../src/core/group-key.ts';
import { type ThrottleClaim, takePlace, type Uses } from '../src/core/throttle.ts';
import { runMaintenance } from '../src/services/maintenance.ts';
import { eventually } from './support/api.ts';
import { silent, testConfig } from './support/database.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;
let workers: Service[];
beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api' });
  const { url } = world.service.runtime;
  const worker = () => startService(testConfig(url, { BELFRY_ROLE: 'worker' }), silent);
  workers = await Promise.all([worker(), worker(), worker(), worker()]);
}, 60_000);
afterAll(async () => {
  await world.checkLedger();
  await Promise.all(workers.map(worker => worker.stop()));
  await world.close();
});

const withThrottle = (throttle: Record<string, unknown>, users = ['a@x.test', 'b@x.test']) =>
  world.tenant({ users, notifications: [{ throttle }] });

/** Recipient → how many were sent, and how many not. */
async function tally(tenant: Tenant, count: number): Promise<Record<string, number>> {
  const counted = await eventually(async () => {
    const rows = await tenant.sql<{ name: string; count: number }>(
      `select u.email || ' ' || d.status || coalesce(' ' || d.reason, '') as name, count(*)::int as count
       from deliveries d join users u on u.id = d.user_id where d.organization_id = $1 group by 1 order by 1`,
      tenant.id,
    );
    expect(rows.filter(({ name }) => /sending|pending|retrying/.test(name))).toEqual([]);
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(count);
    return rows;
  }, 60_000);
  return Object.fromEntries(counted.map(row => [row.name, row.count]));
}

test('a thousand triggers at once in four workers let exactly three through to each', { timeout: 90_000 }, async () => {
  const tenant = await withThrottle({ most: 3, per: '1h' });
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => tenant.trigger({}, { n })));
  expect(await tally(tenant, 2_000)).toEqual({
    'a@x.test sent': 3,
    'a@x.test suppressed throttled': 997,
    'b@x.test sent': 3,
    'b@x.test suppressed throttled': 997,
  });
  expect(tenant.received()).toHaveLength(6);
  const simulated = await tenant.post(`${tenant.event}simulate/`, {});
  expect(simulated.body.notifications[0]).toMatchObject({ deliveries: 0, suppressed: { throttled: 2 } });
});

test('each key is counted by itself, and a simulation counts nothing', async () => {
  const tenant = await withThrottle({ most: 1, per: '1h', key: 'server' }, ['a@x.test']);
  for (const server of ['one', 'one', 'two', 'two']) {
    const simulated = await tenant.post(`${tenant.event}simulate/`, { context: { server } });
    expect(simulated.status).toBe(200);
    await tenant.outcomes(await tenant.trigger({}, { server }));
  }
  expect(await tally(tenant, 4)).toEqual({ 'a@x.test sent': 2, 'a@x.test suppressed throttled': 2 });
});

test('the window slides, and what counts no longer is forgotten', async () => {
  const tenant = await withThrottle({ most: 1, per: '1h' }, ['a@x.test']);
  await tenant.outcomes(await tenant.trigger());
  await tenant.outcomes(await tenant.trigger());
  await tenant.sql(
    `update throttle_uses set times = array(select t - interval '61 minutes' from unnest(times) t),
      expires_at = expires_at - interval '61 minutes' where organization_id = ${tenant.id}`,
  );
  await tenant.outcomes(await tenant.trigger());
  expect(await tally(tenant, 3)).toEqual({ 'a@x.test sent': 2, 'a@x.test suppressed throttled': 1 });
  await tenant.sql(`update throttle_uses set expires_at = now() - interval '1 s' where organization_id = ${tenant.id}`);
  await runMaintenance(world.service.runtime.deps, Date.now());
  expect(await tenant.sql(`select 1 from throttle_uses where organization_id = ${tenant.id}`)).toEqual([]);
});

test('a notification counts once, by however many channels it comes', async () => {
  const inbox = { slug: 'in-app', name: 'Inbox', type: 'inbox', providers: [{ use: 'inbox' }] };
  const tenant = await world.tenant({
    users: ['a@x.test'],
    channels: [{ slug: 'hooks' }, inbox],
    notifications: [{ channels: ['hooks', 'in-app'], throttle: { most: 1, per: '1h' } }],
  });
  await tenant.outcomes(await tenant.trigger());
  await tenant.outcomes(await tenant.trigger());
  expect(await tally(tenant, 4)).toEqual({ 'a@x.test sent': 2, 'a@x.test suppressed throttled': 2 });
});

test('the cap of a day is over all events; required and urgent are exempt, and who opted out takes no place', async () => {
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test'],
    organization: { most_per_day: 2, categories: [{ slug: 'alarm', name: 'Alarm', kind: 'required' }] },
    notifications: [{}, {}],
  });
  await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/u/b@x.test/preferences/`,
    body: { preferences: [{ enabled: false }] },
  });
  await tenant.outcomes(await tenant.trigger());
  await tenant.outcomes(await tenant.trigger());
  await tenant.outcomes(await tenant.trigger({ priority: 'urgent' }));
  expect(await tally(tenant, 12)).toEqual({
    'a@x.test sent': 4,
    'a@x.test suppressed throttled': 2,
    'b@x.test suppressed preference.off': 6,
  });
  const uses = await tenant.sql(`select 1 from throttle_uses where organization_id = ${tenant.id}`);
  expect(uses).toHaveLength(1);
  await tenant.ask({ method: 'PATCH', path: tenant.event, body: { category: 'alarm' } });
  await tenant.outcomes(await tenant.trigger());
  expect(await tally(tenant, 16)).toMatchObject({ 'a@x.test sent': 6, 'b@x.test sent': 2 });
});

test('what makes no sense is refused by its field', async () => {
  const refused = (throttle: Record<string, unknown>, message: string) =>
    expect(withThrottle(throttle)).rejects.toThrow(message);
  await refused({ most: 0, per: '1h' }, 'throttle/most');
  await refused({ most: 1, per: 'soon' }, 'throttle/per');
  await refused({ most: 1, per: '31d' }, 'throttle/per: must be 30d at most');
  await refused({ most: 1, per: '1h', key: '[' }, 'throttle/key: is not a JMESPath expression');
});

test('never more than allowed in any window, whatever comes when', () => {
  const rules = fc.record({ most: fc.integer({ min: 1, max: 4 }), perMs: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(fc.array(rules, { minLength: 1, maxLength: 3 }), fc.array(fc.nat(5)), (given, gaps) => {
      const claims: ThrottleClaim[] = given.map((rule, i) => ({ notificationId: i, userId: 1, key: '', ...rule }));
      const uses: Uses = new Map();
      const taken: number[] = [];
      let now = 0;
      for (const gap of gaps) {
        now += gap;
        const fits = claims.every(({ most, perMs }) => taken.filter(at => at > now - perMs).length < most);
        expect(takePlace(claims, uses, now)).toBe(fits ? 'taken' : 'full');
        if (fits) taken.push(now);
      }
    }),
  );
  expect(groupKey(null)).toBe('');
  expect(groupKey({ b: 1, a: 2 })).toBe(groupKey({ a: 2, b: 1 }));
  expect(groupKey('x'.repeat(1_000))).toHaveLength(64);
});
