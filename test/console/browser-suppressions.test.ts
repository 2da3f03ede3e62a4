/**
 * The suppression list in the console, from an empty list to an entry that is removed again, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createDemo } from '../../src/services/operations/demo/demo.ts';
import { axeViolations, openBrowser, signIn, takeScreenshots, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { runSql } from '../support/sql.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let service: Service;
let browser: Browser;
let visitor: Visit;
let page: Page;

beforeAll(async () => {
  await buildConsole();
  service = await testService({ BELFRY_ROLE: 'api' });
  const demo = (await createDemo(service.runtime.deps))!;
  browser = await openBrowser();
  visitor = await visit(browser, service.address);
  visitor.context.setDefaultTimeout(30_000);
  page = visitor.page;
  await signIn(page, demo.signIn);
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await service.stop();
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');
const row = (text: string) => page.getByRole('row').filter({ hasText: text });

test('an address is added, imported, found, shown on the page of its person, and removed after confirmation', async () => {
  const [{ email }] = (await runSql(service.runtime.url, 'select email from users order by id limit 1')) as [
    { email: string },
  ];
  await page.goto('/o/demo');
  await page.getByRole('link', { name: 'Suppressions', exact: true }).click();
  await page.getByText('Nothing is suppressed').waitFor();
  await takeScreenshots(page, 'suppressions-empty');

  await button('Add suppression').first().click();
  await dialog().getByLabel('Address or domain').fill('nonsense');
  await button('Add').click();
  await dialog().getByText('is not a valid email address, nor a domain').waitFor();
  await dialog().getByLabel('Address or domain').fill(email);
  await dialog().getByLabel('Note').fill('asked by phone');
  await takeScreenshots(page, 'suppressions-add');
  await button('Add').click();
  await row(email).getByText('Manual', { exact: true }).waitFor();

  await button('Import CSV').click();
  const upload = async (text: string) => {
    const chooser = page.waitForEvent('filechooser');
    await dialog().getByLabel('CSV file').click();
    await (await chooser).setFiles({ name: 'bounces.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await button('Import').click();
  };
  await upload('target,reason\nnobody,bounced\n');
  await dialog().getByText('row 2/target').waitFor();
  await takeScreenshots(page, 'suppressions-import');
  await upload(
    'target,reason,detail,expires_at\n@gone.test,bounced,550 no such host,2090-01-31\nbo@six.test,complained,,\n',
  );
  await row('@gone.test').getByText('Bounced').waitFor();
  await takeScreenshots(page, 'suppressions-list');
  expect(await axeViolations(page)).toEqual([]);

  await page.getByLabel('Search by address or domain').fill('@gone');
  await row(email).waitFor({ state: 'detached' });
  await row('@gone.test').waitFor();

  await page.goto(`/o/demo/users/${encodeURIComponent(email)}`);
  await page.getByText('Suppressed', { exact: true }).waitFor();
  await takeScreenshots(page, 'suppressions-person');
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('link', { name: /^manual, / }).click();
  await page.getByRole('heading', { name: 'Suppressions', level: 1 }).waitFor();
  await button(`Remove ${email}`).click();
  await dialog().getByText('recorded in the audit log').waitFor();
  await takeScreenshots(page, 'suppressions-remove');
  await button('Remove from the list').click();
  await page.getByText('No matches').waitFor();
});
