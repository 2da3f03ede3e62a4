/** What the suppression list stops: new messages, and messages that wait for a retry, the morning or a digest. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EngineWorld, joinWorld, sandbox, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const viaSandbox: TenantInput = { channels: [sandbox], notifications: [{ channels: ['sandbox'] }] };

async function suppress(tenant: Tenant, target: string, channel_type = 'email'): Promise<void> {
  const body = { channel_type, target, reason: 'bounced', detail: '550 no such user' };
  const answer = await tenant.post(`/api/o/${tenant.slug}/suppressions/`, body);
  expect(answer.status, answer.text).toBe(201);
}

test('an address or domain on the list gets nothing, and the history, simulation and preview say why', async () => {
  const users = ['Ada@x.test', 'bob@x.test', 'cid@mail.y.test', 'dan@y.test'];
  const tenant = await world.tenant({ users, ...viaSandbox });
  expect(await tenant.outcomes(await tenant.trigger())).toHaveLength(4);
  await suppress(tenant, 'ada@X.test');
  await suppress(tenant, '@y.test');
  const id = await tenant.trigger({ recipients: ['eve@y.test'] });
  expect(await tenant.outcomes(id)).toEqual([
    'ada@x.test suppressed: address.suppressed',
    'bob@x.test sent',
    'cid@mail.y.test sent',
    'dan@y.test suppressed: address.suppressed',
    'eve@y.test suppressed: address.suppressed',
  ]);
  const details = (await tenant.deliveries(id)).map(({ detail }) => detail);
  expect(details.toSorted()).toContainEqual(expect.stringMatching(/^bounced, source manual, since 20\d\d-/));
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=dan@y.test` });
  expect(why.body.answers[0].explanation).toMatch(
    /on the suppression list \(the domain @y\.test: bounced, source manual, since .* \(550 no such user\)\)/,
  );
  const simulated = await tenant.post(`${tenant.event}simulate/`, { options: { recipients: ['fay@y.test'] } });
  expect(simulated.body.notifications[0]).toMatchObject({ deliveries: 2, suppressed: { 'address.suppressed': 3 } });
  const addresses = await tenant.ask({ path: `/api/o/${tenant.slug}/u/dan@y.test/addresses/` });
  expect(addresses.body[0].suppression).toMatchObject({ target: '@y.test', reason: 'bounced', source: 'manual' });
  const draft = {
    user: 'ada@x.test',
    channels: [],
    message: { body: 'Hello' },
    steps: [{ after: '0m', channels: ['sandbox'] }],
    list: 'All',
  };
  const preview = await tenant.post(`${tenant.event}preview/`, draft);
  expect(preview.status, preview.text).toBe(200);
  expect(preview.body.timeline[0].deliveries[0]).toMatchObject({ reason: 'address.suppressed' });
});

test('an entry that has expired stops nothing', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'], ...viaSandbox });
  await suppress(tenant, 'a@x.test');
  await tenant.sql("update suppressions set expires_at = now() - interval '1s' where organization_id = $1", tenant.id);
  expect(await tenant.outcomes(await tenant.trigger())).toEqual(['a@x.test sent']);
});

test('a test send to an address on the list is refused', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'], ...viaSandbox });
  await suppress(tenant, 'a@x.test');
  const path = `/api/o/${tenant.slug}/c/sandbox/test/`;
  expect((await tenant.post(path, { to: 'b@x.test' })).body).toMatchObject({ ok: true });
  expect((await tenant.post(path, { to: 'A@x.test' })).body).toMatchObject({ ok: false, reason: 'address.suppressed' });
});

/** Makes all waiting deliveries due. */
async function hurry(tenant: Tenant): Promise<void> {
  const waiting = `organization_id = ${tenant.id} and status in ('pending', 'retrying')`;
  await tenant.sql(`update deliveries set due_at = now() where ${waiting}`);
  await tenant.sql('notify belfry_work');
}

const time = (plusMinutes: number) => new Date(Date.now() + plusMinutes * 60_000).toISOString().slice(11, 16);
const quiet = { organization: { timezone: 'UTC', quiet_hours: { from: time(-60), to: time(90) } } };
const digest = { notifications: [{ channels: ['sandbox'], digest: { every: '1h' } }] };
const waits: [what: string, status: string, input: TenantInput][] = [
  ['the end of quiet hours', 'pending', { ...viaSandbox, ...quiet }],
  ['its digest', 'pending', { ...viaSandbox, ...digest }],
];

test.each(waits)(
  'a message that waits for %s is not sent once its address is on the list',
  async (_, status, input) => {
    const tenant = await world.tenant({ users: ['a@x.test'], ...input });
    const id = await tenant.trigger();
    await tenant.until(id, status);
    await suppress(tenant, 'a@x.test');
    await hurry(tenant);
    expect(await tenant.outcomes(id)).toEqual(['a@x.test suppressed: address.suppressed']);
  },
);

const users = [{ email: 'a@x.test', addresses: [{ name: 'webhook', value: 'desk' }] }];

test('a message that waits for a retry is not sent once its address is on the list', async () => {
  const tenant = await world.tenant({ users });
  tenant.answer({ status: 503 });
  const id = await tenant.trigger();
  await tenant.until(id, 'retrying');
  await suppress(tenant, 'desk', 'webhook');
  tenant.answer({});
  await tenant.hurry();
  expect(await tenant.outcomes(id)).toEqual(['a@x.test suppressed: address.suppressed']);
  expect(tenant.received()).toHaveLength(1);
});

test('the preview of a replay counts messages whose address is on the list as skipped', async () => {
  const tenant = await world.tenant({ users });
  tenant.answer({ status: 400 });
  const id = await tenant.trigger();
  await tenant.until(id, 'failed');
  await suppress(tenant, 'desk', 'webhook');
  const preview = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/replay/` });
  expect(preview.body, preview.text).toMatchObject({ send: 0, skip: 1, reasons: [{ reason: 'address.suppressed' }] });
});
