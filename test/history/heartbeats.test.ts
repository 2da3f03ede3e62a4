/** Heartbeats: jobs call regularly; one that is missing triggers an event, and its next call resolves it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimDueAcrossTenants, noteReceivingAcrossTenants } from '../../src/db/history/heartbeats/due.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { ask } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
  // The time from creating the database to the start.
  const { db } = world.service.runtime.deps;
  await db.updateTable('heartbeat_watch').set({ outage_from: null, outage_until: null }).execute();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

type Fields = Record<string, unknown>;

const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];
const base = { slug: 'backup', name: 'Backup', every: '1h', grace: '10m', event: 'go' };

async function heartbeatOf(fields: Fields = {}) {
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{ steps }] });
  const at = `${tenant.application}heartbeats/`;
  const made = await tenant.ask({ method: 'POST', path: at, body: { ...base, ...fields } });
  expect(made.status, made.text).toBe(201);
  const path = new URL(made.body.url).pathname;
  const send = (method: string, to: string, body?: unknown, headers: Fields = {}) =>
    ask(world.service.address, { method, path: to, headers: headers as never, ...(body !== undefined && { body }) });
  const call = (end = '', method = 'GET', body?: unknown) => send(method, path + end, body);
  const heartbeat = `${at}backup/`;
  const status = async () => (await tenant.ask({ path: `${heartbeat}status/` })).body;
  const calls = async () => (await tenant.ask({ path: `${heartbeat}calls/` })).body;
  /** Lets this time pass for the heartbeat, as if it had been called so much earlier. */
  const pass = async (ms: number) => {
    await tenant.sql(
      `update heartbeat_states set last_ping_at = last_ping_at - $1 * interval '1 ms', started_at = started_at - $1 * interval '1 ms',
         expected_at = expected_at - $1 * interval '1 ms', missing_at = missing_at - $1 * interval '1 ms',
         due_at = due_at - $1 * interval '1 ms'
       where organization_id = ${tenant.id}`,
      ms,
    );
    world.service.runtime.deps.heartbeats.onAct();
  };
  return { tenant, token: made.body.token as string, path, heartbeat, send, call, status, calls, pass };
}

async function statesOf(tenant: Tenant) {
  const rows = await tenant.sql<{ state: string }>(
    `select case when resolved_at is not null then 'resolved' else 'open' end as state
     from occurrences where organization_id = ${tenant.id} order by id`,
  );
  return rows.map(({ state }) => state);
}

const within = (tenant: Tenant, ...states: string[]) =>
  eventually(async () => expect(await statesOf(tenant)).toEqual(states), 8_000);

const hourMs = 3_600_000;
const run = 'c5d9d1b4-7a57-4b0e-9c3f-1f4b5c1a2d3e';

