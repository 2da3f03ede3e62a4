/**
 * What happens between accepting and sending: delays, pauses, cancellation, expiry, and changes of the configuration.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { releaseExpiredAcrossTenants, releasePaused } from '../../src/db/ledger/deliver/releases.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const two = ['ann@x.test', 'ben@x.test'];

async function act(tenant: Tenant, path: string, body = {}): Promise<Record<string, unknown>> {
  const answer = await tenant.post(path, body);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const channelOf = (tenant: Tenant) => `/api/o/${tenant.slug}/c/hooks/`;

/** Pauses the channel and waits until the worker knows: later triggers are held. */
async function pauseChannel(tenant: Tenant): Promise<void> {
  await act(tenant, `${channelOf(tenant)}pause/`);
}

/** Triggers, and waits until every delivery is held by a pause. */
async function heldTrigger(tenant: Tenant, options = {}): Promise<string> {
  const id = await tenant.trigger(options);
  await eventually(async () => {
    const deliveries = await tenant.deliveries(id);
    expect(deliveries.map(one => one.reason)).toEqual(two.map(() => 'channel.paused'));
  });
  return id;
}

describe('scheduled sending', () => {
  test('delay and send_at postpone sending', async () => {
    const tenant = await world.tenant({ users: two });
    const began = Date.now();
    const delayed = await tenant.trigger({ delay: '1s' }, { n: 'delayed' });
    const timed = await tenant.trigger({ send_at: new Date(began + 1_000).toISOString() }, { n: 'timed' });
    const later = await tenant.trigger({ delay: '1h' }, { n: 'later' });
    const now = await tenant.trigger({}, { n: 'now' });
    expect(await tenant.outcomes(now)).toEqual(two.map(email => `${email} sent`));
    expect(await tenant.occurrence(later)).toMatchObject({ status: 'accepted', counts: { pending: 0 } });
    await tenant.outcomes(delayed);
    await tenant.outcomes(timed);
    const postponed = tenant.received().filter(({ text }) => !text.includes('now'));
    expect(Math.min(...postponed.map(({ at }) => at))).toBeGreaterThanOrEqual(began + 1_000);
    expect(tenant.received()).toHaveLength(6);
  });

  test('occurrences and deliveries that are not sent in time expire', { tags: ['sweep'] }, async () => {
    const tenant = await world.tenant({ users: two });
    await act(tenant, `${tenant.event}pause/`);
    const expires_at = new Date(Date.now() + 1_500).toISOString();
    const whole = await tenant.trigger({ expires_at });
    await eventually(async () => expect(await tenant.occurrence(whole)).toMatchObject({ reason: 'event.paused' }));
    await pauseChannel(tenant);
    await act(tenant, `${tenant.event}resume/`);
    const expiresAt = Date.now() + 1_500;
    const message = await heldTrigger(tenant, { expires_at: new Date(expiresAt).toISOString() });
    await eventually(() => expect(Date.now()).toBeGreaterThan(expiresAt));
    await act(tenant, `${channelOf(tenant)}resume/`);
    expect(await tenant.outcomes(message)).toEqual(two.map(email => `${email} expired`));
    expect(await tenant.occurrence(whole)).toMatchObject({ status: 'completed' });
    expect(tenant.received()).toEqual([]);
  });
});

test('messages of a paused channel and occurrences of a paused event expire during the pause', async () => {
  const tenant = await world.tenant({ users: two });
  await pauseChannel(tenant);
  const message = await heldTrigger(tenant);
  await act(tenant, `${tenant.event}pause/`);
  const whole = await tenant.trigger();
  await eventually(async () => expect(await tenant.occurrence(whole)).toMatchObject({ reason: 'event.paused' }));
  await tenant.sql('update occurrences set expires_at = now() where organization_id = $1', tenant.id);
  await releaseExpiredAcrossTenants(world.service.runtime.deps.pool);
  expect(await tenant.outcomes(message)).toEqual(two.map(email => `${email} expired`));
  await eventually(async () => expect(await tenant.occurrence(whole)).toMatchObject({ outcome: 'expired' }));
  expect(tenant.received()).toEqual([]);
});

