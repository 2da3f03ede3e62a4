/**
 * Scheduling: urgent before bulk, round robin between tenants, and no tenant waits for another's slow provider.
 *
 * @module-tag sweep
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { type EngineWorld, hooks, openWorld, type Tenant } from '../support/sink.ts';
import { openSmtpScript } from '../support/smtp-script.ts';

let world: EngineWorld;
const servers: Server[] = [];

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await world.close();
});

/** Starts a peer that responds after a delay, or never. */
async function openSlow(delayMs: number): Promise<{ url: string; seen: () => number }> {
  let seen = 0;
  const server = createServer((request, response) => {
    seen++;
    request.resume();
    if (delayMs < Number.POSITIVE_INFINITY) setTimeout(() => response.end(), delayMs);
  });
  servers.push(server);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen: () => seen };
}

const users = (size: number) => Array.from({ length: size }, (_, i) => `p${i}@x.test`);

async function slowTenant(size: number, delayMs: number): Promise<{ tenant: Tenant; seen: () => number }> {
  const peer = await openSlow(delayMs);
  const channels = [hooks(peer.url, {}, { timeout_ms: 8_000 })];
  return { tenant: await world.tenant({ users: users(size), channels }), seen: peer.seen };
}

async function completed(tenant: Tenant, id: string, sent: number): Promise<void> {
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', counts: { sent, pending: 0 } });
  }, 25_000);
}

test('an urgent message overtakes a fan-out of the same tenant', async () => {
  const { tenant, seen } = await slowTenant(1_500, 50);
  const id = await tenant.trigger();
  await eventually(() => expect(seen()).toBeGreaterThan(20));
  const urgent = await tenant.trigger({ priority: 'urgent', limit_to: ['p3@x.test'] });
  await eventually(async () => {
    expect(await tenant.occurrence(urgent)).toMatchObject({ counts: { sent: 1 } });
  });
  expect((await tenant.occurrence(id)).counts.sent).toBeLessThan(1_500);
  await completed(tenant, id, 1_500);
});

test('an urgent email overtakes emails that wait for a connection', async () => {
  const mails = 200;
  const server = await openSmtpScript();
  onTestFinished(() => server.close());
  const provider = { use: 'smtp', host: '127.0.0.1', port: server.port, from: 'shop@x.test', max_connections: 1 };
  const tenant = await world.tenant({
    users: users(mails),
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
    notifications: [{ channels: ['mail'] }],
  });
  const sending = `select count(*)::int as count from deliveries where organization_id = $1 and status = 'sending'`;
  const allClaimed = (count: number) =>
    eventually(async () => expect((await tenant.sql(sending, tenant.id))[0]!.count).toBe(count));
  let respond = () => {};
  const mayRespond = new Promise<void>(resolve => {
    respond = resolve;
  });
  server.decide = async ({ verb }) => {
    if (verb !== '.') return undefined;
    await mayRespond;
    // Enough time for the urgent delivery to reach the semaphore after it was claimed.
    await sleep(10);
    return undefined;
  };
  const id = await tenant.trigger({ priority: 'bulk' }, { n: 'slowly' });
  await allClaimed(mails);
  const urgent = await tenant.trigger({ priority: 'urgent', limit_to: ['p3@x.test'] }, { n: 'at once' });
  await allClaimed(mails + 1);
  respond();
  await completed(tenant, urgent, 1);
  await completed(tenant, id, mails);
  expect(server.mails).toHaveLength(mails + 1);
  expect(server.mails.findIndex(({ body }) => body.includes('Hello at once'))).toBeLessThan(mails / 2);
});

test('two tenants with large fan-outs take turns', async () => {
  const [first, second] = await Promise.all([slowTenant(900, 200), slowTenant(100, 20)]);
  const long = await first.tenant.trigger({ priority: 'normal' });
  await eventually(() => expect(first.seen()).toBeGreaterThan(0));
  const short = await second.tenant.trigger({ priority: 'normal' });
  await completed(second.tenant, short, 100);
  expect((await first.tenant.occurrence(long)).counts.sent).toBeLessThan(900);
  await completed(first.tenant, long, 900);
});

test('a provider that hangs delays no other tenant, however much is sent to it', async () => {
  const { tenant: stuck } = await slowTenant(1_300, Number.POSITIVE_INFINITY);
  const other = await world.tenant({ users: ['ann@x.test'] });
  const id = await stuck.trigger({ priority: 'normal' });
  await stuck.trigger({ priority: 'bulk' });
  const sending = `select count(*)::int as count from deliveries where organization_id = $1 and status = 'sending'`;
  await eventually(async () => expect((await stuck.sql(sending, stuck.id))[0]!.count).toBeGreaterThanOrEqual(500));
  for (const priority of ['urgent', 'normal', 'bulk']) {
    const began = fairNow();
    const quick = await other.trigger({ priority });
    expect(await other.outcomes(quick), priority).toEqual(['ann@x.test sent']);
    expect(fairNow() - began, priority).toBeLessThan(3_000);
  }
  expect(await stuck.occurrence(id)).toMatchObject({ counts: { sent: 0 } });
});

test('a host that hangs for more tenants than there are shares delays no other tenant, even of that host', async () => {
  const stuckTenants = 13;
  const seen = new Map<string, number>();
  const server = createServer((request, response) => {
    const tenant = request.url!;
    seen.set(tenant, (seen.get(tenant) ?? 0) + 1);
    request.resume();
    if (tenant === '/other') response.end();
  });
  servers.push(server);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const open = (name: string, size: number) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`;
    return world.tenant({ users: users(size), channels: [hooks(url, {}, { timeout_ms: 20_000 })] });
  };
  const stuck: Tenant[] = [];
  for (let n = 0; n < stuckTenants; n++) stuck.push(await open(`stuck${n}`, 700));
  const other = await open('other', 1);
  for (const tenant of stuck) await tenant.trigger({ priority: 'normal' });
  await eventually(() => {
    expect(seen.size).toBe(stuckTenants);
    expect(Math.min(...seen.values())).toBeGreaterThanOrEqual(8);
  }, 15_000);
  const ids = await Promise.all(Array.from({ length: 94 }, () => other.trigger({ priority: 'normal' })));
  for (const id of ids) await completed(other, id, 1);
  expect(Math.max(...seen.values())).toBe(94);
});