describe('pings', () => {
  test('every form is answered as by Healthchecks', async () => {
    const { call, path, send, calls } = await heartbeatOf();
    const ends = ['', '/', '/start', '/fail', '/log', '/0', '/255', `?rid=${run}`, `/start?rid=${run}`];
    for (const end of ends) {
      for (const method of ['GET', 'POST']) {
        const { status, text, headers } = await call(end, method, method === 'POST' ? 'output' : undefined);
        expect([end, status, text]).toEqual([end, 200, 'OK']);
        expect(headers['ping-body-limit']).toBe('10000');
      }
    }
    expect((await call('', 'HEAD')).status).toBe(200);
    const answers = [
      await call('/256'),
      await call('?rid=1'),
      await call('/stop'),
      await send('GET', '/ping/5b1a4d0c-4f0e-4d27-8f0e-2f1f1a2d3c4b'),
      await send('GET', `${path.slice(0, -1)}x/start`),
    ];
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [400, 'invalid url format'],
      [400, 'invalid uuid format'],
      [404, 'not found'],
      [404, 'not found'],
      [404, 'not found'],
    ]);
    expect(await calls()).toHaveLength(2 * ends.length + 1);
  });

  test('what a call sent is kept: its output, exit status and duration', async () => {
    const { call, calls, status } = await heartbeatOf();
    await call(`/start?rid=${run}`);
    await call('/start');
    await call(`/3?rid=${run}`, 'POST', 'x'.repeat(10_001));
    await call('', 'POST', 'fine');
    const [second, first] = await calls();
    expect(first).toMatchObject({
      kind: 'fail',
      exit_status: 3,
      run_id: run,
      method: 'POST',
      duration_ms: expect.any(Number),
    });
    expect([first.bytes, first.body.length]).toEqual([10_001, 10_000]);
    expect(second).toMatchObject({ kind: 'success', exit_status: null, body: 'fine', duration_ms: expect.any(Number) });
    expect(await status()).toMatchObject({ state: 'up', started_at: null });
  });

  test('only the last 100 calls are kept', async () => {
    const { call, tenant } = await heartbeatOf();
    await Promise.all(Array.from({ length: 130 }, () => call('/log')));
    const [row] = await tenant.sql(
      `select count(*)::int, (select calls::int from heartbeat_states where organization_id = $1) as calls
       from heartbeat_calls where organization_id = $1`,
      tenant.id,
    );
    expect(row).toEqual({ count: 100, calls: 130 });
  });

  test('the key of a source finds a heartbeat by its slug, and creates it', async () => {
    const { tenant, send } = await heartbeatOf();
    const body = { slug: 'in', name: 'In', use: 'grafana', routes: [{ event: 'go' }] };
    const { token } = (await tenant.ask({ method: 'POST', path: `${tenant.application}sources/`, body })).body;
    const texts = async (...paths: string[]) => {
      const answers = [];
      for (const path of paths) {
        const { status, text } = await send('GET', path);
        answers.push(`${status} ${text}`);
      }
      return answers;
    };
    const at = `/ping/${token}`;
    expect(
      await texts(`${at}/backup`, `${at}/backup/start`, `${at}/other`, `${at}/other?create=1`, `${at}/other/1`),
    ).toEqual(['200 OK', '200 OK', '404 not found', '201 Created', '200 OK']);
    // Slugs are in lower case, and names are none.
    expect(await texts(`${at}/Backup`, `${at}/Another?create=1`)).toEqual(Array(2).fill('400 invalid url format'));
    expect(await texts(`${at}/%C3%A9?create=1`, `${at}/a%20b?create=1`)).toEqual(Array(2).fill('404 not found'));
    const other = await tenant.ask({ path: `${tenant.application}heartbeats/other/` });
    expect(other.body).toMatchObject({ name: 'other', every: '1d', grace: '1h', event: 'go' });
    // The heartbeat of an integration of Grafana OnCall has the slug of the source.
    expect(await texts(`${at}/in?create=1`, `/integrations/v1/grafana/${token}/heartbeat/`)).toEqual([
      '201 Created',
      '200 ":)"',
    ]);
    const posted = await send('POST', `/integrations/v1/grafana/${token}/heartbeat/`, {});
    expect([posted.status, posted.text]).toEqual([200, '']);
    const calls = await tenant.ask({ path: `${tenant.application}heartbeats/in/calls/` });
    expect(calls.body).toHaveLength(3);
  });
});

test('Opsgenie’s heartbeats are created, read, changed, pinged and deleted with the key of a source', async () => {
  const { tenant, send } = await heartbeatOf();
  const body = { slug: 'in', name: 'In', use: 'opsgenie', routes: [{ event: 'go' }] };
  const { token } = (await tenant.ask({ method: 'POST', path: `${tenant.application}sources/`, body })).body;
  const genie = async (method: string, path: string, sent?: unknown) => {
    const answer = await send(method, path, sent, { authorization: `GenieKey ${token}` });
    const { took, requestId, ...rest } = answer.body;
    expect([took, requestId]).toEqual([expect.any(Number), expect.any(String)]);
    return [answer.status, rest];
  };
  const at = '/v2/heartbeats';
  const shown = {
    name: 'Night job',
    description: 'Nightly',
    interval: 10,
    intervalUnit: 'minutes',
    enabled: false,
    expired: false,
    ownerTeam: { name: 'ops' },
    alertMessage: 'Night job is missing',
    alertTags: ['a', 'b'],
    alertPriority: 'P1',
  };
  const { expired: _, alertMessage: __, ...sent } = shown;
  expect(await genie('POST', at, { ...sent, enabled: undefined })).toEqual([201, { data: shown }]);
  expect((await genie('POST', at, sent))[0]).toBe(409);
  // Other names without a slug of their own.
  const names = ['Ночной бэкап', '毎日', 'Night-Job!'];
  for (const name of names) {
    expect(await genie('POST', at, { ...sent, name })).toMatchObject([201, { data: { name } }]);
    expect(await genie('GET', `${at}/${encodeURIComponent(name)}`)).toMatchObject([200, { data: { name } }]);
    expect((await genie('DELETE', `${at}/${encodeURIComponent(name)}`))[0]).toBe(200);
  }
  for (const name of names) expect((await genie('POST', at, { ...sent, name }))[0], name).toBe(201);
  for (const name of names) expect((await genie('DELETE', `${at}/${encodeURIComponent(name)}`))[0]).toBe(200);
  expect(await genie('POST', at, { name: '' })).toMatchObject([422, { errors: { name: expect.any(String) } }]);
  expect(await genie('GET', `${at}/Night%20job`)).toEqual([200, { data: shown }]);
  expect(await genie('GET', at)).toMatchObject([200, { data: { heartbeats: [{ name: 'Backup' }, shown] } }]);
  const brief = { name: 'Night job', enabled: true, expired: false };
  expect(await genie('POST', `${at}/Night%20job/enable`)).toEqual([200, { data: brief }]);
  expect(await genie('PATCH', `${at}/Night%20job`, { interval: 2, intervalUnit: 'hours' })).toEqual([
    200,
    { data: brief },
  ]);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
    expect(await genie(method, `${at}/Night%20job/ping`)).toEqual([202, { result: 'PONG - Heartbeat received' }]);
  }
  expect((await genie('GET', `${at}/unknown/ping`))[0]).toBe(202);
  const other = `/jsm/ops/integration${at}/Night%20job`;
  const changed = { ...shown, enabled: true, interval: 2, intervalUnit: 'hours', lastPingTime: expect.any(String) };
  expect(await genie('GET', other)).toEqual([200, { data: changed }]);
  expect(await genie('PUT', `${other}/disable`)).toEqual([200, { data: { ...brief, enabled: false } }]);
  expect(await genie('DELETE', other)).toEqual([200, { result: 'Deleted' }]);
  expect((await genie('GET', other))[0]).toBe(404);
  expect((await send('GET', `${at}/x/ping`)).status).toBe(401);
});

