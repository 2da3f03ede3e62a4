/** Who goes first: urgent before bulk, tenants by turns, and nobody waits for another's slow provider. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from './support/api.ts';
import { type EngineWorld, hooks, openWorld, type Tenant } from './support/sink.ts';
import { openSmtpScript } from './support/smtp-script.ts';

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

/** A peer of its own that answers after so long, or never. */
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

const crowd = (size: number) => Array.from({ length: size }, (_, i) => `p${i}@x.test`);

async function slowTenant(size: number, delayMs: number): Promise<{ tenant: Tenant; seen: () => number }> {
  const peer = await openSlow(delayMs);
  const channels = [hooks(peer.url, {}, { timeout_ms: 8_000 })];
  return { tenant: await world.tenant({ users: crowd(size), channels }), seen: peer.seen };
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

test('an urgent mail overtakes mails that wait for a connection', async () => {
  const mails = 200;
  const server = await openSmtpScript();
  onTestFinished(() => server.close());
  const provider = { use: 'smtp', host: '127.0.0.1', port: server.port, from: 'shop@x.test', max_connections: 1 };
  const tenant = await world.tenant({
    users: crowd(mails),
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
    notifications: [{ channels: ['mail'] }],
  });
  const sending = `select count(*)::int as count from deliveries where organization_id = $1 and status = 'sending'`;
  const allTaken = (count: number) =>
    eventually(async () => expect((await tenant.sql(sending, tenant.id))[0]!.count).toBe(count));
  let go = () => {};
  const gone = new Promise<void>(resolve => {
    go = resolve;
  });
  server.decide = async ({ verb }) => {
    if (verb !== '.') return undefined;
    await gone;
    // Time enough for the urgent one, taken but not in line yet.
    await sleep(10);
    return undefined;
  };
  const id = await tenant.trigger({ priority: 'bulk' }, { n: 'slowly' });
  await allTaken(mails);
  const urgent = await tenant.trigger({ priority: 'urgent', limit_to: ['p3@x.test'] }, { n: 'at once' });
  await allTaken(mails + 1);
  go();
  await completed(tenant, urgent, 1);
  await completed(tenant, id, mails);
  expect(server.mails).toHaveLength(mails + 1);
  expect(server.mails.findIndex(({ body }) => body.includes('Hello at once'))).toBeLessThan(mails / 2);
});

test('two tenants with much to send take turns', async () => {
  const [first, second] = await Promise.all([slowTenant(900, 200), slowTenant(100, 20)]);
  const long = await first.tenant.trigger({ priority: 'normal' });
  await eventually(() => expect(first.seen()).toBeGreaterThan(0));
  const short = await second.tenant.trigger({ priority: 'normal' });
  await completed(second.tenant, short, 100);
  expect((await first.tenant.occurrence(long)).counts.sent).toBeLessThan(900);
  await completed(first.tenant, long, 900);
});

test('a provider that hangs keeps nobody else waiting, however much is sent to it', async () => {
  const { tenant: stuck } = await slowTenant(1_300, Number.POSITIVE_INFINITY);
  const other = await world.tenant({ users: ['ann@x.test'] });
  const id = await stuck.trigger({ priority: 'normal' });
  await stuck.trigger({ priority: 'bulk' });
  const sending = `select count(*)::int as count from deliveries where organization_id = $1 and status = 'sending'`;
  await eventually(async () => expect((await stuck.sql(sending, stuck.id))[0]!.count).toBeGreaterThanOrEqual(500));
  for (const priority of ['urgent', 'normal', 'bulk']) {
    const began = Date.now();
    const quick = await other.trigger({ priority });
    expect(await other.outcomes(quick), priority).toEqual(['ann@x.test sent']);
    expect(Date.now() - began, priority).toBeLessThan(3_000);
  }
  expect(await stuck.occurrence(id)).toMatchObject({ counts: { sent: 0 } });
});

test('nor do the providers of several tenants that hang at once', async () => {
  const stuck = await Promise.all([1, 2, 3].map(() => slowTenant(700, Number.POSITIVE_INFINITY)));
  const other = await world.tenant({ users: ['ann@x.test'] });
  for (const { tenant } of stuck) await tenant.trigger({ priority: 'normal' });
  await eventually(() => {
    for (const { seen } of stuck) expect(seen()).toBeGreaterThanOrEqual(20);
  });
  const began = Date.now();
  expect(await other.outcomes(await other.trigger({ priority: 'normal' }))).toEqual(['ann@x.test sent']);
  expect(Date.now() - began).toBeLessThan(3_000);
});
