/**
 * The console shows the true state before and after an action: pauses, retries, outcomes and every delivery.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { pauseInstance } from '../../src/db/operations/instance.ts';
import { setInstanceWide } from '../../src/services/configuration/webhooks.ts';
import { resumeSending } from '../../src/services/operations/resume-sending.ts';
import type { Ask } from '../support/api.ts';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';

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

/** Triggers the alert and waits for the outcome. */
async function triggerAlertUntil(outcome: string): Promise<string> {
  const { body } = await post(`${alert}trigger/`, {});
  await untilOutcome(body.occurrence, outcome);
  return body.occurrence;
}

async function untilOutcome(id: string, outcome: string): Promise<void> {
  await waitFor(`an alert that is ${outcome}`, async () => {
    const { body } = await ask({ path: `/api/o/demo/occurrence/${id}/` });
    return body.outcome === outcome || undefined;
  });
}

/** Sends what the pause holds. */
async function resumeFrom(name: string): Promise<void> {
  await button(name).click();
  expect(await axeViolations(page)).toEqual([]);
  await dialog().getByRole('button', { name: 'Resume' }).click();
}

test('every page affected by a pause shows how much is waiting and can resume it', async () => {
  await page.goto('/o/demo/channels/hooks');
  await button('Pause').click();
  await dialog().getByLabel('Reason (optional)').fill('the receiver is being moved');
  expect(await axeViolations(page)).toEqual([]);
  await dialog().getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused Hooks. Messages are kept until you resume.').waitFor();
  const id = await triggerAlertUntil('held');
  for (const at of ['/o/demo', `/o/demo/occurrences/${id}`, '/o/demo/channels/hooks']) {
    await page.goto(at);
    await banner('Channel hooks').getByText('3 messages are waiting.').waitFor();
    await banner('Channel hooks').getByText('the receiver is being moved.').waitFor();
  }
  await page.goto(`/o/demo/occurrences/${id}`);
  await page.getByText('the channel is paused: the receiver is being moved.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.goto('/o/demo');
  await page.getByText('3 held').waitFor();
  // A rate of one per day is not shown as zero.
  await page.getByText('Under 0.1 per hour').waitFor();
  await resumeFrom('Resume hooks');
  await page.getByText('Resumed hooks. 3 waiting messages will now be sent.').waitFor();
  await banner('Channel hooks').waitFor({ state: 'detached' });
  await untilOutcome(id, 'sent');

  await post(`${alert}pause/`);
  await post('/api/o/demo/p/shop/a/web/pause/');
  await triggerAlertUntil('held');
  await page.goto('/o/demo/p/shop/a/web/e/alert');
  // The occurrence waits as one, or as its messages if it was expanded before the engine knew of the pause.
  await banner('Event shop/web/alert')
    .getByText(/(1 occurrence is|1 message is|[23] messages are) waiting\./)
    .waitFor();
  await resumeFrom('Resume shop/web/alert');
  await banner('Application shop/web').waitFor();
  await page.goto('/o/demo/events');
  await resumeFrom('Resume shop/web');
  await page.getByText(/Resumed shop\/web\. (1 waiting message|[23] waiting messages) will now be sent\./).waitFor();
  await waitFor('all of them to be sent', async () => {
    const { body } = await ask({ path: '/api/o/demo/occurrence/?limit=50' });
    return body.every((one: { outcome: string }) => one.outcome === 'sent') || undefined;
  });
});

test('the overview reports a restored database and how an operator resumes sending', async () => {
  const { deps } = site.service.runtime;
  const pauseBanner = page.getByRole('region', { name: 'Sending is paused for everyone' });
  await pauseInstance(deps.db, 'restored');
  await page.goto('/o/demo');
  await pauseBanner.getByText('An operator resumes sending with belfry resume.').waitFor();
  expect(await pauseBanner.getByRole('button').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await resumeSending(deps, { as: 'original', discardPending: false });
  await pauseBanner.waitFor({ state: 'detached' });
});

test('a person’s page shows registrations with their data, and an instance-wide webhook is marked', async () => {
  const fields = { plan: 'pro' };
  await post('/api/o/demo/p/shop/a/web/register/', { username: 'grace@demo.test', custom_fields: fields });
  await page.goto('/o/demo/users/grace@demo.test');
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
  await page.getByText('This webhook receives messages from every organization').waitFor();
  expect(await axeViolations(page)).toEqual([]);
});

describe('a failed delivery', () => {
  test('shows the predicted outcome before a retry and the actual one after it, with matching counts', async () => {
    status = 400;
    const id = await triggerAlertUntil('failed');
    status = 200;
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: true } });
    await page.goto('/o/demo');
    await page.getByText('3 failed · 0 unknown').waitFor();
    await page.getByRole('table', { name: 'Causes of failures' }).locator('.rowlink').click();
    await page.getByText('Deliveries that failed for one cause').waitFor();
    await page.getByRole('table', { name: 'Activity' }).getByText('grace@demo.test').click();
    await dialog().getByRole('button', { name: 'Retry', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Retry this delivery?' });
    await question.getByText('1 will be attempted again').waitFor();
    await question.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Sent to grace@demo.test.').waitFor();
    await page.goto('/o/demo');
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

  test('is retried with all that failed for the same cause, after a forecast of what will happen', async () => {
    status = 400;
    await triggerAlertUntil('failed');
    await triggerAlertUntil('failed');
    status = 200;
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: true } });
    await page.goto('/o/demo');
    const causes = page.getByRole('table', { name: 'Causes of failures' });
    await causes.getByText('6', { exact: true }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await takeScreenshots(page, 'attention');
    const queued = dialog().getByText('sent as fast as the channel allows');
    const nothing = dialog().getByText('Nothing would be sent.');
    for (const user of ['grace', 'alan'])
      await ask({ method: 'PATCH', path: `/api/o/demo/u/${user}@demo.test/`, body: { locked: true } });
    await button('Retry all 6 deliveries over hooks').click();
    await nothing.waitFor();
    expect(await queued.count()).toBe(0);
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    for (const user of ['grace', 'alan'])
      await ask({ method: 'PATCH', path: `/api/o/demo/u/${user}@demo.test/`, body: { locked: false } });
    await button('Retry all 6 deliveries over hooks').click();
    await queued.waitFor();
    expect(await nothing.count()).toBe(0);
    await dialog().getByText('4 will be attempted again').waitFor();
    await dialog().getByText('2 will not be sent: the user is locked').waitFor();
    await dialog().getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Queued 6 deliveries.').waitFor();
    await causes.waitFor({ state: 'detached' });
    await page.getByText('All clear').first().waitFor();
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: false } });
  });

  test('is listed first, and suppressed deliveries are collapsed by reason', async () => {
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: true } });
    status = 400;
    const id = await triggerAlertUntil('failed');
    status = 200;
    await page.goto(`/o/demo/occurrences/${id}`);
    const rows = page.getByRole('table', { name: 'Deliveries' }).getByRole('link');
    await eventually(async () => expect(await rows.allInnerTexts()).toHaveLength(2), 30_000);
    await button(/1 · The user is locked/).click();
    await page.getByRole('table', { name: 'The user is locked' }).getByText('ada@demo.test').click();
    await dialog().getByText('Delivery').first().waitFor();
    await ask({ method: 'PATCH', path: '/api/o/demo/u/ada@demo.test/', body: { locked: false } });

    await page.goto('/o/demo/occurrences');
    await page.getByRole('textbox', { name: 'Outcome' }).or(page.getByLabel('Outcome')).first().click();
    await page.getByRole('option', { name: 'Failed', exact: true }).click();
    await page.waitForURL(/outcome=failed/);
    const listed = page.getByRole('table', { name: 'Occurrences' }).getByRole('link');
    await eventually(async () => expect(await listed.count()).toBe(1), 30_000);
    await listed.first().click();
    await page.waitForURL(new RegExp(id));
  });
});

