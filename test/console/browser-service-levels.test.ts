/**
 * Service levels in the console: empty, with a watch that is created, and with days on which something was missed, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { axeViolations, brokenWords, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { runSql } from '../support/sql.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let open: DemoConsole;

beforeAll(async () => {
  open = await openDemoConsole();
  await runSql(open.service.runtime.url, 'delete from service_levels');
});
afterAll(() => open.close());

test('the page is empty at first, shows a new watch, and each level with its error budget', async () => {
  const { page, service, ask } = open;
  const shown = async () => (await ask({ path: '/api/o/demo/service-levels/' })).body.watches[0];
  const pings = async () => (await shown()).pings;
  const { url } = service.runtime;
  await page.goto('/o/demo/service-levels');
  await page.getByText('Nothing was counted in this period').waitFor();
  await page.getByText('No watches yet').waitFor();
  await takeScreenshots(page, 'service-levels-empty');
  expect(await axeViolations(page)).toEqual([]);

  await page.getByRole('button', { name: 'New watch' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Event' }).click();
  await page.getByRole('option').first().click();
  await dialog.getByLabel('Every').fill('2h');
  await dialog.getByRole('button', { name: 'Create watch' }).click();
  await dialog.getByText('must be a duration from 1m to 1h').waitFor();
  await takeScreenshots(page, 'service-levels-new');
  await dialog.getByLabel('Every').fill('1h');
  await dialog.getByRole('button', { name: 'Create watch' }).click();
  await page.getByText('Created the watch outside').waitFor();
  await page.getByRole('table', { name: 'Watches' }).getByText('outside').waitFor();

  await runSql(
    url,
    `insert into service_levels (organization_id, day, taken, failed, refused, pages_in_time, pages_late)
     select o.id, date_trunc('day', now(), 'UTC') - n * interval '24 hours', 1200 - n * 7, n % 9 / 8, n % 4, 20 - n % 7, n % 11 / 10
     from organizations o, generate_series(0, 80) n where o.slug = 'demo'`,
  );
  await runSql(
    url,
    `update watch_states set delivered_at = now() - interval '3 hours', failing_since = now() - interval '2 hours',
       error = 'it was not delivered within 1h: held', due_at = now() + interval '1 hour'`,
  );
  await page.reload();
  await page.getByText('it was not delivered within 1h: held').waitFor();
  await page.getByText('Silent', { exact: true }).waitFor();
  await page.getByText('99.99%').first().waitFor();
  await page.getByRole('figure', { name: 'Calls of senders by day: 30 days' }).waitFor();
  await takeScreenshots(page, 'service-levels');
  expect(await axeViolations(page)).toEqual([]);
  expect(await brokenWords(page)).toEqual([]);
  await page.getByText('90 days').click();
  await page.getByRole('figure', { name: 'First pages by day: 90 days' }).waitFor();

  const { project, application } = await shown();
  const watch = `/api/o/demo/p/${project}/a/${application}/watches/outside/`;
  const edit = page.getByRole('button', { name: 'Edit the watch outside' });
  await edit.click();
  await dialog.getByLabel('Every').fill('61m');
  await dialog.getByRole('button', { name: 'Save watch' }).click();
  await dialog.getByText('must be a duration from 1m to 1h').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'service-levels-edit');
  await dialog.getByLabel('Every').fill('5m');
  await dialog.getByLabel('URL to call').fill('https://monitor.test/ping/secret');
  await dialog.getByRole('button', { name: 'Save watch' }).click();
  await page.getByText('Saved the watch outside').waitFor();
  expect((await ask({ path: watch })).body).toMatchObject({ slug: 'outside', every: '5m', enabled: true });
  expect(await pings()).toBe(true);
  // Other fields leave the URL as it is. A change that someone else has made meanwhile is not lost.
  await edit.click();
  await dialog.getByLabel('Every').fill('10m');
  await ask({ method: 'PATCH', path: watch, body: { every: '20m' } });
  await dialog.getByRole('button', { name: 'Save watch' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await edit.click();
  expect(await dialog.getByLabel('Every').inputValue()).toBe('20m');
  await dialog.getByRole('switch', { name: 'Enabled' }).click();
  await dialog.getByRole('button', { name: 'Save watch' }).click();
  await page.getByText('Off', { exact: true }).waitFor();
  expect([await pings(), (await ask({ path: watch })).body.enabled]).toEqual([true, false]);
  await edit.click();
  await dialog.getByLabel('Call no URL any more').check();
  await dialog.getByRole('button', { name: 'Save watch' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await pings()).toBe(false);

  await page.getByRole('button', { name: 'Delete the watch outside' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No watches yet').waitFor();
  expect(open.complaints).toEqual([]);
});