describe('missing', () => {
  test('a new heartbeat waits for its first call; then a missing one triggers, and the next one resolves', async () => {
    const { tenant, call, status, pass } = await heartbeatOf();
    expect(await status()).toMatchObject({ state: 'new', missing_at: null });
    await call();
    expect(await status()).toMatchObject({ state: 'up' });
    await pass(hourMs + 1_000);
    expect(await status()).toMatchObject({ state: 'late' });
    await pass(600_000);
    await within(tenant, 'open');
    const down = await eventually(async () => {
      const found = await status();
      expect(found).toMatchObject({ state: 'down', reason: 'missing', occurrence: expect.any(String), error: null });
      return found;
    });
    const [row] = await tenant.sql('select context, dedup_key from occurrences where id = $1', down.occurrence);
    expect(row).toMatchObject({
      dedup_key: 'heartbeat/backup',
      context: { title: 'Backup is missing', heartbeat: 'backup' },
    });
    await call();
    await within(tenant, 'resolved');
    await eventually(async () => expect(await status()).toMatchObject({ state: 'up', reason: null, occurrence: null }));
    await pass(2 * hourMs);
    await within(tenant, 'resolved', 'open');
  });

  test('is exact to a second', async () => {
    const { tenant, call } = await heartbeatOf();
    await call();
    const [row] = await tenant.sql<{ at: Date }>(
      `update heartbeat_states set missing_at = now() + interval '1500 ms', due_at = now() + interval '1500 ms'
       where organization_id = ${tenant.id} returning due_at as at`,
    );
    // As if it had been stored so long ago that every process has seen it.
    world.service.runtime.deps.heartbeats.onAct();
    await within(tenant, 'open');
    const [down] = await tenant.sql<{ since: Date }>(
      `select since from heartbeat_states where organization_id = ${tenant.id}`,
    );
    const lateMs = down!.since.getTime() - row!.at.getTime();
    expect(lateMs).toBeGreaterThanOrEqual(-1);
    expect(lateMs).toBeLessThan(1_000);
  });

  test('a run that does not end within the grace is missing, too, and one that failed triggers at once', async () => {
    const { tenant, call, status, pass } = await heartbeatOf();
    await call('/start');
    expect(await status()).toMatchObject({ state: 'new', started_at: expect.any(String) });
    await pass(600_001);
    await within(tenant, 'open');
    expect(await status()).toMatchObject({ state: 'down', reason: 'unfinished' });
    await call('/0');
    await within(tenant, 'resolved');
    await call('/7');
    await within(tenant, 'resolved', 'open');
    expect(await status()).toMatchObject({ state: 'down', reason: 'failed' });
  });

  test('several processes trigger once', async () => {
    const { tenant, call, pass } = await heartbeatOf();
    await call();
    await pass(2 * hourMs);
    const { pool } = world.service.runtime.deps;
    await Promise.all(Array.from({ length: 8 }, () => claimDueAcrossTenants(pool, 10)));
    // What the claims above left behind is done when they end.
    await tenant.sql(
      `update heartbeat_states set due_at = now() where organization_id = ${tenant.id} and alert = 'opening'`,
    );
    world.service.runtime.deps.heartbeats.onAct();
    await within(tenant, 'open');
    const [row] = await tenant.sql(
      `select alert, s.incident_id = o.id as same, o.triggers from heartbeat_states s
       join occurrences o on o.organization_id = s.organization_id where s.organization_id = ${tenant.id}`,
    );
    expect(row).toMatchObject({ same: true, triggers: 1 });
  });

  test('a paused one is never missing, and what it had triggered is resolved', async () => {
    const { tenant, heartbeat, call, status, pass } = await heartbeatOf();
    await call('/fail');
    await within(tenant, 'open');
    const set = (enabled: boolean) => tenant.ask({ method: 'PATCH', path: heartbeat, body: { enabled } });
    expect((await set(false)).status).toBe(200);
    await within(tenant, 'resolved');
    await call();
    await pass(2 * hourMs);
    expect(await status()).toMatchObject({ state: 'paused', missing_at: null });
    await set(true);
    expect(await status()).toMatchObject({ state: 'new', missing_at: null });
  });

  test('an event that cannot be triggered is reported, and triggered once it can', async () => {
    const { tenant, call, status } = await heartbeatOf();
    await tenant.sql(`update heartbeats set event = 'gone' where organization_id = ${tenant.id}`);
    await call('/fail');
    await eventually(async () => expect((await status()).error).toMatch(/^there is no event gone/), 8_000);
    await tenant.sql(`update heartbeats set event = 'go' where organization_id = ${tenant.id}`);
    await tenant.sql(`update heartbeat_states set due_at = now() where organization_id = ${tenant.id}`);
    world.service.runtime.deps.heartbeats.onAct();
    await within(tenant, 'open');
    expect(await status()).toMatchObject({ error: null });
  });

  test('after an outage of Belfry, one interval passes before a call is missing', async () => {
    const { tenant, call, status, pass } = await heartbeatOf({ every: '1h' });
    const { pool, heartbeats } = world.service.runtime.deps;
    await call();
    // No call could be received for half an hour, in which one was expected.
    await tenant.sql(`update heartbeat_watch set receiving_at = now() - interval '30 minutes'`);
    await noteReceivingAcrossTenants(pool);
    await pass(hourMs + 600_001);
    heartbeats.onAct();
    const [outage] = await tenant.sql<{ outage_until: Date }>('select outage_until from heartbeat_watch');
    const expected = outage!.outage_until.getTime() + hourMs;
    await eventually(async () => expect(new Date((await status()).expected_at).getTime()).toBe(expected), 8_000);
    expect(await statesOf(tenant)).toEqual([]);
    // Still no call: now it is missing.
    await tenant.sql(
      `update heartbeat_watch set outage_from = outage_from - interval '2 hours', outage_until = outage_until - interval '2 hours'`,
    );
    await pass(2 * hourMs);
    heartbeats.onAct();
    await within(tenant, 'open');
    await tenant.sql('update heartbeat_watch set outage_from = null, outage_until = null');
  });

  test('while no process can receive calls, none is missing', async () => {
    const { tenant, call, pass } = await heartbeatOf();
    const { pool } = world.service.runtime.deps;
    await call();
    const client = await pool.connect();
    try {
      // Not committed: no other process sees it.
      await client.query(`begin; update heartbeat_watch set receiving_at = now() - interval '1 minute'`);
      await client.query(`update heartbeat_states set due_at = now() where organization_id = ${tenant.id}`);
      const query = (sent: unknown) => (/^(begin|commit)/.test(String(sent)) ? undefined : client.query(sent as never));
      const inside = { connect: async () => ({ query, release() {} }) };
      expect(await claimDueAcrossTenants(inside as never, 10)).toEqual({ due: 0, claimed: [] });
    } finally {
      await client.query('rollback');
      client.release();
    }
    await pass(2 * hourMs);
    await within(tenant, 'open');
  });
});