test('a message that expires after failed attempts names the last answer of the provider everywhere', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  const answer = '503: greylisted, try again later';
  tenant.answer({ status: 503, body: 'greylisted, try again later' });
  const id = await tenant.trigger({ expires_at: new Date(Date.now() + 3_600_000).toISOString() });
  for (const attempts of [1, 2, 3]) {
    await eventually(async () =>
      expect(await tenant.deliveries(id)).toMatchObject([{ status: 'retrying', attempts, detail: answer }]),
    );
    if (attempts === 3)
      await tenant.sql('update occurrences set expires_at = now() where organization_id = $1', tenant.id);
    await tenant.hurry();
  }
  expect(await tenant.outcomes(id)).toEqual(['ann@x.test expired']);
  const org = `/api/o/${tenant.slug}`;
  const get = async (path: string) => (await tenant.ask({ path: `${org}/${path}` })).body;
  const expired = { status: 'expired', reason: 'expired', attempts: 3, detail: answer };
  const [delivery] = await tenant.deliveries(id);
  expect(delivery).toMatchObject(expired);
  expect(await get(`occurrence/${id}/deliveries/${delivery!.id}/`)).toMatchObject(expired);
  expect(await get('activity/')).toMatchObject([expired]);
  expect((await get(`occurrence/${id}/why/?user=ann@x.test`)).answers).toMatchObject([
    { explanation: expect.stringContaining(` in 3 attempts: it was not sent before it expired (${answer}).`) },
  ]);
  const attempts = await get(`occurrence/${id}/deliveries/${delivery!.id}/attempts/`);
  expect(attempts.map(({ detail }: { detail: string }) => detail)).toEqual([answer, answer, answer]);
});

describe('cancelling', () => {
  test('prevents all sending before the expansion', async () => {
    const tenant = await world.tenant({ users: two });
    const id = await tenant.trigger({ delay: '1s' });
    await act(tenant, `/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', reason: 'cancelled' });
    const next = await tenant.trigger({ delay: '1s' });
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

  test('stops deliveries that wait for a retry', async () => {
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
    ['a project', tenant => tenant.application.replace(/a\/[^/]+\/$/, ''), 'event.paused'],
    ['an organization', tenant => `/api/o/${tenant.slug}/`, 'event.paused'],
    ['a key', tenant => `/api/o/${tenant.slug}/k/${tenant.keyId}/`, 'event.paused'],
  ];

  /** Pauses, triggers ten times, and waits until all that was not sent before is held. Returns how much that is. */
  async function hold(tenant: Tenant, path: string, reason: string) {
    await act(tenant, `${path}pause/`);
    const ids = await Promise.all(Array.from({ length: 10 }, (_, i) => tenant.trigger({}, { n: i })));
    let count = 0;
    // The pause takes effect within moments. Deliveries before it were sent, and none is lost.
    await eventually(async () => {
      const held = await tenant.sql<{ count: number }>(
        `select (select count(*) from occurrences where organization_id = $1 and due_at = 'infinity' and reason = $2)
           + (select count(*) / 2 from deliveries where organization_id = $1 and due_at = 'infinity' and reason = $2) as count`,
        tenant.id,
        reason,
      );
      count = Number(held[0]!.count);
      expect(count + tenant.received().length / 2).toBe(10);
      expect(count).toBeGreaterThan(0);
    });
    await world.checkLedger();
    return { ids, count };
  }

  test.each(paths)('%s holds messages, and resuming sends them all', async (_, pathOf, reason) => {
    const tenant = await world.tenant({ users: two });
    const { ids } = await hold(tenant, pathOf(tenant), reason);
    const resumed = await act(tenant, `${pathOf(tenant)}resume/`);
    expect(resumed.released).toBeGreaterThan(0);
    for (const id of ids) expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} sent`));
    expect(tenant.received()).toHaveLength(20);
    expect(new Set(tenant.received().map(one => one.id)).size).toBe(20);
  });

  test.each(paths)('%s holds messages, and resuming can drop them', async (_, pathOf, reason) => {
    const tenant = await world.tenant({ users: two });
    const { ids, count } = await hold(tenant, pathOf(tenant), reason);
    const before = tenant.received().length;
    const resumed = await act(tenant, `${pathOf(tenant)}resume/`, { drop: true });
    expect(resumed).toMatchObject({ released: 0, dropped: reason === 'channel.paused' ? 2 * count : count });
    for (const id of ids)
      await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed' }));
    expect(tenant.received()).toHaveLength(before);
    const outcomes = await Promise.all(ids.map(async id => (await tenant.occurrence(id)).outcome));
    expect(outcomes.filter(outcome => outcome === 'cancelled')).toHaveLength(count);
    const next = await tenant.trigger();
    expect(await tenant.outcomes(next)).toEqual(two.map(email => `${email} sent`));
  });

  test('what another pause holds, too, is not dropped', async () => {
    const tenant = await world.tenant({ users: two });
    await act(tenant, `${tenant.application}pause/`);
    const { count } = await hold(tenant, tenant.event, 'event.paused');
    expect(await act(tenant, `${tenant.event}resume/`, { drop: true })).toMatchObject({ released: 0, dropped: 0 });
    expect(await act(tenant, `${tenant.application}resume/`, { drop: true })).toMatchObject({ dropped: count });
  });

  test('resuming at a rate spreads what is held over time', async () => {
    const tenant = await world.tenant({ users: two });
    const { count } = await hold(tenant, tenant.event, 'event.paused');
    expect(await act(tenant, `${tenant.event}resume/`, { per_second: 1 })).toMatchObject({ released: count });
    const [spread] = await tenant.sql<{ seconds: number }>(
      `select extract(epoch from max(due_at) - min(due_at))::float8 as seconds from occurrences where organization_id = $1
         and id in (select id from occurrences where organization_id = $1 order by due_at desc limit $2)`,
      tenant.id,
      count,
    );
    expect(spread!.seconds).toBeCloseTo(count - 1, 3);
    await tenant.sql('update occurrences set due_at = now() where organization_id = $1', tenant.id);
  });

  test('a rate and dropping exclude each other', async () => {
    const tenant = await world.tenant({ users: two });
    const answer = await tenant.post(`${tenant.event}resume/`, { drop: true, per_second: 5 });
    expect(answer).toMatchObject({ status: 400, body: { errors: { per_second: [expect.any(String)] } } });
  });
});

