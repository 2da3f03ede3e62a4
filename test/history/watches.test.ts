/** Watches: an event is rehearsed through the whole engine, and only after that an outside URL is called. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Watches } from '../../src/services/history/levels/watch.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer, type Reply } from '../support/http-peer.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let monitor: HttpPeer;
let watches: Watches;
let reply: Reply = {};
const log = { warn: () => {}, info: () => {}, error: () => {} } as never;
beforeAll(async () => {
  world = await openWorld();
  watches = new Watches(world.service.runtime.deps, log, () => false);
  monitor = await openHttpPeer(() => reply);
});
afterEach(async () => {
  reply = {};
  await world.service.runtime.deps.db.updateTable('watches').set({ enabled: false }).execute();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await monitor.close();
});

type Fields = Record<string, unknown>;

const input = {
  users: ['ann@acme.test'],
  channels: [sandbox, { slug: 'hooks' }],
  notifications: [{ priority: 'urgent', channels: ['sandbox', 'hooks'] }],
};

async function watched(fields: Fields = {}, more: Fields = {}) {
  const tenant = await world.tenant({ ...input, ...more });
  const secret = `/ping/${tenant.slug}`;
  const body = { slug: 'outside', event: 'go', url: monitor.url + secret, ...fields };
  const answer = await tenant.ask({ method: 'POST', path: `${tenant.application}watches/`, body });
  expect(answer.status, answer.text).toBe(201);
  const pings = () => monitor.seen.filter(({ path }) => path === secret);
  return { tenant, secret, pings, answer };
}

/** Does what is due until the check passes, besides the service, which looks every few seconds. */
const until = <T>(check: () => T | Promise<T>) =>
  eventually(async () => {
    await watches.round();
    return check();
  }, 10_000);

