/**
 * Screens of the console, each with its main purpose.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Demo } from '../../src/services/operations/demo/demo.ts';
import type { Ask } from '../support/api.ts';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually, waitFor } from '../support/eventually.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let site: DemoConsole;
let demo: Demo;
let page: Page;
let ask: Ask;
let occurrence: string;

beforeAll(async () => {
  site = await openDemoConsole({}, { timezoneId: 'Asia/Tokyo' });
  ({ demo, ask, page } = site);
  await ask({ method: 'POST', path: '/api/o/demo/p/', body: { slug: 'blog', name: 'Blog' } });
  const body = { context: { order: 'B-7', amount: '70 EUR' } };
  occurrence = (await ask({ method: 'POST', path: demo.triggerPath, body })).body.occurrence;
  await waitFor('the occurrence to be completed', async () => {
    const { body } = await ask({ path: `/api/o/demo/occurrence/${occurrence}/` });
    return body.status === 'completed' || undefined;
  });
});
afterAll(() => site.close());

const button = (name: string) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');

describe('an occurrence', () => {
  test('shows the time of each step in the viewer’s time zone', async () => {
    const { body } = await ask({ path: `/api/o/demo/occurrence/${occurrence}/` });
    const inTokyo = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23', timeZone: 'Asia/Tokyo' });
    await page.goto(`/o/demo/occurrences/${occurrence}`);
    const steps = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
    await steps
      .filter({ hasText: 'Accepted' })
      .getByText(inTokyo.format(new Date(body.created_at)))
      .waitFor();
    for (const name of ['Recipients resolved', 'Messages sent', 'Completed']) {
      await steps
        .filter({ hasText: name })
        .getByText(/\d\d:\d\d:\d\d/)
        .waitFor();
    }
    expect(await axeViolations(page)).toEqual([]);
  });

  test('is triggered again with its context after confirming the number of messages', async () => {
    await page.goto(`/o/demo/occurrences/${occurrence}`);
    await button('Trigger again with this context').click();
    await page.waitForURL(/\/e\/order-paid$/);
    await page.getByRole('textbox', { name: 'Trigger context' }).getByText('B-7').waitFor();
    await button('Trigger').click();
    await dialog().getByText('6 messages will be sent to real recipients.').waitFor();
    await button('Trigger now').click();
    await page.getByRole('link', { name: 'View occurrence' }).waitFor();
    const { body } = await ask({ path: '/api/o/demo/occurrence/?limit=1' });
    expect((await ask({ path: `/api/o/demo/occurrence/${body[0].identifier}/` })).body.context).toEqual({
      order: 'B-7',
      amount: '70 EUR',
    });
  });
});

test('a new channel reports all missing settings at once and generates secrets', async () => {
  await page.goto('/o/demo/new-channel?type=webhook&use=standard-webhooks');
  const guide = page.getByRole('link', { name: 'How to set up Standard Webhooks' });
  expect((await page.request.get((await guide.getAttribute('href'))!)).status()).toBe(200);
  await page.getByLabel('Name').first().fill('');
  await button('Create channel').click();
  await page.getByText('Enter a name').waitFor();
  await page.getByText('Required', { exact: true }).first().waitFor();
  await button('Generate secrets').click();
  const secret = page.getByLabel('secret', { exact: false }).first();
  await eventually(async () => expect(await secret.inputValue()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/), 30_000);
  await page.getByLabel('Name').first().fill('Hooks');
  await button('Create channel').click();
  await page.waitForURL(/\/channels\/hooks/);
});

describe('users', () => {
  test('are counted, sorted by name, and filtered by state', async () => {
    for (const n of [10, 2]) {
      const email = `unit${n}@demo.test`;
      await ask({ method: 'POST', path: '/api/o/demo/u/', body: { email, first_name: 'Unit', last_name: String(n) } });
    }
    await ask({ method: 'PATCH', path: '/api/o/demo/u/unit10@demo.test/', body: { locked: true } });
    await page.goto('/o/demo/users');
    await page.getByText('5 users').waitFor();
    const names = page.getByRole('table', { name: 'Users' }).getByRole('link');
    await eventually(
      async () =>
        expect(await names.allInnerTexts()).toEqual([
          'Ada Lovelace',
          'Alan Turing',
          'Grace Hopper',
          'Unit 2',
          'Unit 10',
        ]),
      30_000,
    );
    await page.getByLabel('State').first().click();
    await page.getByRole('option', { name: 'Locked' }).click();
    await eventually(async () => expect(await names.allInnerTexts()).toEqual(['Unit 10']), 30_000);
  });

  test('are added to a list on their own page, which also shows their inbox', async () => {
    await page.goto('/o/demo/users/unit2@demo.test');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await button('Add to list').click();
    await dialog().getByLabel('List').first().click();
    await page.getByRole('option', { name: 'Customers' }).click();
    await dialog().getByRole('button', { name: 'Add to list' }).click();
    await page.getByRole('table', { name: 'Lists' }).getByText('Customers').waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });
});

test('the sandbox lists messages by their subjects', async () => {
  await page.goto('/o/demo/sandbox');
  await page.getByRole('navigation', { name: 'Messages' }).getByText('Order B-7 is paid').first().waitFor();
});

test('the palette finds a list, a layout, a key, a category and an action', async () => {
  await ask({ method: 'POST', path: '/api/o/demo/l/', body: { name: 'Gala', body: '<p>{{ content }}</p>' } });
  const category = { slug: 'product-news', name: 'Product news', kind: 'promotional', default: true };
  expect((await ask({ method: 'POST', path: '/api/o/demo/categories/', body: category })).status).toBe(201);
  await page.goto('/o/demo');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const search = async (text: string, found: string) => {
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Search' }).fill(text);
    await page.locator('.mantine-Spotlight-action', { hasText: found }).first().click();
  };
  await search('custom', 'Customers');
  await page.waitForURL(/\/lists\/\d+$/);
  await search('gala', 'Gala');
  await page.waitForURL(/\/layouts\/\d+$/);
  await search('new user', 'New user');
  await dialog().getByLabel('Email').waitFor();
  await dialog().getByRole('button', { name: 'Cancel' }).click();
  await search('demo', 'bf_');
  await page.waitForURL(/\/keys$/);
  await search('product', 'Product news');
  await page.waitForURL(/\/categories\/product-news$/);
});

test('the palette triggers, pauses and resumes an event by keyboard', async () => {
  const choose = async (text: string, found: string) => {
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Search' }).fill(text);
    await page.locator('.mantine-Spotlight-action', { hasText: found }).first().waitFor();
    await page.keyboard.press('Enter');
  };
  await page.goto('/o/demo');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await choose('pause order paid', 'Pause Order paid');
  await page.getByRole('dialog').getByLabel('Reason (optional)').fill('typo in the receipt');
  await page.keyboard.press('Enter');
  await page.getByText('Paused Order paid.').waitFor();
  await choose('resume order paid', 'Resume Order paid');
  await page.getByText('Resumed Order paid.').waitFor();
  await choose('trigger order paid', 'Trigger Order paid');
  await page.waitForURL(/order-paid\?trigger$/);
  const focused = () => page.evaluate('document.activeElement.textContent');
  await eventually(async () => expect(await focused()).toBe('Trigger'), 30_000);
});

test('the selected project applies to every page', async () => {
  await page.goto('/o/demo/users');
  await page.getByRole('button', { name: /^Project:/ }).click();
  await page.getByRole('menuitem', { name: 'Blog' }).click();
  for (const name of ['Events', 'Layouts', 'Channels', 'API keys', 'Occurrences']) {
    await page.getByRole('link', { name, exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByRole('button', { name: 'Project: Blog' }).waitFor();
  }
  await page.goto('/o/demo/events');
  await page.getByRole('region', { name: 'Project Blog' }).waitFor();
  expect(await page.getByRole('region', { name: 'Project Shop' }).count()).toBe(0);
});

describe('at 390 and 1280 pixels', () => {
  const name = `Order_${'paid_and_shipped_'.repeat(8)}`;
  const events = '/api/o/demo/p/shop/a/web/e/';
  const long = '/o/demo/p/shop/a/web/e/long';

  beforeAll(async () => {
    expect((await ask({ method: 'POST', path: events, body: { slug: 'long', name } })).status).toBe(201);
    const notification = {
      name: 'named',
      recipients: { trigger: true },
      channels: ['app'],
      message: { subject: name, body: name },
    };
    expect((await ask({ method: 'POST', path: `${events}long/n/`, body: notification })).status).toBe(201);
    const body = { context: {}, options: { recipients: ['ada@demo.test'] } };
    expect((await ask({ method: 'POST', path: `${events}long/trigger/`, body })).status).toBe(201);
  });

  test.each([
    ['events', '/o/demo/p/shop/events'],
    ['event', long],
    ['inbox of a user', '/o/demo/users/ada@demo.test?tab=inbox'],
  ])('the page %s fits a long name of an event', async (title, path) => {
    await page.goto(path);
    await page.getByText(name, { exact: false }).first().waitFor();
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      const overflow = () =>
        page.evaluate<string[]>(`[...document.querySelectorAll('main *')].filter(one => {
        const { left, right, width } = one.getBoundingClientRect();
        const scrolls = one.closest('[class*="ScrollArea"], [class*="ScrollContainer"], pre, code, .cm-scroller, .hidden');
        return width > 0 && !scrolls && (right > innerWidth + 1 || left < -1);
      }).map(one => one.tagName + '.' + one.className + ': ' + one.textContent.slice(0, 60))`);
      await eventually(async () => expect(await overflow(), `${title} at ${width}`).toEqual([]), 2_000);
    }
    await takeScreenshots(page, title);
  });

  test('the samples of an event whose trigger names recipients have some', async () => {
    await page.goto(long);
    await page.locator('pre, code').getByText('"recipients":["').first().waitFor();
  });
});

test('names are isolated, so that control characters in one do not reorder the text around it', async () => {
  await page.goto('/o/demo/p/shop/events');
  await page.locator('.rowlink span').first().waitFor();
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.rowlink span')).unicodeBidi`)).toBe('isolate');
});
