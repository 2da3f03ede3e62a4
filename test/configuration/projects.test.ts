/** Creating, reading and updating projects, applications and events over the API. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const shop = '/api/o/acme/p/shop/';

describe('creating', () => {
  test('a project returns its fields, location and ETag', async () => {
    const made = await ask({ method: 'POST', path: '/api/o/acme/p/', body: { slug: 'lab', name: 'Lab' } });
    expect([made.status, made.body.slug, made.body.name], made.text).toEqual([201, 'lab', 'Lab']);
    expect(made.headers.location).toBe(`${service.address}/api/o/acme/p/lab/`);
    const found = await ask({ path: '/api/o/acme/p/lab/' });
    expect(found.body).toEqual(made.body);
    expect(found.headers.etag).toBe(made.headers.etag);
  });

  test('an application and an event below it succeeds', async () => {
    const application = await ask({ method: 'POST', path: `${shop}a/`, body: { slug: 'app', name: 'App' } });
    expect(application.body).toEqual({
      slug: 'app',
      name: 'App',
      guard: null,
      paused: false,
      paused_reason: null,
      created_at: expect.any(String),
    });
    const body = { slug: 'made', name: 'Made', active: false };
    const event = await ask({ method: 'POST', path: `${shop}a/app/e/`, body });
    expect(event.status, event.text).toBe(201);
    expect(event.body).toEqual({
      ...body,
      category: 'general',
      context_schema: null,
      guard: null,
      sample_context: null,
      paused: false,
      paused_reason: null,
      created_at: expect.any(String),
      notifications: [],
    });
    expect(event.headers.location).toBe(`${service.address}${shop}a/app/e/made/`);
    expect((await ask({ path: `${shop}a/app/e/made/` })).body).toEqual(event.body);
  });

  test('is refused if the slug exists, and the existing object is unchanged', async () => {
    for (const [path, slug] of [
      ['/api/o/acme/p/', 'shop'],
      [`${shop}a/`, 'web'],
      [`${shop}a/web/e/`, 'order-paid'],
    ]) {
      const answer = await ask({ method: 'POST', path: path!, body: { slug, name: 'Another' } });
      expect([answer.status, answer.body.code, Object.keys(answer.body.errors)], answer.text).toEqual([
        409,
        'resource.exists',
        ['slug'],
      ]);
    }
    expect((await ask({ path: shop })).body.name).toBe('Shop');
  });

  test.each([
    [{ slug: 'Lab', name: 'Lab' }, ['slug']],
    [{ slug: 'a--b', name: ' ' }, ['slug', 'name']],
    [{ slug: 'x' }, ['name']],
    [{ slug: 'x', name: 'X', applications: [] }, ['applications']],
  ])('is refused with the invalid fields: %j', async (body, fields) => {
    const answer = await ask({ method: 'POST', path: '/api/o/acme/p/', body });
    expect(answer.body).toMatchObject({ status: 400, code: 'request.invalid' });
    expect(Object.keys(answer.body.errors).sort()).toEqual(fields.toSorted());
  });
});

describe('updating', () => {
  test('keeps absent fields, and the audit log shows the difference', async () => {
    const path = `${shop}a/web/e/order-shipped/`;
    const answer = await ask({ method: 'PATCH', path, body: { active: false } });
    expect(answer.body).toMatchObject({ name: 'Order shipped', active: false });
    expect((await ask({ path })).headers.etag).toBe(answer.headers.etag);
    const { body } = await ask({ path: '/api/o/acme/audit/?limit=1' });
    expect(body[0]).toMatchObject({
      action: 'update',
      noun: 'event',
      path: 'shop/web/order-shipped',
      before: { active: true },
      after: { active: false },
    });
    expect((await ask({ method: 'PATCH', path, body: { active: null } })).body.active).toBe(true);
  });

  test('without a change leaves no audit entry', async () => {
    const before = await ask({ path: '/api/o/acme/audit/?limit=1' });
    expect((await ask({ method: 'PATCH', path: shop, body: {} })).status).toBe(200);
    expect((await ask({ path: '/api/o/acme/audit/?limit=1' })).body).toEqual(before.body);
  });

  test('a slug is refused, unless it is the current one', async () => {
    for (const path of [shop, `${shop}a/web/`, `${shop}a/web/e/order-paid/`]) {
      const slug = path.split('/').at(-2);
      expect((await ask({ method: 'PATCH', path, body: { slug } })).status).toBe(200);
      const answer = await ask({ method: 'PATCH', path, body: { slug: 'other' } });
      expect(answer.body).toMatchObject({
        status: 400,
        errors: { slug: [expect.stringContaining('cannot be changed')] },
      });
    }
  });

  test('a name takes effect everywhere at once', async () => {
    await ask({ method: 'PATCH', path: `${shop}a/till/`, body: { name: 'Cash desk' } });
    expect((await ask({ path: `${shop}a/` })).body).toContainEqual(expect.objectContaining({ name: 'Cash desk' }));
    await ask({ method: 'PATCH', path: shop, body: { name: 'The shop' } });
    expect((await ask({ path: shop })).body.name).toBe('The shop');
    await ask({ method: 'PATCH', path: shop, body: { name: 'Shop' } });
  });

  test('of two changes with the same ETag, one succeeds and the other is refused', async () => {
    for (const path of [shop, `${shop}a/web/`, `${shop}a/web/e/order-paid/`]) {
      const { etag } = (await ask({ path })).headers;
      const headers = { 'if-match': etag! };
      const answers = await Promise.all(
        ['One', 'Two'].map(name => ask({ method: 'PATCH', path, body: { name }, headers })),
      );
      expect(answers.map(answer => answer.status).sort()).toEqual([200, 412]);
      const made = answers.find(answer => answer.status === 200)!;
      expect((await ask({ path })).body.name).toBe(made.body.name);
      const again = await ask({
        method: 'PATCH',
        path,
        body: { name: 'Three' },
        headers: { 'if-match': made.headers.etag! },
      });
      expect(again.status).toBe(200);
    }
  });
});

test('an update reads only the objects on its path', { tags: ['sweep'] }, async () => {
  const { db } = service.runtime.deps;
  const { id, applicationId } = tenants.rival;
  const rows = Array.from({ length: 5_000 }, (_, i) => ({
    organization_id: id,
    application_id: applicationId,
    slug: `e-${i}`,
    name: 'E',
  }));
  await db.insertInto('events').values(rows).execute();
  const rival = asker(service.address, tenants.rival.keys.all);
  const time = async (path: string, asking: Ask) => {
    const times: number[] = [];
    for (let i = 0; i < 8; i++) {
      const from = performance.now();
      expect((await asking({ method: 'PATCH', path, body: { name: `N ${i}` } })).status).toBe(200);
      times.push(performance.now() - from);
    }
    return Math.min(...times);
  };
  const small = await time(`${shop}a/web/e/order-lost/`, ask);
  const large = await time('/api/o/rival/p/shop/a/web/e/e-7/', rival);
  // Reading all of them takes ten times as long; the margin is for a busy machine.
  expect(large).toBeLessThan(small * 3 + 5);
});
