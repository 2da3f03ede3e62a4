/** The numbers of the first page of the console: kept as things happen, and true. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { latencyBounds, latencyPercentile } from '../src/core/latency.ts';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from './support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

async function stats(tenant: Tenant, query = '') {
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/stats/${query}` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const total = (rows: { triggers: number }[]) => rows.reduce((sum, row) => sum + row.triggers, 0);

test('triggers, outcomes, channels, events and latency are those of what happened', async () => {
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test', { email: 'c@x.test', locked: true }],
    channels: [{ slug: 'hooks' }, sandbox],
    notifications: [{ channels: ['hooks', 'sandbox'] }],
  });
  const first = await tenant.trigger();
  await tenant.outcomes(first);
  tenant.answer({ status: 400 });
  const second = await tenant.trigger({ channels: ['hooks'] });
  await tenant.outcomes(second);

  const found = await stats(tenant);
  expect(found.hours).toHaveLength(24);
  expect(total(found.hours)).toBe(2);
  const byStatus = { sent: 4, failed: 2, suppressed: 6, cancelled: 0, expired: 0, unknown: 0 };
  expect(found.events).toEqual([{ event: 'shop/web/go', triggers: 2, by_status: byStatus }]);
  expect(found.channels).toEqual([
    expect.objectContaining({ channel: 'hooks', project: null, type: 'webhook' }),
    expect.objectContaining({ channel: 'sandbox', type: 'email' }),
  ]);
  expect(found.channels[0].by_status).toMatchObject({ sent: 2, failed: 2, suppressed: 2 });
  expect(found.latency.p50_ms).toBeGreaterThan(0);
  expect(found.latency.p99_ms).toBeLessThan(8_000);
  expect(found.queue).toEqual({ pending: 0, capped: false, oldest_seconds: null });
  expect(found.attention).toEqual({ failed: 2, unknown: 0, disabled_addresses: 0, paused: [] });
  const kept = await tenant.sql<{ count: number }>(
    'select sum(count)::int as count from latency_stats where organization_id = $1',
    tenant.id,
  );
  expect(kept).toEqual([{ count: 4 }]);
});

test('a trigger that is repeated with its idempotency key counts once', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  for (let i = 0; i < 3; i++) await tenant.trigger({ idempotency_key: 'once' });
  await Promise.all(Array.from({ length: 20 }, () => tenant.trigger()));
  expect(total((await stats(tenant)).hours)).toBe(21);
});

test('what waits and what is paused is told, and what is held for a pause does not count as waiting', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  await tenant.post(`${tenant.event}pause/`);
  await tenant.trigger();
  await tenant.trigger({ delay: '1h' });
  await eventually(async () => expect((await stats(tenant)).queue.pending).toBe(0));
  expect((await stats(tenant)).attention.paused).toEqual([
    { kind: 'event', path: 'shop/web/go', since: expect.any(String) },
  ]);
  const other = await world.tenant({ users: ['a@x.test'] });
  other.answer({ status: 503 });
  await other.until(await other.trigger(), 'retrying');
  expect((await stats(other)).queue).toMatchObject({ pending: 1, capped: false });
  await other.sql(`update deliveries set due_at = now() - interval '90 seconds', owner = null, priority = 2
    where organization_id = ${other.id}`);
  const { oldest_seconds } = (await stats(other)).queue;
  expect(oldest_seconds === null || oldest_seconds >= 90).toBe(true);
});

test('the number of hours is chosen, within reason', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  expect((await stats(tenant, '?hours=3')).hours).toHaveLength(3);
  for (const hours of ['0', '2161', '1e2', 'x', '0x10', '-1', '1.5']) {
    expect((await tenant.ask({ path: `/api/o/${tenant.slug}/stats/?hours=${hours}` })).status).toBe(400);
  }
});

test('percentiles are read from the histogram', () => {
  const counts = (bucket: number, count: number) =>
    Array.from({ length: latencyBounds.length + 1 }, (_, i) => (i === bucket ? count : 0));
  expect(latencyPercentile(counts(0, 0), 0.5)).toBeNull();
  expect(latencyPercentile(counts(3, 10), 0.5)).toBe(75);
  expect(latencyPercentile(counts(latencyBounds.length, 3), 0.99)).toBe(latencyBounds.at(-1));
  const mixed = counts(0, 98);
  mixed[7] = 2;
  expect(latencyPercentile(mixed, 0.5)).toBeLessThan(10);
  expect(latencyPercentile(mixed, 0.99)).toBe(1_500);
});
