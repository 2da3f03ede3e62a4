/** Accounts that sign in with an identity provider: unlinking, confirming, invites and the way back to a page of the console. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { consolePathOf } from '../../src/core/identity/console-path.ts';
import { unlinkAccount, unlinkIssuer } from '../../src/services/identity/sign-in/oidc-links.ts';
import { type Browser, newAccount, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { client, RedirectingBrowser, startProvider, type TestProvider } from '../support/oidc.ts';
import { buildTenants } from '../support/tenants.ts';

let provider: TestProvider;
let service: Service;
let owner: Browser;

const inAcme = (role: 'owner' | 'admin' | 'viewer') => ({ membership: { organization: 'acme', role } });

beforeAll(async () => {
  provider = await startProvider();
  service = await testService({
    BELFRY_ROLE: 'api',
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    OIDC_NAME: 'Example',
  });
  provider.allowRedirect(`${service.address}/api/session/oidc/callback/`);
  await buildTenants(service.runtime.deps);
  owner = await signInNewAccount(service.address, service.runtime.deps, inAcme('owner'));
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

let count = 0;

/** Adds a user at the provider and returns their subject. */
function addIdentity(email: string): string {
  const subject = `subject-${++count}`;
  provider.people.set(subject, { email_verified: true, email, name: 'Kim' });
  return subject;
}

/** Follows the redirects of a sign-in. Returns the path at the end. */
async function signIn(subject: string, query = '', browser = new RedirectingBrowser()): Promise<string> {
  provider.subject = subject;
  const end = await browser.follow(
    `${service.address}/api/session/oidc/${query}`,
    url => url.startsWith(service.address) && !url.includes('/api/session/oidc/'),
  );
  return end.slice(service.address.length);
}

function sessionOf(browser: RedirectingBrowser) {
  const cookie = browser.cookie(service.address, 'belfry_session') ?? '';
  return { cookie, ask: () => ask(service.address, { path: '/api/session/', headers: { cookie } }) };
}

const unlink = (by: Browser, id: number) => by.ask({ method: 'DELETE', path: `/api/o/acme/account/${id}/identity/` });

async function auditOf(email: string) {
  const { db } = service.runtime.deps;
  const rows = await db
    .selectFrom('audit')
    .select(['action', 'after'])
    .where('path', '=', email)
    .orderBy('id')
    .execute();
  return rows.map(({ action, after }) => [action, after] as const);
}

test('an identity that was created again signs in after an owner has unlinked the account', async () => {
  const { email, id } = await newAccount(service.runtime.deps, inAcme('viewer'));
  const before = new RedirectingBrowser();
  expect(await signIn(addIdentity(email), '', before)).toBe('/');
  const again = addIdentity(email);
  expect(await signIn(again)).toBe('/sign-in?error=oidc.linked');
  const invite = await owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role: 'viewer' } });
  expectProblem(invite, 409, 'resource.exists');
  expect(invite.body.detail).toContain('unlink the account');

  const unlinked = await unlink(owner, id);
  expect([unlinked.status, unlinked.body.linked]).toEqual([200, false]);
  await eventually(async () => expect((await sessionOf(before).ask()).status).toBe(401), 1_000);
  const after = new RedirectingBrowser();
  expect(await signIn(again, '', after)).toBe('/');
  expect((await sessionOf(after).ask()).body.account.id).toBe(id);
  const audit = await eventually(async () => {
    const entries = await auditOf(email);
    expect(entries.map(([action]) => action)).toContain('sign in failed');
    return entries;
  });
  expect(audit).toContainEqual(['sign in failed', { id, wrong: 'identity' }]);
  expect(audit).toContainEqual(['unlink', { id, issuer: provider.issuer }]);
  expect(audit.filter(([action]) => action === 'link')).toHaveLength(2);
});

test('only an instance admin unlinks an account of several organizations, or of an instance admin', async () => {
  const { deps } = service.runtime;
  const shared = await newAccount(deps, inAcme('viewer'));
  const other = await deps.db
    .selectFrom('organizations')
    .select('id')
    .where('slug', '<>', 'acme')
    .executeTakeFirstOrThrow();
  await deps.db
    .insertInto('memberships')
    .values({ organization_id: other.id, account_id: shared.id, role: 'viewer' })
    .execute();
  const instanceAdmin = await newAccount(deps, { ...inAcme('viewer'), admin: true });
  const root = await signInNewAccount(service.address, deps, { admin: true });
  for (const { email, id } of [shared, instanceAdmin]) {
    const subject = addIdentity(email);
    expect(await signIn(subject)).toBe('/');
    expectProblem(await unlink(owner, id), 403, 'account.shared');
    expect(await signIn(subject)).toBe('/');
    expect((await unlink(root, id)).body.linked).toBe(false);
  }
});

test('an admin does not unlink an owner', async () => {
  const admin = await signInNewAccount(service.address, service.runtime.deps, inAcme('admin'));
  const { email, id } = await newAccount(service.runtime.deps, inAcme('owner'));
  expect(await signIn(addIdentity(email))).toBe('/');
  expectProblem(await unlink(admin, id), 403, 'role.permission');
});

