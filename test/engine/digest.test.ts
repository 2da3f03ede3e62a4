/** Digests: collected items are sent as one message, once, whatever happens to the items meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';

import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
let workers: Service[];
beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api' });
  const { url } = world.service.runtime;
  const worker = () => startService(testConfig(url, { BELFRY_ROLE: 'worker' }), silent);
  workers = await Promise.all([worker(), worker()]);
});
afterAll(async () => {
  await world.checkLedger();
  await Promise.all(workers.map(worker => worker.stop()));
  await world.close();
});

const body = '{{ count }}:{% for item in items %} {{ item.context.n }}{% endfor %} +{{ more }}';
const message = { subject: '{{ user.email }}', body };

const digestTenant = (digest: Record<string, unknown> = {}, more: TenantInput = {}) =>
  world.tenant({ users: ['a@x.test'], notifications: [{ digest: { every: '1h', ...digest }, message }], ...more });

/** Triggers once for each context, one after the other. */
async function triggerEach(tenant: Tenant, contexts: Record<string, unknown>[], options = {}): Promise<string[]> {
  const made: string[] = [];
  for (const context of contexts) {
    const id = await tenant.trigger(options, context);
    made.push(id);
    await tenant.until(id, 'pending', 'sent', 'suppressed');
  }
  return made;
}

/** Makes all open digests of the tenant due. */
async function close(tenant: Tenant): Promise<void> {
  await tenant.sql(`update digests set closes_at = now() where organization_id = ${tenant.id}`);
  await tenant.sql(
    `update deliveries set due_at = now() where organization_id = ${tenant.id} and status in ('pending', 'retrying')
       and digest_id is not null and due_at <> '9999-12-31Z'`,
  );
  await tenant.sql('notify belfry_work');
}

const texts = (tenant: Tenant) => tenant.received().map(one => one.text);
const open = async (tenant: Tenant) => (await tenant.ask({ path: `${tenant.event}digests/` })).body;

