/**
 * Signing in with a real browser and a virtual authenticator: passkeys, codes, password resets, sessions.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createAccount } from '../../src/services/identity/accounts.ts';
import { createDemo } from '../../src/services/operations/demo/demo.ts';
import { Browser as Client, simulateAttemptsFromAnywhere } from '../support/accounts.ts';
import { axeViolations, openBrowser, signIn, takeScreenshots, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { client as oidcClient, startProvider, type TestProvider } from '../support/oidc.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { codeOf } from '../support/totp.ts';

// Each test takes a minute on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

let service: Service;
let mailing: Service;
let sso: Service;
let provider: TestProvider;
let smtp: SmtpPeer;
let browser: Browser;

beforeAll(async () => {
  await buildConsole();
  smtp = await openSmtpPeer({ starttls: false });
  service = await testService({ BELFRY_ROLE: 'api' });
  mailing = await testService({
    BELFRY_ROLE: 'api',
    BASE_URL: 'https://belfry.acme.test',
    BELFRY_MAIL_URL: `smtp://localhost:${smtp.port}?from=no-reply@acme.test`,
  });
  provider = await startProvider();
  sso = await testService({
    BELFRY_ROLE: 'api',
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: oidcClient.id,
    OIDC_CLIENT_SECRET: oidcClient.secret,
    OIDC_NAME: 'Example',
  });
  provider.allowRedirect(`${addressOf(sso)}/api/session/oidc/callback/`);
  for (const { runtime } of [service, mailing, sso]) await createDemo(runtime.deps);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await Promise.all([service.stop(), mailing.stop(), sso.stop()]);
  await provider.stop();
  await smtp.close();
});

/** Passkeys need a host name, not an IP address. */
const addressOf = ({ address }: Service) => address.replace('127.0.0.1', 'localhost');
const password = 'correct horse battery';
let count = 0;

async function createPerson(role: 'owner' | 'viewer' = 'owner', of = service) {
  const email = `person-${++count}@demo.test`;
  const membership = { organization: 'demo', role } as const;
  await createAccount(of.runtime.deps, { email, name: 'Pat', password, membership });
  return { email, password };
}

