/** `ack: each`: an acknowledgement ends the steps for its recipient, and the occurrence is acknowledged when everyone has. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

const baseUrl = 'https://belfry.test';

let world: EngineWorld;
let second: Service;
beforeAll(async () => {
  world = await openWorld({ BASE_URL: baseUrl });
  const config = testConfig(world.service.runtime.url, { BASE_URL: baseUrl, BELFRY_ROLE: 'worker' });
  second = await startService(config, silent);
});
afterAll(async () => {
  await world.checkLedger();
  await second.stop();
  await world.close();
});

const inbox = { slug: 'app', name: 'App', type: 'inbox', providers: [{ use: 'inbox' }] };
const users = ['ann@x.test', 'bob@x.test', 'eve@x.test'];
const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'], repeat: 2 }];

const tenantWith = (more: object = {}) =>
  world.tenant({
    users,
    members: ['ann@x.test', 'bob@x.test'],
    channels: [{ slug: 'hooks' }, inbox],
    notifications: [{ steps, ack: 'each', ...more }],
  });

const occurrencePath = (tenant: Tenant, id: string) => `/api/o/${tenant.slug}/occurrence/${id}`;
const acknowledge = (tenant: Tenant, id: string, user: string) =>
  tenant.post(`${occurrencePath(tenant, id)}/acknowledge/?user=${user}`);

const summaries = async (tenant: Tenant, id: string) =>
  (await tenant.deliveries(id))
    .map(one => `${one.step} ${one.user!.split('@')[0]} ${one.status}${one.reason ? `: ${one.reason}` : ''}`)
    .sort();

const isBegun = (tenant: Tenant, id: string) =>
  eventually(async () => expect(await summaries(tenant, id)).toEqual(['1 ann sent', '1 bob sent']), 8_000);

async function makeStepsDue(tenant: Tenant): Promise<void> {
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
}

test('the steps end for each recipient who acknowledges, and for the occurrence when no one is missing', async () => {
  const tenant = await tenantWith();
  const id = await tenant.trigger();
  await isBegun(tenant, id);
  const first = await acknowledge(tenant, id, 'ann@x.test');
  expect(first).toMatchObject({
    status: 200,
    body: { changed: true, acknowledged_at: null, missing: ['bob@x.test'], missing_count: 1 },
  });
  expect((await acknowledge(tenant, id, 'ann@x.test')).body).toMatchObject({ changed: false, missing: ['bob@x.test'] });
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'escalating', acknowledged_at: null });
  await makeStepsDue(tenant);
  await eventually(async () => {
    expect(await summaries(tenant, id)).toEqual([
      '1 ann sent',
      '1 bob sent',
      '2 ann suppressed: acknowledged',
      '2 bob sent',
    ]);
  }, 8_000);
  const last = await acknowledge(tenant, id, 'bob@x.test');
  expect(last.body).toMatchObject({
    changed: true,
    acknowledged_at: expect.any(String),
    acknowledged_by: 'bob@x.test, by API key test',
    missing: [],
    missing_count: 0,
  });
  await makeStepsDue(tenant);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'acknowledged', status: 'completed' });
  expect(
    tenant
      .received()
      .map(({ to }) => to)
      .sort(),
  ).toEqual(['ann@x.test', 'bob@x.test', 'bob@x.test']);
  const { body } = await tenant.ask({ path: `${occurrencePath(tenant, id)}/responses/` });
  expect(body.map((one: { kind: string; by: string }) => `${one.kind} ${one.by}`)).toEqual([
    'acknowledged ann@x.test, by API key test',
    'acknowledged bob@x.test, by API key test',
  ]);
});

test('no one else acknowledges it, and no one snoozes it', async () => {
  const tenant = await tenantWith();
  const id = await tenant.trigger();
  await isBegun(tenant, id);
  const path = occurrencePath(tenant, id);
  const refused = await tenant.post(`${path}/acknowledge/`);
  expect(refused).toMatchObject({ status: 409, body: { code: 'occurrence.not_asked' } });
  expect(refused.body.detail).toContain('missing: ann@x.test, bob@x.test');
  expect(await acknowledge(tenant, id, 'eve@x.test')).toMatchObject({ status: 409 });
  expect(await acknowledge(tenant, id, 'who@x.test')).toMatchObject({
    status: 400,
    body: { errors: { user: [expect.any(String)] } },
  });
  expect(await tenant.post(`${path}/snooze/`, { for: '1h' })).toMatchObject({ status: 409 });
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'escalating', acknowledged_at: null });
  expect((await tenant.ask({ path: `${path}/responses/` })).body).toEqual([]);
  expect((await tenant.post(`${path}/resolve/`)).body).toMatchObject({ changed: true });
});

test('a message to a recipient who has acknowledged that waits for a retry is cancelled, and those to others are not', async () => {
  const tenant = await tenantWith();
  tenant.answer({ status: 503 });
  const id = await tenant.trigger();
  await tenant.until(id, 'retrying');
  expect((await acknowledge(tenant, id, 'ann@x.test')).body).toMatchObject({ cancelled: 1, missing: ['bob@x.test'] });
  expect(await summaries(tenant, id)).toEqual(['1 ann cancelled: acknowledged', '1 bob retrying: provider.failed']);
  tenant.answer({});
  await tenant.hurry();
  await eventually(async () => expect(await summaries(tenant, id)).toContain('1 bob sent'), 8_000);
  expect(tenant.received().filter(({ to }) => to === 'bob@x.test').length).toBeGreaterThan(1);
});

test('of acknowledgements at the same moment, one is the last', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith();
  const ids = await Promise.all(Array.from({ length: 20 }, () => tenant.trigger()));
  await Promise.all(ids.map(id => isBegun(tenant, id)));
  for (const id of ids) {
    const both = await Promise.all(['ann@x.test', 'bob@x.test'].map(user => acknowledge(tenant, id, user)));
    expect(both.map(({ body }) => body.missing_count).sort()).toEqual([0, 1]);
    expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: expect.any(String) });
  }
});

test('an acknowledgement while the next step runs is not followed by a message, whichever worker runs it', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith();
  const ids = await Promise.all(Array.from({ length: 20 }, () => tenant.trigger()));
  await Promise.all(ids.map(id => isBegun(tenant, id)));
  const due = makeStepsDue(tenant);
  const acknowledged = new Map<string, number>();
  await Promise.all(
    ids.map(async id => {
      await acknowledge(tenant, id, 'ann@x.test');
      acknowledged.set(id, Date.now());
    }),
  );
  await due;
  for (const id of ids) {
    await eventually(async () => expect(await summaries(tenant, id)).toContain('2 bob sent'), 8_000);
    const [toAnn] = (await tenant.deliveries(id)).filter(one => one.step === 2 && one.user === 'ann@x.test');
    expect(['suppressed', 'cancelled', 'sent']).toContain(toAnn!.status);
    // Within the second in which a worker may have handed it to the provider.
    if (toAnn!.sent_at) expect(Date.parse(String(toAnn!.sent_at))).toBeLessThan(acknowledged.get(id)! + 1_000);
  }
});

test('everyone is asked again in another round', async () => {
  const tenant = await tenantWith();
  const id = await tenant.trigger();
  await isBegun(tenant, id);
  for (const user of ['ann@x.test', 'bob@x.test']) await acknowledge(tenant, id, user);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: expect.any(String) });
  await tenant.post(`${occurrencePath(tenant, id)}/unacknowledge/`);
  await eventually(async () => expect(await summaries(tenant, id)).toContain('3 bob sent'), 8_000);
  expect(await summaries(tenant, id)).toContain('3 ann sent');
  expect((await acknowledge(tenant, id, 'ann@x.test')).body).toMatchObject({ changed: true, missing: ['bob@x.test'] });
});

test('the first acknowledgement ends a notification of the same event that one acknowledgement ends', async () => {
  const other = {
    steps: [
      { channels: ['hooks'], recipients: { list: 'Others' } },
      { after: '1h', channels: ['hooks'] },
    ],
  };
  const tenant = await world.tenant({
    users,
    members: ['ann@x.test', 'bob@x.test'],
    lists: { Others: ['eve@x.test'] },
    notifications: [{ steps, ack: 'each' }, other],
  });
  const id = await tenant.trigger();
  await eventually(async () => expect(tenant.received()).toHaveLength(3), 8_000);
  expect(await acknowledge(tenant, id, 'eve@x.test')).toMatchObject({ status: 409 });
  expect((await acknowledge(tenant, id, 'ann@x.test')).body).toMatchObject({ missing: ['bob@x.test'] });
  const { body } = await tenant.ask({ path: `${occurrencePath(tenant, id)}/steps/` });
  expect(
    body.map((one: Record<string, unknown>) => `${one.notification} ${one.number} ${one.status}`).slice(0, 5),
  ).toEqual(['n1 1 done', 'n1 2 planned', 'n1 3 planned', 'n2 1 done', 'n2 2 ended']);
});

test('the link in a message acknowledges for its recipient; it, the message and the explanation name who is missing', async () => {
  const tenant = await tenantWith({
    steps: [{ channels: ['hooks', 'app'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }],
    message: { subject: '{{ user.username }}', body: '{{ acknowledge_url }}' },
  });
  const id = await tenant.trigger();
  await eventually(async () => expect(tenant.received()).toHaveLength(2), 8_000);
  await tenant.until(id, 'sent');
  const { text } = tenant.received().find(({ to }) => to === 'ann@x.test')!;
  const link = /https:\S+/.exec(text)![0].slice(baseUrl.length);
  const answer = await tenant.ask({ method: 'POST', path: link });
  expect(answer.text).toContain('You have acknowledged it. Missing: bob@x.test.');
  const why = await tenant.ask({ path: `${occurrencePath(tenant, id)}/why/?user=ann@x.test` });
  expect(why.body.summary).toContain('Waits for the acknowledgement of bob@x.test.');
  await eventually(async () => {
    const own = await tenant.ask({ path: `/api/o/${tenant.slug}/u/ann@x.test/inbox/` });
    expect(own.body[0].body).toContain('Missing: bob@x.test');
  }, 8_000);
  const others = await tenant.ask({ path: `/api/o/${tenant.slug}/u/bob@x.test/inbox/` });
  expect(others.body[0].body).not.toContain('Acknowledged');
});

test('it is only allowed with steps, and exported', async () => {
  const tenant = await tenantWith();
  const exported = await tenant.ask({ path: `/api/o/${tenant.slug}/configuration/` });
  expect(exported.body.projects[0].applications[0].events[0].notifications[0]).toMatchObject({ ack: 'each' });
  const [{ id }] = (await tenant.ask({ path: `${tenant.event}n/` })).body;
  const path = `${tenant.event}n/${id}/`;
  const changed = await tenant.ask({ method: 'PATCH', path, body: { channels: ['hooks'] } });
  expect(changed.body).toMatchObject({ steps: null, ack: null });
  const refused = await tenant.ask({ method: 'PATCH', path, body: { ack: 'each' } });
  expect(refused).toMatchObject({ status: 400, body: { errors: { ack: ['is only allowed with steps'] } } });
});
