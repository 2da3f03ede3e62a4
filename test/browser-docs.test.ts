/** The guides in a real browser: searched by keyboard, readable in the dark and on a phone, and without JavaScript. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { axeViolations, openBrowser, type Visit, visit } from './support/browser.ts';
import { testService } from './support/database.ts';

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

/** What the element that has the focus says. */
const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.value ?? document.activeElement.textContent');
const results = (page: Page) => page.locator('#docs-results a');

test('the search is used by keyboard alone, and reads its index when somebody goes to it', async () => {
  const { page } = visitor;
  const asked: string[] = [];
  page.on('request', request => asked.push(new URL(request.url()).pathname));
  await page.goto('/docs/guides');
  expect(asked).not.toContain('/docs/search.json');
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Search' }).waitFor();
  await page.keyboard.type('quiet HOURS');
  await results(page).first().waitFor();
  expect(await results(page).first().textContent()).toContain('Quiet hours');
  // The words around the hit, with the hit marked.
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

test('what is typed stays text', async () => {
  const { page } = visitor;
  await page.goto('/docs/guides');
  await page.getByRole('searchbox').fill('<script src=');
  await results(page).first().waitFor();
  expect(await page.locator('#docs-results script').count()).toBe(0);
  await page.getByRole('searchbox').fill('(((*');
  await page.getByText('No results').waitFor();
});

test.each(['/docs/guides', '/docs/guides/preferences', '/docs/configuration', '/docs/providers/smtp'])(
  '%s has nothing for axe to find, in light and dark, wide and on a phone',
  async address => {
    const { page } = visitor;
    await page.goto(address);
    expect(await axeViolations(page), 'light').toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await axeViolations(page, ['color-contrast']), 'dark').toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await axeViolations(page), 'on a phone').toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 'sticks out').toBeLessThanOrEqual(
      0,
    );
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  },
);

test('pictures are shown', async () => {
  const { page } = visitor;
  await page.goto('/docs/guides/preferences');
  const pictures = page.locator('article img');
  expect(await pictures.count()).toBeGreaterThan(2);
  for (const picture of await pictures.all()) await picture.scrollIntoViewIfNeeded();
  const widths = () =>
    page.evaluate<number[]>('[...document.querySelectorAll("article img")].map(e => e.naturalWidth)');
  await expect.poll(async () => Math.min(...(await widths()))).toBeGreaterThan(100);
});

test('without JavaScript there is the list of pages, and no box that does nothing', async () => {
  const plain = await visit(browser, service.address, { javaScriptEnabled: false });
  await plain.page.goto('/docs/guides');
  expect(await plain.page.getByRole('searchbox').count()).toBe(0);
  await plain.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'SMTP' }).click();
  await plain.page.getByRole('heading', { level: 1, name: 'SMTP' }).waitFor();
  await plain.close();
});

test('the API reference leads to the guides, which its own parts do not cover', async () => {
  const { page } = visitor;
  await page.goto('/docs');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const guides = page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Guides' });
  await guides.click();
  await page.waitForURL('**/docs/guides');
});
