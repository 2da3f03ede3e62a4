/**
 * Editing in the console: typed text is never lost to slow requests, other users or navigation.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Ask } from '../support/api.ts';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually } from '../support/eventually.ts';

// Typing takes long on a busy machine.
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

/** Holds matching requests until they are released. */
async function holdRequests(method: string, path: RegExp) {
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

async function createLayout(name: string): Promise<number> {
  const { body } = await ask({
    method: 'POST',
    path: '/api/o/demo/l/',
    body: { name, body: '<p>{{ content }}</p>' },
  });
  return body.id;
}

test('text typed into a layout during a save is kept and saved next', async () => {
  const id = await createLayout('plain');
  await page.goto(`/o/demo/layouts/${id}`);
  await nameField().fill('plain one');
  const request = await holdRequests('PATCH', /\/api\/o\/demo\/l\//);
  await button('Save').click();
  await request.begun;
  await nameField().fill('plain one, and more');
  request.release();
  await page.getByText('Saved.').waitFor();
  expect(await nameField().inputValue()).toBe('plain one, and more');
  await request.done();
  await button('Save').click();
  const stored = async () => (await ask({ path: `/api/o/demo/l/${id}/` })).body.name;
  await eventually(async () => expect(await stored()).toBe('plain one, and more'), 30_000);
});

test.each(['cookie is gone', 'session was revoked'])(
  'after the %s, a dialog signs in again and keeps the edit',
  async how => {
    const id = await createLayout(how);
    await page.goto(`/o/demo/layouts/${id}`);
    await nameField().fill(`${how}, edited`);
    if (how === 'cookie is gone') await page.context().clearCookies();
    else await site.service.runtime.deps.pool.query('delete from sessions');
    // A preview may have shown the dialog before, which covers the button.
    await button('Save').dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password', { exact: true }).fill(site.demo.signIn.password);
    expect(await page.getByText('API key is required').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await nameField().inputValue()).toBe(`${how}, edited`);
    await button('Save').click();
    const stored = async () => (await ask({ path: `/api/o/demo/l/${id}/` })).body.name;
    await eventually(async () => expect(await stored()).toBe(`${how}, edited`), 30_000);
  },
);

test('a change that is saved while offline fails at once, and is not made later', async () => {
  const id = await createLayout('offline');
  await page.goto(`/o/demo/layouts/${id}`);
  await nameField().fill('offline, edited');
  // The browser logs each refused request; that is expected here.
  const complaints = site.complaints.length;
  await page.context().setOffline(true);
  await button('Save').click();
  await page.getByText('Can’t reach the service.').first().waitFor();
  expect(await button('Save').isEnabled()).toBe(true);
  await page.context().setOffline(false);
  site.complaints.splice(complaints);
  await page.waitForResponse(/\/api\//);
  expect((await ask({ path: `/api/o/demo/l/${id}/` })).body.name).toBe('offline');
  expect(await nameField().inputValue()).toBe('offline, edited');
});

test('a page that is opened while offline keeps the frame, and opens when the connection returns', async () => {
  const complaints = site.complaints.length;
  // Its code was not loaded while the browser was idle.
  const code = /\/assets\/team-/;
  await page.route(code, route => route.abort());
  await page.goto('/o/demo');
  const team = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Team', exact: true });
  await team.waitFor();
  await page.context().setOffline(true);
  await team.click();
  await page.getByText('Can’t reach the service.').first().waitFor();
  await team.waitFor();
  await page.unroute(code);
  await page.context().setOffline(false);
  await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
  site.complaints.splice(complaints);
});

test('the other pages are loaded while the browser is idle, and open when the connection is lost', async () => {
  await page.goto('/o/demo');
  const names = ['team', 'audit', 'suppressions', 'import'];
  await eventually(async () => {
    const loaded = (await page.evaluate(
      'performance.getEntriesByType("resource").map(({ name }) => name)',
    )) as string[];
    expect(names.filter(name => !loaded.some(url => url.includes(`/assets/${name}-`)))).toEqual([]);
  }, 30_000);
  const complaints = site.complaints.length;
  await page.context().setOffline(true);
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Team', exact: true }).click();
  await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
  await page.context().setOffline(false);
  await page.waitForResponse(/\/api\//);
  site.complaints.splice(complaints);
});

test('the console opens automatically when a service that failed is back', async () => {
  const complaints = site.complaints.length;
  const problem = { title: 'Service Unavailable', detail: 'the database is not available', status: 503 };
  const session = /\/api\/session\/$/;
  await page.route(session, route => route.fulfill({ status: 503, json: problem }));
  await page.goto('/o/demo');
  await page.getByText('The database is not available.').waitFor();
  await page.unroute(session);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  site.complaints.splice(complaints);
});

test('a search box keeps every letter at any typing speed', async () => {
  for (const delay of [30, 240, 350]) {
    await page.goto('/o/demo/users');
    const box = page.getByRole('searchbox');
    await box.pressSequentially('ada love', { delay });
    expect(await box.inputValue()).toBe('ada love');
    await page.waitForURL(/search=ada\+love$/);
    expect(await box.inputValue()).toBe('ada love');
  }
  // A value from the URL is shown as well.
  await page.goto('/o/demo/users?search=grace');
  expect(await page.getByRole('searchbox').inputValue()).toBe('grace');
  await page.getByText('Grace Hopper').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  expect(await page.getByRole('searchbox').inputValue()).toBe('');
  await page.getByText('Ada Lovelace').waitFor();
});

test('an unsaved notification survives navigation and shows missing values beside its fields', async () => {
  const event = '/o/demo/p/shop/a/web/e/order-paid';
  await page.goto(`${event}/n/new`);
  await nameField().fill('half done');
  await page.getByRole('link', { name: 'Channels' }).click();
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
  await page.goBack();
  expect(await nameField().inputValue()).toBe('half done');
  await button('Create').click();
  await page.getByText('Choose at least one kind of recipient.').waitFor();
  await button('Discard').click();
  expect(await nameField().inputValue()).toBe('');
  await button('Undo').click();
  expect(await nameField().inputValue()).toBe('half done');
  await button('Discard').click();
});

const forms: Record<string, { path: string; label: string }> = {
  user: { path: '/o/demo/users/ada@demo.test', label: 'First name' },
  channel: { path: '/o/demo/channels/mail', label: 'Name' },
  settings: { path: '/o/demo/settings', label: 'Name' },
  category: { path: '/o/demo/categories/drafts', label: 'Name' },
  webhook: { path: '/o/demo/webhooks/drafts', label: 'Name' },
};

test('unsaved changes of a form survive a reload and another page, and a conflict is still found', async () => {
  const category = { slug: 'drafts', name: 'Drafts', kind: 'promotional', default: true };
  expect((await ask({ method: 'POST', path: '/api/o/demo/categories/', body: category })).status).toBe(201);
  const webhook = { slug: 'drafts', name: 'Drafts', url: 'https://hooks.example.com/', types: ['delivery.failed'] };
  expect((await ask({ method: 'POST', path: '/api/o/demo/webhooks/', body: webhook })).status).toBe(201);
  const lost: string[] = [];
  for (const [name, { path, label }] of Object.entries(forms)) {
    await page.goto(path);
    const field = page.getByRole('textbox', { name: label, exact: true }).first();
    const before = await field.inputValue();
    await field.fill(`${before} unsaved`);
    await button('Discard changes').waitFor();
    await page.reload();
    if ((await field.inputValue()) !== `${before} unsaved`) lost.push(`${name}: reload`);
    await page.getByRole('link', { name: 'Occurrences' }).click();
    await page.getByRole('heading', { level: 1, name: 'Occurrences' }).waitFor();
    await page.goBack();
    if ((await field.inputValue()) !== `${before} unsaved`) lost.push(`${name}: another page`);
    if (name === 'category') {
      const change = {
        method: 'PATCH',
        path: '/api/o/demo/categories/drafts/',
        body: { description: 'By others' },
      } as const;
      expect((await ask(change)).status).toBe(200);
      await page.reload();
      await button('Save').click();
      await page.getByText('Someone else saved changes').waitFor();
    }
    await button('Discard changes').click();
    await page.reload();
    expect(await field.inputValue(), `${name}, discarded`).toBe(before);
  }
  expect(lost).toEqual([]);
});

test.each([1440, 390])('Save stays in view at %i pixels, Ctrl-S saves, and the toast covers no button', async width => {
  const height = 800;
  await page.setViewportSize({ width, height });
  await page.goto('/o/demo/settings');
  await page.getByLabel('Brand color').fill(`#${width}00`.padEnd(7, '0'));
  const form = page.getByRole('form', { name: 'Preference page and quiet hours' });
  const save = (await form.getByRole('button', { name: 'Save' }).boundingBox())!;
  const field = (await form.getByLabel('Brand color').boundingBox())!;
  expect(save.y + save.height).toBeLessThanOrEqual(height);
  expect(save.y).toBeGreaterThan(field.y + field.height);
  await page.keyboard.press('Control+S');
  await page.getByText('Saved.', { exact: true }).waitFor();
  const covered = await page.evaluate<string[]>(`[...document.querySelectorAll('main button')].filter(button => {
    const { x, y, width, height } = button.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2)?.closest('.toasts');
  }).map(button => button.textContent)`);
  expect(covered).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 900 });
});

test('the preview shows the language being edited', async () => {
  const { body: created } = await ask({
    method: 'POST',
    path: '/api/o/demo/p/shop/a/web/e/order-paid/n/',
    body: {
      name: 'greeting',
      recipients: { list: 'Customers' },
      channels: ['mail'],
      message: { subject: 'Hello', body: 'Good morning', locales: { de: { subject: 'Hallo', body: 'Guten Morgen' } } },
    },
  });
  await page.goto(`/o/demo/p/shop/a/web/e/order-paid/n/${created.id}`);
  const preview = page.getByRole('article', { name: 'Preview mail' });
  await preview.getByText('Hello', { exact: true }).waitFor();
  await page.getByRole('group', { name: 'Languages' }).getByRole('button', { name: 'de', exact: true }).click();
  await preview.getByText('Hallo', { exact: true }).waitFor();
});

test('a layout opens by its name, and an unknown name starts a new layout', async () => {
  const id = await createLayout('default');
  await page.goto('/o/demo/layouts/default');
  await eventually(async () => expect(await nameField().inputValue()).toBe('default'), 30_000);
  await page.getByRole('button', { name: 'History' }).waitFor();
  await ask({ method: 'DELETE', path: `/api/o/demo/l/${id}/` });
  await page.goto('/o/demo/layouts/invoice');
  await eventually(async () => expect(await nameField().inputValue()).toBe('invoice'), 30_000);
  await button('Create').waitFor();
});

test('a context schema reports the position of an error and provides completions once saved', async () => {
  const event = '/o/demo/p/shop/a/web/e/order-paid';
  await page.goto(event);
  await button('Add a schema').click();
  const dialog = page.getByRole('dialog', { name: 'Context schema' });
  const editor = dialog.getByRole('textbox', { name: 'JSON Schema' });
  const save = dialog.getByRole('button', { name: 'Save' });
  const write = async (text: string) => {
    await editor.click();
    await page.keyboard.press('ControlOrMeta+A');
    // Chromium inserts styled markup when it replaces a selection, and the CSP blocks that.
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(text);
  };
  await write('{ "type": "object", "properties": { "parcel": { "typ": "string" } } }');
  await save.click();
  await dialog.getByText('properties/parcel/typ: is not a supported keyword').waitFor();
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

test('a conflict shows theirs beside mine, and overwriting or taking theirs does what it says', async () => {
  const id = await createLayout('shared');
  const path = `/api/o/demo/l/${id}/`;
  const changeElsewhere = (body: object) => ask({ method: 'PATCH', path, body });
  await page.goto(`/o/demo/layouts/${id}`);
  await nameField().fill('mine');
  await changeElsewhere({ name: 'theirs', body: '<b>{{ content }}</b>' });
  await button('Save').click();
  const dialog = page.getByRole('dialog', { name: 'Someone else saved changes' });
  const row = dialog.getByRole('row', { name: /^name/ });
  expect(await row.locator('del').innerText()).toBe('theirs');
  expect(await row.locator('ins').innerText()).toBe('mine');
  await dialog.getByText('Also changed by them, and kept if you overwrite: body.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'conflict');
  await dialog.getByRole('button', { name: 'Overwrite' }).click();
  await page.getByText('Saved.').waitFor();
  expect((await ask({ path })).body).toMatchObject({ name: 'mine', body: '<b>{{ content }}</b>' });

  await nameField().fill('mine again');
  await changeElsewhere({ name: 'theirs again' });
  await button('Save').click();
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await nameField().inputValue()).toBe('theirs again');
  expect((await ask({ path })).body.name).toBe('theirs again');
});

const events = '/o/demo/p/shop/events';
const orderPaid = '/o/demo/p/shop/a/web/e/order-paid';
const projectMenu = 'More actions for project Shop';
const eventMenu = 'More actions for event Order paid';

/** Every kind of dialog: its page, the button that opens it and the item of its menu, if it is a menu. */
const dialogs: [path: string, opener: string, item?: string][] = [
  [events, projectMenu, 'New application'],
  [events, projectMenu, 'Rename'],
  [events, projectMenu, 'Delete'],
  [orderPaid, eventMenu, 'Edit'],
  [orderPaid, eventMenu, 'Delete'],
  [orderPaid, 'Add a schema'],
  ['/o/demo/keys', 'New API key'],
  ['/o/demo/users', 'New user'],
  ['/o/demo/team', 'Invite member'],
  ['/o/demo/channels/mail', 'Send test'],
  ['/o/demo/channels/mail', 'More', 'Delete…'],
  ['/o/demo', 'Account: admin@demo.test', 'Keyboard shortcuts'],
];

test('the focus returns to what opened a dialog when it closes, and no dialog has an axe violation', async () => {
  // Another test may have added one.
  const event = '/api/o/demo/p/shop/a/web/e/order-paid/';
  expect((await ask({ method: 'PATCH', path: event, body: { context_schema: null } })).status).toBe(200);
  const lost: string[] = [];
  for (const [path, opener, item] of dialogs) {
    if (new URL(page.url()).pathname !== path) await page.goto(path);
    await button(opener).first().focus();
    await page.keyboard.press('Enter');
    if (item) await page.getByRole('menuitem', { name: item, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await eventually(async () => expect(await dialog.locator(':focus').count()).toBe(1));
    const violations = await axeViolations(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const focused = button(opener).and(page.locator(':focus'));
    const found = await eventually(async () => expect(await focused.count()).toBe(1), 2_000).catch(() => 'lost');
    if (found === 'lost' || violations.length > 0) lost.push([path, opener, item, found, ...violations].join(' | '));
  }
  expect(lost).toEqual([]);
});
