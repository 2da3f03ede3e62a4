/** Settings of an organization. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { buildTenants } from '../support/tenants.ts';

let service: Service;
let ask: Ask;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  const { acme } = await buildTenants(service.runtime.deps);
  ask = asker(service.address, acme.keys.all);
});
afterAll(() => service.stop());

const path = '/api/o/acme/';

test('settings are retrieved and updated, and absent ones are kept', async () => {
  const before = await ask({ path: `${path}settings/` });
  expect(before.body).toEqual({
    slug: 'acme',
    name: 'The acme company',
    retention_days: 90,
    max_key_lifetime_days: null,
    brand_color: null,
    logo_url: null,
    timezone: null,
    quiet_hours: null,
    max_per_day: null,
    guard: null,
    service_levels: null,
    two_factor_required: false,
    created_at: expect.any(String),
  });
  const changed = await ask({ method: 'PATCH', path, body: { retention_days: 30 } });
  expect(changed.body, changed.text).toEqual({ ...before.body, retention_days: 30 });
  expect((await ask({ path: `${path}settings/` })).headers.etag).toBe(changed.headers.etag);
  const renamed = await ask({ method: 'PATCH', path, body: { name: 'Acme' } });
  expect(renamed.body).toMatchObject({ name: 'Acme', retention_days: 30 });
  expect((await ask({ path })).body.name).toBe('Acme');
});

test.each([
  { retention_days: 0 },
  { retention_days: null },
  { max_key_lifetime_days: 0 },
  { name: '' },
  { slug: 'other' },
])('refuses %j with its field', async body => {
  const answer = await ask({ method: 'PATCH', path, body });
  expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, Object.keys(body)]);
});

test('of two changes with the same ETag, one succeeds and the other is refused', async () => {
  const headers = { 'if-match': (await ask({ path: `${path}settings/` })).headers.etag! };
  const answers = await Promise.all(
    ['One', 'Two'].map(name => ask({ method: 'PATCH', path, body: { name }, headers })),
  );
  expect(answers.map(answer => answer.status).sort()).toEqual([200, 412]);
});
