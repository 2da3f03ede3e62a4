/**
 * The demo of a first start shows a lively day.
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { configureDemoDay, triggerDemoDay } from '../../src/services/operations/demo/day.ts';
import { createDemo, type Demo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let service: Service;
let demo: Demo;

beforeAll(async () => {
  service = await testService();
  demo = (await createDemo(service.runtime.deps))!;
  await configureDemoDay(service.runtime.deps);
  await triggerDemoDay(service.runtime.deps);
});
afterAll(() => service.stop());

test('has a source with incidents of which one has ended', async () => {
  const ask = asker(service.address, demo.key);
  const { body: incidents } = await ask({ path: '/api/o/demo/incidents/?source=shop/monitoring/prometheus' });
  expect(incidents).toMatchObject([
    { title: '12 % of the payments fail', severity: 'critical', alerts: { open: 2 }, occurrence: { triggers: 3 } },
    { severity: 'warning', title: 'The disk of db-1 is full in 4 hours' },
  ]);
  const { body: payloads } = await ask({ path: '/api/o/demo/p/shop/a/monitoring/sources/prometheus/payloads/' });
  expect(payloads.map(({ state }: { state: string }) => state)).toEqual(['partly', 'taken', 'taken']);
});

test('has several channels, mixed outcomes and one escalation', async () => {
  const ask = asker(service.address, demo.key);
  await eventually(async () => {
    const { body } = await ask({ path: '/api/o/demo/occurrence/?limit=50' });
    const states = new Set((body as { state: string }[]).map(({ state }) => state));
    expect([...states].sort()).toEqual([
      'escalating',
      'partly_failed',
      'resolved',
      'scheduled',
      'sent',
      'suppressed',
      'waiting_digest',
    ]);
  }, 20_000);
  const { body: failures } = await ask({ path: '/api/o/demo/failures/' });
  expect(failures).toMatchObject([{ user: 'bounce@demo.test', state: 'failed', reason: 'provider.failed' }]);
});
