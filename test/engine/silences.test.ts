/** Silences: what they hold, suppress and release, from the decision to the last check before sending. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { releaseSilencedAcrossTenants } from '../../src/db/ledger/expand/silenced.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { asker } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const ann = 'ann@x.test';
const matchers = [{ field: 'labels.alertname', op: '=', value: 'DiskFull' }];
const context = { title: 'Disk full', labels: { alertname: 'DiskFull', instance: 'db-1' } };
const pathOf = ({ slug }: Tenant, rest = '') => `/api/o/${slug}/silences/${rest}`;

async function silence(tenant: Tenant, input = {}): Promise<string> {
  const body = { matchers, reason: 'Disks are replaced.', duration: '1h', ...input };
  const answer = await tenant.post(pathOf(tenant), body);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id;
}

async function end(tenant: Tenant, id: string): Promise<number> {
  const { status, body, text } = await tenant.post(pathOf(tenant, `${id}/end/`), {});
  expect(status, text).toBe(200);
  return body.ended_now;
}

const find = async (tenant: Tenant, id: string) => (await tenant.ask({ path: pathOf(tenant, `${id}/`) })).body;
const listed = async (tenant: Tenant, id: string) =>
  ((await tenant.ask({ path: pathOf(tenant, `${id}/occurrences/`) })).body as { id: string; state: string }[]).map(
    one => `${one.id} ${one.state}`,
  );
const why = async (tenant: Tenant, id: string) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=${ann}` })).body.answers[0];

/** Waits until the occurrence is held by a silence. */
async function isHeld(tenant: Tenant, id: string) {
  return eventually(async () => {
    const found = await tenant.occurrence(id);
    expect(found).toMatchObject({ status: 'accepted', reason: 'silenced', state: 'waiting_silence' });
    return found as unknown as { summary: string };
  });
}

test('an occurrence that can be resolved waits for the end of a silence, and ending it early sends it at once', async () => {
  const tenant = await world.tenant({ users: [ann] });
  const id = await silence(tenant);
  const occurrence = await tenant.trigger({ dedup_key: 'disk' }, context);
  const other = await tenant.trigger({ dedup_key: 'other' }, { labels: { alertname: 'Other' } });
  expect(await tenant.outcomes(other)).toEqual([`${ann} sent`]);
  expect((await isHeld(tenant, occurrence)).summary).toMatch(
    /^Waiting for the end of a silence at .+\. Silenced by API key test until .+: Disks are replaced\.$/,
  );
  expect(await find(tenant, id)).toMatchObject({ state: 'active', counts: { held: 1, suppressed: 0, released: 0 } });
  expect(await why(tenant, occurrence)).toMatchObject({
    reason: 'silenced',
    state: 'held',
    explanation: expect.stringMatching(
      /^It is held, and sent when the silence ends if it is still open: a silence matches it \(by API key test until .+: Disks are replaced\)\.$/,
    ),
  });
  const began = Date.now();
  expect(await end(tenant, id)).toBe(1);
  expect(await tenant.outcomes(occurrence)).toEqual([`${ann} sent`]);
  expect(Date.now() - began).toBeLessThan(5_000);
  expect(await find(tenant, id)).toMatchObject({
    state: 'ended',
    ended_by: 'API key test',
    counts: { held: 0, suppressed: 0, released: 1 },
  });
  expect(await listed(tenant, id)).toEqual([`${occurrence} released`]);
  expect(await tenant.post(pathOf(tenant, `${id}/end/`), {})).toMatchObject({
    status: 409,
    body: { code: 'silence.ended' },
  });
});

test('an occurrence is sent when a silence ends on its own', async () => {
  const tenant = await world.tenant({ users: [ann] });
  await silence(tenant, { duration: undefined, ends_at: new Date(Date.now() + 4_000) });
  const occurrence = await tenant.trigger({ dedup_key: 'disk' }, context);
  await isHeld(tenant, occurrence);
  expect(await tenant.outcomes(occurrence, 15_000)).toEqual([`${ann} sent`]);
});

