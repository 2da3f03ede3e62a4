/** The lifecycle of keys: changes, rotation with an overlap, and deletion. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';
import { keyIdOf, type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let count = 0;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const at = (id: string, rest = '') => `/api/o/acme/k/${id}/${rest}`;
const ping = async (key: string) => (await ask({ path: '/api/system/ping/', key })).status;

async function create(more: Record<string, unknown> = {}): Promise<{ id: string; name: string; key: string }> {
  const body = { name: `over time ${++count}`, permissions: ['system:ping'], ...more };
  const answer = await ask({ method: 'POST', path: '/api/o/acme/k/', body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

test('a key is renamed and gets limits and an expiry, and its ETag does not change with its use', async () => {
  const { id, key } = await create();
  const read = await ask({ path: at(id) });
  expect(read.body).toMatchObject({ id, name: `over time ${count}`, expires_at: null });
  await ping(key);
  await service.runtime.deps.keyUse.flush(service.runtime.deps.db);
  expect((await ask({ path: at(id) })).body.last_used_at).not.toBeNull();
  const headers = { 'if-match': read.headers.etag! };
  const body = { name: 'limited', requests_per_second: 5, expires_at: '2090-01-31T09:00:00Z' };
  const changed = await ask({ method: 'PATCH', path: at(id), headers, body });
  expect(changed.status, changed.text).toBe(200);
  expect(changed.body).toMatchObject({ ...body, expires_at: '2090-01-31T09:00:00.000Z' });
  expectProblem(await ask({ method: 'PATCH', path: at(id), headers, body: {} }), 412, 'request.stale');
  const lifted = await ask({ method: 'PATCH', path: at(id), body: { requests_per_second: null, expires_at: null } });
  expect(lifted.body).toMatchObject({ name: 'limited', requests_per_second: null, expires_at: null });
  const taken = await ask({ method: 'PATCH', path: at(id), body: { name: 'acme all' } });
  expect([taken.status, taken.body.code]).toEqual([409, 'resource.exists']);
  expectProblem(await ask({ method: 'PATCH', path: at(id), body: { permissions: ['*'] } }), 400);
});

test('after a rotation both keys work until the old one expires', async () => {
  const old = await create({ project: 'shop', requests_per_second: 100 });
  const rotated = await ask({ method: 'POST', path: at(old.id, 'rotate/'), body: { overlap: '1h' } });
  expect(rotated.status, rotated.text).toBe(201);
  const { id, name, key, previous } = rotated.body;
  expect([name, previous.id]).toEqual([old.name, old.id]);
  const hour = Date.parse(previous.expires_at) - Date.now();
  expect(hour).toBeGreaterThan(3_500_000);
  expect(hour).toBeLessThanOrEqual(3_600_000);
  expect(await ping(old.key)).toBe(200);
  expect(await ping(key)).toBe(200);
  const { body: fresh } = await ask({ path: at(id) });
  expect(fresh).toMatchObject({
    project: 'shop',
    permissions: ['system:ping'],
    requests_per_second: 100,
    expires_at: null,
  });
  expect((await ask({ path: at(old.id) })).body.name).toMatch(/^over time \d+ \(until 20.*Z\)$/);

  await ask({ method: 'PATCH', path: at(old.id), body: { expires_at: new Date(Date.now() - 1_000).toISOString() } });
  await eventually(async () => expect(await ping(old.key)).toBe(401));
  expect(await ping(key)).toBe(200);
  expectProblem(await ask({ method: 'POST', path: at(old.id, 'rotate/') }), 409, 'key.ended');
  for (const overlap of ['0s', 'soon', '91d', '1e2s']) {
    expectProblem(await ask({ method: 'POST', path: at(id, 'rotate/'), body: { overlap } }), 400, 'request.invalid', [
      'overlap',
    ]);
  }
});

test('rotating a key does not give the caller more permissions', async () => {
  const strong = await create({ permissions: ['*'] });
  const weak = asker(service.address, tenants.acme.keys.only['key:write']);
  expectProblem(await weak({ method: 'POST', path: at(strong.id, 'rotate/'), body: {} }), 400, 'request.invalid', [
    'key',
  ]);
  expect((await ask({ path: at(strong.id) })).body.name).toBe(strong.name);
});

test('a key with more permissions than the caller cannot be changed, but can be revoked', async () => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const strong = await create({ permissions: ['key:write', 'user:read'], expires_at });
  const ended = await create({ permissions: ['*'], expires_at: '2020-01-31T09:00:00Z' });
  const weak = asker(service.address, tenants.acme.keys.only['key:write']);
  for (const { id } of [strong, ended]) {
    const before = (await ask({ path: at(id) })).body;
    for (const body of [
      { expires_at: null },
      { expires_at: '2090-01-31T09:00:00Z' },
      { requests_per_second: 1 },
      { requests_per_second: null },
      { name: 'mine now' },
    ]) {
      const refused = await weak({ method: 'PATCH', path: at(id), body });
      expectProblem(refused, 400, 'request.invalid', ['key']);
    }
    expect((await ask({ path: at(id) })).body).toEqual(before);
  }
  const said = await weak({ method: 'PATCH', path: at(strong.id), body: { requests_per_second: 1 } });
  expect(said.body.errors.key).toEqual(['has permissions that you lack (user:read), so you cannot change it']);
  const own = await create({ permissions: ['key:write'] });
  expect((await weak({ method: 'PATCH', path: at(own.id), body: { requests_per_second: 9 } })).status).toBe(200);
  expect((await weak({ method: 'POST', path: '/api/o/acme/k/revoke/', body: { key: strong.id } })).status).toBe(200);
});

test('only a revoked or expired key can be deleted', async () => {
  const { id, name } = await create();
  const refused = await ask({ method: 'DELETE', path: at(id) });
  expect([refused.status, refused.body.code]).toEqual([409, 'resource.in_use']);
  await ask({ method: 'POST', path: '/api/o/acme/k/revoke/', body: { key: name } });
  expect((await ask({ method: 'DELETE', path: `${at(id)}?dry_run=true` })).body).toEqual({
    deleted: { keys: 1 },
    dry_run: true,
  });
  expect((await ask({ method: 'DELETE', path: at(id) })).body).toEqual({ deleted: { keys: 1 } });
  expectProblem(await ask({ path: at(id) }), 404, 'key.not_found');
  expect((await create({ name })).name).toBe(name);
});

test('a scope or secret that is changed in the database takes effect at once', async () => {
  const wide = await create({ permissions: ['user:read'] });
  const users = async () => (await ask({ path: '/api/o/acme/u/', key: wide.key })).status;
  expect(await users()).toBe(200);
  const { url } = service.runtime;
  await runSql(url, 'update keys set project_id = $2 where id = $1', [wide.id, tenants.acme.projectId]);
  await eventually(async () => expect(await users()).toBe(404));
  await runSql(url, 'update keys set project_id = null where id = $1', [wide.id]);
  await eventually(async () => expect(await users()).toBe(200));
  const other = keyIdOf(tenants.acme.keys.onProject);
  await runSql(url, 'update keys set secret_hash = (select secret_hash from keys where id = $2) where id = $1', [
    wide.id,
    other,
  ]);
  await eventually(async () => expect(await users()).toBe(401));
});
