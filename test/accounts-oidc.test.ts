/** Signing in by an identity provider: a real one, on the loopback. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { Browser, newAccount, password, signedIn } from './support/accounts.ts';
import { ask, eventually, expectProblem } from './support/api.ts';
import { testService } from './support/database.ts';
import { client, startProvider, type TestProvider, Wanderer } from './support/oidc.ts';
import { buildTenants } from './support/tenants.ts';

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
  owner = await signedIn(service.address, service.runtime.deps, inAcme('owner'));
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

let count = 0;

/** Somebody new to the provider. */
function somebody(claims: object): string {
  const subject = `subject-${++count}`;
  provider.people.set(subject, { email_verified: true, name: 'Said by the provider', ...claims });
  return subject;
}

/** The whole way; where it ended, and who is signed in then. */
async function goThrough(subject: string) {
  provider.subject = subject;
  const wanderer = new Wanderer();
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

test('the provider is told of by its name', async () => {
  const { body } = await ask(service.address, { path: '/api/session/options/' });
  expect(body.oidc).toEqual({ name: 'Example' });
});

test('somebody with an account comes in by their verified email, and later by who they are', async () => {
  const { email, id } = await newAccount(service.runtime.deps, inAcme('viewer'));
  const subject = somebody({ email: email.toUpperCase() });
  const first = await goThrough(subject);
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
  const second = await goThrough(subject);
  expect([second.end, second.session.body?.account.id]).toEqual(['/', id]);
  expect((await new Browser(service.address).signIn(email)).status).toBe(200);
});

test('somebody who is invited gets an account without a password', async () => {
  const email = 'invited-by-mail@people.test';
  await invite(email);
  const { end, session } = await goThrough(somebody({ email }));
  expect(end).toBe('/');
  expect(session.body.account).toMatchObject({ email, name: 'Said by the provider', admin: false });
  expect(session.body.organizations).toMatchObject([{ slug: 'acme', role: 'editor' }]);
  expectProblem(await new Browser(service.address).signIn(email), 401, 'session.refused');
  expect((await owner.ask({ path: '/api/o/acme/invite/' })).text).not.toContain(email);
});

test.each([
  ['is neither known nor invited', { email: 'stranger@people.test' }, 'oidc.unknown'],
  ['has no email', { email: undefined }, 'oidc.unverified'],
])('somebody who %s is sent back with the reason', async (_, claims, error) => {
  const { end, session } = await goThrough(somebody(claims));
  expect(end).toBe(`/sign-in?error=${error}`);
  expect(session.status).toBe(401);
});

test('an email that the provider does not vouch for opens nothing', async () => {
  const { email } = await newAccount(service.runtime.deps, inAcme('owner'));
  const { end, session } = await goThrough(somebody({ email, email_verified: false }));
  expect([end, session.status]).toEqual(['/sign-in?error=oidc.unverified', 401]);
});

test('an account that belongs to one subject is not given to another with the same email', async () => {
  const { email } = await newAccount(service.runtime.deps);
  expect((await goThrough(somebody({ email }))).end).toBe('/');
  expect((await goThrough(somebody({ email }))).end).toBe('/sign-in?error=oidc.unknown');
});

test('whoever refuses at the provider is sent back', async () => {
  const { end, session } = await goThrough('not among the people');
  expect([end, session.status]).toEqual(['/sign-in?error=oidc.failed', 401]);
});

test('a password that was set by whoever had the link of an invite is gone once the owner of the email comes', async () => {
  const email = 'squatted@people.test';
  const { body } = await invite(email);
  const squatter = new Browser(service.address);
  const path = `/api/invite/${body.link.split('/').at(-1)}/`;
  expect((await squatter.ask({ method: 'POST', path, body: { name: 'Not me', password } })).status).toBe(201);
  expect((await goThrough(somebody({ email }))).end).toBe('/');
  expectProblem(await new Browser(service.address).signIn(email), 401, 'session.refused');
  await eventually(async () => expectProblem(await squatter.ask({ path: '/api/session/' }), 401), 1_000);
});

test('an answer that was not asked for here signs nobody in', async () => {
  const { email } = await newAccount(service.runtime.deps);
  provider.subject = somebody({ email });
  const victim = new Wanderer();
  const isAnswer = (url: string) => url.includes('/callback/');
  const answer = await victim.follow(`${service.address}/api/session/oidc/`, isAnswer);

  const nobody = new Wanderer();
  expect((await nobody.get(answer)).headers.get('location')).toBe('/sign-in?error=oidc.failed');
  const other = new Wanderer();
  await other.get(`${service.address}/api/session/oidc/`);
  expect((await other.get(answer)).headers.get('location')).toBe('/sign-in?error=oidc.failed');
  expect(other.cookie(service.address, 'belfry_session')).toBeUndefined();
  expect((await victim.get(answer)).headers.get('location')).toBe('/');
});

test('without a provider there is no such path, and with one that is away a page says so', async () => {
  const without = await testService({ BELFRY_ROLE: 'api' });
  expectProblem(await ask(without.address, { path: '/api/session/oidc/' }), 404, 'path.not_found');
  await without.stop();
  const settings = { OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'x' };
  const away = await testService({ BELFRY_ROLE: 'api', ...settings });
  const answer = await ask(away.address, { path: '/api/session/oidc/' });
  expect([answer.status, answer.headers.location]).toEqual([302, '/sign-in?error=oidc.unavailable']);
  await away.stop();
});