/** Opens a visit with a virtual authenticator that confirms every request. */
async function openVisit(of = service): Promise<Visit> {
  const visitor = await visit(browser, addressOf(of));
  const devtools = await visitor.context.newCDPSession(visitor.page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return visitor;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function fillSignIn(page: Page, credentials: { email: string; password: string }): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(credentials.email);
  await page.getByLabel('Password', { exact: true }).fill(credentials.password);
  await button(page, 'Sign in').click();
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account:/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(/\/sign-in/);
}

/** Reads the ten recovery codes and confirms that they are saved. */
async function saveCodes(page: Page): Promise<string[]> {
  const dialog = page.getByRole('dialog', { name: 'Save your recovery codes' });
  await dialog.waitFor();
  const codes = await dialog.getByRole('listitem').allInnerTexts();
  expect(codes).toHaveLength(10);
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByLabel('I’ve saved my recovery codes').check();
  await button(page, 'Done').click();
  return codes;
}

async function addAuthenticatorApp(page: Page): Promise<{ secret: string; codes: string[] }> {
  await button(page, 'Set up').click();
  const dialog = page.getByRole('dialog', { name: 'Set up an authenticator app' });
  await dialog.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const secret = /[A-Z2-7]{32}/.exec(await dialog.innerText())![0];
  await dialog.getByLabel('Authentication code').fill(codeOf(secret));
  await button(page, 'Verify and turn on').click();
  return { secret, codes: await saveCodes(page) };
}

test('a passkey signs in without a password and is the second factor after one', async () => {
  const person = await createPerson();
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, person);
  await page.goto('/o/demo/account');
  await button(page, 'Add passkey').click();
  await saveCodes(page);
  await page.getByRole('list', { name: 'Your passkeys' }).getByText('Chrome on Linux').waitFor();
  expect(await axeViolations(page)).toEqual([]);

  await signOut(page);
  await button(page, 'Sign in with a passkey').click();
  await page.waitForURL(/\/o\/demo/);

  await signOut(page);
  await fillSignIn(page, person);
  await page.getByRole('heading', { name: 'Two-factor authentication' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await button(page, 'Use a passkey').click();
  await page.waitForURL(/\/o\/demo/);

  const { db } = service.runtime.deps;
  const actions = await db
    .selectFrom('audit')
    .select(['action', 'after'])
    .where('path', '=', person.email)
    .orderBy('id')
    .execute();
  expect(actions.map(({ action, after }) => [action, (after as { method?: string }).method])).toEqual([
    ['create', undefined],
    ['sign in', 'password'],
    ['add passkey', undefined],
    ['sign out', undefined],
    ['sign in', 'passkey'],
    ['sign out', undefined],
    ['sign in', 'password'],
  ]);

  await page.goto('/o/demo/account');
  await page.getByRole('button', { name: /^Rename / }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Office laptop');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Remove Office laptop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Passkey removed.').waitFor();
  await signOut(page);
  await button(page, 'Sign in with a passkey').click();
  await page.getByRole('alert').getByText('This passkey is not registered').waitFor();
  await visitor.close();
});

test('the response of a passkey opens one session and cannot be replayed', { tags: ['sweep'] }, async () => {
  const person = await createPerson();
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, person);
  await page.goto('/o/demo/account');
  await button(page, 'Add passkey').click();
  await saveCodes(page);
  await signOut(page);
  const [sent] = await Promise.all([
    page.waitForRequest(request => request.method() === 'POST' && request.url().endsWith('/api/session/passkey/')),
    button(page, 'Sign in with a passkey').click(),
  ]);
  await page.waitForURL(/\/o\/demo/);
  const body = sent.postDataJSON();
  const client = new Client(service.address);
  const ask = async (path: string, body?: object, host = new URL(addressOf(service)).host) => {
    const answer = await client.ask({ method: 'POST', path, body, headers: { host } });
    return { ...answer, outcome: [answer.status, answer.body.code] };
  };
  expect((await ask('/api/session/passkey/', body)).outcome).toEqual([401, 'passkey.refused']);
  // Many authenticators have no counter; then the single-use challenge prevents a replay.
  await service.runtime.deps.db.updateTable('passkeys').set({ counter: 0 }).execute();
  expect((await ask('/api/session/passkey/', body)).outcome).toEqual([401, 'session.expired']);
  // The token of another sign-in has another challenge, and another host is another relying party.
  const begun = await ask('/api/session/passkey/options/');
  const moved = { ...body, token: begun.body.token };
  expect((await ask('/api/session/passkey/', moved)).outcome).toEqual([401, 'passkey.refused']);
  expect((await ask('/api/session/passkey/', body, 'evil.test')).outcome).toEqual([401, 'passkey.refused']);
  expect((await ask('/api/session/passkey/', { ...body, token: 'made up' })).outcome).toEqual([401, 'session.expired']);

  // At an IP address passkeys are unavailable, and the response says what to do.
  const bare = await client.ask({ method: 'POST', path: '/api/session/passkey/options/' });
  expect([bare.status, bare.body.code]).toEqual([409, 'passkey.unavailable']);
  expect(bare.body.detail).toContain(addressOf(service));
  await visitor.close();
});

test('an authenticator app is required once set up, and a recovery code replaces it', async () => {
  const person = await createPerson();
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, person);
  await page.goto('/o/demo/account');
  const { secret, codes } = await addAuthenticatorApp(page);
  await page.getByText('10 of 10 codes left.').waitFor();
  await signOut(page);

  await fillSignIn(page, person);
  await page.getByLabel('Authentication code').fill('000000');
  await button(page, 'Verify').click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Authentication code').fill(codeOf(secret, 1));
  await button(page, 'Verify').click();
  await page.waitForURL(/\/o\/demo/);
  await signOut(page);

  await fillSignIn(page, person);
  await button(page, 'Use a recovery code').click();
  await page.getByLabel('Recovery code').fill(codes[3]!);
  await button(page, 'Verify').click();
  await page.waitForURL(/\/o\/demo/);
  await page.goto('/o/demo/account');
  await page.getByText('9 of 10 codes left.').waitFor();

  // After a while, a change requires the password.
  const confirmed_at = new Date(Date.now() - 3_600_000);
  await service.runtime.deps.db.updateTable('sessions').set({ confirmed_at }).execute();
  await button(page, 'Remove the authenticator app').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  const confirmation = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await confirmation.getByLabel('Password').first().fill(password);
  await confirmation.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('Authenticator app removed.').waitFor();
  await visitor.close();
});

test('while others guess the password, a user with an authenticator app can still sign in with password and code', {
  tags: ['sweep'],
}, async () => {
  const person = await createPerson();
  const visitor = await openVisit();
  await signIn(visitor.page, person);
  await visitor.page.goto('/o/demo/account');
  const { secret } = await addAuthenticatorApp(visitor.page);
  await visitor.close();
  await simulateAttemptsFromAnywhere(service.runtime.deps, person.email, 49);
  const elsewhere = await openVisit();
  const { page } = elsewhere;
  await fillSignIn(page, { ...person, password: 'not the password' });
  await page.getByRole('alert').waitFor();
  await fillSignIn(page, person);
  await page.getByText(/Too many attempts/).waitFor();
  await button(page, 'Have an authenticator app? Sign in now').click();
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByLabel('Authentication code').fill(codeOf(secret, 1));
  expect(await axeViolations(page)).toEqual([]);
  await button(page, 'Sign in').click();
  await page.waitForURL(/\/o\/demo/);
  await elsewhere.close();
});

