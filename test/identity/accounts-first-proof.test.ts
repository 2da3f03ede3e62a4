/**
 * An unverified email may have been registered by an attacker who had the link of an invite. The first verification (identity
 * provider or password reset by mail) removes all earlier credentials.
 */
import { createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { tokenHashOf } from '../../src/core/identity/tokens.ts';
import { findAccountAcrossTenants } from '../../src/db/identity/accounts.ts';
import { findSessionAcrossTenants } from '../../src/db/identity/sessions.ts';
import { resetPassword } from '../../src/services/identity/accounts.ts';
import { changePassword, openSession } from '../../src/services/identity/sessions.ts';
import { beginRegistration, finishRegistration } from '../../src/services/identity/sign-in/passkeys.ts';
import { renewRecoveryCodes } from '../../src/services/identity/sign-in/two-factor.ts';
import { Browser, newAccount, password, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { client, RedirectingBrowser, startProvider, type TestProvider } from '../support/oidc.ts';
import { addPasskey, expectRefused, SoftwarePasskey, signInWith } from '../support/passkey.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { buildTenants } from '../support/tenants.ts';
import { codeOf, enroll } from '../support/totp.ts';

let service: Service;
let provider: TestProvider;
let smtp: SmtpPeer;
let owner: Browser;
/** Passkeys require a host name. */
let origin: string;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

beforeAll(async () => {
  provider = await startProvider();
  smtp = await openSmtpPeer({ starttls: false });
  const port = await freePort();
  origin = `http://localhost:${port}`;
  service = await testService({
    BELFRY_ROLE: 'api',
    PORT: String(port),
    BASE_URL: origin,
    TRUST_PROXY: '127.0.0.1',
    BELFRY_MAIL_URL: `smtp://localhost:${smtp.port}?from=Belfry%20<no-reply@acme.test>`,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    OIDC_NAME: 'Example',
  });
  provider.allowRedirect(`${origin}/api/session/oidc/callback/`);
  await buildTenants(service.runtime.deps);
  const membership = { organization: 'acme', role: 'owner' } as const;
  owner = await signInNewAccount(service.address, service.runtime.deps, { membership });
});
afterAll(async () => {
  await service.stop();
  await smtp.close();
  await provider.stop();
});
beforeEach(() => {
  smtp.mails.length = 0;
  smtp.fault = undefined;
});

let count = 0;
const newEmail = () => `victim-${++count}@people.test`;
const invite = (email: string) =>
  owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role: 'editor' } });
const accept = (link: string, browser = new Browser(service.address)) =>
  browser.ask({ method: 'POST', path: `/api/invite/${link.split('/').at(-1)}/`, body: { name: 'Somebody', password } });

/** Returns the link in the last mail to that address. */
const linkTo = (email: string) =>
  eventually(() => {
    const mail = smtp.mails.findLast(({ to }) => to[0] === email);
    const text = mail?.raw.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? '';
    const [link] = /http:\/\/localhost:\d+\/(reset-password|invite)\/[\w-]{43}/.exec(text) ?? [];
    expect(link).toBeDefined();
    return link!;
  });

/** Creates an account as an attacker with an unmailed invite link would, with every kind of second factor. */
async function squat() {
  const email = newEmail();
  smtp.fault = { rcpt: '550 5.1.1 no such mailbox' };
  const { body } = await invite(email);
  smtp.fault = undefined;
  const browser = new Browser(service.address);
  expect((await accept(body.link, browser)).status).toBe(201);
  const passkey = await addPasskey(browser, origin);
  const { secret, recoveryCodes } = await enroll(browser);
  expect((await signInWith(new Browser(service.address), passkey)).status).toBe(200);
  return { email, browser, passkey, secret, recoveryCodes };
}

async function signInByProvider(email: string): Promise<string> {
  provider.subject = `subject-${email}`;
  provider.people.set(provider.subject, { email, email_verified: true, name: 'The owner' });
  const isEnd = (url: string) => url.startsWith(origin) && !url.includes('/api/session/oidc/');
  const end = await new RedirectingBrowser().follow(`${origin}/api/session/oidc/`, isEnd);
  return end.slice(origin.length);
}

