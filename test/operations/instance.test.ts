/**
 * A restored or cloned database sends nothing until an operator resumes it.
 *
 * @module-tag sweep
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { Outbox } from '../../src/services/operations/outbox.ts';
import { asker } from '../support/api.ts';
import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { belfry, startBelfry } from '../support/process.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { runSql } from '../support/sql.ts';
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts';

const secretKey = 'a secret of at least 32 characters';

/** Everything that waits is due, as it would be when a backup of yesterday is started. */
const makeDue = `
  update deliveries set due_at = now() where status in ('pending', 'retrying') and (digest_id is null or due_at < 'infinity');
  update occurrences set due_at = now() where status in ('accepted', 'expanding');
  update steps set due_at = now() where status = 'waiting';
  update webhook_messages set due_at = now() where status = 'waiting'`;

let world: EngineWorld;
let tenants: Record<'plain' | 'steps' | 'digest', Tenant>;
let endpoint: Receiver;
let original: string;
let key: string;
/** Occurrences by what is left of them. */
let left: Record<'retrying' | 'scheduled' | 'flying' | 'escalating' | 'gathered', string>;

beforeAll(async () => {
  world = await openWorld();
  const users = ['a@x.test'];
  tenants = {
    plain: await world.tenant({ users }),
    steps: await world.tenant({
      users,
      notifications: [{ steps: [{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'] }] }],
    }),
    digest: await world.tenant({
      users,
      notifications: [{ digest: { every: '1h' }, message: { subject: 'd', body: 'Gathered' } }],
    }),
  };
  const { plain, steps, digest } = tenants;
  plain.answer(({ body }) => (body.includes('hang') ? 'hang' : { status: 503 }));
  left = {
    retrying: await plain.trigger({}, { n: 'retrying' }),
    scheduled: await plain.trigger({ delay: '1h' }, { n: 'scheduled' }),
    flying: await plain.trigger({}, { n: 'hang' }),
    escalating: await steps.trigger(),
    gathered: await digest.trigger(),
  };
  ({ key } = await createKey(world.service.runtime.deps, plain.slug, { name: 'of the copy', permissions: ['*'] }));
  await plain.until(left.retrying, 'retrying');
  await plain.until(left.flying, 'sending');
  await digest.until(left.gathered, 'pending');
  await eventually(() => expect(steps.received()).toHaveLength(1));
  endpoint = await openReceiver(plain, ['occurrence.completed'], { status: 503 });
  await plain.post(`${endpoint.path}test/`);
  await eventually(() => expect(endpoint.peer.seen).toHaveLength(1));
  // A dump or a clone is made of it several times: it stays as it is from now on.
  original = new URL(world.service.runtime.url).pathname.slice(1);
  await runSql(inject('postgresUrl'), `alter database ${original} allow_connections false`);
  await disconnect();
});
afterAll(async () => {
  await runSql(inject('postgresUrl'), `alter database ${original} allow_connections true`);
  await endpoint.close();
  await world.close();
});

async function disconnect(): Promise<void> {
  await eventually(async () => {
    const sessions = `from pg_stat_activity where datname = '${original}' and backend_type = 'client backend'`;
    await runSql(inject('postgresUrl'), `select pg_terminate_backend(pid) ${sessions}`);
    expect(await runSql(inject('postgresUrl'), `select ${sessions}`)).toEqual([]);
  });
}

/** Returns what webhooks have received since. */
function watchEndpoint(): () => string[] {
  endpoint.peer.seen.length = 0;
  endpoint.peer.reply = {};
  return () => endpoint.messages().map(({ type, data }) => `${type} ${data.outcome ?? ''}`.trim());
}

/** Returns what has arrived since, of all tenants. */
function watch(): () => string[] {
  const before = new Map(Object.values(tenants).map(tenant => [tenant, tenant.received().length]));
  return () =>
    [...before]
      .flatMap(([tenant, count]) =>
        tenant
          .received()
          .slice(count)
          .map(({ text }) => text),
      )
      .sort();
}

async function clone(): Promise<{ url: string; start(env?: Record<string, string>): Promise<Service> }> {
  const database = await eventually(() => createTestDatabase(original), 30_000);
  onTestFinished(() => database.drop());
  await runSql(database.url, makeDue);
  return {
    url: database.url,
    start: async env => {
      const service = await startService(testConfig(database.url, env), silent);
      onTestFinished(() => service.stop());
      return service;
    },
  };
}

const status = async (url: string, id: string) =>
  (await runSql<{ outcome: string }>(url, 'select outcome from occurrences where id = $1', [id]))[0]!.outcome;

const resume = async (url: string, ...args: string[]) => {
  const { code, stdout, stderr } = await belfry(['resume', ...args, '--json'], {
    DATABASE_URL: url,
    BELFRY_SECRET_KEY: secretKey,
  });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as { unknown: number; cancelled: { occurrences: number; messages: number } };
};

/** By a key that was made at the original, and is part of the copy. */
async function triggerAt(service: Service, n: string): Promise<string> {
  const { event } = tenants.plain;
  const asked = { method: 'POST', path: `${event}trigger/`, body: { context: { n } } };
  const { status, body, text } = await asker(service.address, key)(asked);
  expect(status, text).toBe(201);
  return body.occurrence;
}

interface Readiness {
  status: string;
  checks: { name: string; ok: boolean; detail: string }[];
}

async function readiness(address: string): Promise<{ code: number } & Readiness> {
  const answer = await fetch(`${address}/readyz`);
  return { code: answer.status, ...((await answer.json()) as Readiness) };
}

describe('a clone', () => {
  test('accepts triggers but sends nothing; resumed as a copy, it sends only new triggers', async () => {
    const arrived = watch();
    const received = watchEndpoint();
    const application = await createTestDatabase('template1');
    onTestFinished(() => application.drop());
    const outbox = new Outbox({ organization: tenants.plain.slug, url: application.url, database: 'a', name: 'a' });
    onTestFinished(() => outbox.close());
    await outbox.install(undefined);
    await runSql(application.url, 'select belfry.notify(\'shop/web/go\', \'{"n": "outbox"}\')');
    const copy = await clone();
    const service = await copy.start({ BELFRY_OUTBOX_URLS: `${tenants.plain.slug}=${application.url}` });
    tenants.plain.answer({});

    const { code, status: state, checks } = await readiness(service.address);
    expect([code, state]).toEqual([200, 'ready, sending is paused']);
    expect(checks.find(({ name }) => name === 'sending')).toEqual({
      name: 'sending',
      ok: false,
      detail: expect.stringMatching(/because the database is a clone of another one.*belfry resume --as-original/),
    });
    const waiting = await triggerAt(service, 'triggered here');
    const paused = await asker(service.address, key)({ path: `/api/o/${tenants.plain.slug}/pauses/` });
    expect(paused.body).toMatchObject([{ kind: 'service', path: '', waiting: { messages: 3 } }]);
    const ofOccurrence = `/api/o/${tenants.plain.slug}/occurrence/${waiting}/pauses/`;
    expect((await asker(service.address, key)({ path: ofOccurrence })).body).toMatchObject([{ kind: 'service' }]);
    expect(await (await fetch(`${service.address}/metrics`)).text()).toContain('belfry_sending_paused 1\n');
    const doctor = await belfry(['doctor'], { DATABASE_URL: copy.url, BELFRY_SECRET_KEY: secretKey });
    expect(doctor).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/FAIL +sending +Sending has been paused since/),
    });

    expect(await resume(copy.url, '--as-copy')).toEqual({
      as: 'copy',
      unknown: 1,
      cancelled: { occurrences: 4, messages: 2 },
    });
    await eventually(() => expect(arrived()).toEqual(['Hello outbox', 'Hello triggered here']), 15_000);
    const outcomes = await Promise.all(
      Object.entries(left).map(async ([name, id]) => [name, await status(copy.url, id)]),
    );
    expect(Object.fromEntries(outcomes)).toEqual({
      retrying: 'cancelled',
      scheduled: 'cancelled',
      flying: 'unknown',
      escalating: 'cancelled',
      gathered: 'cancelled',
    });
    expect((await readiness(service.address)).status).toBe('ready');
    const [{ action, after }] = (await runSql<{ action: string; after: object }>(
      copy.url,
      'select action, after from audit where organization_id = $1 order by id desc limit 1',
      [tenants.plain.id],
    )) as [{ action: string; after: object }];
    expect([action, after]).toEqual(['cancel', { as: 'copy', occurrences: 2, messages: 1 }]);
    expect(arrived()).toEqual(['Hello outbox', 'Hello triggered here']);
    await eventually(() => expect(received()).toEqual(['occurrence.completed sent', 'occurrence.completed sent']));
  });

  test('resumed as the original, sends pending messages and holds those in flight as unknown', async () => {
    const arrived = watch();
    const received = watchEndpoint();
    const copy = await clone();
    const service = await copy.start();
    tenants.plain.answer({});
    await triggerAt(service, 'triggered here');
    expect(await resume(copy.url, '--as-original')).toMatchObject({ unknown: 1, cancelled: { occurrences: 0 } });
    // The first step was sent before, the second one is sent now.
    const all = ['Gathered', 'Hello', 'Hello retrying', 'Hello scheduled', 'Hello triggered here'];
    await eventually(() => expect(arrived()).toEqual(all), 15_000);
    await eventually(() => expect(received()).toContain('webhook.test'));
    const [flying] = await runSql(copy.url, 'select status from deliveries where occurrence_id = $1', [left.flying]);
    expect(flying).toEqual({ status: 'unknown' });
  });

  test('resumed as the original, can discard pending messages', async () => {
    const arrived = watch();
    const copy = await clone();
    const service = await copy.start({ BELFRY_ROLE: 'worker' });
    tenants.plain.answer({});
    const cancelled = { occurrences: 4, messages: 2 };
    expect(await resume(copy.url, '--as-original', '--discard-pending')).toMatchObject({ unknown: 1, cancelled });
    await eventually(async () => expect((await readiness(service.address)).status).toBe('ready'));
    const again = await belfry(['resume', '--as-copy'], { DATABASE_URL: copy.url, BELFRY_SECRET_KEY: secretKey });
    expect(again).toMatchObject({ code: 1, stderr: 'belfry: sending is not paused, so there is nothing to resume\n' });
    expect(arrived()).toEqual([]);
  });

  test('is not changed by a resume without --as-original or --as-copy', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey };
    for (const args of [[], ['--as-copy', '--as-original'], ['--discard-pending']]) {
      const { code, stderr } = await belfry(['resume', ...args], env);
      expect([code, stderr]).toEqual([2, expect.stringContaining('choose one: belfry resume --as-original')]);
    }
  });
});