test('an owner requires two-factor authentication, and a member has to set it up', { tags: ['sweep'] }, async () => {
  const [owner, viewer] = [await createPerson(), await createPerson('viewer')];
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, owner);
  await page.goto('/o/demo/settings');
  expect(await page.getByRole('switch', { name: 'Require two-factor authentication' }).isDisabled()).toBe(true);
  await page.getByRole('link', { name: 'your own account' }).click();
  await addAuthenticatorApp(page);

  const member = await openVisit();
  await signIn(member.page, viewer);
  await member.page.goto('/o/demo/users');
  await member.page.getByRole('heading', { name: 'Users' }).waitFor();

  await page.goto('/o/demo/settings');
  await page.getByRole('switch', { name: 'Require two-factor authentication' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Require' }).click();
  await page.getByText('Two-factor authentication is now required.').waitFor();
  await page.goto('/o/demo/team');
  await page
    .getByRole('row', { name: new RegExp(viewer.email) })
    .getByText('Off')
    .waitFor();

  // This also applies to a page that is already open.
  await member.page.getByRole('link', { name: 'Events' }).click();
  await member.page.getByRole('heading', { name: 'Set up two-factor authentication' }).waitFor();
  expect(await axeViolations(member.page)).toEqual([]);
  expect(await member.page.getByRole('link', { name: 'Users' }).count()).toBe(0);
  await button(member.page, 'Add passkey').click();
  await saveCodes(member.page);
  await member.page.getByRole('link', { name: 'Users' }).waitFor();
  await member.close();

  await page.goto('/o/demo/settings');
  await page.getByRole('switch', { name: 'Require two-factor authentication' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop requiring' }).click();
  await page.getByText('Two-factor authentication is no longer required.').waitFor();
  await visitor.close();
});

test('a forgotten password is reset by email', async () => {
  const person = await createPerson('owner', mailing);
  const visitor = await openVisit(mailing);
  const { page } = visitor;
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  // Until the page has loaded, the previous one has a field of the same name.
  await page.getByRole('heading', { name: 'Reset your password' }).waitFor();
  await page.getByLabel('Email').fill(person.email);
  expect(await axeViolations(page)).toEqual([]);
  await button(page, 'Send link').click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  const mail = await eventually(() => {
    expect(smtp.mails).toHaveLength(1);
    return smtp.mails[0]!;
  });
  const [, token] = /belfry\.acme\.test\/reset-password\/([\w-]{43})/.exec(mail.raw.replaceAll('=\r\n', ''))!;
  await page.goto(`/reset-password/${token}`);
  await page.getByLabel('New password', { exact: true }).fill('short');
  await button(page, 'Change password').click();
  await page.getByText(/must be at least 10 characters/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByLabel('New password', { exact: true }).fill('a new, longer one');
  await button(page, 'Change password').click();
  await page.getByRole('heading', { name: 'Password changed' }).waitFor();
  await page.goto(`/reset-password/${token}`);
  await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
  await signIn(page, { ...person, password: 'a new, longer one' });

  await page.goto('/o/demo/team');
  await button(page, 'Invite member').click();
  await page.getByRole('dialog').getByLabel('Email').fill('friend@demo.test');
  await page.getByRole('dialog').getByRole('button', { name: 'Create invite link' }).click();
  await page.getByText('We emailed an invite to friend@demo.test.').waitFor();
  await eventually(() => expect(smtp.mails.at(-1)!.to).toEqual(['friend@demo.test']));
  await visitor.close();
});

test('sessions are listed with the current device marked, and another session is ended', {
  tags: ['sweep'],
}, async () => {
  const person = await createPerson();
  const visitor = await openVisit();
  const { page } = visitor;
  const phone = new Client(service.address);
  const headers = {
    'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile Safari/604.1',
  };
  await phone.ask({ method: 'POST', path: '/api/session/', body: person, headers });
  await signIn(page, person);
  await page.goto('/o/demo/account');
  const rows = page.getByRole('list', { name: 'Your sessions' }).getByRole('listitem');
  await rows.getByText('Safari on iPhone').waitFor();
  expect(await rows.first().innerText()).toMatch(/Chrome on Linux[\s\S]*This device/);
  await page.getByRole('button', { name: /^Sign out of Safari on iPhone/ }).click();
  await page.getByText('Signed out of Safari on iPhone.').waitFor();
  await eventually(async () => expect((await phone.ask({ path: '/api/session/' })).status).toBe(401));
  expect(await rows.count()).toBe(1);
  await visitor.close();
});

test('the audit log export applies the filters', { tags: ['sweep'] }, async () => {
  const person = await createPerson();
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, person);
  await page.goto(`/o/demo/audit?path=${person.email}`);
  await page.getByText('sign in', { exact: true }).first().waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export as JSON Lines' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^demo-audit-.*\.jsonl$/);
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
  expect(lines.map(line => JSON.parse(line).action)).toEqual(['sign in', 'create']);
  await visitor.close();
});

test('a user with single sign-on only joins, returns to pages and confirms changes without a password', async () => {
  const owner = new Client(sso.address);
  const ownerPerson = await createPerson('owner', sso);
  await owner.signIn(ownerPerson.email, ownerPerson.password);
  const email = 'only-sso@demo.test';
  const invite = { email, role: 'viewer' };
  const { body } = await owner.ask({ method: 'POST', path: '/api/o/demo/invite/', body: invite });
  provider.people.set('kim', { email, email_verified: true, name: 'Kim' });
  provider.subject = 'kim';
  const visitor = await openVisit(sso);
  const { page } = visitor;
  const follow = () => page.getByRole('link', { name: 'Continue with Example' }).click();

  await page.goto(new URL(body.link).pathname);
  await page.getByText(`Sign in there as ${email} to join.`).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'sso-invite');
  await follow();
  await page.waitForURL(/\/o\/demo/);

  await page.goto('/o/demo/account');
  await page.getByText('Your account has no password. You sign in with Example.').waitFor();
  expect(await button(page, 'Change password').count()).toBe(0);
  const confirmed_at = new Date(Date.now() - 3_600_000);
  await sso.runtime.deps.db.updateTable('sessions').set({ confirmed_at }).execute();
  await button(page, 'Set up').click();
  await page.getByRole('dialog', { name: 'Confirm it’s you' }).getByText('You sign in with Example.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await follow();
  await page.waitForURL(/\/o\/demo\/account$/);
  await button(page, 'Set up').click();
  await page.getByRole('dialog', { name: 'Set up an authenticator app' }).waitFor();

  await page.goto('/sign-in?to=/o/demo/users');
  await page.waitForURL(/\/o\/demo\/users$/);
  // Never to another host.
  await page.goto('/sign-in?to=/%09/evil.test/o/demo');
  await page.waitForURL(/localhost:\d+\/o\/demo/);
  await signOut(page);
  await page.goto('/o/demo/team?q=x');
  await page.waitForURL(/\/sign-in\?to=/);
  await follow();
  await page.waitForURL(/\/o\/demo\/team\?q=x$/);
  await visitor.close();
});

test('the sign-in page shows only known errors, and an owner unlinks an identity that was created again', async () => {
  const person = await createPerson('viewer', sso);
  const identity = { email: person.email, email_verified: true, name: 'Pat' };
  const visitor = await openVisit(sso);
  const { page } = visitor;
  const alert = page.getByRole('alert');
  await page.goto('/sign-in?error=Call%20555-1234');
  await alert.getByText('The sign-in failed. Try again.').waitFor();
  expect(await page.getByText('555').count()).toBe(0);
  await page.goto('/sign-in?error=constructor');
  await alert.getByText('The sign-in failed. Try again.').waitFor();
  const { db } = sso.runtime.deps;
  const link = { oidc_issuer: provider.issuer, oidc_subject: 'created before' };
  await db.updateTable('accounts').set(link).where('email', '=', person.email).execute();
  provider.people.set('again', identity);
  provider.subject = 'again';
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Continue with Example' }).click();
  await alert.getByText(/^Your account is linked to another identity .* ask an owner/).waitFor();
  await takeScreenshots(page, 'sso-linked');

  const owner = await openVisit(sso);
  await signIn(owner.page, await createPerson('owner', sso));
  await owner.page.goto('/o/demo/team');
  await owner.page.getByRole('button', { name: `Unlink ${person.email} from single sign-on` }).waitFor();
  expect(await axeViolations(owner.page)).toEqual([]);
  await takeScreenshots(owner.page, 'sso-team');
  await owner.page.getByRole('button', { name: `Unlink ${person.email} from single sign-on` }).click();
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
  await owner.page.getByText(`Unlinked ${person.email}.`).waitFor();
  await owner.close();
  await page.getByRole('link', { name: 'Continue with Example' }).click();
  await page.waitForURL(/\/o\/demo/);
  await visitor.close();
});
