/** Allowed networks of keys, their maximum lifetime, and limits on what a key may grant. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { createNetworkCheck, isNetwork, isWithinNetworks } from '../../src/lib/network/networks.ts';
import { applyConfiguration, exportConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { signInNewAccount } from '../support/accounts.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let ask: Ask;
let tenants: Tenants;
const path = '/api/o/acme/k/';
const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();
let count = 0;

beforeAll(async () => {
  ({ service, tenants } = await testTenants({ TRUST_PROXY: '127.0.0.1' }));
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const create = (fields: object) =>
  ask({ method: 'POST', path, body: { name: `key ${++count}`, permissions: ['*'], ...fields } });
const shown = async (id: string) => (await ask({ path: `${path}${id}/` })).body;
const patch = (id: string, body: object) => ask({ method: 'PATCH', path: `${path}${id}/`, body });

describe('networks', () => {
  test.each([
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['2001:db8::/32', '2001:db8::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '10.0.0.1', true],
    ['10.0.0.0/8', 'not an address', false],
    ['10.0.0.0/8', '', false],
  ])('%s contains %s: %s', (network, address, has) => {
    expect(createNetworkCheck([network])(address)).toBe(has);
    expect(createNetworkCheck(['192.0.2.1', network])(address)).toBe(has);
  });

  test.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0', 'fd00::/129', 'example.com', ''])(
    '%j is none',
    text => expect(isNetwork(text)).toBe(false),
  );
});

test.each([
  ['10.1.0.0/16', ['10.0.0.0/8'], true],
  ['10.0.0.0/8', ['10.0.0.0/8'], true],
  ['10.1.2.3', ['192.0.2.0/24', '10.0.0.0/8'], true],
  ['10.0.0.0/7', ['10.0.0.0/8'], false],
  ['0.0.0.0/0', ['10.0.0.0/8'], false],
  ['::/0', ['0.0.0.0/0'], false],
  ['::/0', ['10.0.0.0/8', '::/0'], true],
  ['10.0.0.0/8', ['::/0'], true],
  ['::ffff:10.1.0.0/112', ['10.0.0.0/8'], true],
  ['::ffff:0.0.0.0/96', ['10.0.0.0/8'], false],
  ['10.1.0.0/16', ['::ffff:10.0.0.0/104'], true],
  ['11.1.0.0/16', ['::ffff:10.0.0.0/104'], false],
  ['2001:db8:1::/48', ['2001:db8::/32'], true],
  ['2001:db8::/31', ['2001:db8::/32'], false],
  ['2001:db8::1', ['2001:db8::1'], true],
  ['2001:db8::1', ['2001:db8::2'], false],
])('%s is within %j: %s', (network, others, isWithin) => expect(isWithinNetworks(network, others)).toBe(isWithin));

describe('a recipient token of a key', () => {
  const userPath = '/api/o/acme/u/jane@acme.test/';
  const issue = async (fields: object) => {
    const { id, key } = (await create({ permissions: ['token:write'], ...fields })).body;
    const answer = await asker(service.address, key)({ method: 'POST', path: `${userPath}token/`, body: {} });
    expect(answer.status, answer.text).toBe(201);
    return { id: id as string, token: answer.body.token as string };
  };
  const use = (token: string, headers = {}) =>
    ask({
      path: `${userPath}inbox/unread/`,
      key: undefined,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });

  test('is refused from networks that the key is not allowed from', async () => {
    const { token } = await issue({ allowed_networks: ['127.0.0.0/8'] });
    expect((await use(token)).status).toBe(200);
    expectProblem(await use(token, { 'x-forwarded-for': '203.0.113.7' }), 403, 'key.network');
  });

  test('has the rate of the key, together with all other tokens of the key', async () => {
    const { id, token } = await issue({ requests_per_second: 5 });
    const answers = await Promise.all(Array.from({ length: 15 }, () => use(token)));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(3);
    expect(answers.find(({ status }) => status === 429)!.body.detail).not.toContain(id);
  });

  test.each([
    ['is revoked', (id: string) => ask({ method: 'POST', path: `${path}revoke/`, body: { key: id } })],
    ['expires', (id: string) => patch(id, { expires_at: new Date(Date.now() + 1_000).toISOString() })],
    ['is deleted', (id: string) => runSql(service.runtime.url, 'delete from keys where id = $1', [id])],
  ])('ends when the key %s', async (_how, end) => {
    const { id, token } = await issue({});
    expect((await use(token)).status).toBe(200);
    await end(id);
    await eventually(async () => expectProblem(await use(token), 401, 'token.invalid'));
  });

  test('that an account has created ends with its session', async () => {
    const membership = { organization: 'acme', role: 'editor' } as const;
    const browser = await signInNewAccount(service.address, service.runtime.deps, { membership });
    const { token } = (await browser.ask({ method: 'POST', path: `${userPath}token/`, body: {} })).body;
    expect((await use(token)).status).toBe(200);
    await browser.ask({ method: 'DELETE', path: '/api/session/' });
    await eventually(async () => expectProblem(await use(token), 401, 'token.invalid'));
  });

  test('ends when the user is locked', async () => {
    const { body } = await ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: 'tokens@acme.test' } });
    const own = `/api/o/acme/u/${body.username}/`;
    const { token } = (await ask({ method: 'POST', path: `${own}token/`, body: {} })).body;
    const read = () =>
      ask({ path: `${own}inbox/unread/`, key: undefined, headers: { authorization: `Bearer ${token}` } });
    expect((await read()).status).toBe(200);
    await ask({ method: 'PATCH', path: own, body: { locked: true } });
    await eventually(async () => expectProblem(await read(), 401, 'token.invalid'));
  });
});

describe('a key with limits', () => {
  const own = { expires_at: inDays(10), requests_per_second: 50, allowed_networks: ['127.0.0.0/8', '192.0.2.0/24'] };
  let limited: { id: string; key: string };
  let asLimited: Ask;
  beforeAll(async () => {
    limited = (await create(own)).body;
    asLimited = asker(service.address, limited.key);
  });
  const createAs = (fields: object) =>
    asLimited({ method: 'POST', path, body: { name: `key ${++count}`, permissions: ['*'], ...own, ...fields } });
  const patchAs = (id: string, body: object) => asLimited({ method: 'PATCH', path: `${path}${id}/`, body });
  const wider: [field: string, value: unknown, said: RegExp][] = [
    ['expires_at', null, /must not be after .*, when your own key expires/],
    ['expires_at', inDays(11), /must not be after .*, when your own key expires/],
    ['requests_per_second', null, /must be at most 50, the rate of your own key/],
    ['requests_per_second', 51, /must be at most 50/],
    ['allowed_networks', null, /must be within 127\.0\.0\.0\/8, 192\.0\.2\.0\/24, the networks of your own key/],
    ['allowed_networks', ['192.0.2.0/23'], /192\.0\.2\.0\/23 is not within 127\.0\.0\.0\/8, 192\.0\.2\.0\/24/],
    ['allowed_networks', ['192.0.2.7', '0.0.0.0/0'], /^0\.0\.0\.0\/0 is not within/],
  ];

  test.each(wider)('cannot create a key with %s %j', async (field, value, said) => {
    const refused = await createAs({ [field]: value });
    expectProblem(refused, 400, 'request.invalid', [field]);
    expect(refused.body.errors[field][0]).toMatch(said);
  });

  test('cannot create a key without limits', async () => {
    const fields = { expires_at: undefined, requests_per_second: undefined, allowed_networks: undefined };
    const refused = await createAs(fields);
    expect([refused.status, Object.keys(refused.body.errors ?? {}).sort()]).toEqual([400, Object.keys(fields).sort()]);
  });

  test.each(wider)('cannot change itself or another key to %s %j', async (field, value) => {
    const other = (await createAs({})).body;
    for (const { id } of [limited, other]) {
      const before = await shown(id);
      expectProblem(await patchAs(id, { [field]: value }), 400, 'request.invalid', [field]);
      expect({ ...(await shown(id)), last_used_at: null }).toEqual({ ...before, last_used_at: null });
    }
  });

  test('creates and changes keys within its limits, and tightens its own', async () => {
    const narrower = { expires_at: inDays(5), requests_per_second: 5, allowed_networks: ['192.0.2.7'] };
    const made = await createAs(narrower);
    expect(made.status, made.text).toBe(201);
    expect((await patchAs(made.body.id, own)).status).toBe(200);
    const { body: self } = await create(own);
    const narrowed = await asker(
      service.address,
      self.key,
    )({ method: 'PATCH', path: `${path}${self.id}/`, body: { requests_per_second: 5 } });
    expect([narrowed.status, narrowed.body.requests_per_second]).toEqual([200, 5]);
  });

  test.each(['created', 'rotated'])('shares its rate with the keys that it has %s, and they with theirs', async how => {
    const rate = 20;
    const keys = [(await create({ requests_per_second: rate })).body];
    while (keys.length < 4) {
      const { id, key } = keys.at(-1);
      const fields = { name: `key ${++count}`, permissions: ['*'], requests_per_second: rate };
      const made =
        how === 'created'
          ? await asker(service.address, key)({ method: 'POST', path, body: fields })
          : await asker(
              service.address,
              key,
            )({ method: 'POST', path: `${path}${id}/rotate/`, body: { overlap: `${keys.length}h` } });
      expect(made.status, made.text).toBe(201);
      keys.push(made.body);
    }
    const ping = ({ key }: { key: string }) => asker(service.address, key)({ path: '/api/system/ping/' });
    const { tenantCache } = service.runtime.deps;
    // The notification about the newest key may still be in transit.
    await eventually(async () => {
      for (const { id } of keys) expect(await tenantCache.findKey(id)).toMatchObject({ group_rate: rate });
    });
    const began = Date.now();
    const answers = await Promise.all(keys.flatMap(key => Array.from({ length: 2 * rate }, () => ping(key))));
    const seconds = (Date.now() - began) / 1_000;
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted.length).toBeGreaterThan(0);
    expect(accepted.length).toBeLessThanOrEqual(rate * (1 + seconds) + 1);
    const refused = answers.find(({ body }) => /together limited to 20 requests per second/.test(body.detail))!;
    expectProblem(refused, 429, 'request.rate_limited');
    expect(refused.headers['retry-after']).toBeDefined();
  });

  test('rotates itself without a later expiry, and cannot rotate a key that has more', async () => {
    const rotate = (id: string, asking: Ask) =>
      asking({ method: 'POST', path: `${path}${id}/rotate/`, body: { overlap: '1h' } });
    const unlimited: object[] = [
      { ...own, expires_at: null },
      { ...own, requests_per_second: null },
      { ...own, allowed_networks: null },
    ];
    for (const fields of unlimited) {
      const { body } = await create(fields);
      const refused = await rotate(body.id, asLimited);
      expectProblem(refused, 400, 'request.invalid', ['key']);
      expect(refused.body.errors.key[0]).toMatch(/wider limits than your own key, so you cannot rotate it/);
    }
    const { body: self } = await create({ ...own, expires_at: inDays(10) });
    await runSql(service.runtime.url, `update keys set created_at = now() - interval '90 days' where id = $1`, [
      self.id,
    ]);
    const before = await shown(self.id);
    const rotated = await rotate(self.id, asker(service.address, self.key));
    expect(rotated.status, rotated.text).toBe(201);
    const { expires_at, requests_per_second, allowed_networks } = await shown(rotated.body.id);
    expect({ expires_at, requests_per_second, allowed_networks }).toEqual({ ...own, expires_at: before.expires_at });
  });

  test.each([
    ['expires_at', inDays(10), /expires at/],
    ['requests_per_second', 50, /is limited to 50 requests per second/],
    ['allowed_networks', ['127.0.0.0/8'], /works only from 127\.0\.0\.0\/8/],
  ])('%s prevents granting roles, because accounts have no such limit', async (field, value, said) => {
    const asking = asker(service.address, (await create({ [field]: value })).body.key);
    const body = { email: `limited-${++count}@people.test`, role: 'viewer' };
    const refused = await asking({ method: 'POST', path: '/api/o/acme/invite/', body });
    expectProblem(refused, 403, 'key.limited');
    expect(refused.body.detail).toMatch(said);
    const [viewer] = tenants.acme.accountIds;
    const change = (role: string) =>
      asking({ method: 'PATCH', path: `/api/o/acme/account/${viewer}/`, body: { role } });
    expectProblem(await change('editor'), 403, 'key.limited');
    await ask({ method: 'PATCH', path: `/api/o/acme/account/${viewer}/`, body: { role: 'editor' } });
    expect((await change('viewer')).status).toBe(200);
  });

  test('cannot create recipient tokens that outlive it', async () => {
    const expires_at = new Date(Date.now() + 60_000);
    const asking = asker(service.address, (await create({ expires_at: expires_at.toISOString() })).body.key);
    const token = await asking({
      method: 'POST',
      path: `/api/o/acme/u/${tenants.acme.username}/token/`,
      body: { expires_in: '7d' },
    });
    expect(token.status, token.text).toBe(201);
    expect(Date.parse(token.body.expires_at)).toBeLessThanOrEqual(expires_at.getTime());
  });
});

test('a key limited to a project or application has no access to keys, accounts, invites or webhooks', async () => {
  const { onProject, onApplication } = tenants.acme.keys;
  const writes: [path: string, body: object][] = [
    ['k/', { name: `key ${++count}`, permissions: ['*'] }],
    ['k/', { name: `key ${++count}`, permissions: ['*'], project: 'depot' }],
    ['invite/', { email: 'narrow@people.test', role: 'viewer' }],
    ['webhooks/', { slug: 'wide', name: 'Wide', url: 'https://acme.test/hook', types: ['delivery.failed'] }],
    [`u/${tenants.acme.username}/token/`, {}],
  ];
  for (const key of [onProject, onApplication]) {
    for (const [rest, body] of writes) {
      expectProblem(
        await ask({ method: 'POST', path: `/api/o/acme/${rest}`, key, body }),
        404,
        'organization.not_found',
      );
    }
  }
});

describe('a key with allowed networks', () => {
  const from = (key: string, address: string) =>
    asker(service.address, key)({ path: '/api/o/acme/', headers: { 'x-forwarded-for': address } });

  test('is refused from other addresses, as reported by trusted proxies, without recording a use', async () => {
    const { body } = await create({ allowed_networks: ['192.0.2.0/24', '2001:db8::/32'] });
    const refused = await from(body.key, '198.51.100.1');
    expectProblem(refused, 403, 'key.network');
    expect(refused.body.detail).toContain('198.51.100.1');
    expectProblem(await asker(service.address, body.key)({ path: '/api/o/acme/' }), 403, 'key.network');
    await service.runtime.deps.keyUse.flush(service.runtime.deps.db);
    expect((await shown(body.id)).last_used_at).toBe(null);
    expect((await from(body.key, '192.0.2.9')).status).toBe(200);
    expect((await from(body.key, '2001:db8::9')).status).toBe(200);
  });

  test('returns them and can be changed at any time', async () => {
    const { body } = await create({ allowed_networks: ['192.0.2.0/24', '192.0.2.0/24'] });
    expect((await shown(body.id)).allowed_networks).toEqual(['192.0.2.0/24']);
    expect((await patch(body.id, { allowed_networks: ['198.51.100.0/24'] })).body.allowed_networks).toEqual([
      '198.51.100.0/24',
    ]);
    await eventually(async () => expect((await from(body.key, '198.51.100.1')).status).toBe(200));
    expectProblem(await from(body.key, '192.0.2.9'), 403, 'key.network');
    expect((await patch(body.id, { name: 'renamed' })).body.allowed_networks).toEqual(['198.51.100.0/24']);
    expect((await patch(body.id, { allowed_networks: null })).body.allowed_networks).toBe(null);
    await eventually(async () => expect((await from(body.key, '192.0.2.9')).status).toBe(200));
  });

  test('keeps them when it is rotated', async () => {
    const { body } = await create({ allowed_networks: ['192.0.2.0/24'] });
    const rotated = await ask({ method: 'POST', path: `${path}${body.id}/rotate/`, body: {} });
    expectProblem(await from(rotated.body.key, '198.51.100.1'), 403, 'key.network');
    expect((await from(rotated.body.key, '192.0.2.9')).status).toBe(200);
  });

  test.each([
    [['10.0.0.0/33'], 'allowed_networks/0'],
    [['10.0.0.1', 'example.com'], 'allowed_networks/1'],
    [[], 'allowed_networks'],
  ])('cannot have %j', async (allowed_networks, field) => {
    expectProblem(await create({ allowed_networks }), 400, 'request.invalid', [field]);
    const { body } = await create({});
    expectProblem(await patch(body.id, { allowed_networks }), 400, 'request.invalid', [field]);
  });

  test('is created on the command line', { tags: ['sweep'] }, async () => {
    const env = { DATABASE_URL: service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
    const args = ['key', 'create', '--org', 'acme', '--permission', '*'];
    const made = await command([...args, '--name', 'terminal', '--allow', '192.0.2.1,10.0.0.0/8'], env);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expectProblem(await from(made.stdout.trim(), '192.0.2.9'), 403, 'key.network');
    expect((await from(made.stdout.trim(), '10.2.3.4')).status).toBe(200);
    const wrong = await command([...args, '--name', 'wrong', '--allow', 'home'], env);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('"home" is not an address or network')]);
  });
});

describe('in an organization with a maximum key lifetime of 30 days', () => {
  const setDays = async (days: number | null) => {
    const answer = await ask({ method: 'PATCH', path: '/api/o/acme/', body: { max_key_lifetime_days: days } });
    expect(answer.body, answer.text).toMatchObject({ max_key_lifetime_days: days });
  };
  let old: { id: string };
  let brief: { id: string };
  beforeAll(async () => {
    old = (await create({})).body;
    brief = (await create({ expires_at: inDays(5) })).body;
    await setDays(30);
  });
  afterAll(() => setDays(null));

  test('a new key must expire within it', async () => {
    for (const expires_at of [undefined, null, inDays(31)]) {
      const answer = await create({ expires_at });
      expectProblem(answer, 400, 'request.invalid', ['expires_at']);
      expect(answer.body.errors.expires_at[0]).toMatch(
        /must not be after .*: keys of this organization expire after at most 30 days/,
      );
    }
    expect((await create({ expires_at: inDays(29.9) })).status).toBe(201);
  });

  test('the expiry of a key cannot be removed or extended beyond it, counted from creation', async () => {
    const { body } = await create({ expires_at: inDays(10) });
    await runSql(service.runtime.url, `update keys set created_at = now() - interval '8 days' where id = $1`, [
      body.id,
    ]);
    expectProblem(await patch(body.id, { expires_at: inDays(23) }), 400, 'request.invalid', ['expires_at']);
    expectProblem(await patch(body.id, { expires_at: null }), 400, 'request.invalid', ['expires_at']);
    expect((await patch(body.id, { expires_at: inDays(21) })).status).toBe(200);
  });

  test('an older key keeps working, can be renamed, and can expire sooner', async () => {
    expect((await patch(old.id, { name: 'from before' })).status).toBe(200);
    expect((await patch(old.id, { expires_at: null })).status).toBe(200);
    expect((await patch(old.id, { expires_at: inDays(100) })).status).toBe(200);
    expectProblem(await patch(old.id, { expires_at: null }), 400, 'request.invalid', ['expires_at']);
  });

  test('a rotated key gets at most this lifetime, and keeps a shorter one', async () => {
    const rotate = async (id: string) => {
      const { body } = await ask({ method: 'POST', path: `${path}${id}/rotate/`, body: {} });
      return Date.parse((await shown(body.id)).expires_at) - Date.now();
    };
    expect(await rotate(old.id)).toBeGreaterThan(29.9 * dayMs);
    expect(await rotate((await create({ expires_at: inDays(30) })).body.id)).toBeLessThanOrEqual(30 * dayMs);
    expect(await rotate(brief.id)).toBeLessThanOrEqual(5 * dayMs);
  });
});

test('the configuration file sets the maximum key lifetime, and keeps it when the field is absent', async () => {
  const { deps } = service.runtime;
  const apply = (fields: object) =>
    applyConfiguration(deps, { organizations: [{ slug: 'filed', name: 'Filed', ...fields }] }, { prune: false });
  const exported = async () => (await exportConfiguration(deps, ['filed'])).organizations[0]!;
  await apply({});
  expect(await exported()).not.toHaveProperty('max_key_lifetime_days');
  expect(await apply({ max_key_lifetime_days: 90 })).toMatchObject([
    { noun: 'organization', fields: [{ field: 'max_key_lifetime_days', from: null, to: 90 }] },
  ]);
  expect(await apply({})).toEqual([]);
  expect((await exported()).max_key_lifetime_days).toBe(90);
  expect(await apply({ max_key_lifetime_days: null })).toHaveLength(1);
  expect(await exported()).not.toHaveProperty('max_key_lifetime_days');
});
