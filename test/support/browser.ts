/**
 * A real Chromium. Any console message, script error or Content-Security-Policy violation fails the test, whatever else
 * it checks.
 */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { findChromium } from './chromium.ts';

export async function openBrowser(): Promise<Browser> {
  const found = await findChromium();
  if (!found) throw new Error('the browser tests need Chromium or Chrome: name it in CHROMIUM');
  return chromium.launch({
    executablePath: found.executablePath,
    env: { ...process.env, ...found.env },
    // Containers have no kernel sandbox and little shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

export interface Visit {
  context: BrowserContext;
  page: Page;
  /** Console errors and warnings, and script errors so far. */
  complaints: string[];
  close(): Promise<void>;
}

/**
 * What the browser logs although nothing is wrong: every 4xx response of the API, and that it does not use a preload, of half a kilobyte,
 * for a page that a service worker controls.
 */
const expected =
  /^Failed to load resource: the server responded with a status of (4\d\d)|^A preload for .* service worker resource mismatch|was preloaded using link preload/;

export async function visit(browser: Browser, baseURL: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    baseURL,
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => {
    const loud = message.type() === 'error' || message.type() === 'warning';
    if (loud && !expected.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', error => complaints.push(String(error)));
  return {
    context,
    page,
    complaints,
    close: async () => {
      await context.close();
      expect(complaints).toEqual([]);
    },
  };
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(/\/o\//);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** Returns one line per axe violation. Frames are skipped: they contain messages of other authors. */
export async function axeViolations(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  const options = JSON.stringify({ iframes: false, resultTypes: ['violations'], runOnly: rules });
  const found = await page.evaluate<{ violations: Violation[] }>(`axe.run(document, ${options})`);
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id} at ${target.join(' ')}: ${failureSummary.split('\n')[1]}`),
  );
}

/** Returns the texts in table cells that wrap inside a word, with the position of the break. */
export function brokenWords(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const found = [];
    const range = document.createRange();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode()); ) {
      if (!node.parentElement.closest('td, th')) continue;
      let before;
      for (let i = 0; i < node.length; i++) {
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        const { top, width } = range.getBoundingClientRect();
        const isInside = /^[\\p{L}\\p{N}]{2}$/u.test(node.data.slice(i - 1, i + 1));
        if (width > 0 && isInside && before !== undefined && top > before + 4) {
          found.push(node.data.slice(0, i) + '|' + node.data.slice(i));
        }
        before = width > 0 ? top : undefined;
      }
    }
    return found;
  })()`);
}

/** Saves screenshots in the folder SCREENSHOTS, if it is set: wide, dark and narrow. */
export async function takeScreenshots(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.waitForFunction(() => Reflect.get(globalThis, 'document').getAnimations().length === 0);
    await page.screenshot({ path: path.join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
}
