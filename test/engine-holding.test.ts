/** What happens between accepting and sending: waiting, pausing, cancelling, expiring, and a world that changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const two = ['ann@x.test', 'ben@x.test'];

async function act(tenant: Tenant, path: string): Promise<Record<string, unknown>> {
  const answer = await tenant.post(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const channelOf = (tenant: Tenant) => `/api/o/${tenant.slug}/c/hooks/`;

/** The channel is paused, and the worker knows it: what is triggered now is kept. */
async function pauseChannel(tenant: Tenant): Promise<void> {
  await act(tenant, `${channelOf(tenant)}pause/`);
}

/** Triggers, and waits until every message is kept because of a pause. */
async function heldTrigger(tenant: Tenant, options = {}): Promise<string> {
  const id = await tenant.trigger(options);
  await eventually(async () => {
    const deliveries = await tenant.deliveries(id);
    expect(deliveries.map(one => one.reason)).toEqual(two.map(() => 'channel.paused'));
  });
  return id;
}

describe('later', () => {
  test('delay and send_at are waited for', async () => {
    const tenant = await world.tenant({ users: two });
    const began = Date.now();
    const delayed = await tenant.trigger({ delay: '2s' }, { n: 'delayed' });
    const timed = await tenant.trigger({ send_at: new Date(began + 2_000).toISOString() }, { n: 'timed' });
    const now = await tenant.trigger({}, { n: 'now' });
    expect(await tenant.outcomes(now)).toEqual(two.map(email => `${email} sent`));
    expect(await tenant.occurrence(delayed)).toMatchObject({ status: 'accepted', counts: { pending: 0 } });
    await tenant.outcomes(delayed);
    await tenant.outcomes(timed);
    for (const one of tenant.received().filter(({ text }) => !text.includes('now'))) {
      expect(one.at).toBeGreaterThanOrEqual(began + 2_000);
      expect(one.at).toBeLessThan(began + 6_000);
    }
    expect(tenant.received()).toHaveLength(6);
  });

  test('what is not sent by its time expires, as an occurrence and as a message', async () => {
    const tenant = await world.tenant({ users: two });
    await act(tenant, `${tenant.event}pause/`);
    const expires_at = new Date(Date.now() + 1_500).toISOString();
    const whole = await tenant.trigger({ expires_at });
    await eventually(async () => expect(await tenant.occurrence(whole)).toMatchObject({ reason: 'event.paused' }));
    await pauseChannel(tenant);
    await act(tenant, `${tenant.event}resume/`);
    const message = await heldTrigger(tenant, { expires_at: new Date(Date.now() + 1_500).toISOString() });
    await sleep(1_600);
    await act(tenant, `${channelOf(tenant)}resume/`);
    expect(await tenant.outcomes(message)).toEqual(two.map(email => `${email} expired`));
    expect(await tenant.occurrence(whole)).toMatchObject({ status: 'completed' });
    expect(tenant.received()).toEqual([]);
  });
});

