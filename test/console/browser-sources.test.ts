/**
 * The page of a source: what to paste into the sender, what rules make of a payload before they are saved, and the replay of a payload.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask as request } from '../support/api.ts';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually } from '../support/eventually.ts';

let site: DemoConsole;
beforeAll(async () => {
  site = await openDemoConsole();
});
afterAll(() => site.close());

test('a mapping is corrected beside its live result, and the payload is replayed', async () => {
  const { page, ask, service } = site;
  const sources = '/api/o/demo/p/shop/a/web/sources/';
  const mapping = { alerts: 'list', key: 'id', title: 'name', severity: 'level' };
  const source = { slug: 'own', name: 'Own monitoring', mapping, routes: [{ event: 'order-paid' }] };
  const made = await ask({ method: 'POST', path: sources, body: source });
  expect(made.status, made.text).toBe(201);
  const list = [
    { id: 1, name: 'Disk is full', level: 'critical' },
    { check: 'No key', level: 'info' },
  ];
  await request(service.address, { method: 'POST', path: new URL(made.body.url).pathname, body: { list } });

  await page.goto('/o/demo/sources/shop/web/own');
  await page.getByText(made.body.token).first().waitFor();
  const preview = page.getByRole('region', { name: 'Preview' });
  await preview.getByText('The last one that was received. Change it, or paste another.').waitFor();
  await preview.getByText('rejected: has no value where `mapping.key` looks for it').waitFor();
  await preview.getByText(/^Triggers order-paid/).waitFor();
  await takeScreenshots(page, 'source');
  expect(await axeViolations(page)).toEqual([]);

  const write = async (key: string) => {
    await page.getByRole('textbox', { name: 'Rules' }).click();
    await page.keyboard.press('ControlOrMeta+A');
    // Chromium inserts styled markup when it replaces a selection, and the CSP blocks that.
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(JSON.stringify({ routes: source.routes, mapping: { ...mapping, key } }));
  };
  await write('id || ');
  await preview.getByText(/is not a JMESPath expression/).waitFor();
  await write('id || check');
  await expect.poll(() => preview.getByText(/^Triggers order-paid/).count()).toBe(2);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();

  await page.getByRole('link', { name: /1 opened, 1 rejected/ }).click();
  const drawer = page.getByRole('dialog', { name: 'Payload' });
  await drawer.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('Replayed: 1 alert changed something.').waitFor();
  await takeScreenshots(page, 'source-payload');
  await page.goto('/o/demo/incidents');
  await page.getByRole('article').getByText('Disk is full').waitFor();
  await takeScreenshots(page, 'incidents-sources');
  expect(await axeViolations(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  // Colors change gradually.
  await eventually(async () => expect(await axeViolations(page, ['color-contrast'])).toEqual([]));
});

test('the calls of a heartbeat show their time beside a long line of output', async () => {
  const { page, ask, service } = site;
  const token = 'heartbeat-with-long-output';
  const heartbeat = { slug: 'job', every: '1d', event: 'order-paid', token };
  const made = await ask({ method: 'POST', path: '/api/o/demo/p/shop/a/web/heartbeats/', body: heartbeat });
  expect(made.status, made.text).toBe(201);
  const body = 'rsync: the connection was closed, 4711 files were not copied '.repeat(5);
  await request(service.address, { method: 'POST', path: `/ping/${token}/1`, body });
  await page.goto('/o/demo/heartbeats/shop/web/job');
  const table = page.getByRole('table', { name: /calls/i });
  await table.getByText('exit status 1').waitFor();
  const { width: shown } = (await page.getByRole('region', { name: 'Last calls' }).boundingBox())!;
  expect((await table.boundingBox())!.width).toBeLessThanOrEqual(shown);
});

test.each([
  ['source', 'sources', { use: 'alertmanager', routes: [{ event: 'order-paid' }] }],
  ['heartbeat', 'heartbeats', { every: '1d', event: 'order-paid' }],
])('the address of a %s is replaced after a question, and the page deletes it', async (noun, section, fields) => {
  const { page, ask } = site;
  const at = `/api/o/demo/p/shop/a/web/${section}/`;
  const made = await ask({ method: 'POST', path: at, body: { slug: 'moved', name: 'Moved', ...fields } });
  expect(made.status, made.text).toBe(201);
  await page.goto(`/o/demo/${section}/shop/web/moved`);
  await page.getByText(made.body.token).first().waitFor();
  const choose = async (item: string) => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await choose('New address…');
  const question = page.getByRole('dialog', { name: 'New address for Moved?' });
  await question.getByText('The current address stops working at once.').waitFor();
  await question.getByRole('button', { name: 'Replace address' }).click();
  await page.getByText('The address was replaced.').waitFor();
  await expect.poll(() => page.getByText(made.body.token).count()).toBe(0);
  await choose('Delete…');
  const deletion = page.getByRole('dialog', { name: `Delete the ${noun} Moved?` });
  await deletion.getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(`**/o/demo/${section}`);
  expect((await ask({ path: `${at}moved/` })).status).toBe(404);
});
