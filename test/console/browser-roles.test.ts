/**
 * The console by role: allowed actions work, the others are disabled with an explanation.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import type { Role } from '../../src/core/identity/roles.ts';
import { createAccount } from '../../src/services/identity/accounts.ts';
import { createDemo, type Demo } from '../../src/services/operations/demo/demo.ts';
import { type Ask, asker } from '../support/api.ts';
import { openBrowser, signIn, takeScreenshots, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

let service: Service;
let demo: Demo;
let browser: Browser;
let ask: Ask;
const visitors: Visit[] = [];

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  demo = (await createDemo(service.runtime.deps))!;
  browser = await openBrowser();
  ask = asker(service.address, demo.key);
});
afterAll(async () => {
  for (const visitor of visitors) await visitor.close();
  await browser.close();
  await service.stop();
});

/** Creates an account with the role and signs it in. */
async function signInAs(role: Role, options: Parameters<typeof visit>[2] = {}) {
  const email = `${role}${visitors.length}@demo.test`;
  const membership = { organization: 'demo', role };
  const { password } = await createAccount(service.runtime.deps, { email, name: role, membership });
  const visitor = await visit(browser, service.address, options);
  visitors.push(visitor);
  await signIn(visitor.page, { email, password });
  return { email, page: visitor.page };
}

const event = '/o/demo/p/shop/a/web/e/order-paid';
const trigger = () => ask({ method: 'POST', path: demo.triggerPath, body: JSON.parse(demo.body) });

