/** Sign-in with an identity provider: a real one on the loopback interface. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { Browser, newAccount, password, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { client, RedirectingBrowser, startProvider, type TestProvider } from '../support/oidc.ts';
import { buildTenants } from '../support/tenants.ts';

let provider: TestProvider;
let service: Service;
let owner: Browser;

const inAcme = (role: 'owner' | 'viewer') => ({ membership: { organization: 'acme', role } });

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
function addProviderUser(claims: object): string {
  const subject = `subject-${++count}`;
  provider.people.set(subject, { email_verified: true, name: 'Said by the provider', ...claims });
  return subject;
}

/** Signs in at the provider. Returns the final URL and the session. */
async function signInAs(subject: string) {
  provider.subject = subject;
  const wanderer = new RedirectingBrowser();
  const end = await wanderer.follow(
    `${service.address}/api/session/oidc/`,
    url => url.startsWith(service.address) && !url.includes('/api/session/oidc/'),
  );
  const cookie = wanderer.cookie(service.address, 'belfry_session') ?? '';
  const session = await ask(service.address, { path: '/api/session/', headers: { cookie } });
  return { end: end.slice(service.address.length), session, wanderer };
}

const invite = (email: string) =>
  owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role: 'editor' } });

test('the sign-in options contain the name of the provider', async () => {
  const { body } = await ask(service.address, { path: '/api/session/options/' });
  expect(body.oidc).toEqual({ name: 'Example' });
});

test('an email that only looks like the email of an account does not open it', async () => {
  const { id } = await newAccount(service.runtime.deps, { ...inAcme('viewer'), email: 'kate@people.test' });
  for (const email of [
    '\u212aate@people.test',
    '\uff4bate@people.test',
    'kate@\uff50eople.test',
    'kate@people.te\u017ft',
  ]) {
    const { end, session } = await signInAs(addProviderUser({ email }));
    expect([end, session.status], email).toEqual(['/sign-in?error=oidc.unverified', 401]);
  }
  expect((await signInAs(addProviderUser({ email: 'KATE@people.test' }))).session.body.account.id).toBe(id);
});

test('an existing account signs in by verified email first, and by subject later', async () => {
  const { email, id } = await newAccount(service.runtime.deps, inAcme('viewer'));
  const subject = addProviderUser({ email: email.toUpperCase() });
  const first = await signInAs(subject);
  expect([first.end, first.session.body?.account]).toMatchObject(['/', { id, email }]);
  const begun = new URL(first.wanderer.seen[1]!);
  expect(Object.fromEntries(begun.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    state: expect.stringMatching(/^.{30,}$/),
    nonce: expect.stringMatching(/^.{30,}$/),
    redirect_uri: `${service.address}/api/session/oidc/callback/`,
  });
  provider.people.set(subject, { email: 'renamed@people.test', email_verified: false });
  const second = await signInAs(subject);
  expect([second.end, second.session.body?.account.id]).toEqual(['/', id]);
  expect((await new Browser(service.address).signIn(email)).status).toBe(200);
});

test('an invited user gets an account without a password', async () => {
  const email = 'invited-by-mail@people.test';
  await invite(email);
  const { end, session } = await signInAs(addProviderUser({ email }));
  expect(end).toBe('/');
  expect(session.body.account).toMatchObject({ email, name: 'Said by the provider', admin: false });
  expect(session.body.organizations).toMatchObject([{ slug: 'acme', role: 'editor' }]);
  expectProblem(await new Browser(service.address).signIn(email), 401, 'session.refused');
  expect((await owner.ask({ path: '/api/o/acme/invite/' })).text).not.toContain(email);
});

test.each([
  ['has neither an account nor an invite', { email: 'stranger@people.test' }, 'oidc.unknown'],
  ['has no email', { email: undefined }, 'oidc.unverified'],
])('a user who %s is redirected back with an error code', async (_, claims, error) => {
  const { end, session } = await signInAs(addProviderUser(claims));
  expect(end).toBe(`/sign-in?error=${error}`);
  expect(session.status).toBe(401);
});

