/** Layouts of the organization and of a project over the API. */
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

const places = ['/api/o/acme/l/', '/api/o/acme/p/shop/l/'];
const body = '<p>{{ content }}</p>';

describe.each(places)('%s', path => {
  test('creates, retrieves, lists and updates layouts', async () => {
    const made = await ask({ method: 'POST', path, body: { name: 'Simple', body } });
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject({ id: expect.any(Number), name: 'Simple', body });
    const own = `${path}${made.body.id}/`;
    expect(made.headers.location).toBe(service.address + own);
    const found = await ask({ path: own });
    expect([found.body, found.headers.etag]).toEqual([made.body, made.headers.etag]);
    expect((await ask({ path })).body).toContainEqual(made.body);

    const changed = await ask({ method: 'PATCH', path: own, body: { name: 'SIMPLE', body: `${body}!` } });
    expect(changed.body).toMatchObject({ id: made.body.id, name: 'SIMPLE', body: `${body}!` });
    const renamed = await ask({ method: 'PATCH', path: own, body: { name: 'Plain' } });
    expect(renamed.body).toMatchObject({ id: made.body.id, name: 'Plain', body: `${body}!`, version: 2 });

    const versions = await ask({ path: `${own}versions/` });
    const told = { created_at: expect.any(String), by: 'acme all' };
    expect(versions.body).toEqual([
      { version: 2, ...told, current: true },
      { version: 1, ...told, current: false },
    ]);
    const cursor = Buffer.from('after 999999999999999').toString('base64url');
    expect((await ask({ path: `${own}versions/?cursor=${cursor}` })).body).toEqual(versions.body);
    expect((await ask({ path: `${own}versions/1/` })).body).toEqual({ version: 1, ...told, body });
  });

  test('refuses an existing name, ignoring case', { tags: ['sweep'] }, async () => {
    const made = await ask({ method: 'POST', path, body: { name: 'FRAME', body } });
    expect(made.body).toMatchObject({ status: 409, code: 'resource.exists', errors: { name: [expect.anything()] } });
    const other = await ask({ method: 'POST', path, body: { name: 'Other', body } });
    const renamed = await ask({ method: 'PATCH', path: `${path}${other.body.id}/`, body: { name: 'frame' } });
    expect(renamed.body).toMatchObject({ status: 409, code: 'resource.exists', errors: { name: [expect.anything()] } });
  });

  test('refuses an invalid template with line and column', async () => {
    const made = await ask({ method: 'POST', path, body: { name: 'Wrong', body: '{{ content }}\n{% nope %}' } });
    expect(made.body).toMatchObject({
      status: 400,
      code: 'template.invalid',
      errors: { body: ['line 2, column 1: there is no tag "nope"'] },
    });
  });
});

test('a layout that a message uses cannot be renamed, but its body can change', async () => {
  const event = '/api/o/acme/p/shop/a/web/e/order-paid/';
  const words = { message: { body: 'x', layout: 'frame' } };
  await ask({ method: 'PUT', path: `${event}n/${tenants.acme.notificationId}/message/`, body: words });
  const { organization, project } = tenants.acme.layoutIds;
  const own = `/api/o/acme/p/shop/l/${project}/`;
  const refused = await ask({ method: 'PATCH', path: own, body: { name: 'Other frame' } });
  expect(refused.body).toMatchObject({
    status: 409,
    code: 'resource.in_use',
    uses: { notifications: ['shop/web/order-paid/receipt'] },
  });
  expect((await ask({ method: 'PATCH', path: own, body: { body } })).status).toBe(200);
  // The project's own layout takes precedence, so the organization's is not used.
  const hidden = await ask({ method: 'PATCH', path: `/api/o/acme/l/${organization}/`, body: { name: 'Free' } });
  expect(hidden.status, hidden.text).toBe(200);
});

test('of two changes with the same ETag, one succeeds and the other is refused', async () => {
  const path = `/api/o/acme/p/shop/l/${tenants.acme.layoutIds.project}/`;
  const headers = { 'if-match': (await ask({ path })).headers.etag! };
  const answers = await Promise.all(
    ['1', '2'].map(text => ask({ method: 'PATCH', path, body: { body: `${text}{{ content }}` }, headers })),
  );
  expect(answers.map(answer => answer.status).sort()).toEqual([200, 412]);
});
