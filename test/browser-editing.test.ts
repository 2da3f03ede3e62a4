/** Writing in the console: what somebody types is never lost, whatever the network, other people or other pages do. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Ask } from './support/api.ts';
import { type DemoConsole, openDemoConsole } from './support/demo-console.ts';

// Typing takes its time, and a busy machine more.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let site: DemoConsole;
let page: Page;
let ask: Ask;

beforeAll(async () => {
  site = await openDemoConsole();
  ({ ask, page } = site);
});
afterAll(() => site.close());

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
  const stored = async () => (await ask({ path: `/api/o/demo/l/${id}/` })).body.name;
  await expect.poll(stored, { timeout: 30_000 }).toBe('plain one, and more');
});

test('a search box keeps every letter, however fast or slowly they come', async () => {
  for (const delay of [30, 240, 350]) {
    await page.goto('/o/demo/people');
    const box = page.getByRole('searchbox');
    await box.pressSequentially('ada love', { delay });
    expect(await box.inputValue()).toBe('ada love');
    await page.waitForURL(/search=ada\+love$/);
    expect(await box.inputValue()).toBe('ada love');
  }
  // What comes from elsewhere is shown all the same.
  await page.goto('/o/demo/people?search=grace');
  expect(await page.getByRole('searchbox').inputValue()).toBe('grace');
  await page.getByText('Grace Hopper').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  expect(await page.getByRole('searchbox').inputValue()).toBe('');
  await page.getByText('Ada Lovelace').waitFor();
});

test('an unsaved notification survives a visit to another page, and says beside its fields what it lacks', async () => {
  const event = '/o/demo/p/shop/a/web/e/order-paid';
  await page.goto(`${event}/n/new`);
  await nameField().fill('half done');
  await page.getByRole('link', { name: 'Channels' }).click();
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
  await page.goBack();
  expect(await nameField().inputValue()).toBe('half done');
  await button('Create').click();
  // What is missing is told beside the field.
  await page.getByText('Choose at least one kind of recipient.').waitFor();
  await button('Discard').click();
  expect(await nameField().inputValue()).toBe('');
});

test('the preview follows the language that is being written', async () => {
  const { body: made } = await ask({
    method: 'POST',
    path: '/api/o/demo/p/shop/a/web/e/order-paid/n/',
    body: {
      name: 'greeting',
      recipients: { list: 'Customers' },
      channels: ['mail'],
      message: { subject: 'Hello', body: 'Good morning', locales: { de: { subject: 'Hallo', body: 'Guten Morgen' } } },
    },
  });
  await page.goto(`/o/demo/p/shop/a/web/e/order-paid/n/${made.id}`);
  const preview = page.getByRole('article', { name: 'Preview mail' });
  await preview.getByText('Hello', { exact: true }).waitFor();
  await page.getByRole('group', { name: 'Languages' }).getByRole('button', { name: 'de', exact: true }).click();
  await preview.getByText('Hallo', { exact: true }).waitFor();
});

test('a layout is found by its name, and one that does not exist yet is begun with it', async () => {
  const id = await newLayout('default');
  await page.goto('/o/demo/layouts/default');
  await expect.poll(() => nameField().inputValue(), { timeout: 30_000 }).toBe('default');
  await page.getByRole('button', { name: 'History' }).waitFor();
  await ask({ method: 'DELETE', path: `/api/o/demo/l/${id}/` });
  await page.goto('/o/demo/layouts/invoice');
  await expect.poll(() => nameField().inputValue(), { timeout: 30_000 }).toBe('invoice');
  await button('Create').waitFor();
});

test('the schema of a context is written, refused with the place of a mistake, and offers its fields', async () => {
  const event = '/o/demo/p/shop/a/web/e/order-paid';
  await page.goto(event);
  await button('Add a schema').click();
  const dialog = page.getByRole('dialog', { name: 'Context schema' });
  const editor = dialog.getByRole('textbox', { name: 'JSON Schema' });
  const save = dialog.getByRole('button', { name: 'Save' });
  const write = async (text: string) => {
    await editor.click();
    await page.keyboard.press('ControlOrMeta+A');
    // Chromium marks up what it puts in the place of something else, and the policy refuses that.
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(text);
  };
  await write('{ "type": "object", "properties": { "parcel": { "typ": "string" } } }');
  await save.click();
  await dialog.getByText('properties/parcel/typ: is not a keyword').waitFor();
  const schema = { type: 'object', properties: { parcel: { type: 'string', examples: ['P-77'] } } };
  await write(JSON.stringify(schema));
  await save.click();
  await dialog.waitFor({ state: 'detached' });
  await button('Edit schema').waitFor();
  const { body } = await ask({ path: '/api/o/demo/p/shop/a/web/e/order-paid/' });
  expect(body.context_schema).toEqual(schema);

  await page.evaluate(() => sessionStorage.clear());
  await page.goto(`${event}/n/new`);
  const message = page.getByRole('textbox', { name: 'Body', exact: true });
  await message.click();
  await message.press('ControlOrMeta+End');
  await message.pressSequentially('{{ par');
  await page.getByRole('option').filter({ hasText: 'parcel' }).waitFor();
  await page.keyboard.press('Escape');
});