describe.concurrent('a change between accepting and sending', () => {
  async function changeWhileHeld(
    change: (tenant: Tenant) => Promise<unknown>,
  ): Promise<{ tenant: Tenant; id: string }> {
    const tenant = await world.tenant({ users: two });
    await pauseChannel(tenant);
    const id = await heldTrigger(tenant);
    await change(tenant);
    await tenant.sql('update channels set paused_at = null where organization_id = $1', tenant.id);
    await releasePaused(world.service.runtime.deps.db, tenant.id);
    await tenant.sql('notify belfry_work');
    return { tenant, id };
  }

  test('a locked user is suppressed', async () => {
    const { tenant, id } = await changeWhileHeld(({ sql, id: organization }) =>
      sql(`update users set locked = true where organization_id = $1 and username = 'ann@x.test'`, organization),
    );
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test suppressed: user.locked', 'ben@x.test sent']);
  });

  test('a deleted user is suppressed', async () => {
    const { tenant, id } = await changeWhileHeld(({ sql, id: organization }) =>
      sql(`delete from users where organization_id = $1 and username = 'ann@x.test'`, organization),
    );
    expect(await tenant.outcomes(id)).toEqual(['ben@x.test sent', 'null suppressed: user.missing']);
  });

  test('a disabled channel sends nothing', async () => {
    const { tenant, id } = await changeWhileHeld(({ sql, id: organization }) =>
      sql('update channels set enabled = false where organization_id = $1', organization),
    );
    expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} suppressed: channel.disabled`));
  });

  test('a deleted channel sends nothing', async () => {
    const { tenant, id } = await changeWhileHeld(({ sql, id: organization }) =>
      sql('delete from channels where organization_id = $1', organization),
    );
    expect(await tenant.outcomes(id)).toEqual(two.map(email => `${email} suppressed: channel.missing`));
  });

  test('a deleted event sends nothing, before and after the expansion', { tags: ['sweep'] }, async () => {
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