test('an unverified email does not sign in', async () => {
  const { email } = await newAccount(service.runtime.deps, inAcme('owner'));
  const { end, session } = await signInAs(addProviderUser({ email, email_verified: false }));
  expect([end, session.status]).toEqual(['/sign-in?error=oidc.unverified', 401]);
});

test('an account linked to one subject cannot be used by another subject with the same email', async () => {
  const { email } = await newAccount(service.runtime.deps);
  expect((await signInAs(addProviderUser({ email }))).end).toBe('/');
  expect((await signInAs(addProviderUser({ email }))).end).toBe('/sign-in?error=oidc.linked');
});

test('a user who cancels at the provider is redirected back', async () => {
  const { end, session } = await signInAs('not among the people');
  expect([end, session.status]).toEqual(['/sign-in?error=oidc.failed', 401]);
});

test('a password set with an invite link is removed when the owner of the email signs in with the provider', async () => {
  const email = 'squatted@people.test';
  const { body } = await invite(email);
  const squatter = new Browser(service.address);
  const path = `/api/invite/${body.link.split('/').at(-1)}/`;
  expect((await squatter.ask({ method: 'POST', path, body: { name: 'Not me', password } })).status).toBe(201);
  expect((await signInAs(addProviderUser({ email }))).end).toBe('/');
  expectProblem(await new Browser(service.address).signIn(email), 401, 'session.refused');
  await eventually(async () => expectProblem(await squatter.ask({ path: '/api/session/' }), 401), 1_000);
});

test('a callback that was not started in this browser does not sign in', async () => {
  const { email } = await newAccount(service.runtime.deps);
  provider.subject = addProviderUser({ email });
  const victim = new RedirectingBrowser();
  const isAnswer = (url: string) => url.includes('/callback/');
  const answer = await victim.follow(`${service.address}/api/session/oidc/`, isAnswer);

  const otherBrowser = new RedirectingBrowser();
  expect((await otherBrowser.get(answer)).headers.get('location')).toBe('/sign-in?error=oidc.failed');
  const other = new RedirectingBrowser();
  await other.get(`${service.address}/api/session/oidc/`);
  expect((await other.get(answer)).headers.get('location')).toBe('/sign-in?error=oidc.failed');
  expect(other.cookie(service.address, 'belfry_session')).toBeUndefined();
  expect((await victim.get(answer)).headers.get('location')).toBe('/');
});

test('sign-ins of one client that wait for the provider leave room for others', async () => {
  const { exchanges } = service.runtime.deps.signIn;
  const subject = addProviderUser({ email: 'ann@people.test' });
  await newAccount(service.runtime.deps, { email: 'ann@people.test' });
  const hold = (client: string) => {
    let held = 0;
    while (exchanges.take(client, 1)) held++;
    return () => exchanges.release(client, held);
  };
  const freeOther = hold('192.0.2.1');
  expect((await signInAs(subject)).session.status).toBe(200);
  freeOther();
  const freeOwn = hold('127.0.0.1');
  expect((await signInAs(subject)).end).toBe('/sign-in?error=oidc.unavailable');
  freeOwn();
  expect((await signInAs(subject)).session.status).toBe(200);
});

test('the path does not exist without a provider, and redirects with an error when the provider is unavailable', {
  tags: ['sweep'],
}, async () => {
  const without = await testService({ BELFRY_ROLE: 'api' });
  expectProblem(await ask(without.address, { path: '/api/session/oidc/' }), 404, 'path.not_found');
  await without.stop();
  const settings = { OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'x' };
  const away = await testService({ BELFRY_ROLE: 'api', ...settings });
  const answer = await ask(away.address, { path: '/api/session/oidc/' });
  expect([answer.status, answer.headers.location]).toEqual([302, '/sign-in?error=oidc.unavailable']);
  await away.stop();
});
