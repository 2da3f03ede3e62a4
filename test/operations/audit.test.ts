/**
 * Every write is recorded in the audit log. The tests are generated from the route table, so that none is missed.
 * @module-tag sweep
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { routes } from '../../src/http/routes.ts';
import { type Ask, asker } from '../support/api.ts';
import { fill, pathValues } from '../support/api-paths.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';
import { served, unaudited, writes } from '../support/writes.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let peer: HttpPeer;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
  peer = await openHttpPeer({ body: 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n' });
  served.calendar = `${peer.url}/jane.ics`;
  // One of the two is still in progress, so that it can be cancelled.
  await service.runtime.deps.db
    .updateTable('occurrences')
    .set({ status: 'sending', completed_at: null })
    .where('organization_id', '=', tenants.acme.id)
    .execute();
  await service.runtime.deps.db
    .updateTable('accounts')
    .set({ oidc_issuer: 'https://id.test', oidc_subject: sql`id::text` })
    .execute();
  await service.runtime.deps.db
    .updateTable('schedules')
    .set({ test: '{"event":"web/order-paid","every":"30d","at":"10:00"}' })
    .where('organization_id', '=', tenants.acme.id)
    .where('slug', '=', 'primary')
    .execute();
  // The delivery of the other one failed, so that it can be retried.
  await service.runtime.deps.db
    .updateTable('deliveries')
    .set({ status: 'failed' })
    .where('organization_id', '=', tenants.acme.id)
    .where('occurrence_id', '=', tenants.acme.occurrences[1]!.id)
    .execute();
});
afterAll(async () => {
  await peer.close();
  await service.stop();
});

beforeAll(async () => {
  await ask({ method: 'POST', path: '/api/o/acme/p/', body: { slug: 'spare', name: 'Spare' } });
  await ask({ method: 'POST', path: '/api/o/acme/p/shop/a/', body: { slug: 'spare', name: 'Spare' } });
});

const changing = routes.filter(route => route.method !== 'GET' && !(route.id in unaudited));
/** Deletes come last, innermost first; the organization itself is kept. */
const [deleting, others] = [true, false].map(deletes =>
  changing.filter(({ method }) => (method === 'DELETE') === deletes),
);
const innermostFirst = deleting!.toSorted((a, b) => b.path.length - a.path.length);
const inOrder = [...others!, ...innermostFirst.filter(route => route.id !== 'deleteOrganization')];

test('the table of writes lists exactly the routes that change data', () => {
  expect(Object.keys(writes).sort()).toEqual(changing.map(route => route.id).sort());
  for (const id of Object.keys(unaudited)) expect(routes.some(route => route.id === id)).toBe(true);
});

describe.each(inOrder)('$method $path', ({ id, method, path, status }) => {
  test('adds an entry with the actor, the action and the origin', async () => {
    const { body, params, query = '', action, noun, headers: more } = writes[id]!;
    const headers = { ...more, 'x-request-id': `audit-${id}` };
    const at = fill(path, pathValues(tenants), params?.(tenants)) + query;
    const answer = await ask({ method, path: at, body: body?.(), headers });
    expect(answer.status, answer.text).toBe(status);

    const { body: entries } = await ask({ path: '/api/o/acme/audit/?limit=20' });
    const left = entries.filter((entry: { request_id: string }) => entry.request_id === `audit-${id}`);
    expect(left).toContainEqual(
      expect.objectContaining({
        action,
        noun,
        path: expect.stringMatching(/./),
        actor: { kind: 'key', id: expect.any(String), name: 'acme all' },
        origin: '127.0.0.1',
      }),
    );
  });
});

test('an update is recorded with the old and new values of the changed fields only', async () => {
  await ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: 'jo@acme.test', first_name: 'joe' } });
  await ask({ method: 'PATCH', path: '/api/o/acme/u/jo@acme.test/', body: { first_name: 'Joseph' } });
  const { body } = await ask({ path: '/api/o/acme/audit/?noun=user&path=jo@acme.test&limit=1' });
  expect(body[0]).toMatchObject({ before: { first_name: 'joe' }, after: { first_name: 'Joseph' } });
});

test('a rejected request leaves no entry', async () => {
  const headers = { 'x-request-id': 'refused' };
  const answer = await ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: 'jane@acme.test' }, headers });
  expect(answer.status).toBe(400);
  const { body: entries } = await ask({ path: '/api/o/acme/audit/' });
  expect(entries.some((entry: { request_id: string }) => entry.request_id === 'refused')).toBe(false);
});

test('the log of one organization shows nothing of another', async () => {
  const rival = asker(service.address, tenants.rival.keys.all);
  await rival({ method: 'POST', path: '/api/o/rival/u/', body: { email: 'spy@rival.test' } });
  const { text } = await ask({ path: '/api/o/acme/audit/' });
  expect(text).not.toContain('spy@rival.test');
});

test('no entry contains secrets', async () => {
  const providers = [{ use: 'smtp', host: 'mail.acme.test', from: 'a@acme.test', user: 'u', password: 'hush-hush' }];
  const channels = [{ slug: 'sealed', name: 'Sealed', type: 'email', providers }];
  const organization = { slug: 'acme', name: 'Acme', channels };
  const applied = await ask({ method: 'POST', path: '/api/o/acme/configuration/apply/', body: { organization } });
  expect(applied.status, applied.text).toBe(200);
  const secrets = { secret: 'hush-hush', update_secret: 'hush-hush', token: 'hush-hush'.padEnd(32, '0') };
  const bodies = {
    sources: { slug: 'sealed', use: 'alertmanager', routes: [{ event: 'order-paid' }], ...secrets },
    watches: {
      slug: 'sealed',
      event: 'order-paid',
      every: '1h',
      enabled: false,
      url: 'https://watch.acme.test/hush-hush',
    },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const created = await ask({ method: 'POST', path: `/api/o/acme/p/shop/a/web/${path}/`, body });
    expect(created.status, created.text).toBe(201);
  }
  const { text } = await ask({ path: '/api/o/acme/audit/' });
  expect(text).toContain('mail.acme.test');
  expect(text).not.toContain('hush-hush');
});

test('the deletion of an organization stays in the log', async () => {
  const { acme } = tenants;
  const { query, action, noun } = writes.deleteOrganization!;
  const answer = await ask({ method: 'DELETE', path: `/api/o/acme/${query}` });
  expect(answer.status, answer.text).toBe(200);
  const { db } = service.runtime.deps;
  const entries = db.selectFrom('audit').selectAll().where('organization_id', '=', acme.id);
  const last = await entries.orderBy('id', 'desc').limit(1).executeTakeFirst();
  expect(last).toMatchObject({ action, noun, path: 'acme', actor_name: 'acme all' });
  expect((await ask({ path: '/api/o/acme/audit/' })).status).toBe(401);
});