async function watchOf(tenant: Tenant) {
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/service-levels/` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.watches[0];
}

const rehearsalsOf = (tenant: Tenant) =>
  tenant.sql<{ id: string; outcome: string; sent: number }>(
    `select id, outcome, sent from occurrences where organization_id = ${tenant.id} order by id`,
  );

/** Lets the interval of the rehearsal that is under way, or of the last one, end. */
const pass = (tenant: Tenant, ms = 60_000) =>
  tenant.sql(
    `update watch_states set due_at = now(), began_at = began_at - $1 * interval '1 ms',
       delivered_at = delivered_at - $1 * interval '1 ms' where organization_id = ${tenant.id}`,
    ms,
  );

describe('a rehearsal', () => {
  test('goes through the engine, wakes no one, and then the URL is called once', async () => {
    const { tenant, pings, answer, secret } = await watched();
    expect(answer.body).toEqual({ slug: 'outside', event: 'go', every: '1m', enabled: true });
    await until(async () => expect(await watchOf(tenant)).toMatchObject({ state: 'ok', error: null }));
    expect(pings()).toMatchObject([{ method: 'GET', body: '' }]);
    expect(await rehearsalsOf(tenant)).toMatchObject([{ sent: 1 }]);
    const [first] = await rehearsalsOf(tenant);
    expect((await tenant.deliveries(first!.id)).map(({ channel, status }) => `${channel} ${status}`)).toEqual([
      'sandbox sent',
    ]);
    expect(tenant.received()).toEqual([]);
    // It is no page, although it is urgent.
    expect(await tenant.sql(`select 1 from service_levels where organization_id = ${tenant.id}`)).toEqual([]);
    expect(JSON.stringify(await watchOf(tenant))).not.toContain(secret);
    await pass(tenant);
    await until(() => expect(pings()).toHaveLength(2));
    expect(await rehearsalsOf(tenant)).toHaveLength(2);
  });

  test('that a pause of the organization holds calls nothing, and what is left of it is cancelled', async () => {
    const { tenant, pings } = await watched({}, {});
    await until(() => expect(pings()).toHaveLength(1));
    expect((await tenant.ask({ method: 'POST', path: `/api/o/${tenant.slug}/pause/`, body: {} })).status).toBeLessThan(
      300,
    );
    await pass(tenant);
    const held = await until(async () => {
      const all = await rehearsalsOf(tenant);
      expect(all).toMatchObject([{ sent: 1 }, { outcome: 'held' }]);
      return all[1]!;
    });
    await pass(tenant, 180_000);
    await until(async () => {
      expect(await watchOf(tenant)).toMatchObject({ state: 'silent', error: expect.stringContaining('1m: held') });
    });
    expect(pings()).toHaveLength(1);
    expect((await tenant.occurrence(held.id)).outcome).toBe('cancelled');
  });

  test('that reaches no silent channel says what to do', async () => {
    const { tenant, pings } = await watched({}, { channels: [{ slug: 'hooks' }], notifications: [{}] });
    await until(async () => {
      const { error, state } = await watchOf(tenant);
      expect([state, error]).toEqual(['failing', expect.stringContaining('no channel whose provider is sandbox')]);
    });
    await tenant.apply({ ...input, notifications: [{ channels: ['hooks'] }] });
    await eventually(async () =>
      expect(await world.service.runtime.deps.plans.listChannels(tenant.id)).toHaveLength(2),
    );
    await pass(tenant);
    await until(async () => {
      expect(await watchOf(tenant)).toMatchObject({ error: expect.stringContaining('no message was delivered') });
    });
    expect([pings(), tenant.received()]).toEqual([[], []]);
  });

  test('is delivered, but the URL fails: it is called again, and the state says so without the URL', async () => {
    reply = { status: 500 };
    const { tenant, pings, secret } = await watched();
    await until(async () => {
      const one = await watchOf(tenant);
      expect(one).toMatchObject({ state: 'failing', error: 'the URL answered 500 instead of 2xx', pinged_at: null });
      expect(JSON.stringify(one)).not.toContain(secret);
    });
    reply = {};
    await tenant.sql(`update watch_states set due_at = now() where organization_id = ${tenant.id}`);
    await until(async () => expect(await watchOf(tenant)).toMatchObject({ state: 'ok' }));
    expect(pings()).toHaveLength(2);
    expect(await rehearsalsOf(tenant)).toHaveLength(1);
  });
});

test('one of several processes rehearses, and none while sending is paused', async () => {
  const { deps } = world.service.runtime;
  expect(await new Watches(deps, log, () => true).round()).toBeGreaterThan(0);
  const { tenant, pings } = await watched({ enabled: false });
  // Due, but only for those that are not paused.
  await tenant.sql(`update watches set enabled = true where organization_id = ${tenant.id}`);
  const others = Array.from({ length: 4 }, () => new Watches(deps, log, () => false));
  await until(async () => {
    await Promise.all(others.map(other => other.round()));
    expect(pings()).toHaveLength(1);
  });
  await Promise.all(others.map(other => other.round()));
  expect([pings().length, (await rehearsalsOf(tenant)).length]).toEqual([1, 1]);
});

test('a rehearsal that a process left behind before it was triggered is triggered by another', async () => {
  const { tenant, pings } = await watched();
  await until(() => expect(pings()).toHaveLength(1));
  const id = '01900000-0000-7000-8000-000000000001';
  await tenant.sql(
    `update watch_states set occurrence_id = $1, began_at = now(), due_at = now() where organization_id = ${tenant.id}`,
    id,
  );
  await until(() => expect(pings()).toHaveLength(2));
  expect((await rehearsalsOf(tenant)).map(one => one.id)).toContain(id);
});

describe('configuration', () => {
  const mistakes: [Fields, string][] = [
    [{ every: '30s' }, 'every'],
    [{ every: '2h' }, 'every'],
    [{ url: 'ftp://monitor.test/' }, 'url'],
    [{ url: 'https://me:secret@monitor.test/' }, 'url'],
    [{ event: 'none' }, 'event'],
  ];
  test.each(mistakes)('%o is refused with the field', async (fields, field) => {
    const tenant = await world.tenant(input);
    const body = { slug: 'outside', event: 'go', ...fields };
    const answer = await tenant.ask({ method: 'POST', path: `${tenant.application}watches/`, body });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [field]]);
  });

  test('an application has at most five, and the URL is kept until it is replaced', async () => {
    const { tenant, pings } = await watched({ enabled: false });
    const path = `${tenant.application}watches/`;
    const make = (slug: string) => tenant.ask({ method: 'POST', path, body: { slug, event: 'go', enabled: false } });
    for (const slug of ['b', 'c', 'd', 'e']) expect((await make(slug)).status).toBe(201);
    expect((await make('f')).body.errors).toEqual({ slug: ['an application can have at most 5 watches'] });
    expect(await watchOf(tenant)).toMatchObject({ state: 'off', pings: true });
    const change = (body: Fields) => tenant.ask({ method: 'PATCH', path: `${path}outside/`, body });
    expect((await change({ enabled: true })).status).toBe(200);
    await until(() => expect(pings()).toHaveLength(1));
    expect((await change({ url: '', enabled: false })).status).toBe(200);
    expect(await watchOf(tenant)).toMatchObject({ pings: false });
    const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/` });
    expect(audit.text).not.toContain('/ping/');
    const [stored] = await tenant.sql<{ text: string }>(
      `select coalesce(string_agg(encode(secrets, 'escape'), ''), '') as text from watches where organization_id = ${tenant.id}`,
    );
    expect(stored!.text).not.toContain('/ping/');
  });
});

test('the doctor reports watches that are silent', async () => {
  const { tenant, pings } = await watched();
  await until(() => expect(pings()).toHaveLength(1));
  await tenant.sql(
    `update watch_states set delivered_at = now() - interval '5 minutes' where organization_id = ${tenant.id}`,
  );
  const checks = await runDoctorChecks(world.service.runtime.deps, Date.now());
  expect(checks.find(({ name }) => name === 'watches')?.detail).toContain(`silent: ${tenant.slug}/shop/web/outside`);
});
