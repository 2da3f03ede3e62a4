/** Occurrences with far more recipients than usual wait for an approval. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/services/identity/keys.ts';
import { asker } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const users = ['ann', 'ben', 'cid', 'dan', 'eve'].map(name => `${name}@x.test`);
const few: TenantInput = { users, event: { guard: { audience: 3 } } };

const pathOf = ({ slug }: Tenant, id: string) => `/api/o/${slug}/occurrence/${id}/hold/`;

async function holdOf(tenant: Tenant, id: string) {
  const { body } = await tenant.ask({ path: pathOf(tenant, id) });
  return body;
}

/** Triggers, and waits until the occurrence waits for an approval. */
async function triggerHeld(tenant: Tenant, options = {}) {
  const id = await tenant.trigger(options);
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }), 8_000);
  return id;
}

const approve = (tenant: Tenant, id: string, body = {}) => tenant.post(`${pathOf(tenant, id)}approve/`, body);
const reject = (tenant: Tenant, id: string, body = {}) => tenant.post(`${pathOf(tenant, id)}reject/`, body);

/** Adds members to the list `All`, by SQL. */
async function addMembers(tenant: Tenant, count: number, { active = true } = {}): Promise<void> {
  await tenant.sql(
    `with made as (
       insert into users (organization_id, username, email)
       select $1, 'm' || i || '@many.test', 'm' || i || '@many.test' from generate_series(1, $2::int) i
       returning id, email
     ), addressed as (
       insert into addresses (organization_id, user_id, name, value) select $1, id, 'email', email from made returning id
     )
     insert into members (organization_id, list_id, address_id, active)
     select $1, (select id from distribution_lists where organization_id = $1), id, $3 from addressed`,
    tenant.id,
    count,
    active,
  );
}

test('an occurrence with more recipients than allowed is held, counted exactly, and sends nothing', async () => {
  const tenant = await world.tenant({ ...few, users: [...users.slice(0, 4), { email: 'eve@x.test', locked: true }] });
  const id = await triggerHeld(tenant);
  expect(await tenant.occurrence(id)).toMatchObject({
    status: 'accepted',
    outcome: 'held',
    state: 'held',
    reason: 'guard.audience',
    summary: expect.stringMatching(
      /^Held until someone approves it: it has more recipients than the event may have without an approval/,
    ),
  });
  const hold = await holdOf(tenant, id);
  expect(hold).toMatchObject({
    occurrence: id,
    event: 'shop/web/go',
    kind: 'audience',
    reason: 'guard.audience',
    counted: true,
    recipients: 4,
    threshold: 3,
    largest: null,
    channels: [{ channel: 'hooks', messages: 4, per_second: null, seconds: null }],
    left_out: [{ reason: 'user.locked', explanation: 'the user is locked', messages: 1 }],
    triggered_by: 'API key test',
    decided_at: null,
  });
  const shown = hold.samples.map((one: { user: string; message: { title: string } }) => [one.user, one.message.title]);
  expect(shown.toSorted()).toEqual(users.slice(0, 4).map(user => [user, user]));
  const { body: listed } = await tenant.ask({ path: `/api/o/${tenant.slug}/holds/` });
  expect(listed).toEqual([expect.objectContaining({ occurrence: id, state: 'held', recipients: 4 })]);
  expect(tenant.received()).toEqual([]);
  const { body: why } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ann@x.test` });
  expect(why.answers).toMatchObject([
    {
      reason: 'guard.audience',
      state: 'held',
      explanation: expect.stringMatching(/^It is held, and sent if someone approves it: /),
    },
  ]);
});

test('an approved occurrence is sent to all but recipients who have opted out meanwhile', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  await tenant.apply({ ...few, users: [...users.slice(0, 4), { email: 'eve@x.test', locked: true }], members: users });
  const { status, body } = await approve(tenant, id);
  expect([status, body.state, body.decided_by]).toEqual([200, 'approved', 'API key test']);
  expect(await tenant.outcomes(id)).toEqual([
    ...users.slice(0, 4).map(user => `${user} sent`),
    'eve@x.test suppressed: user.locked',
  ]);
  expect(tenant.received().map(({ to }) => to)).toHaveLength(4);
});

test('an occurrence that was sent once is history: the same audience is not held again', async () => {
  const tenant = await world.tenant({ users, organization: { guard: { first_audience: 3 } } });
  const id = await triggerHeld(tenant);
  await approve(tenant, id);
  await tenant.outcomes(id);
  await tenant.outcomes(await tenant.trigger());
  expect(tenant.received()).toHaveLength(10);
});

test('a rejected occurrence sends nothing and ends as cancelled, and says so', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  const { status } = await reject(tenant, id, { reason: 'wrong list' });
  expect(status).toBe(200);
  expect(await tenant.outcomes(id)).toEqual([]);
  expect(await tenant.occurrence(id)).toMatchObject({
    outcome: 'cancelled',
    reason: 'guard.rejected',
    cancelled_by: 'API key test',
    unexpanded: 5,
    summary: expect.stringMatching(
      /^Rejected by API key test\. No messages: .* was rejected\. 5 messages were not prepared\.$/,
    ),
  });
  expect(await holdOf(tenant, id)).toMatchObject({ state: 'rejected', note: 'wrong list' });
  const { body: why } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ann@x.test` });
  expect(why.answers).toMatchObject([{ reason: 'guard.rejected', state: 'none' }]);
  expect((await approve(tenant, id)).body).toMatchObject({ code: 'hold.decided', status: 409 });
  expect(tenant.received()).toEqual([]);
});

