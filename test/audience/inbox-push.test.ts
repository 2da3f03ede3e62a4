/**
 * Browsers that are notified: the key to subscribe with, which Belfry makes itself, and the subscription as an address.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asker, expectProblem } from '../support/api.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const ann = 'ann@x.test';
const subject = 'mailto:ops@x.test';
const browserPush = (settings: object = {}) => ({
  slug: 'push',
  name: 'Browser',
  type: 'webpush',
  providers: [{ use: 'vapid', subject, ...settings }],
});
const open = (channels: Record<string, unknown>[] = [browserPush()]) =>
  world.tenant({ users: [ann], channels, notifications: [] });
const path = (tenant: Tenant) => `/api/o/${tenant.slug}/u/${ann}/inbox/push/`;
const subscription = (n = 1) => ({
  endpoint: `https://push.test/${n}`,
  keys: {
    p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
    auth: 'tBHItJI5svbpez7KI4CCXg',
  },
});

test('a channel without keys gets generated ones, and keeps them when it is applied again', async () => {
  const tenant = await open();
  const { public_key } = (await tenant.ask({ path: path(tenant) })).body;
  expect(public_key).toMatch(/^B[A-Za-z0-9_-]{86}$/);
  await tenant.apply({ channels: [browserPush({ urgency: 'high' })], notifications: [] });
  expect((await tenant.ask({ path: path(tenant) })).body).toEqual({ public_key });
  const other = await open();
  expect((await other.ask({ path: path(other) })).body).not.toEqual({ public_key });
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/c/push/` });
  expect(body.providers).toMatchObject([{ public_key, secrets_set: ['private_key'] }]);
});

test('a private key without its public key is refused', async () => {
  const private_key = 'a'.repeat(43);
  await expect(open([browserPush({ private_key })])).rejects.toThrow('set both, or neither');
});

test('answers 409 without an enabled web push channel', async () => {
  const tenant = await open([]);
  expectProblem(await tenant.ask({ path: path(tenant) }), 409, 'push.unavailable');
  const off = await open([{ ...browserPush(), enabled: false }]);
  expectProblem(await off.ask({ path: path(off) }), 409, 'push.unavailable');
});

test('a user can register up to 20 browsers with their own token, each stored once', async () => {
  const tenant = await open();
  const { token } = (await tenant.post(`/api/o/${tenant.slug}/u/${ann}/token/`)).body;
  const headers = { authorization: `Bearer ${token}` };
  const register = (body: object) =>
    asker(world.service.address)({ method: 'POST', path: path(tenant), headers, body });
  for (const n of [1, 1, 2]) expect((await register(subscription(n))).body).toEqual({ registered: true });
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/u/${ann}/address/` });
  const known = body.filter((one: { name: string }) => one.name === 'webpush');
  expect(known.map((one: { value: string }) => JSON.parse(one.value))).toEqual([subscription(1), subscription(2)]);
  for (let n = 3; n <= 20; n++) await register(subscription(n));
  expectProblem(await register(subscription(21)), 429, 'push.limit');
  expectProblem(await register({ ...subscription(), endpoint: 'javascript:x' }), 400, 'request.invalid', ['endpoint']);
  expectProblem(await register({ endpoint: 'https://push.test/1' }), 400, 'request.invalid', ['keys']);
});
