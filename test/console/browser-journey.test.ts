/**
 * The path of a new operator in a real browser: from the first sign-in to a delivered message, and beyond.
 *
 * @module-tag browser
 */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createAccount } from '../../src/services/identity/accounts.ts';
import { createDemo, type Demo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { openBrowser, signIn, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let service: Service;
let demo: Demo;
let browser: Browser;
let visitor: Visit;
let page: Page;

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  demo = (await createDemo(service.runtime.deps))!;
  browser = await openBrowser();
  visitor = await visit(browser, service.address);
  page = visitor.page;
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await service.stop();
});

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const api = () => asker(service.address, demo.key);
const event = '/o/demo/p/shop/a/web/e/order-shipped';

describe('an operator', () => {
  test('is rejected with a wrong password and signs in with the one printed at the first start', async () => {
    await page.goto('/o/demo/keys');
    await page.waitForURL(/\/sign-in/);
    await page.getByLabel('Email').fill(demo.signIn.email);
    await page.getByLabel('Password', { exact: true }).fill('not the password');
    await button('Sign in').click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password', { exact: true }).fill(demo.signIn.password);
    await button('Sign in').click();
    // Sign-in returns to the requested page.
    await page.waitForURL(/\/o\/demo\/keys$/);
  });

  test('sets up a channel in a form generated from the provider’s settings and sends a test', async () => {
    await page.goto('/o/demo/new-channel');
    await button(/^Email/).click();
    await button(/^Sandbox/).click();
    await page.getByLabel('Name').first().fill('News mail');
    await button('Create channel').click();
    await page.waitForURL(/\/channels\/news-mail/);
    await page.goto('/o/demo/channels/news-mail?test');
    await page.getByRole('dialog').getByLabel('To').fill('me@demo.test');
    await button('Send').click();
    await page.getByText('Accepted by the provider').waitFor();
  });

  test('creates an event and a notification', async () => {
    await page.goto('/o/demo/events');
    await button('New event').first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Order shipped');
    await button('Create event').click();
    await page.waitForURL(new RegExp(`${event}$`));

    await page.goto(`${event}/n/new`);
    await page.getByRole('textbox', { name: 'Name' }).fill('on its way');
    await page.getByRole('checkbox', { name: 'Distribution list' }).check();
    await page.getByRole('textbox', { name: 'Subject' }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Parcel {{ parcel }} is on its way');
    await page.getByRole('textbox', { name: 'Body' }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('Hello {{ user.first_name }}, it left today.');
    await button('Create').click();
    await page.waitForURL(/\/n\/\d+$/);
    const { body } = await api()({ path: '/api/o/demo/p/shop/a/web/e/order-shipped/n/' });
    expect(body).toHaveLength(1);
  });

  test('triggers the event and sees its messages in the sandbox', async () => {
    await page.goto(event);
    await button('Trigger').click();
    await button('Trigger now').click();
    await page.getByText('View occurrence').click();
    await page.waitForURL(/\/occurrences\//);
    await page.getByText('Sent', { exact: true }).first().waitFor();
    await page.goto('/o/demo/sandbox');
    await page
      .getByText(/is on its way/)
      .first()
      .waitFor();
  });

  test('looks up why a person got no message', async () => {
    const { body } = await api()({ path: '/api/o/demo/occurrence/?limit=1' });
    await page.goto(`/o/demo/occurrences/${body[0].identifier}`);
    await page.getByLabel('Username or address').fill('nobody@demo.test');
    await button('Check').click();
    await page.getByText('not sent').first().waitFor();
    await page.getByLabel('Username or address').fill('ada@demo.test');
    await button('Check').click();
    await page
      .getByText(/on its way · /)
      .first()
      .waitFor();
  });

  test('imports a CSV file into a list and downloads the rows with errors', async () => {
    const { body: lists } = await api()({ path: '/api/o/demo/p/shop/d/' });
    const rows = [
      'email;First name;City',
      'tim@demo.test;Tim;Oslo',
      'nonsense;Nobody;Rome',
      'ida@demo.test;Ida;Bergen',
    ];
    await page.goto(`/o/demo/p/shop/lists/${lists[0].id}/import`);
    const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) };
    await page.setInputFiles('input[type=file]', file);
    await page.getByText('2. Columns').waitFor();
    await button('Check file').click();
    await page.getByText('4. Import').waitFor();
    await button(/^Import .* rows?$/).click();
    await page.getByRole('link', { name: 'Open list' }).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download as CSV').last().click()]);
    expect(await readFile(await download.path(), 'utf8')).toContain('nonsense');
    const { body: user } = await api()({ path: '/api/o/demo/u/ida@demo.test/' });
    expect(user.first_name).toBe('Ida');
  });

  test('creates an API key that works until it is revoked', async () => {
    await page.goto('/o/demo/keys');
    await button('New API key').click();
    await page.getByLabel('Name').first().fill('nightly job');
    await button('Trigger and follow').click();
    await button('Create key').click();
    await page.getByText('Copy it now').waitFor();
    const shown = await page.getByRole('dialog').innerText();
    const key = /bf_\w+/.exec(shown)![0];
    await button('I’ve copied it').click();
    const trigger = () => asker(service.address, key)({ method: 'POST', path: demo.triggerPath, body: {} });
    expect((await trigger()).status).toBe(201);

    await button(/More actions for nightly job/)
      .first()
      .click();
    await page.getByRole('menuitem', { name: /Revoke/ }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Revoke/ })
      .click();
    await eventually(async () => expect((await trigger()).status).toBe(401));
  });
});

describe('a viewer', () => {
  test('sees occurrences but can change nothing and has no access to API keys', async () => {
    const email = 'vera@demo.test';
    const membership = { organization: 'demo', role: 'viewer' } as const;
    const { password } = await createAccount(service.runtime.deps, { email, name: 'Vera', membership });
    const vera = await visit(browser, service.address);
    await signIn(vera.page, { email, password });
    await vera.page.goto('/o/demo/occurrences');
    await vera.page.getByText('order-paid').first().waitFor();
    await vera.page.goto('/o/demo/channels/mail');
    await vera.page.getByRole('heading', { level: 1 }).waitFor();
    expect(await vera.page.getByRole('button', { name: 'Save', exact: true }).isEnabled()).toBe(false);
    // API keys are for admins and owners: they are not in the navigation, and their page loads none.
    expect(await vera.page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    const refused = vera.page.waitForResponse(answer => answer.url().includes('/api/o/demo/k/'));
    await vera.page.goto('/o/demo/keys');
    expect((await refused).status()).toBe(403);
    await vera.close();
  });
});
