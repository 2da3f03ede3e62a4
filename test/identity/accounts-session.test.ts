/** Signing in and out, the session cookie, and the lifetime of sessions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { Browser, newAccount, password, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { buildTenants } from '../support/tenants.ts';

let database: TestDatabase;
/** Two services on one database: a change in one must take effect in the other. */
let service: Service;
let other: Service;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
  other = await startService(testConfig(database.url, { BELFRY_ROLE: 'api', BASE_URL: 'https://a.test' }), silent);
  await buildTenants(service.runtime.deps);
});
afterAll(async () => {
  await Promise.all([service.stop(), other.stop()]);
  await database.drop();
});

const inAcme = (role: 'owner' | 'viewer') => ({ membership: { organization: 'acme', role } });
const person = (input = {}) => signInNewAccount(service.address, service.runtime.deps, input);

test('the sign-in methods are public', async () => {
  const { status, body } = await ask(service.address, { path: '/api/session/options/' });
  expect([status, body]).toEqual([
    200,
    { password: true, oidc: null, password_reset: false, version: expect.any(String) },
  ]);
});

test('email and password open a session with the account and its permissions', async () => {
  const { email, id } = await newAccount(service.runtime.deps, { name: 'Ann', ...inAcme('viewer') });
  const browser = new Browser(service.address);
  const answer = await browser.signIn(email.toUpperCase());
  const session = {
    account: { id, email, name: 'Ann', admin: false, two_factor: false, has_password: true },
    organizations: [
      {
        slug: 'acme',
        name: 'The acme company',
        role: 'viewer',
        permissions: expect.arrayContaining(['user:read']),
        two_factor_required: false,
      },
    ],
    moved_organizations: [],
    csrf_token: expect.stringMatching(/^[\w-]{43}$/),
  };
  expect([answer.status, answer.body]).toEqual([200, session]);
  expect((await browser.ask({ path: '/api/session/' })).body).toEqual(answer.body);
  expect((await browser.ask({ path: '/api/o/acme/' })).body).toMatchObject({ slug: 'acme' });
});

test('the cookie is HttpOnly, SameSite, and Secure for HTTPS addresses', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const [cookie] = (await new Browser(service.address).signIn(email)).headers['set-cookie']!;
  expect(cookie).toMatch(/^belfry_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/);
  const [secure] = (await new Browser(other.address).signIn(email)).headers['set-cookie']!;
  expect(secure).toMatch(/; Secure/);
});

test('only a hash of the cookie is stored', async () => {
  const { cookie, id } = await person();
  const { db } = service.runtime.deps;
  const rows = await db.selectFrom('sessions').selectAll().where('account_id', '=', id).execute();
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1]);
  expect(rows[0]).toMatchObject({ origin: '127.0.0.1' });
});

test('signing out ends the session in every process within a second', async () => {
  const browser = await person();
  const { cookie } = browser;
  const elsewhere = () => ask(other.address, { path: '/api/session/', headers: { cookie } });
  expect((await elsewhere()).status).toBe(200);
  const answer = await browser.ask({ method: 'DELETE', path: '/api/session/' });
  expect([answer.status, answer.body]).toEqual([200, { signed_out: true }]);
  expect(answer.headers['set-cookie']![0]).toMatch(/^belfry_session=; Max-Age=0/);
  await eventually(async () => expectProblem(await elsewhere(), 401, 'session.missing'), 1_000);
  await eventually(async () => {
    expectProblem(await ask(service.address, { path: '/api/session/', headers: { cookie } }), 401, 'session.missing');
  }, 1_000);
});

test('removing a role takes effect in every process within a second', async () => {
  const { cookie, id } = await person(inAcme('viewer'));
  const elsewhere = () => ask(other.address, { path: '/api/o/acme/', headers: { cookie } });
  expect((await elsewhere()).status).toBe(200);
  await service.runtime.deps.db.deleteFrom('memberships').where('account_id', '=', id).execute();
  await eventually(async () => expectProblem(await elsewhere(), 404, 'organization.not_found'), 1_000);
});