async function resetByMail(email: string, newPassword = 'a new, longer one') {
  smtp.mails.length = 0;
  await ask(service.address, { method: 'POST', path: '/api/password-reset/', body: { email } });
  const token = (await linkTo(email)).split('/').at(-1);
  return ask(service.address, {
    method: 'POST',
    path: `/api/password-reset/${token}/`,
    body: { password: newPassword },
  });
}

const proofs: [name: string, prove: (email: string) => Promise<unknown>][] = [
  ['a sign-in with the identity provider', async email => expect(await signInByProvider(email)).toBe('/')],
  ['a password reset by mail', async email => expect((await resetByMail(email)).status).toBe(200)],
];

async function stateOf(email: string) {
  const { db } = service.runtime.deps;
  const account = await db.selectFrom('accounts').selectAll().where('email', '=', email).executeTakeFirstOrThrow();
  const rows = async (table: 'passkeys' | 'recovery_codes' | 'password_resets') =>
    (await db.selectFrom(table).select('account_id').where('account_id', '=', account.id).execute()).length;
  return {
    verified: account.email_verified,
    totp: account.totp_secret !== null,
    passkeys: await rows('passkeys'),
    recoveryCodes: await rows('recovery_codes'),
    resets: await rows('password_resets'),
  };
}

describe.each(proofs)('the first verification of an email, %s,', (_, prove) => {
  test('removes password, passkeys, authenticator app, recovery codes and sessions, and logs it in one entry', async () => {
    const { email, browser, passkey } = await squat();
    await ask(service.address, { method: 'POST', path: '/api/password-reset/', body: { email } });
    await linkTo(email);
    await prove(email);
    expectRefused(await signInWith(new Browser(service.address), passkey));
    expectProblem(await new Browser(service.address).signIn(email), 401, 'session.refused');
    await eventually(async () => expectProblem(await browser.ask({ path: '/api/session/' }), 401), 1_000);
    expect(await stateOf(email)).toEqual({ verified: true, totp: false, passkeys: 0, recoveryCodes: 0, resets: 0 });
    const { body } = await owner.ask({ path: `/api/o/acme/audit/?path=${email}` });
    const entries = body.filter((entry: { action: string }) => entry.action === 'verify email');
    expect(entries).toHaveLength(1);
    expect(entries[0].after).toMatchObject({
      removed: {
        password: true,
        authenticator_app: true,
        passkeys: ['Software'],
        recovery_codes: 10,
        sessions: expect.any(Number),
      },
    });
    expect(entries[0].after.removed.sessions).toBeGreaterThanOrEqual(2);
  });

  test('invalidates pending sign-ins and pending second factors', async () => {
    const { email, browser, secret } = await squat();
    const first = await new Browser(service.address).signIn(email);
    const pending = { token: first.body.second_factor.token, code: codeOf(secret, 1) };
    const begun = await browser.ask({ method: 'POST', path: '/api/session/passkeys/options/' });
    await prove(email);
    const finish = { method: 'POST', path: '/api/session/second-factor/', body: pending };
    expectProblem(await ask(service.address, finish), 401, 'session.expired');
    const response = new SoftwarePasskey(origin).create(begun.body.options);
    const body = { token: begun.body.token, name: 'Late', response };
    await eventually(
      async () => expectProblem(await browser.ask({ method: 'POST', path: '/api/session/passkeys/', body }), 401),
      1_000,
    );
    expect((await stateOf(email)).passkeys).toBe(0);
  });

  test('stops a request that was authenticated before it and is still running', async () => {
    const { deps } = service.runtime;
    const { email, browser } = await squat();
    const site = { origin, host: 'localhost' };
    const before = (await findSessionAcrossTenants(deps.db, tokenHashOf(browser.cookie.split('=')[1]!)!))!;
    const account = (await findAccountAcrossTenants(deps.db, email))!;
    const visitor = { origin: '192.0.2.7', userAgent: 'x', requestId: 'x', deviceCookie: () => undefined };
    const { token, options } = await beginRegistration(deps, before, site);
    await prove(email);
    const response = new SoftwarePasskey(origin).create(options);
    const late = [
      () => finishRegistration(deps, before, site, { token, response, name: 'Late' }),
      () => renewRecoveryCodes(deps, before),
      () => openSession(deps, account, visitor, 'password'),
      () => changePassword(deps, before, { current: password, password: 'another, longer one' }, visitor),
    ];
    for (const [i, act] of late.entries()) await expect(act(), `${i}`).rejects.toMatchObject({ name: 'AppError' });
    expect(await stateOf(email)).toMatchObject({ totp: false, passkeys: 0, recoveryCodes: 0 });
    const sessions = await deps.db
      .selectFrom('sessions')
      .select('method')
      .where('account_id', '=', account.id)
      .execute();
    expect(sessions.filter(({ method }) => method !== 'oidc')).toEqual([]);
  });

  test('removes passkeys that are registered concurrently', async () => {
    const { email, browser } = await squat();
    const begun = await Promise.all(
      Array.from({ length: 8 }, () => browser.ask({ method: 'POST', path: '/api/session/passkeys/options/' })),
    );
    const registering = begun.map(({ body: { token, options } }) => {
      const body = { token, name: 'Racing', response: new SoftwarePasskey(origin).create(options) };
      return browser.ask({ method: 'POST', path: '/api/session/passkeys/', body });
    });
    await Promise.all([prove(email), ...registering]);
    expect((await stateOf(email)).passkeys).toBe(0);
  });

  test('no longer recognizes devices that signed in before', async () => {
    const { email, browser } = await squat();
    await prove(email);
    const headers = { 'x-forwarded-for': `198.51.100.${count}` };
    const body = { email, password: 'wrong password' };
    await browser.ask({ method: 'POST', path: '/api/session/', body, headers });
    const scopes = await service.runtime.deps.db.selectFrom('sign_in_limits').select('scope').execute();
    expect(scopes.map(({ scope }) => scope)).toContain(`password from network ${headers['x-forwarded-for']}`);
  });
});