test('of several decisions at once, one wins', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  const decisions = await Promise.all([approve, reject, approve, reject, approve].map(decide => decide(tenant, id)));
  expect(decisions.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409]);
  const { state } = await holdOf(tenant, id);
  await tenant.outcomes(id);
  expect(tenant.received()).toHaveLength(state === 'approved' ? 5 : 0);
  const entries = await tenant.sql(
    `select action from audit where organization_id = $1 and action in ('approve', 'reject')`,
    tenant.id,
  );
  expect(entries).toHaveLength(1);
});

test('neither the end of a pause nor dropping what it held affects an occurrence that waits for an approval', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  for (const body of [{}, { drop: true }]) {
    expect((await tenant.post(`${tenant.event}pause/`)).status).toBe(200);
    const { body: resumed } = await tenant.post(`${tenant.event}resume/`, body);
    expect(resumed).toMatchObject({ released: 0, dropped: 0 });
    expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'held', reason: 'guard.audience' });
  }
  await tenant.post(`${tenant.event}pause/`);
  await approve(tenant, id);
  await eventually(async () =>
    expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'held', reason: 'event.paused' }),
  );
  await tenant.post(`${tenant.event}resume/`);
  await tenant.outcomes(id);
  expect(tenant.received()).toHaveLength(5);
});

test('an occurrence that is paused when it is triggered is held for an approval when the pause ends', async () => {
  const tenant = await world.tenant(few);
  await tenant.post(`${tenant.event}pause/`);
  const id = await tenant.trigger();
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ reason: 'event.paused' }));
  await tenant.post(`${tenant.event}resume/`);
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }), 8_000);
  expect(tenant.received()).toEqual([]);
});

test('a cancelled occurrence no longer waits for an approval', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect(await holdOf(tenant, id)).toMatchObject({ state: 'ended', decided_by: 'API key test' });
  expect((await approve(tenant, id)).status).toBe(409);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
});

test('an occurrence that no one approves in time fails, and webhooks learn of both', async () => {
  const hook = `${world.peer.url}/held/hook`;
  const webhooks = [{ slug: 'ops', name: 'Ops', url: hook, types: ['occurrence.held', 'occurrence.completed'] }];
  const tenant = await world.tenant({ ...few, organization: { webhooks, guard: { expires: '90m' } } });
  const id = await triggerHeld(tenant);
  const { held_at, expires_at } = await holdOf(tenant, id);
  expect(Date.parse(expires_at) - Date.parse(held_at)).toBe(5_400_000);
  await tenant.sql(`update holds set expires_at = now() where organization_id = $1`, tenant.id);
  await tenant.sql(`select pg_notify('belfry_stop', '0 ${id}')`);
  await tenant.outcomes(id);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'failed', reason: 'guard.expired', unexpanded: 5 });
  expect(await holdOf(tenant, id)).toMatchObject({ state: 'expired' });
  expect(tenant.received()).toEqual([]);
  const messages = await tenant.sql<{ type: string; data: Record<string, unknown> }>(
    'select type, data from webhook_messages where organization_id = $1 order by created_at',
    tenant.id,
  );
  expect(messages).toMatchObject([
    { type: 'occurrence.held', data: { occurrence: id, event: 'shop/web/go', recipients: 5, threshold: 3 } },
    { type: 'occurrence.completed', data: { occurrence: id, outcome: 'failed', reason: 'guard.expired' } },
  ]);
});

test('a dry run is never held', async () => {
  const tenant = await world.tenant(few);
  const id = await tenant.trigger({ dry_run: true });
  expect(await tenant.outcomes(id)).toHaveLength(5);
});

test('approval at a rate makes so many messages per second due', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  const { body } = await approve(tenant, id, { per_second: 1 });
  expect(body).toMatchObject({ per_second: 1 });
  const due = await eventually(async () => {
    const rows = await tenant.sql<{ at: number }>(
      'select extract(epoch from due_at)::float8 as at from deliveries where organization_id = $1 order by due_at',
      tenant.id,
    );
    expect(rows).toHaveLength(5);
    return rows;
  });
  const gaps = due.slice(1).map(({ at }, i) => Math.round(at - due[i]!.at));
  expect(gaps).toEqual([1, 1, 1, 1]);
  await tenant.sql('update deliveries set due_at = now() where organization_id = $1', tenant.id);
  await tenant.outcomes(id);
  expect(tenant.received()).toHaveLength(5);
});

