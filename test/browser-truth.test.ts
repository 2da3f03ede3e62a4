/** The console says what is, before and after: pauses, retries, outcomes, and every delivery. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { pauseInstance } from '../src/db/instance.ts';
import { resumeSending } from '../src/services/resume.ts';
import { setInstanceWide } from '../src/services/webhooks.ts';
import type { Ask } from './support/api.ts';
import { axeViolations } from './support/browser.ts';
import { type DemoConsole, openDemoConsole } from './support/demo-console.ts';
import { type HttpPeer, openHttpPeer } from './support/http-peer.ts';
import { waitFor } from './support/process.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 240_000 });

let site: DemoConsole;
let page: Page;
let ask: Ask;
let peer: HttpPeer;
let status = 200;

const alert = '/api/o/demo/p/shop/a/web/e/alert/';

beforeAll(async () => {
  site = await openDemoConsole();
  ({ ask, page } = site);
  peer = await openHttpPeer(() => ({ status }));
  const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';
  const providers = [{ use: 'standard-webhooks', url: `${peer.url}/hook`, secret }];
  const done = [
    await post('/api/o/demo/c/', { slug: 'hooks', name: 'Hooks', type: 'webhook', providers }),
    await post('/api/o/demo/p/shop/a/web/e/', { slug: 'alert', name: 'Alert' }),
    await post(`${alert}n/`, {
      name: 'page',
      recipients: { list: 'Customers' },
      channels: ['hooks'],
      message: { subject: 'Alert', body: 'Look' },
    }),
  ];
  expect(done.map(answer => answer.status)).toEqual([201, 201, 201]);
});
afterAll(async () => {
  await site.close();
  await peer.close();
});

const post = (path: string, body?: unknown) => ask({ method: 'POST', path, body });
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const dialog = () => page.getByRole('dialog');
const banner = (path: string) => page.getByRole('region', { name: `${path} is paused` });

/** Triggers the alert, and waits until it stands so. */
async function alertUntil(outcome: string): Promise<string> {
  const { body } = await post(`${alert}trigger/`, {});
  await waitFor(`an alert that is ${outcome}`, async () => {
    const { body: found } = await ask({ path: `/api/o/demo/occurrence/${body.occurrence}/` });
    return found.outcome === outcome || undefined;
  });
  return body.occurrence;
}

test('a pause says on every page that it concerns how much waits, and ends from there', async () => {
  await post('/api/o/demo/c/hooks/pause/');
  const id = await alertUntil('held');
  for (const at of ['/o/demo', `/o/demo/occurrences/${id}`, '/o/demo/channels/hooks']) {
    await page.goto(at);
    await banner('Channel hooks').getByText('3 messages are waiting.').waitFor();
  }
  expect(await axeViolations(page)).toEqual([]);
  await page.goto('/o/demo');
  await page.getByText('3 held').waitFor();
  // One in a day is not none.
  await page.getByText('Under 0.1 per hour').waitFor();
  await button('Resume hooks').click();
  await page.getByText('Resumed hooks. 3 waiting messages will now be sent.').waitFor();
  await banner('Channel hooks').waitFor({ state: 'detached' });

  await post(`${alert}pause/`);
  await post('/api/o/demo/p/shop/a/web/pause/');
  await alertUntil('held');
  await page.goto('/o/demo/p/shop/a/web/e/alert');
  await banner('Event shop/web/alert').getByText('1 occurrence is waiting.').waitFor();
  await button('Resume shop/web/alert').click();
  await banner('Application shop/web').waitFor();
  await page.goto('/o/demo/events');
  await button('Resume shop/web').click();
  await page.getByText('Resumed shop/web. 1 waiting message will now be sent.').waitFor();
  await waitFor('all of them to be sent', async () => {
    const { body } = await ask({ path: '/api/o/demo/occurrence/?limit=50' });
    return body.every((one: { outcome: string }) => one.outcome === 'sent') || undefined;
  });
});

