/** Signing in as people do, in a real browser with an authenticator of its own: passkeys, codes, resets, sessions. */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../scripts/console.ts';
import type { Service } from '../src/app.ts';
import { createAccount } from '../src/services/accounts.ts';
import { createDemo } from '../src/services/demo.ts';
import { Browser as Client, guessedFromAnywhere } from './support/accounts.ts';
import { eventually } from './support/api.ts';
import { axeViolations, openBrowser, signIn, type Visit, visit } from './support/browser.ts';
import { testService } from './support/database.ts';
import { openSmtpPeer, type SmtpPeer } from './support/smtp.ts';
import { codeOf } from './support/totp.ts';

// Each of these is a journey of a minute on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

let service: Service;
let mailing: Service;
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
  for (const { runtime } of [service, mailing]) await createDemo(runtime.deps);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await Promise.all([service.stop(), mailing.stop()]);
  await smtp.close();
});

/** Browsers have passkeys for names alone. */
const addressOf = ({ address }: Service) => address.replace('127.0.0.1', 'localhost');
const password = 'correct horse battery';
let count = 0;

async function newPerson(role: 'owner' | 'viewer' = 'owner', of = service) {
  const email = `person-${++count}@demo.test`;
  const membership = { organization: 'demo', role } as const;
  await createAccount(of.runtime.deps, { email, name: 'Pat', password, membership });
  return { email, password };
}

/** With a device that has a fingerprint reader, and a finger on it. */
async function openVisit(of = service): Promise<Visit> {
  const visitor = await visit(browser, addressOf(of));
  visitor.context.setDefaultTimeout(60_000);
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

async function fillSignIn(page: Page, given: { email: string; password: string }): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(given.email);
  await page.getByLabel('Password', { exact: true }).fill(given.password);
  await button(page, 'Sign in').click();
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account:/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(/\/sign-in/);
}

/** Ten of them, read and put away. */
async function saveCodes(page: Page): Promise<string[]> {
  const dialog = page.getByRole('dialog', { name: 'Save your recovery codes' });
  await dialog.waitFor();
  const codes = await dialog.getByRole('listitem').allInnerTexts();
  expect(codes).toHaveLength(10);
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByLabel('I have saved my recovery codes').check();
  await button(page, 'Done').click();
  return codes;
}

async function addApp(page: Page): Promise<{ secret: string; codes: string[] }> {
  await button(page, 'Set up').click();
  const dialog = page.getByRole('dialog', { name: 'Set up an authenticator app' });
  await dialog.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const secret = /[A-Z2-7]{32}/.exec(await dialog.innerText())![0];
  await dialog.getByLabel('Authentication code').fill(codeOf(secret, -1));
  await button(page, 'Verify and turn on').click();
  return { secret, codes: await saveCodes(page) };
}

test('a passkey is added, signs in without a password, and is the second factor with one', async () => {
  const person = await newPerson();
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
  await page.getByRole('alert').getByText('This passkey is not known here').waitFor();
  await visitor.close();
});

test('the answer of a passkey opens one session: what somebody recorded opens nothing', async () => {
  const person = await newPerson();
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
  const ask = async (path: string, given?: object, host = new URL(addressOf(service)).host) => {
    const answer = await client.ask({ method: 'POST', path, body: given, headers: { host } });
    return { ...answer, told: [answer.status, answer.body.code] };
  };
  expect((await ask('/api/session/passkey/', body)).told).toEqual([401, 'passkey.refused']);
  // Many authenticators do not count: then the challenge is what works once.
  await service.runtime.deps.db.updateTable('passkeys').set({ counter: 0 }).execute();
  expect((await ask('/api/session/passkey/', body)).told).toEqual([401, 'session.expired']);
  // The token of another sign-in has another challenge, and another host is another site.
  const begun = await ask('/api/session/passkey/options/');
  const moved = { ...body, token: begun.body.token };
  expect((await ask('/api/session/passkey/', moved)).told).toEqual([401, 'passkey.refused']);
  expect((await ask('/api/session/passkey/', body, 'evil.test')).told).toEqual([401, 'passkey.refused']);
  expect((await ask('/api/session/passkey/', { ...body, token: 'made up' })).told).toEqual([401, 'session.expired']);

  // At a bare address there are none, and the answer says what to do.
  const bare = await client.ask({ method: 'POST', path: '/api/session/passkey/options/' });
  expect([bare.status, bare.body.code]).toEqual([409, 'passkey.unavailable']);
  expect(bare.body.detail).toContain(addressOf(service));
  await visitor.close();
});

