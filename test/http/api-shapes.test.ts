/** Responses and rejected bodies of the twenty Bitcaster-compatible endpoints, generated from their table. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker, expectFields, expectProblem } from '../support/api.ts';
import { fill, pathValues } from '../support/api-paths.ts';
import { endpoints } from '../support/api-table.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let values: ReturnType<typeof pathValues>;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
  values = pathValues(tenants);
});
afterAll(() => service.stop());

const titled = endpoints.map(endpoint => ({
  ...endpoint,
  title: `${endpoint.number} ${endpoint.operation} (${endpoint.method})`,
}));

describe.each(titled)('$title', ({ method, path, status, answer: fields, body, refused = [] }) => {
  test(`answers ${status} with exactly the specified fields`, async () => {
    const answer = await ask({ method, path: fill(path, values), body: body?.() });
    expect(answer.status, answer.text).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    if (!Array.isArray(fields)) return expectFields(answer.body, fields);
    expect(answer.body.length).toBeGreaterThan(0);
    for (const item of answer.body) expectFields(item, fields[0]);
  });

  test.each(refused)('rejects %s', async (_what, bad, named, code = 'request.invalid') => {
    expectProblem(await ask({ method, path: fill(path, values), body: bad }), 400, code, named);
  });
});

describe('the values', () => {
  const get = async (path: string) => (await ask({ path })).body;
  const at = (path: string) => `${service.address}${path}`;

  test('an organization links to its users, projects and channels', async () => {
    expect(await get('/api/o/acme/')).toEqual({
      name: 'The acme company',
      slug: 'acme',
      users: at('/api/o/acme/u/'),
      projects: at('/api/o/acme/p/'),
      channels: at('/api/o/acme/c/'),
    });
  });

  test('a project links to its applications, channels and distribution lists', async () => {
    const shop = {
      name: 'Shop',
      slug: 'shop',
      applications: at('/api/o/acme/p/shop/a/'),
      channels: at('/api/o/acme/p/shop/c/'),
      distribution_lists: at('/api/o/acme/p/shop/d/'),
    };
    expect(await get('/api/o/acme/p/shop/')).toEqual(shop);
    expect(await get('/api/o/acme/p/')).toEqual([shop, expect.objectContaining({ slug: 'depot' })]);
  });

  test('applications link to their events', async () => {
    expect(await get('/api/o/acme/p/shop/a/')).toEqual([
      { name: 'Web shop', slug: 'web', events: at('/api/o/acme/p/shop/a/web/e/') },
      { name: 'Till', slug: 'till', events: at('/api/o/acme/p/shop/a/till/e/') },
    ]);
  });

  test('events are listed whether or not they are active', async () => {
    expect(await get('/api/o/acme/p/shop/a/web/e/')).toEqual([
      { name: 'Order paid', slug: 'order-paid' },
      { name: 'Order shipped', slug: 'order-shipped' },
      { name: 'Order lost', slug: 'order-lost' },
    ]);
  });

  test('the organization lists its own channels, and a project its own', async () => {
    expect(await get('/api/o/acme/c/')).toEqual([
      { name: 'Mail', slug: 'mail', type: 'email', enabled: true },
      { name: 'Texts', slug: 'texts', type: 'sms', enabled: false },
      { name: 'Relay', slug: 'relay', type: 'webhook', enabled: false },
    ]);
    expect(await get('/api/o/acme/p/shop/c/')).toEqual([
      { name: 'Shop relay', slug: 'relay', type: 'webhook', enabled: false },
      { name: 'Old mail', slug: 'old-mail', type: 'email', enabled: false },
      { name: 'Shop mail', slug: 'shop-mail', type: 'email', enabled: true },
    ]);
    expect(await get('/api/o/acme/p/depot/c/')).toEqual([
      { name: 'Hooks', slug: 'hooks', type: 'webhook', enabled: true },
    ]);
  });

  test('a distribution list links to its members', async () => {
    const { listId } = tenants.acme;
    const list = { id: listId, name: 'Customers', members: at(`/api/o/acme/p/shop/d/${listId}/m/`) };
    expect(await get(`/api/o/acme/p/shop/d/${listId}/`)).toEqual(list);
    expect((await get('/api/o/acme/p/shop/d/'))[0]).toEqual(list);
  });

  test('ping returns the name of the key, whatever its scope', async () => {
    const { keys } = tenants.rival;
    const ping = async (key: string) => (await ask({ path: '/api/system/ping/', key })).body;
    expect(await ping(keys.all)).toEqual({ token: 'rival all' });
    expect(await ping(keys.onApplication)).toEqual({ token: 'rival web' });
  });

  test('slugs are case-sensitive', async () => {
    for (const path of ['/api/o/ACME/', '/api/o/acme/p/Shop/']) {
      expectProblem(await ask({ path }), 404);
    }
  });
});