test('a database that may be a copy is told of on the overview, with what an operator does about it', async () => {
  const { deps } = site.service.runtime;
  const told = page.getByRole('region', { name: 'Sending is paused for everyone' });
  await pauseInstance(deps.db, 'restored');
  await page.goto('/o/demo');
  await told.getByText('An operator resumes sending with belfry resume.').waitFor();
  expect(await told.getByRole('button').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await resumeSending(deps, { as: 'original', discardPending: false });
  await told.waitFor({ state: 'detached' });
});

test('a person’s page tells who has registered them and with what, and a widened webhook of whom it is told', async () => {
  const fields = { plan: 'pro' };
  await post('/api/o/demo/p/shop/a/web/register/', { username: 'grace@demo.test', custom_fields: fields });
  await page.goto('/o/demo/people/grace@demo.test');
  const card = page.getByRole('region', { name: 'Registered with' });
  await card.getByText('shop/web').waitFor();
  await card.getByText('"plan": "pro"').waitFor();

  const { organization_id: id } = (await site.service.runtime.deps.db
    .selectFrom('channels')
    .select('organization_id')
    .where('slug', '=', 'hooks')
    .executeTakeFirst())!;
  await post('/api/o/demo/webhooks/', { slug: 'ops', name: 'Ops', url: peer.url, types: ['channel.unhealthy'] });
  await setInstanceWide(site.service.runtime.deps, id, 'ops', true);
  await page.goto('/o/demo/webhooks');
  await page.getByText('Ops · all organizations').click();
  await page.getByText('This webhook is told of every organization').waitFor();
  expect(await axeViolations(page)).toEqual([]);
});

describe('what failed', () => {
  test('is told before a retry what will happen and afterwards what did, and the numbers agree', async () => {
    status = 400;
    const id = await alertUntil('failed');
    status = 200;
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: true } });
    await page.goto('/o/demo');
    await page.getByText('3 failed · 0 unknown').waitFor();
    await button('Retry delivery to grace@demo.test').click();
    await dialog().getByText('1 will be sent').waitFor();
    await dialog().getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Sent to grace@demo.test.').waitFor();
    await page.getByText('2 failed · 0 unknown').waitFor();

    await page.goto(`/o/demo/occurrences/${id}`);
    await button('Replay').click();
    await dialog().getByText('1 will not be sent: the user is locked').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Replay' }).click();
    const result = page.getByRole('status', { name: 'Replay result' });
    await result.getByText('1 sent').waitFor();
    await result.getByText('1 suppressed').waitFor();
    await page.goto('/o/demo');
    await page.getByText('All clear').first().waitFor();
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: false } });
  });

  test('stands first among the deliveries, and what was suppressed is folded by reason', async () => {
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: true } });
    status = 400;
    const id = await alertUntil('failed');
    status = 200;
    await page.goto(`/o/demo/occurrences/${id}`);
    const rows = page.getByRole('table', { name: 'Deliveries' }).getByRole('link');
    await expect.poll(() => rows.allInnerTexts(), { timeout: 30_000 }).toHaveLength(2);
    await button(/1 · The user is locked/).click();
    await page.getByRole('table', { name: 'The user is locked' }).getByText('ada@demo.test').click();
    await dialog().getByText('Delivery').first().waitFor();
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: false } });

    await page.goto('/o/demo/occurrences');
    await page.getByRole('textbox', { name: 'Outcome' }).or(page.getByLabel('Outcome')).first().click();
    await page.getByRole('option', { name: 'Failed', exact: true }).click();
    await page.waitForURL(/outcome=failed/);
    const listed = page.getByRole('table', { name: 'Occurrences' }).getByRole('link');
    await expect.poll(() => listed.count(), { timeout: 30_000 }).toBe(1);
    await listed.first().click();
    await page.waitForURL(new RegExp(id));
  });
});

test('activity has every delivery, found by whom and how, and retries a selection', async () => {
  await page.goto('/o/demo/activity?status=failed');
  const table = page.getByRole('table', { name: 'Activity' });
  await table.getByRole('link').nth(1).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByLabel('Select all loaded rows').check();
  await page.getByText('2 selected').waitFor();
  await button('Retry 2').click();
  await dialog().getByText('2 will be sent').waitFor();
  await dialog().getByRole('button', { name: 'Retry' }).click();
  await page.getByText('Retrying 2 deliveries.').waitFor();
  await page.getByText('No matches').waitFor();

  await page.goto('/o/demo/activity');
  await page.getByRole('searchbox', { name: 'Username or exact address' }).fill('grace@demo.test');
  await expect
    .poll(async () => new Set(await table.getByRole('link').allInnerTexts()), { timeout: 30_000 })
    .toEqual(new Set([expect.stringContaining('grace@demo.test')]));
  await page.getByLabel('Select delivery to grace@demo.test').first().check();
  await button('Add to list').click();
  await dialog().getByLabel('List').first().click();
  await page.getByRole('option', { name: 'Customers' }).click();
  await dialog().getByRole('button', { name: 'Add to list' }).click();
  await page.getByText('grace@demo.test was already on the list.').waitFor();
  await button('Lock people').click();
  await dialog().getByRole('button', { name: 'Lock' }).click();
  await page.getByText('Locked grace@demo.test.').waitFor();
  expect((await ask({ path: '/api/o/demo/u/grace@demo.test/' })).body.locked).toBe(true);
});

test('the palette opens the dialogs of a new event and a new list on their pages', async () => {
  const choose = async (text: string) => {
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Search' }).fill(text);
    await page.locator('.mantine-Spotlight-action', { hasText: text }).first().click();
  };
  await page.goto('/o/demo');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await choose('New event');
  await dialog().getByText('New event').waitFor();
  await dialog().getByRole('button', { name: 'Cancel' }).click();
  await choose('New list');
  await dialog().getByRole('textbox', { name: 'Name' }).fill('From the palette');
  await dialog().getByRole('button', { name: 'Create list' }).click();
  await page.waitForURL(/\/lists\/\d+$/);
});
