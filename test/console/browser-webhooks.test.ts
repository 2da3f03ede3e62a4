/**
 * Webhooks in the console, from creation to a disabled one that is enabled again, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createDemo, type Demo } from '../../src/services/operations/demo/demo.ts';
import { axeViolations, openBrowser, signIn, takeScreenshots, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { runSql } from '../support/sql.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let service: Service;
let demo: Demo;
let browser: Browser;
let visitor: Visit;
let page: Page;
let peer: HttpPeer;

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  demo = (await createDemo(service.runtime.deps))!;
  peer = await openHttpPeer();
  browser = await openBrowser();
  visitor = await visit(browser, service.address, { permissions: ['clipboard-read', 'clipboard-write'] });
  page = visitor.page;
  await signIn(page, demo.signIn);
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await peer.close();
  await service.stop();
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');

test('a webhook is created, tested, rotated, disabled, enabled and deleted', async () => {
  await page.goto('/o/demo/webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await button('New webhook').first().click();
  await dialog().getByLabel('Name', { exact: true }).fill('Incident tracker');
  await dialog().getByLabel('URL').fill('nonsense');
  await takeScreenshots(page, 'new');
  await button('Create webhook').click();
  await dialog().getByText('must be an http or https URL without a user name').waitFor();
  await dialog().getByLabel('URL').fill(`${peer.url}/hook`);
  await dialog().getByLabel('delivery.sent', { exact: true }).check();
  await button('Create webhook').click();
  const secret = (await dialog()
    .getByText(/^whsec_/)
    .textContent())!;
  await button('I’ve copied it').click();
  await page.getByRole('heading', { name: 'Incident tracker', level: 1 }).waitFor();

  await button('Send test').click();
  const first = page.getByRole('row').filter({ hasText: 'webhook.test' }).first();
  await first.getByText('Sent', { exact: true }).waitFor();
  const { body, headers } = peer.seen[0]!;
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({ type: 'webhook.test' });
  await first.getByRole('link').click();
  await dialog().getByText(String(headers['webhook-id'])).waitFor();
  await takeScreenshots(page, 'message');
  await dialog().getByRole('button', { name: 'Resend' }).click();
  await eventually(async () => expect(peer.seen.length).toBe(2), 15_000);
  await page.keyboard.press('Escape');
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'webhook');

  await button('More').click();
  await page.getByRole('menuitem', { name: 'Rotate secret…' }).click();
  await button('Rotate').click();
  const rotated = (await dialog()
    .getByText(/^whsec_/)
    .textContent())!;
  expect(rotated).not.toBe(secret);
  await button('I’ve copied it').click();

  peer.reply = { status: 410 };
  await button('Send test').click();
  await page.getByText('Belfry disabled this webhook').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'disabled');
  await page.goto('/o/demo');
  await page.getByText('1 webhook is disabled').waitFor();
  await page.getByRole('link', { name: 'Show webhooks' }).click();
  await page.getByRole('link', { name: 'Incident tracker' }).click();
  peer.reply = {};
  await button('Enable').click();
  await page.getByText('Belfry disabled this webhook').waitFor({ state: 'detached' });

  await page.getByLabel('delivery.sent', { exact: true }).uncheck();
  await button('Save').click();
  await page.getByText('Saved.').first().waitFor();
  const [{ types }] = (await runSql(service.runtime.url, 'select types from webhooks')) as [{ types: string[] }];
  expect(types).toEqual(['delivery.failed', 'delivery.unknown', 'channel.unhealthy', 'channel.recovered']);
  await page.getByLabel('URL').fill(`${peer.url}/moved`);
  await page.getByText('The stored secret is not used for another URL.').waitFor();
  await button('Save').click();
  const renewed = (await dialog()
    .getByText(/^whsec_/)
    .textContent())!;
  await button('I’ve copied it').click();
  await dialog().waitFor({ state: 'detached' });
  await button('Send test').click();
  // The message that disabled the webhook is sent again too, to either URL.
  const moved = await eventually(async () => {
    const found = peer.seen.findLast(one => one.path === '/moved');
    expect(found).toBeDefined();
    return found!;
  }, 15_000);
  const signed = moved.headers as Record<string, string>;
  expect(new Webhook(renewed).verify(moved.body, signed)).toMatchObject({ type: 'webhook.test' });
  expect(() => new Webhook(rotated).verify(moved.body, signed)).toThrow();

  await button('More').click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await dialog().getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No webhooks yet').waitFor();
  expect(visitor.complaints).toEqual([]);
});
