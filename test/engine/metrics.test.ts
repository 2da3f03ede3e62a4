/** Prometheus metrics of the engine and the backlog. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import type { Document } from '../../src/core/configuration/document.ts';
import { Meters } from '../../src/engine/telemetry/meters.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { testService } from '../support/database.ts';
import { waitFor } from '../support/eventually.ts';

let service: Service;
let key: string;
const broken = createServer(
  (request, response) => void request.resume().on('end', () => response.writeHead(503).end()),
);

const notification = (channel: string) => ({
  name: 'all',
  recipients: { list: 'Everybody' },
  channels: [channel],
  message: { subject: 'Hello', body: 'Hello {{ user.first_name }}' },
});

beforeAll(async () => {
  await new Promise<void>(resolve => broken.listen(0, '127.0.0.1', resolve));
  const { port } = broken.address() as AddressInfo;
  const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';
  const emails = Array.from({ length: 12 }, (_, i) => `u${i}@acme.test`);
  const document: Document = {
    organizations: [
      {
        slug: 'acme',
        name: 'Acme',
        channels: [
          { slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] },
          {
            slug: 'hooks',
            name: 'Hooks',
            type: 'webhook',
            providers: [{ use: 'standard-webhooks', url: `http://127.0.0.1:${port}/`, secret }],
          },
          { slug: 'off', name: 'Off', type: 'email', enabled: false, providers: [{ use: 'sandbox' }] },
        ],
        users: emails.map(email => ({ email })),
        projects: [
          {
            slug: 'shop',
            name: 'Shop',
            distribution_lists: [{ name: 'Everybody', members: emails }],
            applications: [
              {
                slug: 'web',
                name: 'Web',
                events: ['mail', 'hooks', 'off'].map(slug => ({
                  slug,
                  name: slug,
                  notifications: [notification(slug)],
                })),
              },
            ],
          },
        ],
      },
    ],
  };
  service = await testService({});
  await applyConfiguration(service.runtime.deps, document, { prune: false });
  key = (await createKey(service.runtime.deps, 'acme', { name: 'test', permissions: ['*'] })).key;
});
afterAll(async () => {
  await service.stop();
  broken.close().closeAllConnections();
});

async function trigger(event: string, options: object = {}): Promise<string> {
  const { occurrence } = await post(`p/shop/a/web/e/${event}/trigger/`, { options });
  return occurrence!;
}

async function post(path: string, body: object): Promise<{ occurrence?: string }> {
  const answer = await fetch(`${service.address}/api/o/acme/${path}`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return (await answer.json()) as { occurrence?: string };
}

/** Returns the value of each series. */
async function read(): Promise<Map<string, number>> {
  const text = await (await fetch(`${service.address}/metrics`)).text();
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

const reach = (series: string, value: number) =>
  waitFor(series, async () => {
    const now = await read();
    return now.get(series) === value ? now : undefined;
  });

test('deliveries are counted by status, type and provider, with the time they took', async () => {
  await trigger('mail', { priority: 'urgent' });
  const now = await reach('belfry_deliveries_total{status="sent",type="email",provider="sandbox"}', 12);
  expect(now.get('belfry_attempts_total{type="email",provider="sandbox",result="sent"}')).toBe(12);
  expect(now.get('belfry_time_to_first_attempt_seconds_count{class="urgent"}')).toBe(12);
  expect(now.get('belfry_time_to_outcome_seconds_count{class="urgent"}')).toBe(12);
  const took = now.get('belfry_time_to_outcome_seconds_sum{class="urgent"}')!;
  expect(took).toBeGreaterThan(0);
  expect(now.get('belfry_time_to_outcome_seconds_bucket{le="3600",class="urgent"}')).toBe(12);
  expect(now.get('belfry_expanded_pages_total{class="urgent"}')).toBe(1);
  expect(now.get('belfry_expanded_deliveries_total{class="urgent"}')).toBe(12);
  // Deliveries are counted just before they are stored.
  await reach('belfry_batch_size_sum{operation="settle"}', 12);
  await reach('belfry_in_flight{class="urgent"}', 0);
  expect(now.get('belfry_circuit_breakers{type="email",provider="sandbox",state="closed"}')).toBe(1);
});

test('suppressed deliveries are counted', async () => {
  await trigger('off');
  await reach('belfry_deliveries_total{status="suppressed",type="email",provider="none"}', 12);
});

test('the time until the first acknowledgement is recorded once', async () => {
  const occurrence = await trigger('mail');
  await post(`occurrence/${occurrence}/acknowledge/`, {});
  await post(`occurrence/${occurrence}/acknowledge/`, {});
  const now = await reach('belfry_acknowledge_seconds_count', 1);
  expect(now.get('belfry_acknowledge_seconds_sum')).toBeGreaterThan(0);
  expect(now.get('belfry_acknowledge_seconds_bucket{le="300"}')).toBe(1);
});

test('a failing provider counts attempts and retries and opens its circuit breaker', async () => {
  await trigger('hooks');
  const now = await reach('belfry_circuit_breakers{type="webhook",provider="standard-webhooks",state="open"}', 1);
  const attempts = now.get('belfry_attempts_total{type="webhook",provider="standard-webhooks",result="retry"}')!;
  expect(attempts).toBeGreaterThanOrEqual(10);
  expect(now.get('belfry_retries_total{type="webhook",provider="standard-webhooks"}')).toBeGreaterThanOrEqual(10);
});

test('the engine reports its connections, its event loop and that it is up', async () => {
  const now = await read();
  expect(now.get('belfry_engine_up')).toBe(1);
  expect(now.get('belfry_workers')).toBe(1);
  for (const pool of ['plain', 'claims', 'hot']) {
    expect(now.get(`belfry_engine_database_connections{pool="${pool}",state="waiting"}`)).toBe(0);
  }
  expect(now.get('belfry_engine_loop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
  expect(now.get('belfry_engine_loop_utilization')).toBeLessThanOrEqual(1);
});

test('the backlog is reported even without a worker', async () => {
  const idle = await testService({ BELFRY_ROLE: 'api' });
  try {
    const { deps } = idle.runtime;
    const { key } = await (async () => {
      await applyConfiguration(
        deps,
        {
          organizations: [
            {
              slug: 'acme',
              name: 'Acme',
              projects: [
                {
                  slug: 'shop',
                  name: 'Shop',
                  applications: [{ slug: 'web', name: 'Web', events: [{ slug: 'e', name: 'E' }] }],
                },
              ],
            },
          ],
        },
        { prune: false },
      );
      return createKey(deps, 'acme', { name: 'test', permissions: ['*'] });
    })();
    const send = (options: object) =>
      fetch(`${idle.address}/api/o/acme/p/shop/a/web/e/e/trigger/`, {
        method: 'POST',
        headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ options }),
      });
    for (let i = 0; i < 3; i++) await send({});
    await send({ priority: 'bulk' });
    await send({ priority: 'bulk', delay: '1h' });
    const text = await waitFor('the backlog', async () => {
      const all = await (await fetch(`${idle.address}/metrics`)).text();
      return all.includes('belfry_backlog_size{class="bulk"} 1\n') ? all : undefined;
    });
    expect(text).toContain('belfry_backlog_size{class="normal"} 3\n');
    expect(text).toContain('belfry_backlog_size{class="urgent"} 0\n');
    expect(Number(/belfry_backlog_age_seconds\{class="normal"\} (\S+)/.exec(text)![1])).toBeGreaterThan(0);
    expect(text).toContain('belfry_workers 0\n');
    expect(text).not.toContain('belfry_engine_up');
  } finally {
    await idle.stop();
  }
});

describe('the delay of the event loop', () => {
  const block = (ms: number) => {
    for (const until = performance.now() + ms; performance.now() < until; );
  };
  const maxDelay = async (meters: Meters) => {
    const found = (await meters.read()).find(one => one.name === 'belfry_engine_loop_delay_seconds')!;
    return found.values.find(one => one.labels.quantile === '1')!.value;
  };

  test('is measured only while there is work', { tags: ['sweep'] }, async () => {
    const [idle, busy] = [0, 1].map(() => new Meters({ inFlight: () => [], circuits: () => [], pools: {} }));
    for (const meters of [idle!, busy!]) meters.tick();
    busy!.batch('settle', 1);
    for (const meters of [idle!, busy!]) meters.tick();
    // Fires right after the measuring timers, which must be late to record a delay.
    const timer = monitorEventLoopDelay({ resolution: 200 });
    timer.enable();
    await waitFor('the timer', () => timer.count > 0);
    block(400);
    await waitFor('the late timer', () => timer.max > 300_000_000);
    timer.disable();
    expect(await maxDelay(busy!)).toBeGreaterThan(0.1);
    expect(await maxDelay(idle!)).toBe(0);
  });
});