test('collected items are sent as one message, and each delivery has its outcome and names the digest', async () => {
  const tenant = await digestTenant({ max: 2 });
  const ids = await triggerEach(tenant, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(tenant.received()).toEqual([]);
  const [{ id, closes_at }] = await open(tenant);
  expect(await open(tenant)).toMatchObject([
    { id, notification: 'n1', channel: 'hooks', user: 'a@x.test', key: '', items: 3 },
  ]);
  for (const one of ids) {
    expect(await tenant.deliveries(one)).toMatchObject([
      { status: 'pending', reason: 'digest', digest: id, next_attempt_at: closes_at },
    ]);
  }
  expect((await tenant.ask({ path: `${tenant.event}waiting/` })).body).toEqual({
    complete: true,
    waiting: [{ reason: 'digest', count: 3, first_due_at: closes_at, last_due_at: closes_at }],
  });
  await close(tenant);
  for (const one of ids) expect(await tenant.outcomes(one)).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['3: 1 2 +1']);
  expect(await open(tenant)).toEqual([]);
  const sent = (await Promise.all(ids.map(one => tenant.deliveries(one)))).flat();
  expect(new Set(sent.map(one => one.digest))).toEqual(new Set([id]));
  expect(sent.map(one => one.attempts).sort()).toEqual([0, 0, 1]);
  // Every item shows the message of the digest.
  for (const [i, one] of ids.entries()) {
    const path = `/api/o/${tenant.slug}/occurrence/${one}/deliveries/${sent[i]!.id}/message/`;
    expect((await tenant.ask({ path })).body.text).toBe('3: 1 2 +1');
  }
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${ids[1]}/why/?user=a@x.test` });
  expect(why.body.answers[0].explanation).toContain('It was sent in a digest');
  expect(await tenant.stats()).toEqual({ sent: 3 });
});

test('each key, user and channel has its own digest', async () => {
  const inbox = { slug: 'in-app', name: 'Inbox', type: 'inbox', providers: [{ use: 'inbox' }] };
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test'],
    channels: [{ slug: 'hooks' }, inbox],
    notifications: [{ channels: ['hooks', 'in-app'], digest: { every: '1h', key: 'k' }, message }],
  });
  const ids = await triggerEach(tenant, [
    { k: 'x', n: 1 },
    { k: 'y', n: 2 },
    { k: 'x', n: 3 },
  ]);
  expect((await open(tenant)).map((one: { items: number }) => one.items).sort()).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
  const page = await tenant.ask({ path: `${tenant.event}digests/?limit=3` });
  expect(page.body).toHaveLength(3);
  expect(page.headers.link).toContain('rel="next"');
  await close(tenant);
  for (const one of ids) await tenant.outcomes(one);
  expect(texts(tenant).sort()).toEqual(['1: 2 +0', '1: 2 +0', '2: 1 3 +0', '2: 1 3 +0']);
});

test('many concurrent triggers in two workers fill one digest per user', async () => {
  const tenant = await digestTenant({ max: 500 }, { users: ['a@x.test', 'b@x.test'] });
  await Promise.all(Array.from({ length: 60 }, (_, n) => tenant.trigger({}, { n })));
  await eventually(async () => {
    expect((await open(tenant)).map((one: { items: number }) => one.items)).toEqual([60, 60]);
  });
  await close(tenant);
  await eventually(async () => expect(await tenant.stats()).toEqual({ sent: 120 }));
  const all = Array.from({ length: 60 }, (_, n) => String(n)).sort();
  expect(tenant.received().map(one => one.text.split(' ').slice(1, -1).sort())).toEqual([all, all]);
});

test('first: send sends the first item immediately, and an empty window sends nothing', async () => {
  const tenant = await digestTenant({ first: 'send' });
  const [first] = await triggerEach(tenant, [{ n: 1 }]);
  expect(await tenant.outcomes(first!)).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['1: 1 +0']);
  const rest = await triggerEach(tenant, [{ n: 2 }, { n: 3 }]);
  await close(tenant);
  for (const one of rest) await tenant.outcomes(one);
  expect(texts(tenant)).toEqual(['1: 1 +0', '2: 2 3 +0']);
  // In the next window, the first item is sent immediately again, and nothing follows.
  expect(await tenant.outcomes((await triggerEach(tenant, [{ n: 4 }]))[0]!)).toEqual(['a@x.test sent']);
  await close(tenant);
  expect(await tenant.outcomes((await triggerEach(tenant, [{ n: 5 }]))[0]!)).toEqual(['a@x.test sent']);
  await close(tenant);
  await runMaintenance(world.service.runtime.deps, Date.now());
  expect(await tenant.sql(`select 1 from digests where organization_id = ${tenant.id}`)).toEqual([]);
});

test('cancelling an occurrence removes its item, even the carrier', async () => {
  const tenant = await digestTenant();
  const ids = await triggerEach(tenant, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const cancel = (id: string) => tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect((await cancel(ids[0]!)).body).toEqual({ cancelled: 1, sending: 0 });
  expect((await cancel(ids[2]!)).body).toEqual({ cancelled: 1, sending: 0 });
  expect(await open(tenant)).toMatchObject([{ items: 1 }]);
  await world.checkLedger();
  await close(tenant);
  expect(await tenant.outcomes(ids[1]!)).toEqual(['a@x.test sent']);
  expect(await tenant.outcomes(ids[0]!)).toEqual(['a@x.test cancelled']);
  expect(texts(tenant)).toEqual(['1: 2 +0']);
});

test('a digest without items sends nothing', async () => {
  const tenant = await digestTenant();
  const [only] = await triggerEach(tenant, [{ n: 1 }]);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${only}/cancel/`);
  await close(tenant);
  expect(await tenant.outcomes(only!)).toEqual(['a@x.test cancelled']);
  expect(await open(tenant)).toEqual([]);
  const [next] = await triggerEach(tenant, [{ n: 2 }]);
  await close(tenant);
  expect(await tenant.outcomes(next!)).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['1: 2 +0']);
});

