/** A canary sends to a random sample first, and to the others only if that goes well. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const users = Array.from({ length: 30 }, (_, i) => `u${String(i).padStart(2, '0')}@x.test`);
const first = 10;
const input: TenantInput = { users, notifications: [{ canary: { first } }] };

const pathOf = ({ slug }: Tenant, id: string) => `/api/o/${slug}/occurrence/${id}/hold/`;
const holdOf = async (tenant: Tenant, id: string) => (await tenant.ask({ path: pathOf(tenant, id) })).body;
const approve = (tenant: Tenant, id: string, body = {}) => tenant.post(`${pathOf(tenant, id)}approve/`, body);
const reject = (tenant: Tenant, id: string, body = {}) => tenant.post(`${pathOf(tenant, id)}reject/`, body);
const recipientsOf = (tenant: Tenant) => new Set(tenant.received().map(({ to }) => to));

/** Triggers, and waits until every message of the sample was attempted. */
async function triggerSampled(tenant: Tenant) {
  const id = await tenant.trigger();
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'expanding', reason: 'canary.waiting' });
    expect(await tenant.until(id, 'sent', 'failed', 'retrying')).toHaveLength(first);
  }, 8_000);
  return id;
}

/** Lets the wait of the canary end. */
async function endWait(tenant: Tenant) {
  await tenant.sql(
    `update occurrences set due_at = now() where organization_id = $1 and reason = 'canary.waiting'`,
    tenant.id,
  );
  await tenant.sql(`notify belfry_work`);
}

async function triggerStopped(tenant: Tenant, status = 400) {
  tenant.answer((_, nth) => (nth % first === 0 ? { status } : {}));
  const id = await triggerSampled(tenant);
  await endWait(tenant);
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }), 8_000);
  return id;
}

