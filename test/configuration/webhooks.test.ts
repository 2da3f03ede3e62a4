/** Operational webhooks: subscribed endpoints receive signed messages of events after they are committed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { listInstanceWebhooks, setInstanceWide } from '../../src/services/configuration/webhooks.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld } from '../support/sink.ts';
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts';

let world: EngineWorld;
const receivers: Receiver[] = [];

beforeAll(async () => {
  world = await openWorld({ BASE_URL: 'http://belfry.test' });
});
afterAll(async () => {
  await world.checkLedger();
  for (const one of receivers) await one.close();
  await world.close();
});

async function open(...given: Parameters<typeof openReceiver>): Promise<Receiver> {
  const receiver = await openReceiver(...given);
  receivers.push(receiver);
  return receiver;
}

const users = ['ann@x.test', 'ben@x.test'];

test.concurrent('sent and failed deliveries are reported with ids and links, without addresses', async () => {
  const tenant = await world.tenant({ users });
  const receiver = await open(tenant, ['delivery.sent', 'delivery.failed', 'occurrence.completed']);
  tenant.answer(seen => (seen.body.includes('ben@x.test') ? { status: 400 } : {}));
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const [sent] = await receiver.until('delivery.sent', 1);
  const [failed] = await receiver.until('delivery.failed', 1);
  const [completed] = await receiver.until('occurrence.completed', 1);
  const deliveries = await tenant.deliveries(id);
  const link = `http://belfry.test/api/o/${tenant.slug}/occurrence/${id}/`;
  const deliveryId = deliveries.find(one => one.status === 'sent')!.id;
  expect(sent!.data).toEqual({
    organization: tenant.slug,
    delivery: deliveryId,
    occurrence: id,
    event: 'shop/web/go',
    channel: 'hooks',
    user_id: expect.any(Number),
    status: 'sent',
    reason: null,
    provider: 'standard-webhooks',
    attempts: 1,
    links: { occurrence: link, delivery: `${link}deliveries/${deliveryId}/` },
  });
  expect(sent!.id).toMatch(/^msg_[0-9a-f-]{36}$/);
  expect(Math.abs(Date.parse(sent!.timestamp) - Date.now())).toBeLessThan(60_000);
  expect(failed!.data).toMatchObject({ status: 'failed', reason: expect.any(String), delivery: expect.any(Number) });
  expect(completed!.data).toMatchObject({
    occurrence: id,
    event: 'shop/web/go',
    outcome: 'partly_failed',
    counts: { sent: 1, failed: 1, suppressed: 0, cancelled: 0, expired: 0, unknown: 0 },
    links: { occurrence: link },
  });
  expect(receiver.peer.seen.every(({ body }) => !body.includes('x.test'))).toBe(true);
});

test.concurrent('no messages are stored for types and organizations without a subscription', {
  tags: ['sweep'],
}, async () => {
  const [one, other] = [await world.tenant({ users }), await world.tenant({ users })];
  const receiver = await open(one, ['delivery.failed']);
  const ids = [await one.trigger(), await other.trigger()];
  await one.outcomes(ids[0]!);
  await other.outcomes(ids[1]!);
  expect(await one.sql('select from webhook_messages where organization_id in ($1, $2)', one.id, other.id)).toEqual([]);
  expect(receiver.peer.seen).toEqual([]);
});

test.concurrent('every way in which an occurrence ends is reported once', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({ users, notifications: [{ filter: 'yes' }] });
  const receiver = await open(tenant, ['occurrence.completed']);
  const filtered = await tenant.trigger();
  const cancelled = await tenant.trigger({ delay: '1h' });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${cancelled}/cancel/`);
  const sent = await tenant.trigger({}, { yes: true });
  const dry = await tenant.trigger({ dry_run: true }, { yes: true });
  const received = await receiver.until('occurrence.completed', 4);
  const outcomes = Object.fromEntries(received.map(({ data }) => [data.occurrence, [data.outcome, data.state]]));
  expect(outcomes).toEqual({
    [filtered]: ['suppressed', 'suppressed'],
    [cancelled]: ['cancelled', 'cancelled'],
    [sent]: ['sent', 'sent'],
    [dry]: ['suppressed', 'dry_run'],
  });
  for (const { data } of received) {
    const { summary, reason, cancelled_by } = (await tenant.occurrence(
      String(data.occurrence),
    )) as unknown as JsonObject;
    // What a cancelled occurrence did not prepare is counted afterwards.
    const reported = String(summary).replace(/ \d+ messages? (was|were) not prepared\.$/, '');
    expect(data).toMatchObject({ summary: reported, reason, cancelled_by });
  }
});

test('a fan-out of several pages reports each delivery and its end', { tags: ['sweep'] }, async () => {
  const many = Array.from({ length: 1_200 }, (_, i) => `user${i}@x.test`);
  const tenant = await world.tenant({ users: many });
  await open(tenant, ['delivery.sent', 'occurrence.completed']);
  const id = await tenant.trigger();
  await tenant.outcomes(id, 60_000);
  const [counts] = await tenant.sql(
    `select count(*) filter (where type = 'delivery.sent')::int as sent, count(distinct data ->> 'delivery')::int as distinct,
       count(*) filter (where type = 'occurrence.completed')::int as completed
     from webhook_messages where organization_id = $1`,
    tenant.id,
  );
  expect(counts).toEqual({ sent: 1_200, distinct: 1_200, completed: 1 });
});

test.concurrent('an acknowledgement, a resolution and the end of an escalation are reported', {
  tags: ['sweep'],
}, async () => {
  const steps = [{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'] }];
  const tenant = await world.tenant({ users, notifications: [{ steps }] });
  const receiver = await open(tenant, ['occurrence.acknowledged', 'occurrence.resolved', 'occurrence.completed']);
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/acknowledge/`);
  expect((await receiver.until('occurrence.acknowledged', 1))[0]!.data).toMatchObject({ occurrence: id });
  expect((await receiver.until('occurrence.completed', 1))[0]!.data).toMatchObject({ outcome: 'acknowledged' });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/resolve/`);
  expect((await receiver.until('occurrence.resolved', 1))[0]!.data).toMatchObject({ occurrence: id });
  const again = await tenant.trigger();
  await tenant.until(again, 'sent');
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
  await tenant.outcomes(again);
  expect((await receiver.until('occurrence.completed', 2))[1]!.data).toMatchObject({ occurrence: again });
});

test.concurrent('an address that is gone, and one that a user disables, are reported by their ids', {
  tags: ['sweep'],
}, async () => {
  const addresses = [{ name: 'webhook', value: `${world.peer.url}/gone/hook` }];
  const channels = [
    {
      slug: 'own',
      name: 'Own',
      type: 'webhook',
      providers: [{ use: 'standard-webhooks', secret: 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5' }],
    },
  ];
  const tenant = await world.tenant({
    users: [{ email: 'ann@x.test', addresses }],
    channels,
    notifications: [{ channels: ['own'] }],
  });
  const receiver = await open(tenant, ['address.disabled']);
  const list = async () => (await tenant.ask({ path: `/api/o/${tenant.slug}/u/ann@x.test/addresses/` })).body;
  const [email, hook] = await list();
  await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/u/ann@x.test/addresses/${email.id}/`,
    body: { enabled: false },
  });
  const byPerson = { address: email.id, name: 'email', user_id: expect.any(Number), by: 'person' };
  expect((await receiver.until('address.disabled', 1))[0]!.data).toMatchObject(byPerson);
  // Repeating it changes nothing, and nothing is reported.
  const path = `/api/o/${tenant.slug}/u/ann@x.test/addresses/${email.id}/`;
  await tenant.ask({ method: 'PATCH', path, body: { enabled: false } });
  const { reply } = world.peer;
  world.peer.reply = seen =>
    seen.path.startsWith('/gone/') ? { status: 410 } : typeof reply === 'function' ? reply(seen) : reply;
  await tenant.outcomes(await tenant.trigger());
  world.peer.reply = reply;
  const received = await receiver.until('address.disabled', 2);
  expect(received[1]!.data).toMatchObject({ address: hook.id, name: 'webhook', by: 'provider' });
  expect(JSON.stringify(received)).not.toContain('/gone/hook');
});

test('a channel with an open circuit is reported as unhealthy once, and as recovered', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users: Array.from({ length: 12 }, (_, i) => `u${i}@x.test`) });
  const receiver = await open(tenant, ['channel.unhealthy', 'channel.recovered']);
  tenant.answer({ status: 500 });
  const id = await tenant.trigger();
  const [unhealthy] = await receiver.until('channel.unhealthy', 1);
  expect(unhealthy!.data).toMatchObject({ channel: 'hooks', provider: 'standard-webhooks' });
  tenant.answer({});
  await eventually(async () => {
    await tenant.hurry();
    expect(receiver.messages().filter(one => one.type === 'channel.recovered')).toHaveLength(1);
  }, 50_000);
  const [recovered] = receiver.messages().filter(one => one.type === 'channel.recovered');
  expect(Date.parse(recovered!.data.since)).toBeLessThan(Date.now());
  expect(receiver.messages().filter(one => one.type === 'channel.unhealthy')).toHaveLength(1);
  await eventually(async () => {
    await tenant.hurry();
    expect((await tenant.occurrence(id)).status).toBe('completed');
  }, 40_000);
});

test.concurrent('every item of a digest is reported as sent, and every occurrence as completed', async () => {
  const message = { subject: 'x', body: '{{ count }}' };
  const tenant = await world.tenant({ users: ['ann@x.test'], notifications: [{ digest: { every: '1h' }, message }] });
  const receiver = await open(tenant, ['delivery.sent', 'occurrence.completed']);
  const ids = [await tenant.trigger(), await tenant.trigger()];
  for (const id of ids) await tenant.until(id, 'pending');
  await tenant.sql(`update digests set closes_at = now() where organization_id = ${tenant.id}`);
  await tenant.sql(
    `update deliveries set due_at = now() where organization_id = ${tenant.id} and status = 'pending'
       and digest_id is not null and due_at <> '9999-12-31Z'`,
  );
  await tenant.sql('notify belfry_work');
  const sent = await receiver.until('delivery.sent', 2);
  expect(sent.map(({ data }) => data.occurrence).sort()).toEqual(ids.toSorted());
  await receiver.until('occurrence.completed', 2);
});

test('a message whose worker died is reported as unknown if the channel holds it', { tags: ['sweep'] }, async () => {
  const providers = [{ use: 'slack-webhook', url: 'https://hooks.slack.test/services/T0/B0/abcdefghijklmnop' }];
  const channels = [{ slug: 'room', name: 'Room', type: 'slack', on_unknown: 'hold', providers }];
  const tenant = await world.tenant({ users: ['ann@x.test'], channels, notifications: [{ channels: ['room'] }] });
  const receiver = await open(tenant, ['delivery.unknown', 'occurrence.completed']);
  await tenant.post(`/api/o/${tenant.slug}/c/room/pause/`);
  const id = await tenant.trigger();
  await eventually(async () => {
    expect((await tenant.deliveries(id)).map(one => one.reason)).toEqual(['channel.paused']);
  });
  // The state left by a worker that claimed it and died.
  await tenant.sql(
    `update deliveries set status = 'sending', reason = null, owner = 2000001, attempts = 1, provider_attempts = 1,
       due_at = now() where organization_id = $1 and occurrence_id = $2`,
    tenant.id,
    id,
  );
  const [unknown] = await receiver.until('delivery.unknown', 1, 30_000);
  expect(unknown!.data).toMatchObject({ occurrence: id, channel: 'room', status: 'unknown', attempts: 1 });
  expect((await receiver.until('occurrence.completed', 1))[0]!.data).toMatchObject({ outcome: 'unknown' });
});

test('an instance-wide webhook receives the events of every organization until it is reset', {
  tags: ['sweep'],
}, async () => {
  const [ops, other] = [await world.tenant({ users }), await world.tenant({ users })];
  const receiver = await open(ops, ['occurrence.completed']);
  const env = { DATABASE_URL: world.service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const named = ['--org', ops.slug, '--webhook', receiver.slug];
  expect(await command(['webhook', 'widen', ...named], env)).toMatchObject({
    code: 0,
    stdout: `${ops.slug}/${receiver.slug} now reports on every organization.\n`,
  });
  const shown = await command(['webhook', 'list'], env);
  expect(shown.stdout).toMatch(new RegExp(`${ops.slug}/${receiver.slug} +yes +http\\S+ +occurrence\\.completed`));
  expect((await ops.ask({ path: receiver.path })).body).toMatchObject({ instance_wide: true });
  const id = await other.trigger();
  const own = await ops.trigger();
  const received = await receiver.until('occurrence.completed', 2);
  const link = (slug: string, occurrence: string) => `http://belfry.test/api/o/${slug}/occurrence/${occurrence}/`;
  expect(received.map(({ data }) => data).sort((a, b) => (a.occurrence < b.occurrence ? -1 : 1))).toMatchObject([
    { organization: other.slug, occurrence: id, links: { occurrence: link(other.slug, id) } },
    { organization: ops.slug, occurrence: own, links: { occurrence: link(ops.slug, own) } },
  ]);
  const [entry] = (await ops.ask({ path: `/api/o/${ops.slug}/audit/?noun=webhook&limit=1` })).body;
  expect(entry).toMatchObject({ action: 'update', path: receiver.slug, after: { instance_wide: true } });

  const { deps } = world.service.runtime;
  await setInstanceWide(deps, ops.id, receiver.slug, false);
  expect(await listInstanceWebhooks(deps)).toEqual([]);
  await other.outcomes(await other.trigger());
  await ops.trigger();
  await receiver.until('occurrence.completed', 3);
  expect(receiver.messages().filter(({ data }) => data.organization === other.slug)).toHaveLength(1);
  await expect(setInstanceWide(deps, ops.id, 'nothing', true)).rejects.toMatchObject({ code: 'webhook.not_found' });
});