test('the doctor names heartbeats that are missing or were never called, and leaves out paused ones', async () => {
  const doctor = async () =>
    (await runDoctorChecks(world.service.runtime.deps, Date.now())).find(({ name }) => name === 'heartbeats');
  await world.service.runtime.deps.db.deleteFrom('heartbeats').execute();
  expect(await doctor()).toBeUndefined();
  const { tenant, call, pass } = await heartbeatOf();
  const path = `${tenant.slug}/shop/web`;
  const add = (slug: string, more: Fields = {}) =>
    tenant.ask({
      method: 'POST',
      path: `${tenant.application}heartbeats/`,
      body: { ...base, slug, name: slug, ...more },
    });
  await add('off', { enabled: false });
  expect(await doctor()).toEqual({
    name: 'heartbeats',
    ok: true,
    detail: `1 heartbeat; 1 never called: ${path}/backup; have the jobs call the addresses that their pages show`,
  });
  await call();
  expect(await doctor()).toMatchObject({ detail: '1 heartbeat' });
  await pass(2 * hourMs);
  await within(tenant, 'open');
  expect(await doctor()).toMatchObject({ detail: `1 heartbeat; 1 missing or failed: ${path}/backup` });
  for (const name of ['a', 'b', 'c', 'd']) await add(name);
  expect((await doctor())!.detail).toContain(`; 4 never called: ${path}/a, ${path}/b, ${path}/c and others;`);
});
