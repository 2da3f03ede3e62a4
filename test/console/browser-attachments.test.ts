/**
 * The files of an occurrence in the console, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createDemo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { axeViolations, openBrowser, signIn, takeScreenshots, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let service: Service;
let browser: Browser;

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

test('an occurrence shows its files, which can be downloaded', async () => {
  const demo = (await createDemo(service.runtime.deps))!;
  const ask = asker(service.address, demo.key);
  const application = demo.triggerPath.replace(/e\/[^/]+\/trigger\/$/, '');
  const content = Buffer.from(`%PDF-1.7 ${'x'.repeat(1_500_000)}`);
  const upload = async (name: string, body: Buffer) => {
    const path = `${application}attachments/?name=${encodeURIComponent(name)}`;
    const answer = await ask({ method: 'POST', path, headers: { 'content-type': 'application/pdf' }, body });
    expect(answer.status, answer.text).toBe(201);
    return { id: answer.body.id };
  };
  const name = 'Quarterly report with a rather long name, as people write them, version 7 (final).pdf';
  const attachments = [await upload(name, content), await upload('terms.pdf', Buffer.from('%PDF-1.7'))];
  const { body } = await ask({ method: 'POST', path: demo.triggerPath, body: { options: { attachments } } });

  const visitor = await visit(browser, service.address, { acceptDownloads: true });
  const { page } = visitor;
  await signIn(page, demo.signIn);
  await page.goto(`/o/demo/occurrences/${body.occurrence}`);
  const list = page.getByRole('list', { name: 'Attachments' });
  await list.getByText('1.5 MB').waitFor();
  await list.getByText('8 bytes').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'attachments');
  const [download] = await Promise.all([page.waitForEvent('download'), list.getByText(name).click()]);
  expect(download.suggestedFilename()).toBe(name);
  expect((await readFile(await download.path())).equals(content)).toBe(true);
  await visitor.close();
});
