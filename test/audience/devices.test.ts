/** Devices of an app: registered and removed with the user's own token, and given up when the push service says so. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asker, expectProblem } from '../support/api.ts';
import { appleToken, pushCases } from '../support/compliance-push.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';
import { json } from '../support/wire.ts';

let world: EngineWorld;
let peer: HttpPeer;
beforeAll(async () => {
  world = await joinWorld();
  peer = await openHttpPeer();
});
afterAll(async () => {
  await world.close();
  await peer.close();
});

const ann = 'ann@x.test';
const bob = 'bob@x.test';
const device = (token: string, changes = {}) => ({ platform: 'android', app: 'com.acme.shop', token, ...changes });
const iphone = device(appleToken, { platform: 'ios' });
const open = (owner: 'organization' | 'project' = 'organization', notification: object = {}) => {
  const { fcm, apns } = pushCases;
  const providers = [
    { use: 'fcm', ...fcm.settings(peer.url) },
    { use: 'apns', ...apns.settings(peer.url) },
  ];
  return world.tenant({
    users: [ann, bob],
    members: [ann],
    [owner === 'project' ? 'projectChannels' : 'channels']: [{ slug: 'app', name: 'App', type: 'push', providers }],
    notifications: [{ name: 'n', channels: ['app'], message: { subject: 'Hello', body: 'World' }, ...notification }],
  });
};
const userOf = async (tenant: Tenant, who = ann) => {
  const { token } = (await tenant.post(`/api/o/${tenant.slug}/u/${who}/token/`)).body;
  const headers = { authorization: `Bearer ${token}` };
  return (path: string, body: object) =>
    asker(world.service.address)({
      method: 'POST',
      path: `/api/o/${tenant.slug}/u/${who}/inbox/${path}`,
      headers,
      body,
    });
};
const listDevices = async (tenant: Tenant, who = ann) => {
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/u/${who}/address/` });
  return body
    .filter((one: { name: string }) => one.name === 'push')
    .map((one: { value: string }) => JSON.parse(one.value));
};

test('a user registers devices with their own token, each stored once, and removes them again', async () => {
  const tenant = await open();
  const post = await userOf(tenant);
  for (const one of [device('a:1'), device('a:1'), iphone]) {
    expect((await post('devices/', one)).body).toEqual({ registered: true });
  }
  expect(await listDevices(tenant)).toEqual([device('a:1'), iphone]);
  expect((await post('devices/unregister/', device('a:1'))).body).toEqual({ registered: false });
  expect((await post('devices/unregister/', device('a:1'))).body).toEqual({ registered: false });
  expect(await listDevices(tenant)).toEqual([iphone]);
  for (let n = 2; n <= 20; n++) await post('devices/', device(`a:${n}`));
  expectProblem(await post('devices/', device('a:21')), 429, 'push.limit');
  expectProblem(await post('devices/', device('x y')), 400, 'request.invalid', ['token']);
  expectProblem(await post('devices/', device('x', { platform: 'fax' })), 400, 'request.invalid', ['platform']);
});

test('a device that another user registers is removed from the previous one', async () => {
  const [tenant, other] = [await open(), await open()];
  const elsewhere = await userOf(other);
  await elsewhere('devices/', device('a:1'));
  const [asAnn, asBob] = [await userOf(tenant), await userOf(tenant, bob)];
  for (const one of [device('a:1'), device('a:2')]) await asAnn('devices/', one);
  await asBob('devices/', device('a:1'));
  expect([await listDevices(tenant), await listDevices(tenant, bob)]).toEqual([[device('a:2')], [device('a:1')]]);
  expect(await listDevices(other)).toEqual([device('a:1')]);
});

test('each device gets a message by the provider that can reach it; one that is gone is disabled until it registers again', async () => {
  const tenant = await open();
  const post = await userOf(tenant);
  for (const one of [device('a:1'), device('a:gone'), iphone]) await post('devices/', one);
  const gone = json(404, {
    error: { code: 404, message: 'no', status: 'NOT_FOUND', details: [{ errorCode: 'UNREGISTERED' }] },
  });
  peer.reply = ({ body }) => (body.includes('a:gone') ? gone : { status: 200, body: '{"name":"m"}' });
  peer.seen.length = 0;
  const id = await tenant.trigger();
  await eventually(async () => {
    const deliveries = await tenant.deliveries(id);
    expect(deliveries.map(({ status, provider }) => [status, provider]).sort()).toEqual([
      ['failed', 'fcm'],
      ['sent', 'apns'],
      ['sent', 'fcm'],
    ]);
  });
  expect(peer.seen.map(({ path }) => path.split('/')[1]).sort()).toEqual(['3', 'v1', 'v1']);
  const disabled = async () =>
    tenant.sql<{ value: string }>(
      `select value from addresses where organization_id = $1 and disabled_at is not null`,
      tenant.id,
    );
  expect((await disabled()).map(({ value }) => JSON.parse(value).token)).toEqual(['a:gone']);
  await post('devices/', device('a:gone'));
  expect(await disabled()).toEqual([]);
});

test('a device that the channel of a project cannot reach is suppressed for the project until it registers again', {
  tags: ['sweep'],
}, async () => {
  const tenant = await open('project');
  const post = await userOf(tenant);
  await post('devices/', device('a:gone'));
  peer.reply = json(404, {
    error: { code: 404, message: 'no', status: 'NOT_FOUND', details: [{ errorCode: 'UNREGISTERED' }] },
  });
  await tenant.until(await tenant.trigger(), 'failed');
  const shown = async () => (await tenant.ask({ path: `/api/o/${tenant.slug}/u/${ann}/addresses/` })).body;
  const push = async () => (await shown()).find(({ name }: { name: string }) => name === 'push');
  expect(await push()).toMatchObject({ disabled_at: null, suppression: { source: 'fcm', projects: ['shop'] } });
  await post('devices/', device('a:gone'));
  expect(await push()).toMatchObject({ disabled_at: null, suppression: null });
});

test('an urgent message is an alarm on a device, also when its notification is tested, and others are not', async () => {
  const tenant = await open('organization', { priority: 'urgent' });
  await (await userOf(tenant))('devices/', device('a:1'));
  peer.reply = pushCases.fcm.answers.accepted;
  peer.seen.length = 0;
  await tenant.until(await tenant.trigger(), 'sent');
  await tenant.until(await tenant.trigger({ priority: 'normal' }), 'sent');
  const [{ id }] = (await tenant.ask({ path: `${tenant.event}n/` })).body;
  const tested = { to: JSON.stringify(device('a:1')), channel: 'app' };
  expect((await tenant.post(`${tenant.event}n/${id}/test/`, tested)).body).toMatchObject({ ok: true });
  const levels = peer.seen.map(({ body }) => JSON.parse(body).message.apns.payload.aps['interruption-level']);
  expect(levels).toEqual(['time-sensitive', undefined, 'time-sensitive']);
});