test('activity finds deliveries by status and recipient, and retries a selection', async () => {
  await page.goto('/o/demo/activity?status=failed');
  const table = page.getByRole('table', { name: 'Activity' });
  await table.getByRole('link').nth(1).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByLabel('Select all loaded rows').check();
  await page.getByText('2 selected').waitFor();
  await button('Retry 2').click();
  await dialog().getByText('2 will be attempted again').waitFor();
  await dialog().getByRole('button', { name: 'Retry' }).click();
  await page.getByText('Retrying 2 deliveries.').waitFor();
  await page.getByText('No matches').waitFor();

  await page.goto('/o/demo/activity');
  await page.getByRole('searchbox', { name: 'Username or exact address' }).fill('grace@demo.test');
  await eventually(
    async () =>
      expect(new Set(await table.getByRole('link').allInnerTexts())).toEqual(
        new Set([expect.stringContaining('grace@demo.test')]),
      ),
    30_000,
  );
  await page.getByLabel('Select delivery to grace@demo.test').first().check();
  await button('Add to list').click();
  await dialog().getByLabel('List').first().click();
  await page.getByRole('option', { name: 'Customers' }).click();
  await dialog().getByRole('button', { name: 'Add to list' }).click();
  await page.getByText('grace@demo.test was already on the list.').waitFor();
  await button('Lock users').click();
  await dialog().getByRole('button', { name: 'Lock' }).click();
  await page.getByText('Locked grace@demo.test.').waitFor();
  expect((await ask({ path: '/api/o/demo/u/grace@demo.test/' })).body.locked).toBe(true);
});

test('the palette opens the dialogs for a new event and a new list on their pages', async () => {
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
