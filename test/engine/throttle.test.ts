/** Throttling: exact with four workers, per key, and over all events of a day. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { type ThrottleClaim, type ThrottleUses, takeThrottleSlot } from '../../src/core/decision/throttle.ts';
import { groupKey } from '../../src/core/expressions/group-key.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';

import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let workers: Service[];
beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api' });
  const { url } = world.service.runtime;
  const worker = () => startService(testConfig(url, { BELFRY_ROLE: 'worker' }), silent);
  workers = await Promise.all([worker(), worker(), worker(), worker()]);
});
afterAll(async () => {
  await world.checkLedger();
  await Promise.all(workers.map(worker => worker.stop()));
  await world.close();
});

const withThrottle = (throttle: Record<string, unknown>, users = ['a@x.test', 'b@x.test']) =>
  world.tenant({ users, notifications: [{ throttle }] });

/** Returns how many messages each recipient was sent, and how many were suppressed. */
async function countOutcomes(tenant: Tenant, count: number): Promise<Record<string, number>> {
  const counted = await eventually(async () => {
    const rows = await tenant.sql<{ name: string; count: number }>(
      `select u.email || ' ' || d.status || coalesce(' ' || d.reason, '') as name, count(*)::int as count
       from deliveries d join users u on u.id = d.user_id where d.organization_id = $1 group by 1 order by 1`,
      tenant.id,
    );
    expect(rows.filter(({ name }) => /sending|pending|retrying/.test(name))).toEqual([]);
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(count);
    return rows;
  });
  return Object.fromEntries(counted.map(row => [row.name, row.count]));
}

test('a thousand concurrent triggers in four workers let exactly three messages through to each user', {
  tags: ['sweep'],
}, async () => {
  const tenant = await withThrottle({ max: 3, per: '1h' });
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => tenant.trigger({}, { n })));
  expect(await countOutcomes(tenant, 2_000)).toEqual({
    'a@x.test sent': 3,
    'a@x.test suppressed throttled': 997,
    'b@x.test sent': 3,
    'b@x.test suppressed throttled': 997,
  });
  expect(tenant.received()).toHaveLength(6);
  const simulated = await tenant.post(`${tenant.event}simulate/`, {});
  expect(simulated.body.notifications[0]).toMatchObject({ deliveries: 0, suppressed: { throttled: 2 } });
});

test('each key is counted separately, and a simulation counts nothing', { tags: ['sweep'] }, async () => {
  const tenant = await withThrottle({ max: 1, per: '1h', key: 'server' }, ['a@x.test']);
  for (const server of ['one', 'one', 'two', 'two']) {
    const simulated = await tenant.post(`${tenant.event}simulate/`, { context: { server } });
    expect(simulated.status).toBe(200);
    await tenant.outcomes(await tenant.trigger({}, { server }));
  }
  expect(await countOutcomes(tenant, 4)).toEqual({ 'a@x.test sent': 2, 'a@x.test suppressed throttled': 2 });
});

test('the window slides, and old uses are deleted', { tags: ['sweep'] }, async () => {
  const tenant = await withThrottle({ max: 1, per: '1h' }, ['a@x.test']);
  await tenant.outcomes(await tenant.trigger());
  await tenant.outcomes(await tenant.trigger());
  await tenant.sql(
    `update throttle_uses set times = array(select t - interval '61 minutes' from unnest(times) t),
      expires_at = expires_at - interval '61 minutes' where organization_id = ${tenant.id}`,
  );
  await tenant.outcomes(await tenant.trigger());
  expect(await countOutcomes(tenant, 3)).toEqual({ 'a@x.test sent': 2, 'a@x.test suppressed throttled': 1 });
  await tenant.sql(`update throttle_uses set expires_at = now() - interval '1 s' where organization_id = ${tenant.id}`);
  await runMaintenance(world.service.runtime.deps, Date.now());
  expect(await tenant.sql(`select 1 from throttle_uses where organization_id = ${tenant.id}`)).toEqual([]);
});

test('a notification counts once, whatever the number of its channels', { tags: ['sweep'] }, async () => {
  const inbox = { slug: 'in-app', name: 'Inbox', type: 'inbox', providers: [{ use: 'inbox' }] };
  const tenant = await world.tenant({
    users: ['a@x.test'],
    channels: [{ slug: 'hooks' }, inbox],
    notifications: [{ channels: ['hooks', 'in-app'], throttle: { max: 1, per: '1h' } }],
  });
  await tenant.outcomes(await tenant.trigger());
  await tenant.outcomes(await tenant.trigger());
  expect(await countOutcomes(tenant, 4)).toEqual({ 'a@x.test sent': 2, 'a@x.test suppressed throttled': 2 });
});

test('the daily cap counts all events, except required and urgent ones and users who opted out', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test'],
    organization: { max_per_day: 2, categories: [{ slug: 'alarm', name: 'Alarm', kind: 'required' }] },
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
  expect(await countOutcomes(tenant, 12)).toEqual({
    'a@x.test sent': 4,
    'a@x.test suppressed throttled': 2,
    'b@x.test suppressed preference.off': 6,
  });
  const uses = await tenant.sql(`select 1 from throttle_uses where organization_id = ${tenant.id}`);
  expect(uses).toHaveLength(1);
  await tenant.ask({ method: 'PATCH', path: tenant.event, body: { category: 'alarm' } });
  await tenant.outcomes(await tenant.trigger());
  expect(await countOutcomes(tenant, 16)).toMatchObject({ 'a@x.test sent': 6, 'b@x.test sent': 2 });
});

test("invalid throttles are rejected with the field's name", async () => {
  const refused = (throttle: Record<string, unknown>, message: string) =>
    expect(withThrottle(throttle)).rejects.toThrow(message);
  await refused({ max: 0, per: '1h' }, 'throttle/max');
  await refused({ max: 1, per: 'soon' }, 'throttle/per');
  await refused({ max: 1, per: '31d' }, 'throttle/per: must be 30d at most');
  await refused({ max: 1, per: '1h', key: '[' }, 'throttle/key: is not a JMESPath expression');
});

test('no window ever exceeds the limit, whatever the order of uses', () => {
  const rules = fc.record({ max: fc.integer({ min: 1, max: 4 }), perMs: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(fc.array(rules, { minLength: 1, maxLength: 3 }), fc.array(fc.nat(5)), (given, gaps) => {
      const claims: ThrottleClaim[] = given.map((rule, i) => ({ notificationId: i, userId: 1, key: '', ...rule }));
      const uses: ThrottleUses = new Map();
      const taken: number[] = [];
      let now = 0;
      for (const gap of gaps) {
        now += gap;
        const fits = claims.every(({ max, perMs }) => taken.filter(at => at > now - perMs).length < max);
        expect(takeThrottleSlot(claims, uses, now)).toBe(fits ? 'taken' : 'full');
        if (fits) taken.push(now);
      }
    }),
  );
  expect(groupKey(null)).toBe('');
  expect(groupKey({ b: 1, a: 2 })).toBe(groupKey({ a: 2, b: 1 }));
  expect(groupKey('x'.repeat(1_000))).toHaveLength(64);
});