test('items expire individually, even the carrier', { tags: ['sweep'] }, async () => {
  const tenant = await digestTenant();
  const ids = await triggerEach(tenant, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  await tenant.sql(`update occurrences set expires_at = now() where id = any($1::uuid[])`, [ids[0], ids[2]]);
  await close(tenant);
  expect(await tenant.outcomes(ids[1]!)).toEqual(['a@x.test sent']);
  expect(await tenant.outcomes(ids[0]!)).toEqual(['a@x.test expired']);
  expect(await tenant.outcomes(ids[2]!)).toEqual(['a@x.test expired']);
  expect(texts(tenant)).toEqual(['1: 2 +0']);
});

test('a retry adds no items, and a permanent failure applies to all items', { tags: ['sweep'] }, async () => {
  const tenant = await digestTenant();
  tenant.answer((_, nth) => ({ status: nth === 1 ? 503 : 200 }));
  const ids = await triggerEach(tenant, [{ n: 1 }, { n: 2 }]);
  await close(tenant);
  await eventually(async () => expect(tenant.received()).toHaveLength(1));
  await eventually(async () => {
    const statuses = (await Promise.all(ids.map(one => tenant.deliveries(one)))).flat().map(one => one.status);
    expect(statuses.sort()).toEqual(['pending', 'retrying']);
  });
  const [later] = await triggerEach(tenant, [{ n: 3 }]);
  expect(await open(tenant)).toMatchObject([{ items: 1 }]);
  await tenant.hurry();
  for (const one of ids) expect(await tenant.outcomes(one)).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['2: 1 2 +0', '2: 1 2 +0']);
  expect(new Set(tenant.received().map(one => one.id)).size).toBe(1);

  tenant.answer({ status: 400 });
  const [last] = await triggerEach(tenant, [{ n: 4 }]);
  await close(tenant);
  for (const one of [later!, last!]) expect(await tenant.outcomes(one)).toEqual(['a@x.test failed: provider.failed']);
  // When it is sent again, an item is a message on its own.
  tenant.answer({ status: 200 });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${last}/replay/`);
  expect(await tenant.outcomes(last!)).toEqual(['a@x.test sent']);
  expect(texts(tenant).at(-1)).toBe('1: 4 +0');
  expect(await tenant.outcomes(later!)).toEqual(['a@x.test failed: provider.failed']);
});

test('preferences, locks and pauses are checked when the digest closes', async () => {
  const tenant = await digestTenant();
  const off = await triggerEach(tenant, [{ n: 1 }, { n: 2 }]);
  const choose = (enabled: boolean) =>
    tenant.ask({
      method: 'PATCH',
      path: `/api/o/${tenant.slug}/u/a@x.test/preferences/`,
      body: { preferences: [{ enabled }] },
    });
  await choose(false);
  await close(tenant);
  for (const one of off) expect(await tenant.outcomes(one)).toEqual(['a@x.test suppressed: preference.off']);
  await choose(true);

  const held = await triggerEach(tenant, [{ n: 3 }]);
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`);
  await close(tenant);
  await eventually(async () => expect(await open(tenant)).toMatchObject([{ items: 1, closes_at: null }]));
  // A held digest keeps collecting.
  held.push(...(await triggerEach(tenant, [{ n: 4 }])));
  expect((await tenant.ask({ path: `${tenant.event}waiting/` })).body).toEqual({ complete: true, waiting: [] });
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/resume/`);
  for (const one of held) expect(await tenant.outcomes(one)).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['2: 3 4 +0']);
});

test('in quiet hours a digest waits, keeps collecting, and is sent once', async () => {
  const tenant = await digestTenant();
  const ids = await triggerEach(tenant, [{ n: 1 }]);
  const setHours = (quiet_hours: unknown) =>
    tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/`, body: { quiet_hours } });
  // Quiet all day, except for one minute an hour ago.
  const now = new Date(Date.now() - 3_600_000).toISOString().slice(11, 16);
  const before = new Date(Date.now() - 3_660_000).toISOString().slice(11, 16);
  await setHours({ from: now, to: before });
  await close(tenant);
  await eventually(async () => {
    const [digest] = await open(tenant);
    expect(Date.parse(digest.closes_at)).toBeGreaterThan(Date.now() + 3_600_000);
  });
  ids.push(...(await triggerEach(tenant, [{ n: 2 }])));
  await setHours(null);
  await close(tenant);
  for (const one of ids) expect(await tenant.outcomes(one)).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['2: 1 2 +0']);
});

test('deleting the user or the notification ends the digest', async () => {
  const gone = await digestTenant();
  const lost = await triggerEach(gone, [{ n: 1 }, { n: 2 }]);
  await gone.ask({ method: 'DELETE', path: `/api/o/${gone.slug}/u/a@x.test/?cascade=true` });
  await close(gone);
  await eventually(async () => {
    for (const one of lost) {
      expect(await gone.deliveries(one)).toMatchObject([{ status: 'suppressed', reason: 'user.missing' }]);
    }
  });
  const tenant = await digestTenant();
  const ids = await triggerEach(tenant, [{ n: 1 }, { n: 2 }]);
  const [{ id }] = (await tenant.ask({ path: `${tenant.event}n/` })).body;
  const deleted = await tenant.ask({ method: 'DELETE', path: `${tenant.event}n/${id}/?cascade=true` });
  expect(deleted.status).toBe(200);
  await close(tenant);
  for (const one of ids) {
    expect(await tenant.until(one, 'cancelled')).toMatchObject([{ reason: 'notification.missing' }]);
  }
});

test('urgent messages are not collected, and a simulation shows which would be', async () => {
  const tenant = await digestTenant();
  expect(await tenant.outcomes(await tenant.trigger({ priority: 'urgent' }, { n: 1 }))).toEqual(['a@x.test sent']);
  expect(texts(tenant)).toEqual(['1: 1 +0']);
  const simulate = async () => (await tenant.post(`${tenant.event}simulate/`, { context: { n: 9 } })).body;
  expect(await simulate()).toMatchObject({
    notifications: [{ deliveries: 1, held: { digest: 1 } }],
    deliveries: [{ reason: 'digest', detail: null, message: { text: '1: 9 +0' } }],
  });
  await triggerEach(tenant, [{ n: 2 }]);
  const [{ closes_at }] = await open(tenant);
  expect(await simulate()).toMatchObject({
    deliveries: [{ reason: 'digest', detail: '1 collected so far', due_at: closes_at }],
  });
  expect(await open(tenant)).toMatchObject([{ items: 1 }]);
});