test.each([
  ['whose time is over', { expires_at: new Date(Date.now() - 1_000) }],
  ['that was not used for a week', { last_used_at: new Date(Date.now() - 7 * 86_400_000 - 1_000) }],
])('a session %s is not valid', async (_, fields) => {
  const { id } = await newAccount(service.runtime.deps);
  const browser = new Browser(service.address);
  const { email } = (await service.runtime.deps.db
    .selectFrom('accounts')
    .select('email')
    .where('id', '=', id)
    .executeTakeFirst())!;
  await browser.signIn(email);
  await service.runtime.deps.db.updateTable('sessions').set(fields).where('account_id', '=', id).execute();
  expectProblem(await browser.ask({ path: '/api/session/' }), 401, 'session.missing');
  expectProblem(await browser.ask({ path: '/api/o/acme/' }), 401, 'session.missing');
});

test('signing in again ends the previous session of the browser', async () => {
  const browser = await person();
  const { cookie } = browser;
  await browser.signIn(browser.email);
  expect(browser.cookie).not.toBe(cookie);
  await eventually(async () => {
    expectProblem(await ask(service.address, { path: '/api/session/', headers: { cookie } }), 401);
  }, 1_000);
});

test('changing the password ends the other sessions and keeps the current one', async () => {
  const browser = await person();
  const second = new Browser(service.address);
  await second.signIn(browser.email);
  const change = (body: object) => browser.ask({ method: 'POST', path: '/api/session/password/', body });
  expectProblem(await change({ current: 'something else', password: 'a new one, longer' }), 400, 'request.invalid', [
    'current',
  ]);
  expect((await change({ current: password, password: 'a new one, longer' })).status).toBe(200);
  expect((await browser.ask({ path: '/api/session/' })).status).toBe(200);
  await eventually(async () => expectProblem(await second.ask({ path: '/api/session/' }), 401), 1_000);
  expectProblem(await new Browser(service.address).signIn(browser.email), 401, 'session.refused');
  expect((await new Browser(service.address).signIn(browser.email, 'a new one, longer')).status).toBe(200);
});

test('a password that is easy to guess is refused', async () => {
  const browser = await person();
  for (const bad of ['', 'ninechars', 'password123', 'PASSWORD123', 'aaaaaaaaaaaa', browser.email, 'x'.repeat(201)]) {
    const body = { current: password, password: bad };
    const answer = await browser.ask({ method: 'POST', path: '/api/session/password/', body });
    expectProblem(answer, 400, 'request.invalid', ['password']);
  }
});

test('an account changes its own name', async () => {
  const browser = await person();
  const answer = await browser.ask({ method: 'PATCH', path: '/api/session/', body: { name: 'Bea' } });
  expect([answer.status, answer.body.account.name]).toEqual([200, 'Bea']);
  await eventually(async () => {
    expect((await browser.ask({ path: '/api/session/' })).body.account.name).toBe('Bea');
  }, 1_000);
});

test('the time when an account was last seen is stored', async () => {
  const { id, ...browser } = await person();
  const { db, signIn } = service.runtime.deps;
  await db.updateTable('accounts').set({ last_seen_at: null }).where('id', '=', id).execute();
  await ask(service.address, { path: '/api/session/', headers: { cookie: browser.cookie } });
  await signIn.use.flush(db);
  const account = await db.selectFrom('accounts').select('last_seen_at').where('id', '=', id).executeTakeFirst();
  expect(account?.last_seen_at).toBeInstanceOf(Date);
});

test('a last use that could not be written is kept and written the next time', async () => {
  const { id } = await person();
  const { db, signIn } = service.runtime.deps;
  await signIn.use.flush(db);
  await db.updateTable('accounts').set({ last_seen_at: null }).where('id', '=', id).execute();
  await db
    .updateTable('sessions')
    .set({ last_used_at: new Date(0) })
    .where('account_id', '=', id)
    .execute();
  signIn.use.note(await tokenHashOf(id), Date.now());
  const closed = openDatabase({ url: database.url, name: 'closed' });
  await closed.close();
  await expect(signIn.use.flush(closed.db)).rejects.toThrow();
  expect(signIn.use.lastUse(await tokenHashOf(id))).toBeGreaterThan(0);
  await signIn.use.flush(db);
  const account = await db.selectFrom('accounts').select('last_seen_at').where('id', '=', id).executeTakeFirst();
  expect(account?.last_seen_at).toBeInstanceOf(Date);
});

async function tokenHashOf(accountId: number): Promise<Buffer> {
  const rows = service.runtime.deps.db.selectFrom('sessions').select('token_hash').where('account_id', '=', accountId);
  return (await rows.executeTakeFirstOrThrow()).token_hash;
}
