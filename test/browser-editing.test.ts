/** Writing in the console: what somebody types is never lost, whatever the network, other people or other pages do. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../scripts/console.ts';
import type { Service } from '../src/app.ts';
import { createDemo, type Demo } from '../src/services/demo.ts';
import { type Ask, asker } from './support/api.ts';
import { openBrowser, signIn, type Visit, visit } from './support/browser.ts';
import { testService } from './support/database.ts';

let service: Service;
let demo: Demo;
let browser: Browser;
let visitor: Visit;
let page: Page;
let ask: Ask;

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  demo = (await createDemo(service.runtime.deps))!;
  ask = asker(service.address, demo.key);
  browser = await openBrowser();
  visitor = await visit(browser, service.address);
  page = visitor.page;
  await signIn(page, demo.signIn);
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await service.stop();
});

const button = (name: string) => page.getByRole('button', { name, exact: true });
const nameField = () => page.getByRole('textbox', { name: 'Name', exact: true });

/** Requests of this kind wait until they are let go. */
async function hold(method: string, path: RegExp) {
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await page.route(path, async route => {
    if (route.request().method() !== method) return route.continue();
    begun.resolve();
    await held.promise;
    return route.continue();
  });
  return { begun: begun.promise, release: () => held.resolve(), done: () => page.unroute(path) };
}

async function newLayout(name: string): Promise<number> {
  const { body } = await ask({
    method: 'POST',
    path: '/api/o/demo/l/',
    body: { name, body: '<p>{{ content }}</p>' },
  });
  return body.id;
}

test('what is typed into a layout while it is being saved stays, and is saved next', async () => {
  const id = await newLayout('plain');
  await page.goto(`/o/demo/layouts/${id}`);
  await nameField().fill('plain one');
  const request = await hold('PATCH', /\/api\/o\/demo\/l\//);
  await button('Save').click();
  await request.begun;
  await nameField().fill('plain one, and more');
  request.release();
  await page.getByText('Saved.').waitFor();
  expect(await nameField().inputValue()).toBe('plain one, and more');
  await request.done();
  await button('Save').click();
  await expect.poll(async () => (await ask({ path: `/api/o/demo/l/${id}/` })).body.name).toBe('plain one, and more');
});