test('a preview is rendered with sample items', async () => {
  const tenant = await digestTenant();
  const draft = { message: { body }, channels: ['hooks'], digest: { items: [{ n: 1 }, { n: 2 }], more: 7 } };
  const preview = await tenant.post(`${tenant.event}preview/`, draft);
  expect(preview.body.previews).toMatchObject([{ content: { text: '9: 1 2 +7' }, missing: [] }]);
});

test('messages over a throttle are collected until the user may get the next one', async () => {
  const throttle = { max: 2, per: '1h', overflow: 'digest' };
  const tenant = await world.tenant({ users: ['a@x.test'], notifications: [{ throttle, message }] });
  const ids = await triggerEach(tenant, [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  await eventually(async () => expect(texts(tenant).sort()).toEqual(['1: 1 +0', '1: 2 +0']));
  const [digest] = await open(tenant);
  expect(digest).toMatchObject({ items: 2 });
  const [sent] = await tenant.deliveries(ids[0]!);
  const wait = Date.parse(digest.closes_at) - new Date(sent!.created_at).getTime();
  expect(Math.abs(wait - 3_600_000)).toBeLessThan(2_000);
  const simulated = await tenant.post(`${tenant.event}simulate/`, { context: { n: 5 } });
  expect(simulated.body.deliveries).toMatchObject([{ reason: 'digest', due_at: digest.closes_at }]);
  await close(tenant);
  for (const one of ids) expect(await tenant.outcomes(one)).toEqual(['a@x.test sent']);
  expect(texts(tenant).at(-1)).toBe('2: 3 4 +0');
});

test('the daily cap counts a digest as one message', async () => {
  const tenant = await digestTenant({ key: 'k' }, { organization: { max_per_day: 2 } });
  const contexts = [
    { k: 1, n: 1 },
    { k: 1, n: 2 },
    { k: 2, n: 3 },
    { k: 3, n: 4 },
    { k: 1, n: 5 },
  ];
  const ids = await triggerEach(tenant, contexts);
  const reasons = (await Promise.all(ids.map(one => tenant.deliveries(one)))).flat().map(one => one.reason);
  expect(reasons).toEqual(['digest', 'digest', 'digest', 'throttled', 'digest']);
  expect((await open(tenant)).map((one: { items: number }) => one.items)).toEqual([3, 1]);
  await close(tenant);
  for (const one of ids) await tenant.outcomes(one);
});

test('a fan-out of several pages adds one item per user', { tags: ['sweep'] }, async () => {
  const users = Array.from({ length: 700 }, (_, i) => `p${i}@x.test`);
  const tenant = await digestTenant({}, { users });
  const ids = [await tenant.trigger({}, { n: 1 }), await tenant.trigger({}, { n: 2 })];
  await eventually(async () => {
    const [row] = await tenant.sql(
      `select count(*)::int as digests, sum(items)::int as items from digests where organization_id = ${tenant.id}`,
    );
    expect(row).toEqual({ digests: 700, items: 1_400 });
  }, 20_000);
  const cancelled = await tenant.post(`/api/o/${tenant.slug}/occurrence/${ids[0]}/cancel/`);
  expect(cancelled.body).toEqual({ cancelled: 700, sending: 0 });
  await world.checkLedger();
  await close(tenant);
  await tenant.outcomes(ids[1]!, 20_000);
  expect(new Set(texts(tenant))).toEqual(new Set(['1: 2 +0']));
  expect(tenant.received()).toHaveLength(700);
});

test("invalid digests are rejected with the field's name", async () => {
  const refused = (digest: Record<string, unknown>, text: string, more = {}) =>
    expect(world.tenant({ users: ['a@x.test'], notifications: [{ digest, ...more }] })).rejects.toThrow(text);
  await refused({ every: 'soon' }, 'digest/every: must be a duration');
  await refused({ every: '10s' }, 'digest/every: must be at least 1m');
  await refused({ every: '1h', key: '[' }, 'digest/key: is not a JMESPath expression');
  await refused({ every: '1h', max: 501 }, 'digest/max');
  await refused({ every: '1h', first: 'never' }, 'digest/first');
  await refused({ every: '1h' }, 'urgent messages do not wait', { priority: 'urgent' });
  const throttle = { max: 1, per: '1h', overflow: 'digest' };
  await refused({ every: '1h' }, 'throttle/overflow: must be drop', { throttle });
});
