/** What stops a canary after its messages were accepted, and what ends one that no one approves. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
/** The API of a mail service. */
let api: HttpPeer;

beforeAll(async () => {
  world = await joinWorld();
  let count = 0;
  api = await openHttpPeer(() => ({ body: JSON.stringify({ MessageID: `canary-${++count}` }) }));
});
afterEach(() => world.checkLedger());
afterAll(async () => {
  await world.close();
  await api.close();
});

const users = Array.from({ length: 30 }, (_, i) => `u${String(i).padStart(2, '0')}@x.test`);
const first = 10;

/** Adds a tenant whose mails a service accepts, and triggers. Returns when the sample was sent. */
async function sampled(): Promise<{ tenant: Tenant; id: string }> {
  const providers = [{ use: 'postmark', server_token: 't', from: 'a@acme.test', endpoint: api.url }];
  const tenant = await world.tenant({
    users,
    channels: [{ slug: 'out', name: 'Out', type: 'email', providers }],
    notifications: [{ channels: ['out'], canary: { first, stop_at: { bounced: '10%', complained: '10%' } } }],
  });
  const id = await tenant.trigger();
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ reason: 'canary.waiting', counts: { sent: first } });
  }, 8_000);
  return { tenant, id };
}

/** Reports something about one message of the sample, as the service does. */
async function report(tenant: Tenant, id: string, type: string): Promise<void> {
  const { feedback } = (await tenant.ask({ path: `/api/o/${tenant.slug}/c/out/` })).body;
  const [delivery] = await tenant.deliveries(id);
  const { status } = await fetch(feedback.addresses[0].url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ RecordType: type === 'SpamComplaint' ? type : 'Bounce', Type: type, MessageID: 'm', Email: delivery!.user },
      ...{
        Metadata: { belfry_id: `${id}.${delivery!.id}` },
        BouncedAt: new Date().toISOString(),
        Details: '550 5.1.1 no such user',
      },
    }),
  });
  expect(status).toBe(200);
}

async function endWait(tenant: Tenant): Promise<void> {
  await tenant.sql(
    `update occurrences set due_at = now() where organization_id = $1 and reason = 'canary.waiting'`,
    tenant.id,
  );
  await tenant.sql('notify belfry_work');
}

const holdOf = async ({ ask, slug }: Tenant, id: string) =>
  (await ask({ path: `/api/o/${slug}/occurrence/${id}/hold/` })).body;

async function stopped(type = 'HardBounce'): Promise<{ tenant: Tenant; id: string }> {
  const { tenant, id } = await sampled();
  await report(tenant, id, type);
  await endWait(tenant);
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }), 8_000);
  return { tenant, id };
}

test('a bounce and a complaint that a service reports about the sample stop the others', async () => {
  const bounced = await stopped();
  expect(await holdOf(bounced.tenant, bounced.id)).toMatchObject({
    recipients: 20,
    figures: [{ attempted: 10, failed: 0, bounced: 1, complained: 0, stopped_by: ['bounced'] }],
    explanation: ['n1: the sample had 10 messages; 1 bounced (10%; stops at 10%).'],
  });
  const complained = await stopped('SpamComplaint');
  expect(await holdOf(complained.tenant, complained.id)).toMatchObject({
    figures: [{ attempted: 10, failed: 0, bounced: 0, complained: 1, stopped_by: ['complained'] }],
  });
});

test('a canary that no one approves fails in time, and the others get nothing', async () => {
  const { tenant, id } = await stopped();
  await tenant.sql('update holds set expires_at = now() where organization_id = $1', tenant.id);
  await tenant.sql(`select pg_notify('belfry_stop', '0 ${id}')`);
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({
      outcome: 'partly_failed',
      reason: 'guard.expired',
      unexpanded: 20,
      counts: { sent: 9, failed: 1 },
    });
  }, 8_000);
  expect(await holdOf(tenant, id)).toMatchObject({ state: 'expired', kind: 'canary' });
  expect((await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/hold/approve/`, {})).status).toBe(409);
});

test('when its event is deleted, a canary ends, whether it waits for its sample or for an approval', async () => {
  const waiting = await sampled();
  const asking = await stopped();
  for (const { tenant } of [waiting, asking]) {
    const { status } = await tenant.ask({ method: 'DELETE', path: `${tenant.event}?cascade=true` });
    expect(status).toBe(200);
  }
  await endWait(waiting.tenant);
  await eventually(async () => {
    expect(await waiting.tenant.occurrence(waiting.id)).toMatchObject({ status: 'completed', counts: { sent: 10 } });
  }, 8_000);
  const { tenant, id } = asking;
  const hold = await holdOf(tenant, id);
  expect(hold).toMatchObject({ state: 'held', event: null });
  expect((await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/hold/approve/`, {})).status).toBe(200);
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', counts: { sent: 9, failed: 1 } });
  }, 8_000);
});
