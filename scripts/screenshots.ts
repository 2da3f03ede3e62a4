/**
 * Takes the screenshots for the documentation from the running product: a fresh demo with its generated month.
 *   node scripts/screenshots.ts [PREFIX OF A NAME]
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { asker } from '../test/support/api.ts';
import { openBrowser, signIn } from '../test/support/browser.ts';
import { waitFor } from '../test/support/eventually.ts';
import { startBelfry } from '../test/support/process.ts';
import { buildConsole } from './console.ts';
import { prepareBounce } from './screenshot-bounces.ts';
import { acknowledgeOffline, preparePager } from './screenshot-pager.ts';
import { preparePreferences, unsubscribeOnPage } from './screenshot-preferences.ts';

const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));

/** What a page shows until its data is there. */
const loading = '.mantine-Loader-root, .mantine-Skeleton-root';

const [prefix = ''] = process.argv.slice(2);

interface Screenshot {
  name: string;
  /** Path of the page; or a function that prepares the page and returns its path. */
  at?: string;
  prepare?: (page: Page) => Promise<string>;
  colorScheme?: 'light' | 'dark';
  width?: number;
  height?: number;
  /** What is done on the page before it is captured. */
  act?: (page: Page) => Promise<void>;
  /** Selector of the part to capture. Default: the visible window. */
  of?: string;
}

await buildConsole();
await mkdir(folder, { recursive: true });
const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-screenshots-'));
const service = await startBelfry({ BELFRY_DATA_DIR: dataDir, BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' });
const browser = await openBrowser();
try {
  const { email, password, key } = await waitFor('the welcome message', () => parseWelcome(service.output()));
  const ask = asker(service.address, key);
  const { body: failures } = await ask({ path: '/api/o/demo/failures/?limit=100' });
  const bounced = (failures as { occurrence: string; reason: string }[]).find(one => one.reason === 'bounced')!;
  const issue = `/o/demo/occurrences/${bounced.occurrence}`;
  const { body: notifications } = await ask({ path: '/api/o/demo/p/shop/a/web/e/order-paid/n/' });

  const take = async ({
    name,
    at,
    colorScheme = 'light',
    width = 1280,
    height = 800,
    of,
    prepare,
    act,
  }: Screenshot) => {
    if (!name.startsWith(prefix)) return;
    const viewport = { width, height };
    const context = await browser.newContext({
      baseURL: service.address,
      colorScheme,
      viewport,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    await signIn(page, { email, password });
    await page.goto(at ?? (await prepare!(page)));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle', { timeout: 5_000 }).catch(() => {});
    await waitFor(`${name} to be loaded`, async () => (await page.locator(loading).count()) === 0 || undefined);
    await act?.(page);
    // A button that was just pressed is shown at rest.
    const file = { path: path.join(folder, `${name}.png`), animations: 'disabled' as const };
    await (of ? page.locator(of).first().screenshot(file) : page.screenshot(file));
    console.log(`docs/images/${name}.png`);
    await context.close();
  };
  for (const colorScheme of ['light', 'dark'] as const) {
    const suffix = colorScheme === 'dark' ? '-dark' : '';
    await take({ name: `overview${suffix}`, at: '/o/demo?hours=720', colorScheme, height: 860 });
    await take({ name: `occurrence${suffix}`, at: issue, colorScheme, height: 860 });
    await take({ name: `phone${suffix}`, at: '/o/demo?hours=720', colorScheme, width: 390, height: 844 });
  }
  await take({ name: 'designer', at: `/o/demo/p/shop/a/web/e/order-paid/n/${notifications[0].id}` });
  await take({ name: 'bounced', prepare: () => prepareBounce(ask), height: 900 });
  await preparePager(ask, email);
  const phone = { at: '/o/demo/pager', width: 390, height: 844 };
  await take({ name: 'pager', ...phone, colorScheme: 'dark' });
  await take({ name: 'pager-offline', ...phone, colorScheme: 'dark', act: acknowledgeOffline });
  await preparePreferences(ask);
  await take({ name: 'preferences-categories', at: '/o/demo/categories', height: 480 });
  await take({ name: 'preferences-page', prepare: page => unsubscribeOnPage(ask, page), of: 'main' });
  // The header would cover a part of what does not fit into the window.
  const size = { width: 1600, height: 2000 };
  await take({
    name: 'preferences-user',
    at: '/o/demo/users/ada@demo.test',
    of: '[aria-label="Preferences"]',
    ...size,
  });
} finally {
  await browser.close();
  await service.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
}

/** Parses the sign-in and the API key that the first start prints. */
function parseWelcome(output: string) {
  const email = /Sign in +(\S+)/.exec(output)?.[1];
  const password = /Password +(\S+)/.exec(output)?.[1];
  const key = /bf_\w+/.exec(output)?.[0];
  return email && password && key ? { email, password, key } : undefined;
}
