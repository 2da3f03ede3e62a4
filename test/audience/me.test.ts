/** The user that an account is, and the browsers that wake this user. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { signInNewAccount } from '../support/accounts.ts';
import { expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { openPushService, type PushService } from '../support/push-service.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let push: PushService;
beforeAll(async () => {
  // The push service of this test has its own certificate.
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  push = await openPushService();
  world = await openWorld({ BASE_URL: 'http://belfry.test' });
});
afterAll(async () => {
  await world.close();
  push.close();
  vi.unstubAllEnvs();
});

const [ann, bob] = ['ann@x.test', 'bob@x.test'];
const channel = {
  slug: 'push',
  name: 'Push',
  type: 'webpush',
  providers: [{ use: 'vapid', subject: 'mailto:ops@x.test' }],
};
const member = (tenant: Tenant, email: string, role: 'viewer' | 'editor' = 'viewer') =>
  signInNewAccount(world.service.address, world.service.runtime.deps, {
    email,
    membership: { organization: tenant.slug, role },
  });
type Member = Awaited<ReturnType<typeof member>>;

const mine = (tenant: Tenant, rest = '') => `/api/o/${tenant.slug}/me/${rest}`;
const change = (tenant: Tenant, who: Member, rest: string, body: object = push.subscription) =>
  who.ask({ method: 'POST', path: mine(tenant, rest), body });
const addressesOf = async (tenant: Tenant, username: string): Promise<string[]> => {
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/u/${username}/address/` });
  return body.filter((one: { name: string }) => one.name === 'webpush').map((one: { value: string }) => one.value);
};

test('an account is the user whose username is its email, whatever its case', async () => {
  const tenant = await world.tenant({ users: [ann], channels: [channel], notifications: [] });
  const known = await member(tenant, 'Ann@X.test');
  const key = expect.stringMatching(/^B/);
  const { body } = await known.ask({ path: mine(tenant) });
  expect(body).toEqual({ username: ann, locked: false, public_key: key });
  const unknown = await member(tenant, 'nobody@x.test', 'editor');
  expect((await unknown.ask({ path: mine(tenant) })).body).toEqual({ username: null, locked: false, public_key: key });
  for (const rest of ['push/', 'push/test/', 'push/unregister/'])
    expectProblem(await change(tenant, unknown, rest), 409, 'account.no_user');
  // A key is no person.
  expectProblem(await tenant.ask({ path: mine(tenant) }), 401, 'session.missing');
});

test('viewers register, test and unregister their own browser, which wakes one person only', async () => {
  const tenant = await world.tenant({ users: [{ email: 'eve@x.test' }, bob], channels: [channel], notifications: [] });
  const [first, second] = [await member(tenant, 'eve@x.test'), await member(tenant, bob)];
  expectProblem(await change(tenant, first, 'push/test/'), 404, 'address.not_found');
  for (const _ of [1, 2]) expect((await change(tenant, first, 'push/')).body).toEqual({ registered: true });
  expect(await addressesOf(tenant, 'eve@x.test')).toHaveLength(1);
  expect((await change(tenant, first, 'push/test/')).body).toMatchObject({ ok: true, provider: 'vapid' });
  expect(JSON.parse(push.messages.at(-1)!)).toMatchObject({ title: 'A test from Belfry', organization: tenant.slug });
  await change(tenant, second, 'push/');
  expect([await addressesOf(tenant, 'eve@x.test'), await addressesOf(tenant, bob)]).toEqual([[], [expect.anything()]]);
  expect((await change(tenant, second, 'push/unregister/')).body).toEqual({ registered: false });
  expect(await addressesOf(tenant, bob)).toEqual([]);
});

test('a button of a push message acknowledges for the user of the browser, and twice changes nothing', async () => {
  const steps = [{ channels: ['push'] }];
  const tenant = await world.tenant({
    users: ['cem@x.test'],
    channels: [channel],
    notifications: [{ steps }],
  });
  await change(tenant, await member(tenant, 'cem@x.test'), 'push/');
  const occurrence = await tenant.trigger();
  const message = await eventually(async () => {
    const found = push.messages.find(one => one.includes(occurrence));
    expect(found).toBeDefined();
    return JSON.parse(found!);
  }, 20_000);
  expect(message.actions.map((one: { label: string }) => one.label)).toEqual(['Acknowledge', 'Snooze 1 h']);
  const press = (subscription: object) => {
    const { pathname: path } = new URL(message.respond_url);
    return tenant.post(path, { token: message.actions[0].token, subscription });
  };
  const other = { ...push.subscription, endpoint: 'https://push.test/other' };
  expect((await press(other)).body.text).toContain('does not recognize you');
  for (const _ of [1, 2])
    expect((await press(push.subscription)).body.text).toContain('Acknowledged by cem@x.test by push');
  expect(await tenant.occurrence(occurrence)).toMatchObject({ acknowledged_by: 'cem@x.test by push' });
  expectProblem(await tenant.post(new URL(message.respond_url).pathname, { token: 'x' }), 400, 'request.malformed');
});