test('a password reset gives the owner access although an attacker added a second factor', async () => {
  const { email } = await squat();
  await resetByMail(email);
  expect((await new Browser(service.address).signIn(email, 'a new, longer one')).status).toBe(200);
});

test('a password reset by mail opens an account that has neither a password nor an identity at the provider', async () => {
  const { email } = await squat();
  const { db } = service.runtime.deps;
  await db.updateTable('accounts').set({ password_hash: null }).where('email', '=', email).execute();
  expect((await resetByMail(email)).status).toBe(200);
  expect((await new Browser(service.address).signIn(email, 'a new, longer one')).status).toBe(200);
});

test('a password reset of a verified email keeps passkeys, authenticator app and recovery codes', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const browser = new Browser(service.address);
  await browser.signIn(email);
  const passkey = await addPasskey(browser, origin);
  await enroll(browser);
  const before = await stateOf(email);
  expect((await resetByMail(email)).status).toBe(200);
  expect(await stateOf(email)).toEqual(before);
  const first = await new Browser(service.address).signIn(email, 'a new, longer one');
  expect([first.status, first.body.code]).toEqual([401, 'session.second_factor']);
  expect((await signInWith(new Browser(service.address), passkey)).status).toBe(200);
});

test('a second verification removes nothing', async () => {
  const { email } = await squat();
  await signInByProvider(email);
  const { deps } = service.runtime;
  await resetPassword(deps, email, password);
  const browser = new Browser(service.address);
  expect((await browser.signIn(email)).status).toBe(200);
  await addPasskey(browser, origin);
  expect(await signInByProvider(email)).toBe('/');
  expect((await resetByMail(email)).status).toBe(200);
  expect(await stateOf(email)).toMatchObject({ verified: true, passkeys: 1, recoveryCodes: 10 });
});

test('accepting a mailed invite verifies the email; accepting one whose link was shown does not', async () => {
  const mailed = newEmail();
  const answer = await invite(mailed);
  expect(answer.body).toMatchObject({ mailed: true, link: null });
  expect((await accept(await linkTo(mailed))).status).toBe(201);
  expect((await stateOf(mailed)).verified).toBe(true);
  const { email } = await squat();
  expect((await stateOf(email)).verified).toBe(false);
});

test('a password set by the operator for an unverified email removes second factors and does not verify the email', async () => {
  const { email, passkey } = await squat();
  await resetPassword(service.runtime.deps, email, 'of the operator');
  expectRefused(await signInWith(new Browser(service.address), passkey));
  expect((await new Browser(service.address).signIn(email, 'of the operator')).status).toBe(200);
  expect(await stateOf(email)).toMatchObject({ verified: false, totp: false, passkeys: 0, recoveryCodes: 0 });
});