describe('recognition of the database', () => {
  const start = async (url: string, env = {}) => {
    const service = await startService(testConfig(url, { BELFRY_ROLE: 'api', ...env }), silent);
    const { status: state, checks } = await readiness(service.address);
    await service.stop();
    return state === 'ready' ? state : checks.find(({ ok }) => !ok)!.detail;
  };
  const fresh = async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    return database.url;
  };

  test('detects a restored instance row, but not a rewritten table, as a copy', async () => {
    const url = await fresh();
    expect(await start(url)).toBe('ready');
    expect(await start(url)).toBe('ready');
    await runSql(url, 'vacuum (full, freeze) instance');
    expect(await start(url)).toBe('ready');
    // As pg_restore --data-only does.
    await runSql(
      url,
      'create temp table kept as select * from instance; delete from instance; insert into instance select * from kept',
    );
    expect(await start(url)).toMatch(/because the database was restored from a backup/);
    expect(await start(url)).toMatch(/because the database was restored from a backup/);
  });

  test('a database of another BELFRY_INSTANCE is refused while its workers run, and paused otherwise', async () => {
    const url = await fresh();
    const config = testConfig(url, { BELFRY_INSTANCE: 'production' });
    const production = await startService(config, silent);
    await expect(start(url, { BELFRY_INSTANCE: 'staging' })).rejects.toThrow(
      'BELFRY_INSTANCE is staging, but workers of production are running on this database',
    );
    expect((await readiness(production.address)).status).toBe('ready');
    await production.stop();
    expect(await start(url, { BELFRY_INSTANCE: 'staging' })).toMatch(/because BELFRY_INSTANCE names a different/);
  });

  test('a failover or a new address pauses sending only after a silence', async () => {
    const url = await fresh();
    expect(await start(url)).toBe('ready');
    const change = (set: string) => runSql(url, `update instance set ${set}, xid = pg_current_xact_id()::text::bigint`);
    await change('timeline = timeline - 1');
    expect(await start(url)).toBe('ready');
    await change("timeline = timeline - 1, seen_at = now() - interval '1 hour'");
    expect(await start(url)).toMatch(/because another PostgreSQL server took over/);
    await resume(url, '--as-original');
    expect(await start(url)).toBe('ready');
    await change("addresses = '{elsewhere:5432/belfry}'");
    expect(await start(url)).toBe('ready');
    await change("addresses = '{elsewhere:5432/belfry}', seen_at = now() - interval '1 hour'");
    expect(await start(url)).toMatch(/because the address of the database has changed/);
  });
});

test('a data folder can be moved, and a copy of it is detected', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'belfry-instance-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const [one, two, three] = ['one', 'two', 'three'].map(name => path.join(home, name)) as [string, string, string];
  const stateOf = async (dataDir: string) => {
    const running = await startBelfry({ BELFRY_DATA_DIR: dataDir });
    const { status: state } = await readiness(running.address);
    const output = running.output();
    await running.end('SIGTERM');
    return { state, output };
  };
  await promisify(execFile)('mkdir', [one]);
  expect(await stateOf(one)).toMatchObject({ state: 'ready' });
  await rename(one, two);
  expect(await stateOf(two)).toMatchObject({ state: 'ready' });
  await promisify(execFile)('cp', ['-a', two, three]);
  expect(await stateOf(three)).toEqual({
    state: 'ready, sending is paused',
    output: expect.stringContaining('because the files of the embedded database were copied or restored'),
  });
});