test('who triggered it cannot approve it if the organization requires someone else, but can reject it', async () => {
  const tenant = await world.tenant({ ...few, organization: { guard: { four_eyes: true } } });
  const id = await triggerHeld(tenant);
  expect((await approve(tenant, id)).body).toMatchObject({ code: 'hold.own', status: 403 });
  const { deps } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, { name: 'other', permissions: ['occurrence:approve'] });
  const other = await asker(
    world.service.address,
    key,
  )({
    method: 'POST',
    path: `${pathOf(tenant, id)}approve/`,
    body: {},
  });
  expect(other.status).toBe(200);
  await tenant.outcomes(id);
  expect((await reject(tenant, await triggerHeld(tenant))).status).toBe(200);
});

test('more than ten times the largest audience so far is held', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({ users, channels: [sandbox], notifications: [{ channels: ['sandbox'] }] });
  await tenant.outcomes(await tenant.trigger());
  await eventually(async () =>
    expect(await tenant.sql('select largest from event_audiences where organization_id = $1', tenant.id)).toEqual([
      { largest: 5 },
    ]),
  );
  await addMembers(tenant, 1_100);
  const id = await triggerHeld(tenant);
  expect(await holdOf(tenant, id)).toMatchObject({ recipients: 1_105, threshold: 1_000, largest: 5 });
  expect((await holdOf(tenant, id)).samples).toHaveLength(10);
  await tenant.sql('update event_audiences set largest = 111 where organization_id = $1', tenant.id);
  const counts = (sent: number) => expect.objectContaining({ sent });
  const next = await tenant.trigger();
  await tenant.outcomes(next, 20_000);
  expect(await tenant.occurrence(next)).toMatchObject({ outcome: 'sent', counts: counts(1_105) });
  expect((await tenant.ask({ path: pathOf(tenant, next) })).status).toBe(404);
});

test('a long list with few active members is released as soon as it is counted', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({
    users: users.slice(0, 2),
    channels: [sandbox],
    event: { guard: { audience: 3 } },
    notifications: [{ channels: ['sandbox'] }],
  });
  await addMembers(tenant, 1_500, { active: false });
  const id = await tenant.trigger();
  await tenant.outcomes(id, 20_000);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'sent', counts: { sent: 2, suppressed: 1_500 } });
  expect(await holdOf(tenant, id)).toMatchObject({
    state: 'released',
    recipients: 2,
    left_out: [{ reason: 'member.inactive', messages: 1_500 }],
  });
});

test('a count that its worker did not finish is taken over, and one that fails again and again is given up', async () => {
  const tenant = await world.tenant(few);
  const id = await triggerHeld(tenant);
  const recount = async (claims: number) => {
    await tenant.sql(
      `update holds set state = 'counting', is_counted = false, counts = '{}', claims = $2, claimed_at = now() - interval '2 minutes'
       where organization_id = $1`,
      tenant.id,
      claims,
    );
    await tenant.sql(`select pg_notify('belfry_stop', '0 ${id}')`);
    await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }));
    return holdOf(tenant, id);
  };
  expect(await recount(1)).toMatchObject({ counted: true, recipients: 5 });
  expect(await recount(3)).toMatchObject({ counted: false, recipients: 0 });
  await approve(tenant, id);
  await tenant.outcomes(id);
  expect(tenant.received()).toHaveLength(5);
});

test('an event that always went to 20 people and is triggered for 50,000 sends nothing before the approval', {
  tags: ['sweep'],
}, async () => {
  const first = Array.from({ length: 20 }, (_, i) => `p${i}@x.test`);
  const tenant = await world.tenant({ users: first, channels: [sandbox], notifications: [{ channels: ['sandbox'] }] });
  await tenant.outcomes(await tenant.trigger());
  await addMembers(tenant, 49_980);
  const id = await tenant.trigger();
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }), 60_000);
  expect(await holdOf(tenant, id)).toMatchObject({ recipients: 50_000, threshold: 1_000, largest: 20 });
  const sent = () =>
    tenant.sql('select from deliveries where organization_id = $1 and occurrence_id = $2', tenant.id, id);
  expect(await sent()).toEqual([]);
  await tenant.sql(
    `update members set active = false where organization_id = $1 and id in (
       select id from members where organization_id = $1 order by id desc limit 123)`,
    tenant.id,
  );
  await approve(tenant, id);
  await eventually(
    async () => expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', counts: { pending: 0 } }),
    180_000,
  );
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'sent', counts: { sent: 49_877, suppressed: 123 } });
});
