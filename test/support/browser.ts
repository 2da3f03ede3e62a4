/**
 * A real Chromium. What a page says on its console, a broken script or a refusal by the Content-Security-Policy is a
 * failure, whatever else the test looks at.
 */
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** The one without a window first: it takes half of the processor's time. */
const known = [
  process.env.CHROMIUM,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

function findChromium(): string | undefined {
  return known.find(file => {
    try {
      accessSync(file ?? '', constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** As root on Debian the package is installed when there is none. */
export function requireChromium(): string {
  const found = findChromium();
  if (found) return found;
  if (userInfo().uid === 0) {
    const quietly = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const;
    execFileSync('apt-get', ['update', '-q'], quietly);
    execFileSync('apt-get', ['install', '-qy', '--no-install-recommends', 'chromium-headless-shell'], quietly);
  }
  const installed = findChromium();
  if (!installed) throw new Error('the browser tests need Chromium or Chrome: install it, or name it in CHROMIUM');
  return installed;
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: requireChromium(),
    // In containers there is neither a sandbox of the kernel's nor much shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

export interface Visit {
  context: BrowserContext;
  page: Page;
  /** What the browser complained about so far. */
  complaints: string[];
  close(): Promise<void>;
}

/** Expected refusals of the API show on the browser's console as well: they are named by their status. */
const refusal = /^Failed to load resource: the server responded with a status of (4\d\d)/;

export async function visit(browser: Browser, baseURL: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    baseURL,
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => {
    const loud = message.type() === 'error' || message.type() === 'warning';
    if (loud && !refusal.test(message.text())) complaints.push(message.text());
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

/** What axe finds, in a line each. Not in frames: what is in them is a message, and somebody else's. */
export async function axeViolations(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  const options = JSON.stringify({ iframes: false, resultTypes: ['violations'], runOnly: rules });
  const found = await page.evaluate<{ violations: Violation[] }>(`axe.run(document, ${options})`);
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id} at ${target.join(' ')}: ${failureSummary.split('\n')[1]}`),
  );
}
