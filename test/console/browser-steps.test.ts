/**
 * Steps in the console: pending acknowledgements, the timeline of an escalation, and the editor.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
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
let event: string;
let occurrence: string;

beforeAll(async () => {
  site = await openDemoConsole();
  ({ demo, ask, page } = site);
  event = demo.triggerPath.replace(/trigger\/$/, '');
  const [first] = (await ask({ path: `${event}n/` })).body;
  const steps = [
    { channels: first.channels },
    { after: '10m', unless: 'acknowledged', channels: first.channels, repeat: 2 },
  ];
  const changed = await ask({ method: 'PATCH', path: `${event}n/${first.id}/`, body: { steps } });
  expect(changed.status, changed.text).toBe(200);
  occurrence = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await waitFor('the first step', async () => {
    const { body } = await ask({ path: `/api/o/demo/occurrence/${occurrence}/steps/` });
    return body[0]?.status === 'done' || undefined;
  });
});
afterAll(() => site.close());

test('the board of escalations counts down to the next step and responds in place', async () => {
  const other = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await page.goto('/o/demo/escalations');
  const card = page
    .getByRole('region', { name: 'Escalating now' })
    .getByRole('article')
    .filter({
      has: page.locator(`a[href*="${other}"]`),
    });
  await card.getByText('Step 1 was sent').waitFor();
  await card.getByText(/^Notified: ada@demo\.test/).waitFor();
  const timer = card.getByRole('timer');
  const shown = await timer.innerText();
  expect(shown).toMatch(/^(10:00|0\d:[0-5]\d)$/);
  await eventually(async () => expect(await timer.innerText()).not.toBe(shown), 30_000);
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'escalations');
  await card.getByRole('button', { name: /^Acknowledge/ }).click();
  await card.waitFor({ state: 'detached' });
  expect((await ask({ path: `/api/o/demo/occurrence/${other}/` })).body.outcome).toBe('acknowledged');
});

test('the board resolves an escalation after a question', async () => {
  const other = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await page.goto('/o/demo/escalations');
  const card = page.getByRole('article').filter({ has: page.locator(`a[href*="${other}"]`) });
  await card.getByRole('button', { name: /^Resolve/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await card.getByRole('button', { name: /^Resolve/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await card.waitFor({ state: 'detached' });
  expect((await ask({ path: `/api/o/demo/occurrence/${other}/` })).body).toMatchObject({
    outcome: 'resolved',
    resolved_at: expect.any(String),
  });
});

test('the overview lists occurrences to acknowledge, and an occurrence shows its steps', async () => {
  await page.goto('/o/demo');
  const waiting = page.getByRole('region', { name: 'Waiting for an acknowledgement' });
  await waiting.getByText('Escalating').waitFor();
  await waiting.getByRole('link').click();
  const steps = page.getByRole('list', { name: /^Steps of/ }).getByRole('listitem');
  await steps.nth(2).waitFor();
  expect(await steps.count()).toBe(3);
  await steps.nth(0).getByText(/^Sent/).waitFor();
  await steps
    .nth(1)
    .getByText(/^Planned/)
    .waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Control+K');
  await page.getByRole('textbox', { name: 'Search' }).fill('acknowledge');
  await page.locator('.mantine-Spotlight-action', { hasText: /^Acknowledge / }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText(/^Acknowledged by/).waitFor();
  await steps
    .nth(1)
    .getByText(/^Stopped/)
    .waitFor();
  await page.getByRole('button', { name: 'Resolve', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await page.getByText(/^Resolved by/).waitFor();
  const { body: deliveries } = await ask({ path: `/api/o/demo/occurrence/${occurrence}/deliveries/` });
  for (const [channel, outcome] of [
    ['mail', 'Unchanged'],
    ['app', 'Updated'],
  ]) {
    const { id } = deliveries.find((one: { channel: string }) => one.channel === channel);
    await page.goto(`/o/demo/occurrences/${occurrence}?delivery=${id}`);
    const updates = page.getByRole('table', { name: 'Updates' }).getByRole('row').last();
    await updates.getByText(/^Resolved by/).waitFor();
    await updates.getByText(outcome!, { exact: true }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await takeScreenshots(page, `updates-${channel}`);
  }
  await page.goto('/o/demo');
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  expect(await waiting.count()).toBe(0);
});

test('the editor describes each step in plain words and saves it', async () => {
  const [{ id }] = (await ask({ path: `${event}n/` })).body;
  await page.goto(`${event.replace('/api/', '/')}n/${id}`);
  const editor = page.getByRole('list', { name: 'Steps' });
  await editor.getByText(/^10m later via .*, 2 times, if not acknowledged$/).waitFor();
  const timeline = page.getByRole('list', { name: /^For .*, if no one responds:$/ });
  await timeline.waitFor();
  expect(await timeline.getByRole('listitem').allTextContents()).toEqual([
    '0:00mail · app',
    '0:10mail · app',
    '0:20mail · app',
  ]);
  await editor.getByLabel('After the previous step').fill('5m');
  await editor.getByText(/^5m later via/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await waitFor('the change', async () => {
    const { body } = await ask({ path: `${event}n/${id}/` });
    return body.steps?.[1]?.after === '5m' || undefined;
  });
});

test('the board says that nothing is escalating', async () => {
  const { body } = await ask({ path: '/api/o/demo/escalations/' });
  for (const { occurrence: open } of body.escalations) {
    await ask({ method: 'POST', path: `/api/o/demo/occurrence/${open.identifier}/resolve/` });
  }
  await page.goto('/o/demo/escalations');
  await page.getByText('Nothing is escalating').waitFor();
  await page.getByText(/^Occurrences of notifications with steps appear here/).waitFor();
  expect(await page.getByRole('article').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'escalations-empty');
});
