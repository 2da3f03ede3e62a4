/**
 * Sending to webhooks: retries over days, recovery after a killed worker, and isolation from other work.
 *
 * @module-tag sweep
 */
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { webhookLimits } from '../../src/core/configuration/webhooks.ts';

import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startBelfry } from '../support/process.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts';

let world: EngineWorld;
const users = ['ann@x.test'];
const receivers: Receiver[] = [];

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  for (const one of receivers) await one.close();
  await world.close();
});

async function open(...given: Parameters<typeof openReceiver>): Promise<Receiver> {
  const receiver = await openReceiver(...given);
  receivers.push(receiver);
  return receiver;
}

const send = async (tenant: Tenant, { path }: Receiver) => {
  const made = await tenant.post(`${path}test/`);
  expect(made.status, made.text).toBe(201);
  return `${path}messages/${made.body.id}/`;
};
const read = async (tenant: Tenant, path: string) => (await tenant.ask({ path })).body;

/** Waits until the message has had so many attempts and none is in flight. */
const attempted = (tenant: Tenant, path: string, count: number, withinMs = 10_000) =>
  eventually(async () => {
    const message = await read(tenant, path);
    expect(message.attempts).toHaveLength(count);
    return message;
  }, withinMs);

test('a message that is not accepted is retried with the same id and growing delays for three days', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent'], { status: 500, body: 'out of order' });
  const path = await send(tenant, receiver);
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 10; attempt++) {
    const message = await attempted(tenant, path, attempt);
    expect(message.attempts.at(-1)).toMatchObject({
      ok: false,
      answer: '500: out of order',
      at: expect.stringMatching(/Z$/),
    });
    if (message.next_attempt_at) {
      const { at, ms } = message.attempts.at(-1);
      waits.push(Math.round((Date.parse(message.next_attempt_at) - Date.parse(at) - ms) / 1_000));
      expect(message.status).toBe('waiting');
    } else expect(message.status).toBe('failed');
    await receiver.hurry();
  }
  const least = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
  expect(waits).toHaveLength(least.length);
  for (const [i, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(least[i]!);
    expect(wait).toBeLessThanOrEqual(least[i]! * 1.1 + 1);
  }
  expect(new Set(receiver.messages().map(({ id }) => id)).size).toBe(1);
  // Resent by hand, it is accepted.
  receiver.peer.reply = {};
  expect((await tenant.post(`${path}resend/`)).status).toBe(200);
  expect(await attempted(tenant, path, 11)).toMatchObject({ status: 'sent', next_attempt_at: null });
  expect(new Set(receiver.messages().map(({ id }) => id)).size).toBe(1);
});

test('Retry-After of an endpoint is honored', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent'], { status: 503, headers: { 'retry-after': '900' } });
  const message = await attempted(tenant, await send(tenant, receiver), 1);
  expect(Date.parse(message.next_attempt_at) - Date.now()).toBeGreaterThan(850_000);
});

test('redirects are not followed, endless answers are cut, and private addresses are refused', async () => {
  const tenant = await world.tenant({ users });
  const other = await open(tenant, ['delivery.sent']);
  const receiver = await open(tenant, ['delivery.sent'], { status: 302, headers: { location: other.peer.url } });
  const moved = await attempted(tenant, await send(tenant, receiver), 1);
  expect(moved.attempts[0]).toMatchObject({ ok: false, answer: '302: redirects are not followed' });
  expect(other.peer.seen).toEqual([]);
  receiver.peer.reply = 'flood';
  expect(await attempted(tenant, await send(tenant, receiver), 1)).toMatchObject({ status: 'sent' });
  await tenant.ask({ method: 'PATCH', path: receiver.path, body: { url: 'http://10.0.0.1/ops', secret: null } });
  const refused = await attempted(tenant, await send(tenant, receiver), 1);
  expect(refused.attempts[0].answer).toContain('10.0.0.1 is a private or reserved address');
});