describe('cancelling', () => {
  test('before it is expanded nothing is sent', async () => {
    const tenant = await world.tenant({ users: two });
    const id = await tenant.trigger({ delay: '1s' });
    await act(tenant, `/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', reason: 'cancelled' });
    const next = await tenant.trigger({ delay: '2s' });
    await tenant.outcomes(next);
    expect(await tenant.deliveries(id)).toEqual([]);
    expect(tenant.received()).toHaveLength(2);
  });

  test('stops what is not sent yet, once', async () => {
    const tenant = await world.tenant({ users: two });
    await pauseChannel(tenant);
    const id = await heldTrigger(tenant);
    await act(tenant, `/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} cancelled`));
    const again = await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(again.body).toMatchObject({ code: 'occurrence.ended' });
    await act(tenant, `${channelOf(tenant)}resume/`);
    const next = await tenant.trigger();
    await tenant.outcomes(next);
    expect(tenant.received()).toHaveLength(2);
  });

  test('what waits for another attempt is stopped too', async () => {
    const tenant = await world.tenant({ users: two });
    tenant.answer({ status: 503 });
    const id = await tenant.trigger();
    await tenant.until(id, 'retrying');
    await act(tenant, `/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} cancelled`));
  });
});

describe('pausing', () => {
  const paths: [string, (tenant: Tenant) => string, string][] = [
    ['a channel', channelOf, 'channel.paused'],
    ['an event', tenant => tenant.event, 'event.paused'],
    ['an application', tenant => tenant.application, 'event.paused'],
  ];
  test.each(paths)('%s keeps messages, and resuming sends them all', async (_, pathOf, reason) => {
    const tenant = await world.tenant({ users: two });
    await act(tenant, `${pathOf(tenant)}pause/`);
    const ids = await Promise.all(Array.from({ length: 10 }, (_, i) => tenant.trigger({}, { n: i })));
    // The pause is heard of within a moment; what went out before was sent, and nothing is lost.
    await eventually(async () => {
      const held = await tenant.sql<{ count: number }>(
        `select (select count(*) from occurrences where organization_id = $1 and due_at = 'infinity' and reason = $2)
           + (select count(*) / 2 from deliveries where organization_id = $1 and due_at = 'infinity' and reason = $2) as count`,
        tenant.id,
        reason,
      );
      expect(Number(held[0]!.count) + tenant.received().length / 2).toBe(10);
      expect(Number(held[0]!.count)).toBeGreaterThan(0);
    });
    await world.checkLedger();
    const resumed = await act(tenant, `${pathOf(tenant)}resume/`);
    expect(resumed.released).toBeGreaterThan(0);
    for (const id of ids) expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} sent`));
    expect(tenant.received()).toHaveLength(20);
    expect(new Set(tenant.received().map(one => one.id)).size).toBe(20);
  });
});

describe('a world that changes between accepting and sending', () => {
  async function changed(change: (tenant: Tenant) => Promise<unknown>): Promise<{ tenant: Tenant; id: string }> {
    const tenant = await world.tenant({ users: two });
    await pauseChannel(tenant);
    const id = await heldTrigger(tenant);
    await change(tenant);
    await tenant.sql('update channels set paused_at = null where organization_id = $1', tenant.id);
    return { tenant, id };
  }

  test('a user is locked', async () => {
    const { tenant, id } = await changed(({ sql, id: organization }) =>
      sql(`update users set locked = true where organization_id = $1 and username = 'ann@x.test'`, organization),
    );
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test suppressed: user.locked', 'ben@x.test sent']);
  });

  test('a user is deleted', async () => {
    const { tenant, id } = await changed(({ sql, id: organization }) =>
      sql(`delete from users where organization_id = $1 and username = 'ann@x.test'`, organization),
    );
    expect(await tenant.outcomes(id)).toEqual(['ben@x.test sent', 'null suppressed: user.missing']);
  });

  test('the channel is switched off', async () => {
    const { tenant, id } = await changed(({ sql, id: organization }) =>
      sql('update channels set enabled = false where organization_id = $1', organization),
    );
    expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} suppressed: channel.disabled`));
  });

  test('the channel is deleted', async () => {
    const { tenant, id } = await changed(({ sql, id: organization }) =>
      sql('delete from channels where organization_id = $1', organization),
    );
    expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} suppressed: channel.missing`));
  });

  test('the event is deleted, before it is expanded and after', async () => {
    const tenant = await world.tenant({ users: two });
    const early = await tenant.trigger({ delay: '3s' });
    await pauseChannel(tenant);
    const late = await heldTrigger(tenant);
    await tenant.sql('delete from events where organization_id = $1', tenant.id);
    await act(tenant, `${channelOf(tenant)}resume/`);
    expect(await tenant.outcomes(late)).toEqual(two.map(email => `${email} cancelled: event.missing`));
    expect(await tenant.outcomes(early)).toEqual([]);
    expect(await tenant.occurrence(early)).toMatchObject({ reason: 'event.missing' });
  });
});
