/** The console of a service with the demo organization, in a browser with its owner signed in. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createDemo, type Demo } from '../../src/services/operations/demo/demo.ts';
import { type Ask, asker } from './api.ts';
import { openBrowser, signIn, visit } from './browser.ts';
import { testService } from './database.ts';

export interface DemoConsole {
  service: Service;
  demo: Demo;
  /** Sends requests with the demo's API key. */
  ask: Ask;
  browser: Browser;
  page: Page;
  /** Console errors and warnings, and script errors so far. */
  complaints: string[];
  close(): Promise<void>;
}

/** Timeout that suffices on a machine busy with other tests. */
const timeoutMs = 45_000;

export async function openDemoConsole(
  env: Record<string, string> = {},
  options: BrowserContextOptions = {},
): Promise<DemoConsole> {
  await buildConsole();
  const service = await testService(env);
  const demo = (await createDemo(service.runtime.deps))!;
  const browser = await openBrowser();
  const visitor = await visit(browser, service.address, options);
  visitor.context.setDefaultTimeout(timeoutMs);
  await signIn(visitor.page, demo.signIn);
  return {
    service,
    demo,
    ask: asker(service.address, demo.key),
    browser,
    page: visitor.page,
    complaints: visitor.complaints,
    close: async () => {
      await visitor.close();
      await browser.close();
      await service.stop();
    },
  };
}