test('an authenticator app is set up, asked for, and replaced by a recovery code when the phone is lost', async () => {
  const person = await newPerson();
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, person);
  await page.goto('/o/demo/account');
  const { secret, codes } = await addApp(page);
  await page.getByText('10 of 10 codes left.').waitFor();
  await signOut(page);

  await fillSignIn(page, person);
  await page.getByLabel('Authentication code').fill('000000');
  await button(page, 'Verify').click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Authentication code').fill(codeOf(secret));
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

  // A while later, changing it takes the password.
  const confirmed_at = new Date(Date.now() - 3_600_000);
  await service.runtime.deps.db.updateTable('sessions').set({ confirmed_at }).execute();
  await button(page, 'Remove the authenticator app').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await asked.getByLabel('Password').first().fill(password);
  await asked.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('Authenticator app removed.').waitFor();
  await visitor.close();
});

test('while strangers guess, whoever has an authenticator app signs in with password and code at once', async () => {
  const person = await newPerson();
  const visitor = await openVisit();
  await signIn(visitor.page, person);
  await visitor.page.goto('/o/demo/account');
  const { secret } = await addApp(visitor.page);
  await visitor.close();
  await guessedFromAnywhere(service.runtime.deps, person.email, 49);
  const elsewhere = await openVisit();
  const { page } = elsewhere;
  await fillSignIn(page, { ...person, password: 'not the password' });
  await page.getByRole('alert').waitFor();
  await fillSignIn(page, person);
  await page.getByText(/Too many attempts/).waitFor();
  await button(page, 'Have an authenticator app? Sign in now').click();
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByLabel('Authentication code').fill(codeOf(secret));
  expect(await axeViolations(page)).toEqual([]);
  await button(page, 'Sign in').click();
  await page.waitForURL(/\/o\/demo/);
  await elsewhere.close();
});

test('an owner requires two-factor authentication, and a member is led to set it up', async () => {
  const [owner, viewer] = [await newPerson(), await newPerson('viewer')];
  const visitor = await openVisit();
  const { page } = visitor;
  await signIn(page, owner);
  await page.goto('/o/demo/settings');
  expect(await page.getByRole('switch', { name: 'Require two-factor authentication' }).isDisabled()).toBe(true);
  await page.getByRole('link', { name: 'your own account' }).click();
  await addApp(page);

  const member = await openVisit();
  await signIn(member.page, viewer);
  await member.page.goto('/o/demo/people');
  await member.page.getByRole('heading', { name: 'People' }).waitFor();

  await page.goto('/o/demo/settings');
  await page.getByRole('switch', { name: 'Require two-factor authentication' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Require' }).click();
  await page.getByText('Two-factor authentication is now required.').waitFor();
  await page.goto('/o/demo/team');
  await page
    .getByRole('row', { name: new RegExp(viewer.email) })
    .getByText('Off')
    .waitFor();

  // Also where a page was open already.
  await member.page.getByRole('link', { name: 'Events' }).click();
  await member.page.getByRole('heading', { name: 'Set up two-factor authentication' }).waitFor();
  expect(await axeViolations(member.page)).toEqual([]);
  expect(await member.page.getByRole('link', { name: 'People' }).count()).toBe(0);
  await button(member.page, 'Add passkey').click();
  await saveCodes(member.page);
  await member.page.getByRole('link', { name: 'People' }).waitFor();
  await member.close();

  await page.goto('/o/demo/settings');
  await page.getByRole('switch', { name: 'Require two-factor authentication' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop requiring' }).click();
  await page.getByText('Two-factor authentication is no longer required.').waitFor();
  await visitor.close();
});

test('a forgotten password is reset by mail', async () => {
  const person = await newPerson('owner', mailing);
  const visitor = await openVisit(mailing);
  const { page } = visitor;
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  // Until it is there, the page before has a field of the same name.
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
  await page.getByText(/is too short/).waitFor();
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

test('sessions are listed with this device among them, and another one is ended', async () => {
  const person = await newPerson();
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

test('the audit log is exported as it is filtered', async () => {
  const person = await newPerson();
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
