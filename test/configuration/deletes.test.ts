/** Deleting configuration objects: what is deleted with them, what blocks it, and what is kept. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { settleDeliveriesAcrossTenants } from '../../src/db/ledger/deliver/deliveries.ts';
import { deleteOldStatisticsAcrossTenants } from '../../src/db/operations/retention.ts';
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

const del = (path: string, headers: Record<string, string> = {}) => ask({ method: 'DELETE', path, headers });
const make = async (path: string, body: object) => {
  const answer = await ask({ method: 'POST', path, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
};
const words = (more: object = {}) => ({
  name: 'n',
  recipients: { trigger: true },
  channels: ['mail'],
  message: { body: 'x' },
  ...more,
});

describe('an object with others below it', () => {
  const lab = '/api/o/acme/p/lab/';
  beforeAll(async () => {
    await make('/api/o/acme/p/', { slug: 'lab', name: 'Lab' });
    await make(`${lab}a/`, { slug: 'one', name: 'One' });
    await make(`${lab}a/`, { slug: 'two', name: 'Two' });
    await make(`${lab}a/one/e/`, { slug: 'e', name: 'E' });
    await make(`${lab}a/one/e/e/n/`, words());
    await make(`${lab}c/`, { slug: 'own', name: 'Own', type: 'email', providers: [{ use: 'sandbox' }] });
    await make(`${lab}l/`, { name: 'Own', body: '{{ content }}' });
    await make(`${lab}d/`, { name: 'Own' });
    await make('/api/o/acme/k/', { name: 'lab key', permissions: ['user:read'], project: 'lab', application: 'one' });
  });
  const below = {
    applications: 2,
    events: 1,
    notifications: 1,
    channels: 1,
    layouts: 1,
    distribution_lists: 1,
    keys: 1,
  };

  test('is not deleted, and the error says what would be deleted too', async () => {
    for (const [path, uses] of [
      [lab, below],
      [`${lab}a/one/`, { events: 1, notifications: 1, keys: 1 }],
      [`${lab}a/one/e/e/`, { notifications: 1 }],
    ] as const) {
      const answer = await del(path);
      expect(answer.body, answer.text).toMatchObject({ status: 409, code: 'resource.in_use', uses });
      expect(Object.keys(answer.body.uses).sort()).toEqual(Object.keys(uses).sort());
    }
  });

  test('returns in a dry run what would be deleted, and deletes nothing', async () => {
    const answer = await del(`${lab}?dry_run=true&cascade=true`);
    expect([answer.status, answer.body]).toEqual([200, { deleted: { projects: 1, ...below }, dry_run: true }]);
    expect((await ask({ path: lab })).status).toBe(200);
  });

  test('is deleted with cascade, unless it was changed in the meantime', async () => {
    expect((await del(`${lab}?cascade=true`, { 'if-match': '"older"' })).status).toBe(412);
    const { etag } = (await ask({ path: lab })).headers;
    const answer = await del(`${lab}?cascade=true`, { 'if-match': etag! });
    expect([answer.status, answer.body]).toEqual([200, { deleted: { projects: 1, ...below } }]);
    expect((await ask({ path: lab })).status).toBe(404);
    const { body } = await ask({ path: '/api/o/acme/audit/?limit=1' });
    expect(body[0]).toMatchObject({
      action: 'delete',
      noun: 'project',
      path: 'lab',
      after: { deleted: { projects: 1 } },
    });
  });
});

describe('an object that notifications use', () => {
  const shop = '/api/o/acme/p/shop/';
  const event = `${shop}a/web/e/order-shipped/`;
  const sandbox = { providers: [{ use: 'sandbox' }] };

  test('a channel is kept while a current version names its slug', async () => {
    await make('/api/o/acme/c/', { slug: 'pager', name: 'Pager', type: 'push', ...sandbox });
    const { id } = await make(`${event}n/`, words({ name: 'by-slug', channels: ['pager'] }));
    const refused = await del('/api/o/acme/c/pager/');
    expect(refused.body).toMatchObject({
      status: 409,
      code: 'resource.in_use',
      uses: { notifications: ['shop/web/order-shipped/by-slug'] },
    });
    expect((await del('/api/o/acme/c/pager/?cascade=true&dry_run=true')).status).toBe(409);
    const path = `${event}n/${id}/`;
    await ask({ method: 'PATCH', path, body: { channels: ['mail'] } });
    await ask({
      method: 'PUT',
      path: `${path}message/`,
      body: { message: { body: 'x' }, overrides: { pager: { body: 'y' } } },
    });
    expect((await del('/api/o/acme/c/pager/')).status).toBe(409);
    await ask({ method: 'PUT', path: `${path}message/`, body: { message: { body: 'x' } } });
    expect((await del('/api/o/acme/c/pager/')).body).toEqual({ deleted: { channels: 1 } });
  });

  test('the last channel of a type is kept while a notification names the type', async () => {
    const channel = { name: 'Inbox', type: 'inbox', providers: [{ use: 'inbox' }] };
    await make('/api/o/acme/c/', { slug: 'in-1', ...channel });
    await make(`${shop}c/`, { slug: 'in-2', ...channel });
    await make(`${event}n/`, words({ name: 'by-type', channels: ['inbox'] }));
    expect((await del(`${shop}c/in-2/`)).status).toBe(200);
    expect((await del('/api/o/acme/c/in-1/')).body.uses).toEqual({
      notifications: ['shop/web/order-shipped/by-type'],
    });
  });

  test("an organization's channel can be deleted if the project has its own with that slug", async () => {
    for (const path of ['/api/o/acme/c/', `${shop}c/`]) {
      await make(path, { slug: 'twin', name: 'Twin', type: 'discord', ...sandbox });
    }
    await make(`${event}n/`, words({ name: 'twins', channels: ['twin'] }));
    expect((await del(`${shop}c/twin/`)).status).toBe(409);
    expect((await del('/api/o/acme/c/twin/')).status).toBe(200);
  });

  test('a layout is kept while a message uses it', async () => {
    const layout = await make(`${shop}l/`, { name: 'Kept', body: '{{ content }}' });
    const path = `${shop}l/${layout.id}/`;
    const named = words({ name: 'laid-out', message: { body: 'x', layout: 'KEPT' } });
    const { id } = await make(`${event}n/`, named);
    expect((await del(path)).body.uses).toEqual({ notifications: ['shop/web/order-shipped/laid-out'] });
    expect((await del(`${event}n/${id}/`)).body).toEqual({ deleted: { notifications: 1 } });
    expect((await del(path)).body).toEqual({ deleted: { layouts: 1 } });
  });

  test('the error names at most twenty notifications', { tags: ['sweep'] }, async () => {
    await make('/api/o/acme/c/', { slug: 'busy', name: 'Busy', type: 'telegram', ...sandbox });
    for (let i = 0; i < 22; i++) await make(`${event}n/`, words({ name: `busy-${i}`, channels: ['busy'] }));
    const { body } = await del('/api/o/acme/c/busy/');
    expect(body.uses.notifications).toHaveLength(20);
    expect(body.detail).toContain('21 more');
  });
});

test('history is kept when its event is deleted', async () => {
  const { acme } = tenants;
  const path = '/api/o/acme/p/shop/a/web/e/order-paid/';
  const answer = await del(`${path}?cascade=true`);
  expect(answer.body).toEqual({ deleted: { events: 1, notifications: 1 } });
  const { id } = acme.occurrences[0]!;
  const occurrence = await ask({ path: `/api/o/acme/occurrence/${id}/` });
  expect([occurrence.status, occurrence.body.event]).toEqual([200, null]);
  expect((await ask({ path: `/api/o/acme/occurrence/${id}/deliveries/` })).body).toHaveLength(1);
});

test('an organization is deleted with everything but its history, and others are not affected', async () => {
  const { rival } = tenants;
  const asRival = asker(service.address, rival.keys.all);
  const refused = await asRival({ method: 'DELETE', path: '/api/o/rival/' });
  expect(refused.body).toMatchObject({ status: 409, uses: { projects: 2, users: 2, channels: 7, applications: 3 } });
  const answer = await asRival({ method: 'DELETE', path: '/api/o/rival/?cascade=true' });
  expect(answer.body.deleted).toMatchObject({ organizations: 1, projects: 2, events: 5, notifications: 2 });
  expect((await asRival({ path: '/api/o/rival/' })).status).toBe(401);

  const { db } = service.runtime.deps;
  const left = await db.selectFrom('occurrences').select('id').where('organization_id', '=', rival.id).execute();
  expect(left).toHaveLength(2);
  expect((await ask({ path: '/api/o/acme/u/' })).body).toHaveLength(2);

  // Messages that were in flight are settled together with those of others.
  const under = [...rival.occurrences.slice(0, 1), ...tenants.acme.occurrences.slice(0, 1)];
  const ids = under.map(({ deliveryId }) => deliveryId);
  await db.updateTable('deliveries').set({ status: 'sending', attempts: 1 }).where('id', 'in', ids).execute();
  const settled = await settleDeliveriesAcrossTenants(
    service.runtime.database.pool,
    under.map(({ id, deliveryId }, i) => ({
      organization_id: [rival.id, tenants.acme.id][i]!,
      occurrence_id: id,
      id: deliveryId,
      attempts: 1,
      tried: true,
      status: 'sent' as const,
      reason: null,
      detail: null,
      provider: 'smtp',
      provider_message_id: null,
      provider_index: 0,
      provider_attempts: 1,
      due_at: null,
      snapshot_id: null,
      user_version: null,
      digest_id: null,
      attempt: null,
      event_id: 1,
      since: new Date(),
    })),
  );
  expect(settled).toMatchObject({ settled: 2 });
  await deleteOldStatisticsAcrossTenants(db, new Date());
  expect(await db.selectFrom('delivery_stats').select('organization_id').distinct().execute()).toEqual([
    { organization_id: tenants.acme.id },
  ]);
});
