/**
 * The trace ID of an occurrence in the console.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createDemo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { axeViolations, openBrowser, signIn, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { closedUrl } from '../support/http-peer.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let service: Service;
let browser: Browser;

beforeAll(async () => {
  await buildConsole();
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: await closedUrl(), OTEL_TRACES_SAMPLER: 'parentbased_always_off' };
  service = await testService(traces);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

test('an occurrence shows its trace ID only if it has one', async () => {
  const demo = (await createDemo(service.runtime.deps))!;
  const ask = asker(service.address, demo.key);
  const trigger = async (headers: Record<string, string>) =>
    (await ask({ method: 'POST', path: demo.triggerPath, headers, body: {} })).body.occurrence as string;
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const traced = await trigger({ traceparent: `00-${traceId}-00f067aa0ba902b7-00` });
  const plain = await trigger({});
  const { page, close } = await visit(browser, service.address);
  await signIn(page, demo.signIn);
  await page.goto(`/o/demo/occurrences/${traced}`);
  await page.getByText('Trace ID').waitFor();
  await page.getByRole('button', { name: 'Copy trace ID' }).waitFor();
  expect(await page.getByText(traceId).count()).toBe(1);
  expect(await axeViolations(page)).toEqual([]);
  await page.goto(`/o/demo/occurrences/${plain}`);
  await page.getByRole('button', { name: 'Copy ID', exact: true }).waitFor();
  expect(await page.getByText('Trace ID').count()).toBe(0);
  await close();
});
