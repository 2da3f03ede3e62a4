/**
 * Every page: axe finds no violations, in light and dark mode, on a desktop and on a phone, and no page breaks another one.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createDemo, type Demo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { axeViolations, brokenWords, openBrowser, signIn, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually, waitFor } from '../support/eventually.ts';

let service: Service;
let demo: Demo;
let browser: Browser;
let occurrence: string;
let listId: number;
let notificationId: number;
let layoutId: number;

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  demo = (await createDemo(service.runtime.deps))!;
  browser = await openBrowser();
  const ask = asker(service.address, demo.key);
  occurrence = (await ask({ method: 'POST', path: demo.triggerPath, body: JSON.parse(demo.body) })).body.occurrence;
  await waitFor('the occurrence to be completed', async () => {
    const { body } = await ask({ path: `/api/o/demo/occurrence/${occurrence}/` });
    return body.status === 'completed' || undefined;
  });
  const lock = { method: 'PATCH', path: '/api/o/demo/u/grace@demo.test/profile/', body: { locked: true } } as const;
  expect((await ask(lock)).status).toBe(200);
  const layout = { name: 'Gala', body: '<p>{{ content }}</p>' };
  layoutId = (await ask({ method: 'POST', path: '/api/o/demo/l/', body: layout })).body.id;
  const category = { slug: 'news', name: 'News', kind: 'promotional', default: true };
  expect((await ask({ method: 'POST', path: '/api/o/demo/categories/', body: category })).status).toBe(201);
  const source = { slug: 'monitoring', name: 'Monitoring', use: 'formatted', routes: [{ event: 'order-paid' }] };
  const made = await ask({ method: 'POST', path: '/api/o/demo/p/shop/a/web/sources/', body: source });
  expect(made.status).toBe(201);
  for (const [alert_uid, state] of [
    ['disk', 'alerting'],
    ['disk', 'alerting'],
    [undefined, 'ok'],
  ])
    await ask({ method: 'POST', path: new URL(made.body.url).pathname, body: { alert_uid, title: alert_uid, state } });
  const webhook = { slug: 'palette', name: 'Palette', url: 'https://hooks.example.com/', types: ['delivery.failed'] };
  expect((await ask({ method: 'POST', path: '/api/o/demo/webhooks/', body: webhook })).status).toBe(201);
  listId = (await ask({ path: '/api/o/demo/p/shop/d/' })).body[0].id;
  notificationId = (await ask({ path: '/api/o/demo/p/shop/a/web/e/order-paid/n/' })).body[0].id;
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

const web = '/o/demo/p/shop/a/web/e/order-paid';

/** Paths by name of the page. */
const pages: Record<string, () => string> = {
  overview: () => '/o/demo',
  occurrences: () => '/o/demo/occurrences',
  activity: () => '/o/demo/activity',
  incidents: () => '/o/demo/incidents',
  pager: () => '/o/demo/pager',
  sources: () => '/o/demo/sources',
  source: () => '/o/demo/sources/shop/web/monitoring',
  'one occurrence': () => `/o/demo/occurrences/${occurrence}`,
  events: () => '/o/demo/p/shop/events',
  event: () => web,
  'notification designer': () => `${web}/n/${notificationId}`,
  channels: () => '/o/demo/channels',
  channel: () => '/o/demo/channels/mail',
  'new channel': () => '/o/demo/new-channel',
  categories: () => '/o/demo/categories',
  category: () => '/o/demo/categories/news',
  'general category': () => '/o/demo/categories/general',
  'new category': () => '/o/demo/new-category',
  suppressions: () => '/o/demo/suppressions',
  webhooks: () => '/o/demo/webhooks',
  webhook: () => '/o/demo/webhooks/palette',
  users: () => '/o/demo/users',
  user: () => '/o/demo/users/ada@demo.test',
  lists: () => '/o/demo/p/shop/lists',
  list: () => `/o/demo/p/shop/lists/${listId}`,
  import: () => `/o/demo/p/shop/lists/${listId}/import`,
  layouts: () => '/o/demo/layouts',
  layout: () => `/o/demo/layouts/${layoutId}`,
  sandbox: () => '/o/demo/sandbox',
  keys: () => '/o/demo/keys',
  audit: () => '/o/demo/audit',
  team: () => '/o/demo/team',
  settings: () => '/o/demo/settings',
  account: () => '/o/demo/account',
  'page not found': () => '/o/demo/nowhere',
};

async function waitUntilSettled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('[aria-busy="true"], .mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}

let visitor: Visit;
beforeAll(async () => {
  visitor = await visit(browser, service.address);
});
afterAll(() => visitor.close());

/** Switches the color scheme and waits until color transitions are over. */
async function switchTo(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
  const transitionsEnded = 'document.getAnimations().every(({ transitionProperty }) => !transitionProperty)';
  await waitFor(
    'the color transitions to end',
    async () => (await page.evaluate<boolean>(transitionsEnded)) || undefined,
  );
}

async function expectNoViolations(page: Page): Promise<void> {
  await waitUntilSettled(page);
  expect(await axeViolations(page), 'light').toEqual([]);
  expect(await brokenWords(page), 'words broken in tables').toEqual([]);
  expect(await page.locator('body').innerText()).not.toMatch(/\bNaN\b/);
  // Only the colors differ.
  await switchTo(page, 'dark');
  expect(await axeViolations(page, ['color-contrast']), 'dark').toEqual([]);
  await switchTo(page, 'light');
  await page.setViewportSize({ width: 390, height: 900 });
  expect(await axeViolations(page), 'on a phone').toEqual([]);
  // The page may still follow the new width.
  const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth');
  await eventually(async () => expect(await overflow(), 'horizontal overflow').toBeLessThanOrEqual(0));
  await page.setViewportSize({ width: 1280, height: 900 });
}

test('the sign-in page has no violations', async () => {
  await visitor.page.goto('/sign-in');
  await expectNoViolations(visitor.page);
  await signIn(visitor.page, demo.signIn);
});

test.each(Object.keys(pages))('the page %s has no violations', async name => {
  await visitor.page.goto(pages[name]!());
  await expectNoViolations(visitor.page);
});

test('no page breaks another that was opened before it in the same tab', async () => {
  const { page } = visitor;
  await page.goto('/o/demo');
  await waitUntilSettled(page);
  // Forwards and back again: each pair of pages is opened in both orders, with the responses of all others in the cache.
  const names = Object.keys(pages);
  const broken: string[] = [];
  for (const name of [...names, ...names.toReversed()]) {
    await page.evaluate(
      `history.pushState(null, '', ${JSON.stringify(pages[name]!())}); dispatchEvent(new PopStateEvent('popstate'))`,
    );
    await page.waitForURL(url => url.pathname === pages[name]!());
    await waitUntilSettled(page);
    const title = await page.getByRole('heading', { level: 1 }).innerText();
    if (title === 'Something went wrong') broken.push(name);
  }
  expect(broken).toEqual([]);
});
