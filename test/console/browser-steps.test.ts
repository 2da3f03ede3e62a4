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
  const body = { context: { title: 'Disk full' } };
  occurrence = (await ask({ method: 'POST', path: demo.triggerPath, body })).body.occurrence;
  await waitFor('the first step', async () => {
    const { body } = await ask({ path: `/api/o/demo/occurrence/${occurrence}/steps/` });
    return body[0]?.status === 'done' || undefined;
  });
});
afterAll(() => site.close());

test('the list of incidents counts down to the next step and responds in place', async () => {
  const other = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await page.goto('/o/demo/incidents');
  const card = page.getByRole('article').filter({ has: page.locator(`a[href*="${other}"]`) });
  await card.getByText('Step 1 is done').waitFor();
  await card.getByText(/^Notified: ada@demo\.test/).waitFor();
  const timer = card.getByRole('timer');
  const shown = await timer.innerText();
  expect(shown).toMatch(/^(10:00|0\d:[0-5]\d)$/);
  await eventually(async () => expect(await timer.innerText()).not.toBe(shown), 30_000);
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'incidents');
  await card.getByRole('button', { name: /^Acknowledge/ }).click();
  await card.waitFor({ state: 'detached' });
  expect((await ask({ path: `/api/o/demo/occurrence/${other}/` })).body.outcome).toBe('acknowledged');
});

test('an occurrence is snoozed from a menu, and the snooze is ended after a question', async () => {
  const other = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await page.goto(`/o/demo/occurrences/${other}`);
  const snooze = page.getByRole('button', { name: 'Snooze', exact: true });
  await snooze.click();
  await page.getByRole('menuitem', { name: 'Until another time…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Snooze until' });
  await dialog.getByRole('button', { name: 'Snooze' }).click();
  await dialog.getByText('Choose a time within the next 7 days.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'snooze-until');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await snooze.click();
  await page.getByRole('menuitem', { name: 'Until 08:00' }).click();
  const responses = page.getByRole('list', { name: 'Responses' });
  await responses.getByText(/^Snoozed by .* until .*8:00/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'snoozed');
  await page.getByRole('button', { name: 'End snooze' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Unacknowledge' }).click();
  await responses.getByText(/^Taken back by/).waitFor();
  expect((await ask({ path: `/api/o/demo/occurrence/${other}/` })).body.outcome).toBe('escalating');
  await ask({ method: 'POST', path: `/api/o/demo/occurrence/${other}/resolve/` });
});

test('an incident is resolved with the keyboard, after a question', async () => {
  const other = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await page.goto('/o/demo/incidents');
  const card = page.getByRole('article').filter({ has: page.locator(`a[href*="${other}"]`) });
  await card.getByRole('link').first().focus();
  await page.keyboard.press('r');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await card.getByRole('link').first().focus();
  await page.keyboard.press('r');
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await card.waitFor({ state: 'detached' });
  expect((await ask({ path: `/api/o/demo/occurrence/${other}/` })).body).toMatchObject({
    outcome: 'resolved',
    resolved_at: expect.any(String),
  });
});

test('an incident is snoozed with the keyboard, listed as snoozed, and the snooze is ended', async () => {
  const other = (await ask({ method: 'POST', path: demo.triggerPath, body: {} })).body.occurrence;
  await page.goto('/o/demo/incidents');
  const card = page.getByRole('article').filter({ has: page.locator(`a[href*="${other}"]`) });
  await card.getByText('Step 1 is done').waitFor();
  await card.getByRole('link').first().focus();
  await page.keyboard.press('s');
  const hour = page.getByRole('menuitem', { name: 'For 1 hour' });
  await hour.waitFor();
  await takeScreenshots(page, 'incident-snooze');
  await hour.click();
  await card.waitFor({ state: 'detached' });
  const show = (status: RegExp) => page.getByRole('search').locator('label', { hasText: status }).click();
  await show(/^Snoozed/);
  await card.getByText(/^Snoozed by .* until/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'incidents-snoozed');
  await card.getByRole('link').first().focus();
  await page.keyboard.press('u');
  await page.getByRole('dialog').getByRole('button', { name: 'Unacknowledge' }).click();
  await page.getByText('Nothing is snoozed').waitFor();
  expect((await ask({ path: `/api/o/demo/occurrence/${other}/` })).body.outcome).toBe('escalating');
  await ask({ method: 'POST', path: `/api/o/demo/occurrence/${other}/resolve/` });
  await show(/^Silenced/);
  await page.getByText('Nothing is silenced').waitFor();
  await takeScreenshots(page, 'incidents-silenced');
});

test('the overview lists occurrences to acknowledge, and an occurrence shows its steps', async () => {
  await page.goto('/o/demo');
  const waiting = page.getByRole('region', { name: 'Waiting for an acknowledgement' });
  await waiting.getByText('Escalating').waitFor();
  await waiting.getByText('shop/web/order-paid').waitFor();
  await takeScreenshots(page, 'overview-unacknowledged');
  await waiting.getByRole('link', { name: 'Disk full' }).click();
  await page.getByRole('heading', { level: 1, name: 'Disk full' }).waitFor();
  await page.getByRole('link', { name: 'shop/web/order-paid' }).waitFor();
  await takeScreenshots(page, 'occurrence-title');
  const steps = page.getByRole('list', { name: /^Steps of/ }).getByRole('listitem');
  await steps.nth(2).waitFor();
  expect(await steps.count()).toBe(3);
  await steps.nth(0).getByText(/^Done/).waitFor();
  await steps
    .nth(1)
    .getByText(/^Planned/)
    .waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Control+K');
  await page.getByRole('textbox', { name: 'Search' }).fill('acknowledge');
  await page.locator('.mantine-Spotlight-action', { hasText: /^Acknowledge / }).waitFor();
  await page.keyboard.press('Enter');
  const responses = page.getByRole('list', { name: 'Responses' });
  await responses.getByText(/^Acknowledged by/).waitFor();
  await steps
    .nth(1)
    .getByText(/^Stopped/)
    .waitFor();
  await page.getByRole('button', { name: 'Resolve', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await responses.getByText(/^Resolved by/).waitFor();
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
  await editor.getByRole('checkbox', { name: 'One recipient in turn' }).nth(1).check();
  await editor.getByText(/^5m later via .*, one recipient in turn, 2 times/).waitFor();
  await page.getByRole('checkbox', { name: 'Each recipient has to acknowledge' }).check();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const saved = await waitFor('the change', async () => {
    const { body } = await ask({ path: `${event}n/${id}/` });
    return body.steps?.[1]?.after === '5m' ? body : undefined;
  });
  expect(saved).toMatchObject({ ack: 'each', steps: [{}, { round_robin: true }] });
  expect(saved.steps[0]).not.toHaveProperty('round_robin');
});

test('the list says that nothing is open', async () => {
  const { body } = await ask({ path: '/api/o/demo/escalations/' });
  for (const { occurrence: open } of body.escalations) {
    await ask({ method: 'POST', path: `/api/o/demo/occurrence/${open.identifier}/resolve/` });
  }
  await page.goto('/o/demo/incidents');
  await page.getByText('Nothing is open').waitFor();
  await page.getByText(/^Alerts of your sources, and occurrences with steps, appear here/).waitFor();
  await page.getByRole('link', { name: 'Connect a monitoring system' }).waitFor();
  expect(await page.getByRole('article').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'incidents-empty');
});