test.each(['resolve', 'acknowledge'])('nothing is sent after %s during the silence', async action => {
  const tenant = await world.tenant({ users: [ann] });
  const id = await silence(tenant);
  const occurrence = await tenant.trigger({ dedup_key: 'disk' }, context);
  await isHeld(tenant, occurrence);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${occurrence}/${action}/`, {});
  await eventually(async () =>
    expect(await tenant.occurrence(occurrence)).toMatchObject({
      status: 'completed',
      outcome: `${action}d`,
      reason: 'silenced',
    }),
  );
  expect(await find(tenant, id)).toMatchObject({ counts: { held: 0, suppressed: 1, released: 0 } });
  expect(await end(tenant, id)).toBe(0);
  expect(await why(tenant, occurrence)).toMatchObject({
    state: 'none',
    explanation: expect.stringMatching(/^It was not sent: a silence matches it/),
  });
  expect(tenant.received()).toEqual([]);
});

test('a trigger without a dedup key is suppressed, counted and explained', async () => {
  const tenant = await world.tenant({ users: [ann, 'ben@x.test'] });
  const id = await silence(tenant, { path: 'shop/web/go', matchers: [] });
  const occurrence = await tenant.trigger({}, context);
  await eventually(async () =>
    expect(await tenant.occurrence(occurrence)).toMatchObject({
      status: 'completed',
      outcome: 'suppressed',
      reason: 'silenced',
      unexpanded: 2,
      summary: expect.stringMatching(
        /^No messages: a silence matches it\. Silenced by API key test until .+: Disks are replaced\. 2 messages were not prepared\.$/,
      ),
    }),
  );
  expect(await find(tenant, id)).toMatchObject({ path: 'shop/web/go', counts: { suppressed: 1 } });
  expect(await listed(tenant, id)).toEqual([`${occurrence} suppressed`]);
  expect(await why(tenant, occurrence)).toMatchObject({ reason: 'silenced', state: 'none' });
  await end(tenant, id);
  expect(await tenant.outcomes(await tenant.trigger({}, context))).toHaveLength(2);
});

test('messages that wait when a silence begins are checked again before they are sent', async () => {
  const tenant = await world.tenant({ users: [ann] });
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`, {});
  const open = await tenant.trigger({ dedup_key: 'disk' }, context);
  const resolved = await tenant.trigger({ dedup_key: 'resolved' }, context);
  const plain = await tenant.trigger({}, context);
  const reasons = async () =>
    (await Promise.all([open, resolved, plain].map(id => tenant.deliveries(id)))).flat().map(one => one.reason);
  await eventually(async () => expect(await reasons()).toEqual(Array(3).fill('channel.paused')));
  const id = await silence(tenant);
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/resume/`, {});
  await eventually(async () => expect(await reasons()).toEqual(Array(3).fill('silenced')));
  expect(await tenant.deliveries(plain)).toMatchObject([{ status: 'suppressed' }]);
  expect(await tenant.deliveries(open)).toMatchObject([{ status: 'pending', state: 'waiting_silence' }]);
  expect(await find(tenant, id)).toMatchObject({ counts: { held: 2, suppressed: 1, released: 0 } });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${resolved}/resolve/`, {});
  expect(await tenant.outcomes(resolved)).toEqual([`${ann} cancelled: resolved`]);
  await end(tenant, id);
  expect(await tenant.outcomes(open)).toEqual([`${ann} sent`]);
  expect(await find(tenant, id)).toMatchObject({ counts: { held: 0, suppressed: 2, released: 1 } });
});