describe('a viewer', () => {
  test('sees on a phone how to start, without horizontal scrolling', async () => {
    const { page } = await signInAs('viewer', { viewport: { width: 390, height: 844 } });
    await page.goto('/o/demo');
    await page.getByText('No occurrences yet').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  });

  test('sees an event’s actions disabled, and exports a list as a file', async () => {
    const { page } = await signInAs('viewer');
    await page.goto(event);
    await page.getByRole('button', { name: /^More actions for event/ }).click();
    const items = page.getByRole('menuitem');
    await items.first().waitFor();
    for (const item of await items.all()) expect(await item.isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Search' }).fill('order paid');
    await page.locator('.mantine-Spotlight-action', { hasText: 'Order paid' }).waitFor();
    expect(await page.locator('.mantine-Spotlight-action', { hasText: /^(Trigger|Pause) / }).count()).toBe(0);
    await page.keyboard.press('Escape');
    const { body: lists } = await ask({ path: '/api/o/demo/p/shop/d/' });
    await page.goto(`/o/demo/p/shop/lists/${lists[0].id}`);
    await page.getByRole('button', { name: /^More/ }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export as CSV' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain('ada@demo.test');
  });
});

test('an administrator of the installation who is not a member sees why the team does not list them', async () => {
  const email = 'operator@demo.test';
  const { password } = await createAccount(service.runtime.deps, { email, name: 'Operator', admin: true });
  const visitor = await visit(browser, service.address);
  visitors.push(visitor);
  await signIn(visitor.page, { email, password });
  await visitor.page.goto('/o/demo/team');
  await visitor.page.getByText('admin@demo.test').first().waitFor();
  await visitor.page.getByText('You are not a member. You have access as an administrator').waitFor();
});

test('an editor’s test send is prefilled with their own address and explains which addresses it may reach', async () => {
  const { email, page } = await signInAs('editor');
  const { body: notifications } = await ask({ path: `/api${event}/n/` });
  await page.goto(`${event}/n/${notifications[0].id}`);
  await page.getByRole('button', { name: 'Send test' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel('To').inputValue()).toBe(email);
  await dialog.getByText('Your own or a team member’s.').waitFor();
  await dialog.getByRole('button', { name: 'Send test' }).click();
  await dialog.getByText('Accepted by the provider').waitFor();
});

test('an editor renames, deactivates and reactivates an event', async () => {
  const { page } = await signInAs('editor');
  await page.goto(event);
  const choose = async (name: string) => {
    await page.getByRole('button', { name: /^More actions for event/ }).click();
    await page.getByRole('menuitem', { name, exact: true }).click();
  };
  await choose('Edit');
  await page.getByRole('dialog').getByLabel('Name').fill('Order is paid');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Order is paid' }).waitFor();
  await choose('Deactivate');
  await page.getByText('Inactive', { exact: true }).waitFor();
  expect((await trigger()).body).toMatchObject({ status: 400, code: 'event.inactive' });
  await choose('Activate');
  await page.getByText('Inactive', { exact: true }).waitFor({ state: 'detached' });
  expect((await trigger()).status).toBe(201);
});

describe('an owner', () => {
  test('changes the role of another member', async () => {
    const { email } = await signInAs('viewer');
    const { page } = await signInAs('owner');
    await page.goto('/o/demo/team');
    await page.getByLabel(`Role of ${email}`).first().click();
    await page.getByRole('option', { name: 'editor' }).click();
    await page.getByText(`${email} is now editor.`).waitFor();
    const { body } = await ask({ path: '/api/o/demo/account/' });
    expect(body).toContainEqual(expect.objectContaining({ email, role: 'editor' }));
  });

  test('removes a stored secret of a channel together with the setting that requires it', async () => {
    const provider = {
      use: 'smtp',
      host: '127.0.0.1',
      from: 'a@demo.test',
      user: 'bell',
      password: 'hush-hush',
    };
    const channel = { slug: 'server', name: 'Server', type: 'email', providers: [provider] };
    await ask({ method: 'POST', path: '/api/o/demo/c/', body: channel });
    const { page } = await signInAs('owner');
    await page.goto('/o/demo/channels/server');
    await page.getByRole('button', { name: 'Remove the stored Password' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/required together with user/).waitFor();
    await page.getByLabel('User', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.', { exact: false }).waitFor();
    expect((await ask({ path: '/api/o/demo/c/server/' })).body.providers[0]).toMatchObject({ secrets_set: [] });
  });

  test('sees all channels and their health with one request', async () => {
    const { page } = await signInAs('owner');
    const requested: string[] = [];
    page.on('request', request => void requested.push(new URL(request.url()).pathname));
    await page.goto('/o/demo/channels');
    await page.getByText('Nothing sent').first().waitFor();
    expect(requested.filter(path => /\/(c|channel)\//.test(path))).toEqual(['/api/o/demo/channel/']);
  });
});

test('limits and their usage are visible to every role and changed by an instance admin', async () => {
  const { page } = await signInAs('viewer');
  await page.goto('/o/demo/settings');
  const { body } = await ask({ path: '/api/o/demo/limits/' });
  await page.getByText(`${body.used.users} of 5,000,000`).waitFor();
  await page.getByText('Set by the administrator of this installation.').waitFor();
  expect(await page.getByRole('button', { name: 'Edit limits' }).count()).toBe(0);

  const visitor = await visit(browser, service.address);
  visitors.push(visitor);
  const { page: own } = visitor;
  await signIn(own, demo.signIn);
  await own.goto('/o/demo/settings');
  await own.getByRole('button', { name: 'Edit limits' }).click();
  await own.getByLabel('Users').fill('100');
  await own.getByLabel('Stored messages').fill('');
  await own.getByRole('button', { name: 'Save limits' }).click();
  await own.getByText(`${body.used.users} of 100`).waitFor();
  await own.getByText(/, no limit$/).waitFor();
  expect((await ask({ path: '/api/o/demo/limits/' })).body).toMatchObject({ users: 100, stored_messages: null });
});

test('an owner creates an API key restricted to one address, within the maximum key lifetime', async () => {
  const { page } = await signInAs('owner');
  await page.goto('/o/demo/settings');
  await page.getByLabel('Maximum key lifetime (days)').fill('60');
  await page.getByRole('region', { name: 'Organization' }).getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  await page.goto('/o/demo/keys');
  await page
    .getByRole('button', { name: /^New API key/ })
    .first()
    .click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name').fill('narrow');
  await form.getByLabel('Allowed addresses').fill('198.51.100.7');
  await form.getByLabel('Allowed addresses').press('Enter');
  await form.getByRole('button', { name: 'Create key' }).click();
  await form.getByText(/expire after at most 60 days/).waitFor();
  await form.getByLabel('Expires').click();
  await page.getByRole('option', { name: 'In 30 days' }).click();
  await form.getByRole('button', { name: 'Create key' }).click();
  await page
    .getByText(/bf_[0-9A-Za-z]{12}_/)
    .first()
    .waitFor();
  await eventually(async () => {
    const keys = (await ask({ path: '/api/o/demo/k/' })).body as { name: string; allowed_networks: string[] | null }[];
    expect(keys.find(({ name }) => name === 'narrow')?.allowed_networks).toEqual(['198.51.100.7']);
  });
});

test('a member finds organizations that have moved to another cell in the menu and at their old address', async () => {
  const { email, page } = await signInAs('viewer');
  await runSql(
    service.runtime.url,
    `with o as (insert into organizations (slug, name) values ('gone', 'Gone Inc.') returning id),
     m as (insert into memberships (organization_id, account_id, role)
       select o.id, a.id, 'viewer' from o, accounts a where a.email = $1)
     insert into organization_moves (organization_id, id, slug, state, url)
     select id, gen_random_uuid(), 'gone', 'left', 'https://cell2.example.com' from o`,
    [email],
  );
  await page.goto('/o/demo');
  await page.getByRole('button', { name: /^Organization: / }).click();
  const item = page.getByRole('menuitem', { name: 'Gone Inc.' });
  expect(await item.getAttribute('href')).toBe('https://cell2.example.com/o/gone');
  await takeScreenshots(page, 'moved-organizations');
  await page.goto('/o/gone');
  const link = page.getByRole('link', { name: 'Gone Inc. (moved to cell2.example.com)' });
  expect(await link.getAttribute('href')).toBe('https://cell2.example.com/o/gone');
});