test('a sample gets it first, and each of the others exactly once if the sample goes well', async () => {
  const tenant = await world.tenant(input);
  const id = await triggerSampled(tenant);
  const sample = recipientsOf(tenant);
  expect(sample.size).toBe(first);
  const waiting = users.find(user => !sample.has(user))!;
  const { body: why } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=${waiting}` });
  expect(why.answers).toMatchObject([
    {
      reason: 'canary.waiting',
      state: 'expanding',
      explanation: expect.stringMatching(/^It is sent later if the sample goes well: .*until 20\d\d-/),
    },
  ]);
  expect(await tenant.occurrence(id)).toMatchObject({
    outcome: 'expanding',
    summary: expect.stringMatching(/^The others wait for the canary until 20.*\. All 10 messages were sent\.$/),
  });
  expect(await holdOf(tenant, id)).toMatchObject({ kind: 'canary', state: 'waiting', figures: null });
  await endWait(tenant);
  expect(await tenant.outcomes(id)).toEqual(users.map(user => `${user} sent`));
  expect(tenant.received()).toHaveLength(users.length);
  expect(recipientsOf(tenant).size).toBe(users.length);
  expect(await holdOf(tenant, id)).toMatchObject({
    state: 'released',
    figures: [{ notification: 'n1', audience: 30, messages: 10, attempted: 10, failed: 0, bounced: 0, complained: 0 }],
  });
});

test('a sample with 10 % of failed messages stops the others, and names the figures', async () => {
  const hook = `${world.peer.url}/canary/hook`;
  const webhooks = [{ slug: 'ops', name: 'Ops', url: hook, types: ['occurrence.held'] }];
  const tenant = await world.tenant({ ...input, organization: { webhooks } });
  const id = await triggerStopped(tenant);
  const figures = { notification: 'n1', audience: 30, messages: 10, attempted: 10, failed: 1, stopped_by: ['failed'] };
  expect(await holdOf(tenant, id)).toMatchObject({
    kind: 'canary',
    reason: 'guard.canary',
    recipients: 20,
    channels: [{ channel: 'hooks', messages: 20 }],
    figures: [figures],
    explanation: ['n1: the sample had 10 messages; 1 failed (10%; stops at 5%).'],
  });
  expect(await tenant.occurrence(id)).toMatchObject({ status: 'expanding', outcome: 'held', reason: 'guard.canary' });
  expect(tenant.received()).toHaveLength(first);
  const messages = await tenant.sql('select data from webhook_messages where organization_id = $1', tenant.id);
  expect(messages).toMatchObject([{ data: { occurrence: id, reason: 'guard.canary', figures: [figures] } }]);

  tenant.answer({});
  expect((await approve(tenant, id)).status).toBe(200);
  const outcomes = await tenant.outcomes(id);
  expect(outcomes.filter(one => one.endsWith(' sent'))).toHaveLength(29);
  expect(tenant.received()).toHaveLength(users.length);
  expect(recipientsOf(tenant).size).toBe(users.length);
});

test('a message of the sample that is still retried counts as failed, and a rejection cancels it', async () => {
  const tenant = await world.tenant(input);
  const id = await triggerStopped(tenant, 500);
  expect(await holdOf(tenant, id)).toMatchObject({ figures: [{ attempted: 10, failed: 1 }] });
  expect((await reject(tenant, id, { reason: 'broken' })).status).toBe(200);
  const outcomes = await tenant.outcomes(id);
  expect(outcomes.filter(one => one.endsWith(' sent'))).toHaveLength(9);
  expect(outcomes.filter(one => one.endsWith(' cancelled'))).toHaveLength(1);
  expect(await tenant.occurrence(id)).toMatchObject({
    outcome: 'cancelled',
    reason: 'guard.rejected',
    unexpanded: 20,
    counts: { sent: 9, cancelled: 1 },
  });
  expect(tenant.received()).toHaveLength(first);
});

test('too few attempted messages make it wait longer, and then ask', async () => {
  const tenant = await world.tenant(input);
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`);
  const id = await tenant.trigger();
  const waits = async () => {
    const [row] = await tenant.sql<{ at: Date }>(
      `select due_at as at from occurrences where organization_id = $1 and reason = 'canary.waiting' and due_at > now()`,
      tenant.id,
    );
    expect(row).toBeDefined();
    return row!.at;
  };
  await eventually(waits);
  await endWait(tenant);
  expect(Number(await eventually(waits)) - Date.now()).toBeLessThan(61_000);
  await tenant.sql(
    `update occurrences set cursor = jsonb_set(cursor, '{canary,sampledAt}', '0') where organization_id = $1`,
    tenant.id,
  );
  await endWait(tenant);
  await eventually(async () =>
    expect(await holdOf(tenant, id)).toMatchObject({
      state: 'held',
      figures: [{ messages: 10, attempted: 0, stopped_by: ['attempted'] }],
    }),
  );
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/resume/`);
  await approve(tenant, id);
  await tenant.outcomes(id);
  expect(tenant.received()).toHaveLength(users.length);
});

test('a simulation says how many wait for the sample', async () => {
  const tenant = await world.tenant(input);
  const { body } = await tenant.post(`${tenant.event}simulate/`, {});
  expect(body.notifications).toMatchObject([{ deliveries: 30, held: { 'canary.waiting': 20 } }]);
});

test('all get it at once if there are fewer recipients than twice the sample, in a dry run, and if it is urgent', async () => {
  const tenant = await world.tenant({ ...input, notifications: [{ canary: { first: 16 } }] });
  expect(await tenant.outcomes(await tenant.trigger())).toHaveLength(30);
  await tenant.apply(input);
  expect(await tenant.outcomes(await tenant.trigger({ dry_run: true }))).toHaveLength(30);
  expect(await tenant.outcomes(await tenant.trigger({ priority: 'urgent' }))).toHaveLength(30);
  expect(tenant.received()).toHaveLength(60);
});

test('notifications without a canary do not wait, and one who opts out during the wait gets nothing', async () => {
  const tenant = await world.tenant({
    ...input,
    lists: { Few: ['u00@x.test'] },
    notifications: [{ canary: { first } }, { name: 'few', recipients: { list: 'Few' } }],
  });
  const id = await tenant.trigger();
  await eventually(async () => expect(tenant.received()).toHaveLength(first + 1));
  const sampled = new Set((await tenant.deliveries(id)).filter(one => one.notification === 'n1').map(one => one.user));
  const later = users.find(user => !sampled.has(user))!;
  const changed = users.map(email => (email === later ? { email, locked: true } : email));
  await tenant.apply({ ...input, users: changed, members: users, notifications: undefined });
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ reason: 'canary.waiting' }));
  await tenant.until(id, 'sent');
  await endWait(tenant);
  expect(await tenant.outcomes(id)).toContain(`${later} suppressed: user.locked`);
  expect(tenant.received()).toHaveLength(users.length);
});

test('what is cancelled during the wait, or whose event is paused, sends no more, and its counts add up', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant(input);
  const cancelled = await triggerSampled(tenant);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${cancelled}/cancel/`);
  await eventually(async () => expect(await tenant.occurrence(cancelled)).toMatchObject({ unexpanded: 20 }));
  expect(await holdOf(tenant, cancelled)).toMatchObject({ state: 'ended' });
  expect(await tenant.occurrence(cancelled)).toMatchObject({ outcome: 'cancelled', counts: { sent: first } });

  const id = await tenant.trigger();
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'waiting' }));
  await tenant.until(id, 'sent');
  await tenant.post(`${tenant.event}pause/`);
  await endWait(tenant);
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ reason: 'event.paused' }));
  expect(tenant.received()).toHaveLength(2 * first);
  await tenant.post(`${tenant.event}resume/`);
  await tenant.outcomes(id);
  expect(tenant.received()).toHaveLength(first + users.length);
});

test('several pages are sampled exactly, and an audience that was approved is sampled too', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ ...input, event: { guard: { audience: 3 } } });
  await tenant.sql(
    `with made as (
       insert into users (organization_id, username, email)
       select $1, 'm' || i || '@many.test', 'm' || i || '@many.test' from generate_series(1, 1500) i returning id, email
     ), addressed as (
       insert into addresses (organization_id, user_id, name, value) select $1, id, 'email', email from made returning id
     )
     insert into members (organization_id, list_id, address_id)
     select $1, (select id from distribution_lists where organization_id = $1), id from addressed`,
    tenant.id,
  );
  const id = await tenant.trigger();
  await eventually(
    async () => expect(await holdOf(tenant, id)).toMatchObject({ kind: 'audience', state: 'held' }),
    8_000,
  );
  await approve(tenant, id);
  await eventually(async () => expect(tenant.received()).toHaveLength(first), 8_000);
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ kind: 'canary', state: 'waiting' }));
  await tenant.until(id, 'sent');
  await endWait(tenant);
  await eventually(
    async () => expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', counts: { sent: 1_530 } }),
    20_000,
  );
  expect(await holdOf(tenant, id)).toMatchObject({
    state: 'released',
    figures: [{ audience: 1_530, messages: first }],
  });
});
