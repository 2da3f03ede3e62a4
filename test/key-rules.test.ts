/** From where keys are used, and how long they live. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { createNetworkCheck, isNetwork } from '../src/lib/networks.ts';
import { applyConfiguration, exportConfiguration } from '../src/services/declarative.ts';
import { type Ask, asker, expectProblem } from './support/api.ts';
import { testService } from './support/database.ts';
import { belfry } from './support/process.ts';
import { runSql } from './support/sql.ts';
import { buildTenants } from './support/tenants.ts';

let service: Service;
let ask: Ask;
const path = '/api/o/acme/k/';
const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();
let count = 0;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api', TRUST_PROXY: '127.0.0.1' });
  const { acme } = await buildTenants(service.runtime.deps);
  ask = asker(service.address, acme.keys.all);
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
  ])('%s has %s: %s', (network, address, has) => {
    expect(createNetworkCheck([network])(address)).toBe(has);
    expect(createNetworkCheck(['192.0.2.1', network])(address)).toBe(has);
  });

  test.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0', 'fd00::/129', 'example.com', ''])(
    '%j is none',
    text => expect(isNetwork(text)).toBe(false),
  );
});

describe('a key with allowed networks', () => {
  const from = (key: string, address: string) =>
    asker(service.address, key)({ path: '/api/o/acme/', headers: { 'x-forwarded-for': address } });

  test('is refused from elsewhere, by what proxies that are trusted say, and not noted as used', async () => {
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

  test('shows them, and others can be given at any time', async () => {
    const { body } = await create({ allowed_networks: ['192.0.2.0/24', '192.0.2.0/24'] });
    expect((await shown(body.id)).allowed_networks).toEqual(['192.0.2.0/24']);
    expect((await patch(body.id, { allowed_networks: ['198.51.100.0/24'] })).body.allowed_networks).toEqual([
      '198.51.100.0/24',
    ]);
    expect((await from(body.key, '198.51.100.1')).status).toBe(200);
    expectProblem(await from(body.key, '192.0.2.9'), 403, 'key.network');
    expect((await patch(body.id, { name: 'renamed' })).body.allowed_networks).toEqual(['198.51.100.0/24']);
    expect((await patch(body.id, { allowed_networks: null })).body.allowed_networks).toBe(null);
    expect((await from(body.key, '192.0.2.9')).status).toBe(200);
  });

  test('has them also after it is rotated', async () => {
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

  test('is made on the command line', async () => {
    const env = { DATABASE_URL: service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
    const args = ['key', 'create', '--org', 'acme', '--permission', '*'];
    const made = await belfry([...args, '--name', 'terminal', '--allow', '192.0.2.1,10.0.0.0/8'], env);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expectProblem(await from(made.stdout.trim(), '192.0.2.9'), 403, 'key.network');
    expect((await from(made.stdout.trim(), '10.2.3.4')).status).toBe(200);
    const wrong = await belfry([...args, '--name', 'wrong', '--allow', 'home'], env);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('"home" is not an address or network')]);
  });
});

describe('where keys may live for 30 days', () => {
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

  test('a new one has to end within them', async () => {
    for (const expires_at of [undefined, null, inDays(31)]) {
      const answer = await create({ expires_at });
      expectProblem(answer, 400, 'request.invalid', ['expires_at']);
      expect(answer.body.errors.expires_at[0]).toMatch(/at the latest: keys of this organization live for 30 days/);
    }
    expect((await create({ expires_at: inDays(29.9) })).status).toBe(201);
  });

  test('the end of one cannot be moved beyond them, counted from its creation, nor taken away', async () => {
    const { body } = await create({ expires_at: inDays(10) });
    await runSql(service.runtime.url, `update keys set created_at = now() - interval '8 days' where id = $1`, [
      body.id,
    ]);
    expectProblem(await patch(body.id, { expires_at: inDays(23) }), 400, 'request.invalid', ['expires_at']);
    expectProblem(await patch(body.id, { expires_at: null }), 400, 'request.invalid', ['expires_at']);
    expect((await patch(body.id, { expires_at: inDays(21) })).status).toBe(200);
  });

  test('one from before goes on, can be renamed, and can be ended sooner', async () => {
    expect((await patch(old.id, { name: 'from before' })).status).toBe(200);
    expect((await patch(old.id, { expires_at: null })).status).toBe(200);
    expect((await patch(old.id, { expires_at: inDays(100) })).status).toBe(200);
    expectProblem(await patch(old.id, { expires_at: null }), 400, 'request.invalid', ['expires_at']);
  });

  test('one that is rotated gets no longer life than that, and a shorter one keeps its own', async () => {
    const rotate = async (id: string) => {
      const { body } = await ask({ method: 'POST', path: `${path}${id}/rotate/`, body: {} });
      return Date.parse((await shown(body.id)).expires_at) - Date.now();
    };
    expect(await rotate(old.id)).toBeGreaterThan(29.9 * dayMs);
    expect(await rotate((await create({ expires_at: inDays(30) })).body.id)).toBeLessThanOrEqual(30 * dayMs);
    expect(await rotate(brief.id)).toBeLessThanOrEqual(5 * dayMs);
  });
});

test('how long keys may live stands in the configuration file, and stays when the file is silent about it', async () => {
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