test('accounts of a previous issuer are named as linked, and the operator unlinks one or all of them', async () => {
  const { deps } = service.runtime;
  const people = [await newAccount(deps, inAcme('viewer')), await newAccount(deps), await newAccount(deps)];
  const issuer = 'https://previous.example';
  for (const { id } of people) {
    const link = { oidc_issuer: issuer, oidc_subject: `old-${id}` };
    await deps.db.updateTable('accounts').set(link).where('id', '=', id).execute();
  }
  const [first, ...others] = people.map(({ email }) => ({ email, subject: addIdentity(email) }));
  expect(await signIn(first!.subject)).toBe('/sign-in?error=oidc.linked');
  expect([await unlinkAccount(deps, first!.email), await unlinkAccount(deps, first!.email)]).toEqual([true, false]);
  expect(await unlinkIssuer(deps, issuer)).toBe(2);
  for (const { subject } of [first!, ...others]) expect(await signIn(subject)).toBe('/');
});

test('a sign-in returns to the page of the console that it came from, also after a failure', async () => {
  const { email } = await newAccount(service.runtime.deps, inAcme('viewer'));
  const to = '/o/acme/users?q=j%20d';
  expect(await signIn(addIdentity(email), `?to=${encodeURIComponent(to)}`)).toBe(to);
  expect(await signIn('cancels', `?to=${encodeURIComponent(to)}`)).toBe(
    `/sign-in?error=oidc.failed&to=${encodeURIComponent(to)}`,
  );
  expect(await signIn(addIdentity(email.replace('@', '+1@')), '?to=//evil.test')).toBe('/sign-in?error=oidc.unknown');
});

test.each([
  '//evil.test',
  '/\\evil.test',
  '/\t/evil.test',
  '/.//evil.test',
  '/x/..//evil.test',
  'https://evil.test/',
  'javascript:alert(1)',
  '/api/session/oidc/',
])('%j is not a path to return to', path => expect(consolePathOf(path)).toBe('/'));

test('a user without a password confirms with the identity provider, which asks for the credentials again', async () => {
  const { deps } = service.runtime;
  const email = 'only-sso@people.test';
  await owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role: 'viewer' } });
  const subject = addIdentity(email);
  const browser = new RedirectingBrowser();
  await signIn(subject, '', browser);
  const { cookie, ask: read } = sessionOf(browser);
  const { account, csrf_token } = (await read()).body;
  expect(account.has_password).toBe(false);
  const confirmed_at = new Date(Date.now() - 3_600_000);
  const forget = () =>
    deps.db.updateTable('sessions').set({ confirmed_at }).where('account_id', '=', account.id).execute();
  const change = () =>
    ask(service.address, {
      method: 'POST',
      path: '/api/session/totp/',
      headers: { cookie, 'x-csrf-token': csrf_token },
    });
  const query = `?confirm=true&to=${encodeURIComponent('/o/acme/account')}`;
  const refused = `/sign-in?error=oidc.unconfirmed&to=${encodeURIComponent('/o/acme/account')}`;

  await forget();
  expectProblem(await change(), 403, 'session.unconfirmed');
  expect(await signIn(subject, query, browser)).toBe('/o/acme/account');
  const begun = new URL(browser.seen.findLast(url => url.startsWith(provider.issuer) && url.includes('prompt='))!);
  expect(Object.fromEntries(begun.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
  expect((await change()).status).toBe(200);
  expect(sessionOf(browser).cookie).toBe(cookie);

  // An identity of another account, and a provider that did not ask again.
  await forget();
  const relink = (oidc_subject: string) =>
    deps.db.updateTable('accounts').set({ oidc_subject }).where('id', '=', account.id).execute();
  await relink('another');
  expect(await signIn(subject, query, browser)).toBe(refused);
  await relink(subject);
  provider.authenticatedAt = Date.now() - 3_600_000;
  expect(await signIn(subject, query, browser)).toBe(refused);
  provider.authenticatedAt = undefined;
  expectProblem(await change(), 403, 'session.unconfirmed');
});

test('the invite of an account without a password asks for the identity provider instead', async () => {
  const email = 'twice-invited@people.test';
  const path = (link: string) => `/api/invite/${link.split('/').at(-1)}/`;
  const invite = () => owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role: 'viewer' } });
  const first = path((await invite()).body.link);
  expect((await ask(service.address, { path: first })).body.password).toBe(true);
  const subject = addIdentity(email);
  expect(await signIn(subject, '?to=/o/acme')).toBe('/o/acme');
  const { id } = await service.runtime.deps.db
    .selectFrom('accounts')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  await owner.ask({ method: 'DELETE', path: `/api/o/acme/account/${id}/` });
  const second = path((await invite()).body.link);
  expect((await ask(service.address, { path: second })).body.password).toBe(false);
  const accepted = await ask(service.address, {
    method: 'POST',
    path: second,
    body: { name: 'X', password: 'a long password' },
  });
  expectProblem(accepted, 400, 'request.invalid');
  expect(accepted.body.errors.password).toEqual([`does not exist for ${email}: sign in with Example to accept`]);
  const browser = new RedirectingBrowser();
  await signIn(subject, '?to=/o/acme', browser);
  expect((await sessionOf(browser).ask()).body.organizations).toMatchObject([{ slug: 'acme' }]);
});
