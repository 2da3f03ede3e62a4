/** An account's own sessions, and audit entries for failed sign-ins and for reading whole lists. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { Browser, password, signInNewAccount } from '../support/accounts.ts';
import { ask, asker, expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;

beforeAll(async () => {
  ({ service, tenants } = await testTenants({ TRUST_PROXY: '127.0.0.1' }));
});
afterAll(() => service.stop());

const person = (input = {}) => signInNewAccount(service.address, service.runtime.deps, input);

describe('the own sessions of an account', () => {
  test('are listed with device, address and last use, and mark the current one', async () => {
    const owner = await person();
    const phone = new Browser(service.address);
    const headers = { 'x-forwarded-for': '192.0.2.7', 'user-agent': 'Phone/1.0' };
    const body = { email: owner.email, password };
    await phone.ask({ method: 'POST', path: '/api/session/', body, headers });
    const { body: rows } = await owner.ask({ path: '/api/sessions/' });
    const times = { created_at: expect.any(String), last_used_at: expect.any(String) };
    const session = { id: expect.any(Number), ...times, method: 'password' };
    expect(rows).toEqual([
      { ...session, user_agent: null, origin: '127.0.0.1', current: true },
      { ...session, user_agent: 'Phone/1.0', origin: '192.0.2.7', current: false },
    ]);
    const { body: seen } = await phone.ask({ path: '/api/sessions/' });
    expect(seen.map((row: { current: boolean }) => row.current)).toEqual([false, true]);
  });

  test('show a last use that has not been written yet', async () => {
    const owner = await person();
    const { db } = service.runtime.deps;
    const last_used_at = new Date(Date.now() - 3_600_000);
    await db.updateTable('sessions').set({ last_used_at }).where('account_id', '=', owner.id).execute();
    const { body } = await owner.ask({ path: '/api/sessions/' });
    expect(Date.now() - Date.parse(body[0].last_used_at)).toBeLessThan(60_000);
  });

  test('are ended one by one, or all except the current one', async () => {
    const owner = await person();
    const others = [new Browser(service.address), new Browser(service.address), new Browser(service.address)];
    for (const other of others) await other.signIn(owner.email);
    const { body: rows } = await owner.ask({ path: '/api/sessions/' });
    const end = (id: number | string) => owner.ask({ method: 'DELETE', path: `/api/sessions/${id}/` });
    expect((await end(rows[1].id)).body).toEqual({ ended: 1 });
    await eventually(async () => expectProblem(await others[0]!.ask({ path: '/api/session/' }), 401), 1_000);
    expectProblem(await end(rows[1].id), 404, 'session.not_found');
    expect((await others[1]!.ask({ path: '/api/session/' })).status).toBe(200);
    const rest = await owner.ask({ method: 'DELETE', path: '/api/sessions/' });
    expect(rest.body).toEqual({ ended: 2 });
    await eventually(async () => expectProblem(await others[2]!.ask({ path: '/api/session/' }), 401), 1_000);
    expect((await owner.ask({ path: '/api/session/' })).status).toBe(200);
    const self = await end(rows[0].id);
    expect(self.headers['set-cookie']![0]).toMatch(/^belfry_session=; Max-Age=0/);
    expectProblem(await owner.ask({ path: '/api/session/' }), 401);
  });

  test('are not visible to other accounts', async () => {
    const [one, two] = [await person(), await person()];
    const { body } = await one.ask({ path: '/api/sessions/' });
    for (const id of [body[0].id, 0, 'nonsense', '9'.repeat(30)]) {
      expectProblem(await two.ask({ method: 'DELETE', path: `/api/sessions/${id}/` }), 404, 'session.not_found');
    }
    expect((await two.ask({ path: '/api/sessions/' })).body).toHaveLength(1);
    expect((await one.ask({ path: '/api/session/' })).status).toBe(200);
    expectProblem(await ask(service.address, { path: '/api/sessions/', key: tenants.acme.keys.all }), 401);
  });

  test('that are ended are recorded', async () => {
    const owner = await person({ membership: { organization: 'acme', role: 'owner' } });
    const other = new Browser(service.address);
    await other.signIn(owner.email);
    const { body: rows } = await owner.ask({ path: '/api/sessions/' });
    await owner.ask({ method: 'DELETE', path: `/api/sessions/${rows[1].id}/` });
    const { body } = await owner.ask({ path: `/api/o/acme/audit/?path=${owner.email}&limit=1` });
    expect(body[0]).toMatchObject({ action: 'end session', actor: { name: owner.email } });
  });
});

describe('the audit log', () => {
  const key = () => asker(service.address, tenants.acme.keys.all);
  const headers = { 'x-forwarded-for': '192.0.2.44' };
  const newest = async (count = 1) => (await key()({ path: `/api/o/acme/audit/?limit=${count}` })).body;

  test('records a failed sign-in with its origin in the organizations of the account', async () => {
    const owner = await person({ membership: { organization: 'acme', role: 'owner' } });
    const body = { email: owner.email, password: 'wrong password' };
    await ask(service.address, { method: 'POST', path: '/api/session/', body, headers });
    // Recorded in the background, so that the response takes as long as for an unknown account.
    await eventually(async () =>
      expect((await newest())[0]).toMatchObject({
        actor: { kind: 'visitor', id: null, name: 'anonymous' },
        action: 'sign in failed',
        noun: 'account',
        path: owner.email,
        after: { wrong: 'password' },
        origin: '192.0.2.44',
      }),
    );
    const { text } = await key()({ path: '/api/o/acme/audit/' });
    expect(text).not.toContain('wrong password');
  });

  test.each([
    ['users', '/api/o/acme/u/', 'read', 'user', ''],
    ['users that a search finds', '/api/o/acme/u/?search=jane', 'read', 'user', ''],
    ['members of a list', '/api/o/acme/p/shop/d/:list/m/', 'read', 'list', 'shop/Customers'],
    ['members with their names', '/api/o/acme/p/shop/d/:list/members/', 'read', 'list', 'shop/Customers'],
    ['accounts', '/api/o/acme/account/', 'read', 'account', ''],
    ['a list as CSV', '/api/o/acme/p/shop/d/:list/export/', 'export', 'list', 'shop/Customers'],
    ['the configuration', '/api/o/acme/configuration/', 'export', 'organization', 'acme'],
    ['the log itself', '/api/o/acme/audit/export/?noun=user', 'export', 'audit', ''],
  ])('records who read all %s', async (_, path, action, noun, about) => {
    const at = path.replace(':list', String(tenants.acme.listId));
    const named = { ...headers, 'x-request-id': `whole-${noun}-${at}`.replaceAll(/[^\w-]/g, '-') };
    expect((await key()({ path: at, headers: named })).status).toBe(200);
    const [entry] = await newest();
    expect(entry).toMatchObject({ action, noun, path: about, origin: '192.0.2.44', actor: { name: 'acme all' } });
    expect(entry.request_id).toBe(named['x-request-id']);
  });

  test('does not record single pages, HEAD requests and refused requests', async () => {
    const [before] = await newest();
    await key()({ path: '/api/o/acme/u/?limit=1000' });
    await key()({ method: 'HEAD', path: '/api/o/acme/u/' });
    await key()({ method: 'HEAD', path: '/api/o/acme/audit/export/' });
    await ask(service.address, { path: '/api/o/acme/u/', key: tenants.acme.keys.without['user:read'] });
    expectProblem(await key()({ path: '/api/o/acme/account/?cursor=nonsense' }), 400, 'request.invalid', ['cursor']);
    expect((await newest())[0]).toEqual(before);
  });

  test('is exported as JSON lines in the format of the list, whole or filtered', async () => {
    const { db } = service.runtime.deps;
    const entry = { organization_id: tenants.acme.id, actor_kind: 'key', actor_name: 'many', noun: 'user' };
    const rows = Array.from({ length: 2_500 }, (_, i) => ({ ...entry, action: 'update', path: `person ${i}` }));
    await db.insertInto('audit').values(rows).execute();
    const answer = await key()({ path: '/api/o/acme/audit/export/' });
    expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="acme-audit-\d{4}-\d\d-\d\d\.jsonl"$/);
    expect(answer.text.endsWith('}\n')).toBe(true);
    const lines = answer.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
    const { body: all } = await key()({ path: '/api/o/acme/audit/' });
    expect(lines).toEqual(all);
    const some = await key()({ path: '/api/o/acme/audit/export/?actor=many&path=person%2012' });
    expect(some.text.trimEnd().split('\n')).toHaveLength(111);
    expectProblem(await key()({ path: '/api/o/acme/audit/export/?since=yesterday' }), 400, 'request.invalid', [
      'since',
    ]);
  });

  test('can be exported only with permission, and only for the own organization', async () => {
    const { acme, rival } = tenants;
    const path = '/api/o/acme/audit/export/';
    expectProblem(await ask(service.address, { path, key: acme.keys.without['audit:read'] }), 403, 'key.permission');
    expectProblem(await ask(service.address, { path, key: rival.keys.all }), 404, 'organization.not_found');
    const { text } = await ask(service.address, { path: '/api/o/rival/audit/export/', key: rival.keys.all });
    expect(text).not.toContain('person 1');
  });
});
