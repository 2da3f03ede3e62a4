/**
 * The guides in a real browser: search by keyboard, dark mode, phones, and no JavaScript.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { axeViolations, openBrowser, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let service: Service;
let browser: Browser;
let visitor: Visit;
beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  browser = await openBrowser();
  visitor = await visit(browser, service.address);
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await service.stop();
});

/** Returns the value or text of the focused element. */
const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.value ?? document.activeElement.textContent');
const results = (page: Page) => page.locator('#docs-results a');

test('the search works by keyboard alone and loads its index on first use', async () => {
  const { page } = visitor;
  const requested: string[] = [];
  page.on('request', request => requested.push(new URL(request.url()).pathname));
  await page.goto('/docs/guides');
  expect(requested).not.toContain('/docs/search.json');
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Search' }).waitFor();
  await page.keyboard.type('quiet HOURS');
  await results(page).first().waitFor();
  expect(await results(page).first().textContent()).toContain('Quiet hours');
  // The excerpt marks the matched words.
  expect((await results(page).first().locator('span mark').first().textContent())?.toLowerCase()).toMatch(
    /^(quiet|hours)$/,
  );
  expect(await page.getByRole('status').textContent()).toMatch(/^\d+ results$/);
  expect(await axeViolations(page)).toEqual([]);

  await page.keyboard.press('ArrowDown');
  expect(await focused(page)).toContain('Quiet hours');
  await page.keyboard.press('ArrowUp');
  expect(await focused(page)).toBe('quiet HOURS');
  await page.keyboard.press('Escape');
  expect(await results(page).count()).toBe(0);

  await page.keyboard.type('zzzz');
  await page.getByText('No results').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.type('a restored database sends nothing');
  await results(page).first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/guides/backup#a-restored-database-sends-nothing');
});

test('the search treats input as plain text', async () => {
  const { page } = visitor;
  await page.goto('/docs/guides');
  await page.getByRole('searchbox').fill('<script src=');
  await results(page).first().waitFor();
  expect(await page.locator('#docs-results script').count()).toBe(0);
  await page.getByRole('searchbox').fill('(((*');
  await page.getByText('No results').waitFor();
});

test.each(['/docs/guides', '/docs/guides/preferences', '/docs/configuration', '/docs/providers/smtp'])(
  '%s has no axe violations in light and dark mode, on a desktop and on a phone',
  async address => {
    const { page } = visitor;
    await page.goto(address);
    expect(await axeViolations(page), 'light').toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await axeViolations(page, ['color-contrast']), 'dark').toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await axeViolations(page), 'on a phone').toEqual([]);
    expect(
      await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
      'horizontal overflow',
    ).toBeLessThanOrEqual(0);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  },
);

test('a guide shows its images', async () => {
  const { page } = visitor;
  await page.goto('/docs/guides/preferences');
  const pictures = page.locator('article img');
  expect(await pictures.count()).toBeGreaterThan(2);
  for (const picture of await pictures.all()) await picture.scrollIntoViewIfNeeded();
  const widths = () =>
    page.evaluate<number[]>('[...document.querySelectorAll("article img")].map(e => e.naturalWidth)');
  await eventually(async () => expect(Math.min(...(await widths()))).toBeGreaterThan(100));
});

test('without JavaScript the list of pages is shown and the search box is not', async () => {
  const visitorWithoutScripts = await visit(browser, service.address, { javaScriptEnabled: false });
  await visitorWithoutScripts.page.goto('/docs/guides');
  expect(await visitorWithoutScripts.page.getByRole('searchbox').count()).toBe(0);
  await visitorWithoutScripts.page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: 'SMTP' })
    .click();
  await visitorWithoutScripts.page.getByRole('heading', { level: 1, name: 'SMTP' }).waitFor();
  await visitorWithoutScripts.close();
});

test('the API reference links to the guides, and nothing covers the link', async () => {
  const { page } = visitor;
  await page.goto('/docs');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.press('Escape');
  const guides = page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Guides' });
  await guides.click();
  await page.waitForURL('**/docs/guides');
});
