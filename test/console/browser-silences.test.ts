/**
 * Silences in the console: from an open occurrence to a silence that holds the next one and is ended early, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually } from '../support/eventually.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let open: DemoConsole;

beforeAll(async () => {
  open = await openDemoConsole();
});
afterAll(() => open.close());

test('an open occurrence is silenced with its labels, the next one is held and listed, and ending it early releases it', async () => {
  const { page, ask } = open;
  const context = { title: 'Disk full', labels: { alertname: 'DiskFull', instance: 'db-1' } };
  const trigger = async (dedup_key: string) => {
    const path = '/api/o/demo/p/shop/a/web/e/order-paid/trigger/';
    return (await ask({ method: 'POST', path, body: { context, options: { dedup_key } } })).body.occurrence as string;
  };
  await page.goto('/o/demo/silences');
  await page.getByText('No silences').waitFor();
  await takeScreenshots(page, 'silences-empty');
  const first = await trigger('first');
  await page.goto(`/o/demo/occurrences/${first}`);
  await page.getByRole('button', { name: 'Silence this' }).click();
  const dialog = page.getByRole('dialog');
  await expect.poll(() => dialog.getByLabel('Matchers').inputValue()).toContain('labels.instance=db-1');
  await dialog.getByText('1 open occurrence.').waitFor();
  await dialog.getByLabel('Matchers').fill('nonsense');
  await dialog.getByLabel('Reason').fill('disks are replaced');
  await dialog.getByRole('button', { name: 'Silence', exact: true }).click();
  await dialog.getByText('nonsense is no matcher').waitFor();
  await dialog.getByLabel('Matchers').fill('labels.alertname=DiskFull');
  await dialog.getByText('Only at certain hours').click();
  await dialog.getByText('1 open occurrence.').waitFor();
  await takeScreenshots(page, 'silences-new');
  await dialog.getByText('Only at certain hours').click();
  await dialog.getByRole('button', { name: 'Silence', exact: true }).click();
  await page.getByText('Nothing yet').waitFor();
  const second = await trigger('second');
  await page.getByText('1 held, 0 suppressed').waitFor();
  await page.getByRole('link', { name: 'Disk full' }).waitFor();
  await takeScreenshots(page, 'silence');
  expect(await axeViolations(page)).toEqual([]);
  const held = (await ask({ path: `/api/o/demo/occurrence/${second}/` })).body;
  expect(held).toMatchObject({ state: 'waiting_silence' });
  await page.getByRole('button', { name: 'End now' }).click();
  await dialog.getByRole('button', { name: 'End now' }).click();
  await page.getByText('Ended', { exact: true }).waitFor();
  await eventually(async () =>
    expect((await ask({ path: `/api/o/demo/occurrence/${second}/` })).body.state).not.toBe('waiting_silence'),
  );
  await page.goto('/o/demo/silences');
  await page.getByText('labels.alertname=DiskFull').waitFor();
  await takeScreenshots(page, 'silences');
  expect(open.complaints).toEqual([]);
});