test('after a rotation two secrets sign, then only the new one', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent']);
  const rotated = await tenant.post(`${receiver.path}rotate/`, { overlap: '1h' });
  expect(rotated.status).toBe(201);
  await attempted(tenant, await send(tenant, receiver), 1);
  expect(receiver.messages()).toHaveLength(1);
  expect(receiver.messages(rotated.body.secret)).toHaveLength(1);
  expect(receiver.peer.seen[0]!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  expect((await read(tenant, receiver.path)).previous_secret_expires_at).toBe(rotated.body.previous_secret_expires_at);
  await tenant.sql(
    "update webhooks set previous_until = now() - interval '1 second' where organization_id = $1",
    tenant.id,
  );
  await attempted(tenant, await send(tenant, receiver), 1);
  const { body, headers } = receiver.peer.seen[1]!;
  expect(headers['webhook-signature']).toMatch(/^v1,\S+$/);
  new Webhook(rotated.body.secret).verify(body, headers as Record<string, string>);
  expect(() => new Webhook(receiver.secret).verify(body, headers as Record<string, string>)).toThrow();
  expect((await read(tenant, receiver.path)).previous_secret_expires_at).toBe(null);
});

test('an endpoint that fails for five days is disabled with a reason, and works again when enabled', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['occurrence.completed'], { status: 500 });
  await attempted(tenant, await send(tenant, receiver), 1);
  const failing = await read(tenant, receiver.path);
  expect(failing).toMatchObject({ disabled_at: null, health: { last_success_at: null, last_failure: '500' } });
  expect(failing.health.failing_since).not.toBe(null);
  const shift = (days: string) =>
    tenant.sql(
      `update webhook_states set failing_since = now() - $2::interval where organization_id = $1`,
      tenant.id,
      days,
    );
  await shift('4 days 23 hours');
  await attempted(tenant, await send(tenant, receiver), 1);
  expect((await read(tenant, receiver.path)).disabled_at).toBe(null);
  await shift('5 days 1 minute');
  await tenant.trigger();
  await eventually(async () => {
    expect(await read(tenant, receiver.path)).toMatchObject({ disabled_reason: 'failing', enabled: true });
  }, 10_000);
  const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=webhook` });
  expect(audit.body[0]).toMatchObject({ action: 'disable', path: receiver.slug, actor: { name: 'Belfry' } });
  const stats = await read(tenant, `/api/o/${tenant.slug}/stats/`);
  expect(stats.attention.disabled_webhooks).toBe(1);
  // While it is disabled, no messages are stored for it, and a test is refused.
  await tenant.outcomes(await tenant.trigger());
  expect(
    await tenant.sql(`select from webhook_messages where organization_id = $1 and type like 'occ%'`, tenant.id),
  ).toHaveLength(1);
  expect((await tenant.post(`${receiver.path}test/`)).body.code).toBe('webhook.inactive');
  receiver.peer.reply = {};
  const seen = receiver.peer.seen.length;
  const enabled = await tenant.post(`${receiver.path}enable/`);
  expect(enabled.body).toMatchObject({ disabled_at: null, disabled_reason: null, health: { failing_since: null } });
  await receiver.hurry();
  await eventually(async () => expect(receiver.peer.seen.length).toBe(seen + 3), 10_000);
  await eventually(async () => expect((await read(tenant, receiver.path)).health.last_success_at).not.toBe(null));
});

test('an endpoint that answers 410 is disabled at once', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent'], { status: 410 });
  await send(tenant, receiver);
  await eventually(async () => {
    expect(await read(tenant, receiver.path)).toMatchObject({ disabled_reason: 'gone' });
  }, 10_000);
});

test('an endpoint that does not answer delays neither others nor deliveries, and gets one message at a time', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users: Array.from({ length: 40 }, (_, i) => `u${i}@x.test`) });
  const slow = await open(tenant, ['delivery.sent'], 'hang');
  const quick = await open(tenant, ['delivery.sent']);
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  await quick.until('delivery.sent', 40, 8_000);
  await eventually(() => expect(slow.peer.seen.length).toBe(webhookLimits.concurrency));
  await eventually(async () => {
    expect((await read(tenant, slow.path)).health.last_failure).toContain('did not answer within');
  }, 30_000);
  await eventually(() => expect(slow.peer.seen.length).toBe(webhookLimits.concurrency + 1), 10_000);
  const [{ claimed }] = (await tenant.sql(
    `select count(*)::int as claimed from webhook_messages m join webhooks w on w.id = m.webhook_id
     where w.slug = $1 and claimed_at is not null`,
    slow.slug,
  )) as [{ claimed: number }];
  expect(claimed).toBeLessThanOrEqual(webhookLimits.failingConcurrency);
  await tenant.ask({ method: 'DELETE', path: slow.path });
});

test('endpoints of one organization that do not answer leave half of the messages in flight to others', async () => {
  const stuck = await world.tenant({ users });
  const hanging: Receiver[] = [];
  for (let n = 0; n < webhookLimits.endpoints; n++) hanging.push(await open(stuck, ['delivery.sent'], 'hang'));
  await stuck.sql(
    `insert into webhook_messages (organization_id, webhook_id, type, data)
     select organization_id, id, 'delivery.sent', '{}' from webhooks, generate_series(1, $2)
     where organization_id = $1`,
    stuck.id,
    webhookLimits.concurrency,
  );
  const seen = () => hanging.reduce((sum, { peer }) => sum + peer.seen.length, 0);
  await eventually(() => expect(seen()).toBeGreaterThanOrEqual(100), 10_000);
  const other = await world.tenant({ users });
  const receiver = await open(other, ['delivery.sent']);
  await attempted(other, await send(other, receiver), 1, 5_000);
  expect(seen()).toBe(100);
  for (const { path } of hanging) await stuck.ask({ method: 'DELETE', path });
});

test('the rate to one endpoint is limited', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent']);
  await tenant.sql(
    `insert into webhook_messages (organization_id, webhook_id, type, data)
     select organization_id, id, 'delivery.sent', '{}' from webhooks, generate_series(1, 300) where slug = $1`,
    receiver.slug,
  );
  const began = Date.now();
  await eventually(async () => expect(receiver.peer.seen.length).toBe(300), 20_000);
  expect(Date.now() - began).toBeGreaterThan(1_500);
});

test('messages claimed by a killed worker are sent by another, and none is lost', {
  tags: ['sweep'],
}, async () => {
  const api = await openWorld({ BELFRY_ROLE: 'api' });
  const { url } = api.service.runtime;
  const { secretKey } = testConfig(url);
  const env = { DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey!, BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' };
  const tenant = await api.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent', 'occurrence.completed'], 'hang');
  const paths = await Promise.all(Array.from({ length: 8 }, () => send(tenant, receiver)));
  const first = await startBelfry(env, ['--role', 'worker']);
  await tenant.outcomes(await tenant.trigger());
  await eventually(async () => expect(receiver.peer.seen.length).toBe(10), 10_000);
  await first.end('SIGKILL');
  receiver.peer.reply = {};
  const second = await startService(testConfig(url, { BELFRY_ROLE: 'worker' }), silent);
  // The messages are due again once the claims of the first worker expire.
  const held = await tenant.sql('select from webhook_messages where claimed_at is not null and due_at > now()');
  expect(held).toHaveLength(10);
  await tenant.sql('update webhook_messages set due_at = now() where claimed_at is not null');
  for (const path of paths) {
    await eventually(async () => expect(await read(tenant, path)).toMatchObject({ status: 'sent' }), 30_000);
  }
  await receiver.until('delivery.sent', 2);
  expect(new Set(receiver.messages().map(({ id }) => id)).size).toBe(10);
  await second.stop();
  await api.close();
});