test('steps of a running escalation wait for the end of a silence, which is not counted as time that has passed', async () => {
  const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];
  const tenant = await world.tenant({ users: [ann], notifications: [{ steps, give_up_after: '2h' }] });
  const occurrence = await tenant.trigger({}, context);
  await eventually(() => expect(tenant.received()).toHaveLength(1));
  const id = await silence(tenant, { duration: '3h' });
  const due = `update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`;
  const times = () =>
    tenant.sql<{ reason: string; left: number }>(
      `select reason, extract(epoch from began_at + interval '2 hours' - now())::int as left from steps
       where status = 'waiting' and organization_id = ${tenant.id}`,
    );
  await eventually(async () => expect(await times()).toHaveLength(1));
  await tenant.sql(due);
  await tenant.sql('notify belfry_work');
  await eventually(async () => expect(await times()).toMatchObject([{ reason: 'silenced' }]));
  expect((await times())[0]!.left).toBeGreaterThan(4 * 3_600);
  expect(await tenant.occurrence(occurrence)).toMatchObject({
    outcome: 'escalating',
    summary: expect.stringContaining('Silenced by API key test until '),
  });
  expect(await why(tenant, occurrence)).toBeDefined();
  await end(tenant, id);
  await eventually(() => expect(tenant.received()).toHaveLength(2));
  expect(await find(tenant, id)).toMatchObject({ counts: { held: 0, released: 1 } });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${occurrence}/acknowledge/`, {});
});

test('ending one of two silences releases nothing that the other one matches', async () => {
  const tenant = await world.tenant({ users: [ann] });
  const long = await silence(tenant, { duration: '2h' });
  const short = await silence(tenant);
  const occurrence = await tenant.trigger({ dedup_key: 'disk' }, context);
  await isHeld(tenant, occurrence);
  expect(await listed(tenant, long)).toEqual([`${occurrence} held`]);
  expect(await end(tenant, long)).toBe(1);
  await eventually(async () => expect(await listed(tenant, short)).toEqual([`${occurrence} held`]));
  expect(tenant.received()).toEqual([]);
  await end(tenant, short);
  expect(await tenant.outcomes(occurrence)).toEqual([`${ann} sent`]);
});

test('what a worker held while the silence was being ended is released', async () => {
  const tenant = await world.tenant({ users: [ann] });
  const id = await silence(tenant);
  const occurrence = await tenant.trigger({ dedup_key: 'disk' }, context);
  await isHeld(tenant, occurrence);
  await tenant.sql(`update silences set ends_at = now(), ended_by = 'x' where id = '${id}'`);
  await releaseSilencedAcrossTenants(world.service.runtime.deps.pool);
  expect(await tenant.outcomes(occurrence)).toEqual([`${ann} sent`]);
});

test('simulation names the silence, and a preview the open occurrences that it would match', async () => {
  const tenant = await world.tenant({ users: [ann] });
  const occurrence = await tenant.trigger({ dedup_key: 'disk' }, context);
  await tenant.trigger({}, context);
  await tenant.outcomes(occurrence);
  const preview = async (body: object) => (await tenant.post(pathOf(tenant, 'preview/'), body)).body;
  expect(await preview({ matchers: [{ field: 'labels.instance', op: '~', value: 'db-*' }] })).toEqual({
    matched: 1,
    complete: true,
    occurrences: [{ id: occurrence, event: 'shop/web/go', title: 'Disk full' }],
  });
  expect(
    await preview({ path: 'shop', matchers: [{ field: 'labels.instance', op: '!=', value: 'db-1' }] }),
  ).toMatchObject({ matched: 0 });
  const simulate = async (options: object) =>
    (await tenant.post(`${tenant.event}simulate/`, { context, options })).body;
  expect((await simulate({})).silence).toBeNull();
  const id = await silence(tenant);
  expect((await simulate({ dedup_key: 'disk' })).silence).toMatchObject({
    id,
    reason: 'Disks are replaced.',
    created_by: 'API key test',
    effect: 'held',
  });
  expect((await simulate({})).silence).toMatchObject({ effect: 'suppressed' });
  const dry = await tenant.trigger({ dry_run: true }, context);
  expect(await tenant.outcomes(dry)).toEqual([`${ann} suppressed: dry_run`]);
});

test('a silence has an end, a reason and something that it matches', async () => {
  const tenant = await world.tenant({ users: [ann] });
  const refused = async (input: object) => {
    const { status, body } = await tenant.post(pathOf(tenant), { matchers, reason: 'x', ...input });
    expect(status).toBe(400);
    return body.errors;
  };
  const recurrence = { timezone: 'Europe/Nowhere', from: '22:00', to: '22:00' };
  expect(await refused({})).toEqual({ ends_at: [expect.stringContaining('never endless')] });
  expect(await refused({ duration: '91d' })).toEqual({ duration: [expect.stringContaining('at most 90 days')] });
  expect(await refused({ ends_at: '2020-01-01T00:00:00Z' })).toEqual({ ends_at: [expect.stringContaining('later')] });
  expect(await refused({ duration: '1h', matchers: [] })).toEqual({
    matchers: [expect.stringContaining('pause the organization')],
  });
  expect(await refused({ duration: '1h', path: 'shop/nowhere' })).toEqual({
    path: [expect.stringContaining('names no project')],
  });
  expect(await refused({ duration: '367d', reason: ' ', recurrence })).toEqual({
    reason: [expect.any(String)],
    duration: [expect.stringContaining('366 days')],
    'recurrence/timezone': [expect.any(String)],
    'recurrence/to': ['must differ from `from`'],
  });
  const planned = await silence(tenant, { starts_at: new Date(Date.now() + 3_600_000).toISOString() });
  expect(await find(tenant, planned)).toMatchObject({ state: 'planned', active_until: null });
  await silence(tenant);
  const states = async (state: string) =>
    (await tenant.ask({ path: pathOf(tenant, `?state=${state}`) })).body.map((one: { id: string }) => one.id);
  expect(await states('planned')).toEqual([planned]);
  expect(await states('active')).toHaveLength(1);
  await end(tenant, planned);
  expect(await states('ended')).toEqual([planned]);
  const { body: audit } = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=silence` });
  expect(audit.map((one: { action: string }) => one.action)).toEqual(['end', 'create', 'create']);
  const { key } = await createKey(world.service.runtime.deps, tenant.slug, {
    name: 'r',
    permissions: ['silence:read'],
  });
  const reader = asker(world.service.address, key);
  expect((await reader({ path: pathOf(tenant) })).status).toBe(200);
  expect((await reader({ method: 'POST', path: pathOf(tenant), body: { reason: 'x' } })).status).toBe(403);
});
