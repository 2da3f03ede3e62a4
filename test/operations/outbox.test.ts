/**
 * Triggers from an application's own transactions: sent only on commit, once each, in order per key.
 *
 * @module-tag sweep
 */
import { createHash } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startService } from '../../src/app.ts';
import { readOutboxSources } from '../../src/core/operations/outbox.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { Outbox } from '../../src/services/operations/outbox.ts';
import { OutboxDrains } from '../../src/services/operations/outbox-drains.ts';

import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { belfry } from '../support/process.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { runSql } from '../support/sql.ts';

let world: EngineWorld;
let tenant: Tenant;
beforeAll(async () => {
  world = await openWorld();
  tenant = await world.tenant({ users: ['ann@x.test'] });
});
afterAll(() => world.close());

interface Application {
  url: string;
  outbox: Outbox;
  /** Takes what is there. */
  drain(): ReturnType<Outbox['drain']>;
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  notify(context: object, key?: string): Promise<string>;
}

/** A database of an application, with an outbox for the tenant. */
async function openApplication(of = tenant): Promise<Application> {
  const database = await createTestDatabase('template1');
  const source = sourceOf(of.slug, database.url);
  const outbox = new Outbox(source);
  await outbox.install(undefined);
  onTestFinished(async () => {
    await outbox.close();
    await database.drop();
  });
  const sql: Application['sql'] = (text, values) => runSql(database.url, text, values);
  return {
    url: database.url,
    outbox,
    drain: () => outbox.drain(world.service.runtime.deps),
    sql,
    notify: async (context, key) =>
      (await sql<{ id: string }>("select belfry.notify('shop/web/go', $1, key => $2) as id", [context, key]))[0]!.id,
  };
}

function sourceOf(organization: string, url: string) {
  const read = readOutboxSources(`${organization}=${url}`);
  if ('mistakes' in read) throw new Error(read.mistakes.join());
  return read.sources[0]!;
}

/** Contexts of the tenant's occurrences that have this mark, in the order in which they were stored. */
async function stored(mark: string): Promise<number[]> {
  const rows = await tenant.sql<{ n: number }>(
    `select (context ->> 'n')::int as n from occurrences where organization_id = $1 and context ->> 'mark' = $2
     order by created_at, id`,
    tenant.id,
    mark,
  );
  return rows.map(({ n }) => n);
}

test('only a commit triggers, and the id is known before it', async () => {
  const app = await openApplication();
  const client = new pg.Client({ connectionString: app.url });
  await client.connect();
  const notify = async (n: number) =>
    (await client.query("select belfry.notify('shop/web/go', $1) as id", [{ mark: 'commit', n }])).rows[0].id;
  await client.query('begin');
  await notify(1);
  await client.query('rollback');
  await client.query('begin');
  const id = await notify(2);
  expect(await app.drain()).toMatchObject({ done: [] });
  await client.query('commit');
  await client.end();
  expect((await app.drain())!.done).toHaveLength(1);
  expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
  expect(await stored('commit')).toEqual([2]);
  expect(await app.sql('select from belfry.outbox')).toEqual([]);
});

test('a row that was stored but not deleted is not sent again', async () => {
  const app = await openApplication();
  for (const n of [1, 2, 3]) await app.notify({ mark: 'again', n });
  // Simulates a crash between the two: the deletion is lost.
  await app.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'lost'; end $$;
    create trigger refuse before delete on belfry.outbox execute function public.refuse()`);
  await expect(app.drain()).rejects.toThrow('lost');
  expect(await stored('again')).toEqual([1, 2, 3]);
  await app.sql('drop trigger refuse on belfry.outbox');
  expect((await app.drain())!.done).toHaveLength(3);
  expect(await stored('again')).toEqual([1, 2, 3]);
});

test('two concurrent processes drain each row once', async () => {
  const app = await openApplication();
  const other = new Outbox(app.outbox.source);
  await app.sql(
    `select belfry.notify('shop/web/go', jsonb_build_object('mark', 'two', 'n', n)) from generate_series(1, 900) n`,
  );
  const { deps } = world.service.runtime;
  await eventually(async () => {
    await Promise.all([app.outbox.drain(deps), other.drain(deps)]);
    expect(await app.sql('select from belfry.outbox')).toEqual([]);
  }, 30_000);
  await other.close();
  expect((await stored('two')).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 900 }, (_, i) => i + 1));
});

test('rows with the same key are stored in commit order', async () => {
  const app = await openApplication();
  const pool = new pg.Pool({ connectionString: app.url, max: 8 });
  const committed: number[] = [];
  await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      const client = await pool.connect();
      await client.query('begin');
      await client.query("select belfry.notify('shop/web/go', $1, key => 'order A-1')", [{ mark: 'key', n }]);
      committed.push(n);
      await client.query('commit');
      client.release();
    }),
  );
  await pool.end();
  await app.drain();
  expect(await stored('key')).toEqual(committed);
});

describe('a row that cannot be sent', () => {
  test('because its context breaks the schema of the event names the field', async () => {
    const strict = await world.tenant({
      users: ['ann@x.test'],
      event: { context_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
    });
    const app = await openApplication(strict);
    await app.notify({ n: 'one' });
    await app.notify({ n: 1 });
    expect(await app.drain()).toMatchObject({ done: [expect.anything()] });
    expect(await app.sql('select error from belfry.outbox')).toEqual([
      { error: expect.stringContaining('context/n: must be a whole number') },
    ]);
  });

  test('is kept with the reason, and blocks no other row', async () => {
    const app = await openApplication();
    await app.sql("select belfry.notify('shop/web/no-such-event')");
    await app.sql(`select belfry.notify('shop/web/go', '{}', '{"priorty": "urgent"}')`);
    await app.notify({ mark: 'after', n: 1 });
    await app.drain();
    expect(await stored('after')).toEqual([1]);
    const rows = await app.sql<{ event: string; error: string }>('select event, error from belfry.outbox order by seq');
    expect(rows).toEqual([
      { event: 'shop/web/no-such-event', error: expect.stringContaining('there is no event no-such-event') },
      { event: 'shop/web/go', error: expect.stringContaining('options/priorty') },
    ]);
    expect(await app.outbox.readState()).toMatchObject({ pending: 0, failed: 2 });

    const checks = await runDoctorChecks(world.service.runtime.deps, Date.now(), { outboxes: [app.outbox.source] });
    expect(checks.find(({ name }) => name.startsWith('outbox'))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^2 rejected: see `select seq, event, error/),
    });
  });

  test('is sent after the cause is fixed and it is retried', async () => {
    const app = await openApplication();
    await app.sql(`select belfry.notify('shop/web/go', '{"mark": "mended", "n": 1}', '{"delay": "wrong"}')`);
    await app.drain();
    await app.sql(`update belfry.outbox set options = '{}'`);
    expect(await app.sql('select belfry.retry()::int as count')).toEqual([{ count: 1 }]);
    await app.drain();
    expect(await stored('mended')).toEqual([1]);
  });

  test('is rejected if it is older than a week, until it is retried', async () => {
    const app = await openApplication();
    await app.notify({ mark: 'old', n: 1 });
    await app.sql(`update belfry.outbox set created_at = now() - interval '8 days'`);
    await app.drain();
    expect(await stored('old')).toEqual([]);
    expect(await app.sql('select error from belfry.outbox')).toEqual([
      { error: 'is more than 7 days old: run select belfry.retry(seq) to send it anyway' },
    ]);
  });

  test.each([
    ["belfry.notify('order-paid')", 'event must be project/application/event'],
    ['belfry.notify(null)', 'event must be project/application/event'],
    [`belfry.notify('shop/web/go', '[]')`, 'context must be a JSON object'],
    [`belfry.notify('shop/web/go', null)`, 'context must be a JSON object'],
    [`belfry.notify('shop/web/go', '{}', '"x"')`, 'options must be a JSON object'],
    [`belfry.notify('shop/web/go', jsonb_build_object('a', repeat('x', 1000000)))`, '1,000,000 bytes'],
  ])('%s fails in the calling transaction', async (call, message) => {
    const app = await openApplication();
    await expect(app.sql(`select ${call}`)).rejects.toThrow(message);
  });
});

describe('the owner of the application’s database, who may write anything into the outbox,', () => {
  const insert = `insert into belfry.outbox (id, event, context, options, key, created_at)
    values (coalesce($1, gen_random_uuid()), $2, $3, $4, $5, $6)`;
  const go = 'shop/web/go';

  test.each([
    ['an event that is no path', null, 'go', '{}', '{}', null, 'now'],
    ['an event with too many parts', null, 'shop/web/go/on', '{}', '{}', null, 'now'],
    ['an event of two million characters', null, `shop/web/${'x'.repeat(2_000_000)}`, '{}', '{}', null, 'now'],
    ['an event of prototypes', null, '__proto__/constructor/toString', '{}', '{}', null, 'now'],
    ['a time that never comes', null, go, '{}', '{}', null, 'infinity'],
    ['a time before all others', null, go, '{}', '{}', null, '-infinity'],
    ['a time that JavaScript does not know', null, go, '{}', '{}', null, '294276-12-31T00:00:00Z'],
    ['a context that is no object', null, go, '[]', '{}', null, 'now'],
    ['a context of null', null, go, 'null', '{}', null, 'now'],
    ['a context of three million bytes', null, go, JSON.stringify({ x: 'x'.repeat(3_000_000) }), '{}', null, 'now'],
    ['options that are no object', null, go, '{}', '"x"', null, 'now'],
    ['a context that is nested too deep', null, go, `${'{"a":'.repeat(900)}1${'}'.repeat(900)}`, '{}', null, 'now'],
    ['an id that names no time', '00000000-0000-0000-0000-000000000000', go, '{}', '{}', null, 'now'],
    ['an id of a time that never comes', 'ffffffff-ffff-7fff-bfff-ffffffffffff', go, '{}', '{}', null, 'now'],
  ])('does not block other rows with %s', async (_what, ...values) => {
    const app = await openApplication();
    await app.sql(insert, values);
    await app.notify({ mark: values.join().slice(0, 100), n: 1 });
    const drained = await app.drain();
    expect(drained!.blocked).toBeUndefined();
    expect([drained!.done, drained!.failed.map(({ seq }) => seq)]).toEqual([[2], [1]]);
    expect(await stored(values.join().slice(0, 100))).toEqual([1]);
    for (const { error } of drained!.failed) expect(error.length).toBeLessThan(1_000);
  });

  test('cannot change an occurrence of another organization by reusing its id', async () => {
    const other = await world.tenant({ users: ['bob@x.test'] });
    const theirs = await openApplication(other);
    const id = await theirs.notify({ mark: 'theirs', n: 1 });
    expect((await theirs.drain())!.done).toHaveLength(1);
    const read = () =>
      other.sql(
        `select organization_id, id, context, options from occurrences where id = $1 and organization_id = $2`,
        id,
        other.id,
      );
    const before = await read();
    const app = await openApplication();
    await app.sql(insert, [id, go, '{"mark": "ours", "n": 2}', '{}', null, 'now']);
    await app.drain();
    expect(await read()).toEqual(before);
    expect(await stored('ours')).toEqual([2]);
  });

  test('cannot make the service hold many very large rows at once', { tags: ['sweep'] }, async () => {
    const app = await openApplication();
    await app.sql(`select belfry.notify('shop/web/go', jsonb_build_object('mark', 'large', 'n', n, 'x', repeat('x', 900000)))
      from generate_series(1, 30) n`);
    const taken: number[] = [];
    for (let hasMore = true; hasMore && taken.length < 30; ) {
      const drained = (await app.drain())!;
      taken.push(drained.done.length);
      hasMore = drained.hasMore;
    }
    expect(Math.max(...taken)).toBeLessThan(20);
    expect(await stored('large')).toHaveLength(30);
  });

  test('cannot make the service wait indefinitely for a locked table', async () => {
    const app = await openApplication();
    const outbox = new Outbox(app.outbox.source, () => {}, 300);
    onTestFinished(() => outbox.close());
    const client = new pg.Client({ connectionString: app.url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('begin; lock table belfry.outbox in access exclusive mode');
    await expect(outbox.readState()).rejects.toThrow(/timeout/);
    await expect(outbox.drain(world.service.runtime.deps)).rejects.toThrow(/timeout/);
    await client.query('rollback');
    expect(await outbox.readState()).toMatchObject({ pending: 0 });
  });
});

test('draining waits for an organization that exceeds its rate, and loses nothing', async () => {
  const slow = await world.tenant({ users: ['ann@x.test'] });
  await slow.sql('update organizations set triggers_per_second = 5 where id = $1', slow.id);
  const app = await openApplication(slow);
  await app.sql(`select belfry.notify('shop/web/go', key => 'one') from generate_series(1, 12)`);
  await eventually(async () => {
    await app.drain();
    expect(await app.sql('select error from belfry.outbox')).toEqual([]);
  }, 20_000);
  const [{ count }] = (await slow.sql<{ count: number }>(
    'select count(*)::int as count from occurrences where organization_id = $1',
    slow.id,
  )) as [{ count: number }];
  expect(count).toBe(12);
});

test('a missing organization is logged once, and its rows wait until it exists', async () => {
  const app = await openApplication();
  await app.sql(`select belfry.notify('shop/web/go')`);
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: line => void lines.push(line) });
  const { deps } = world.service.runtime;
  const drains = new OutboxDrains([sourceOf('absent', app.url)], deps, log as FastifyBaseLogger, () => false);
  let rounds = 0;
  const findOrganization = deps.tenantCache.resolvePath.bind(deps.tenantCache);
  vi.spyOn(deps.tenantCache, 'resolvePath').mockImplementation(path => {
    if (path.org === 'absent') rounds++;
    return findOrganization(path);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  drains.start();
  await waitFor('several rounds', () => rounds >= 3);
  await drains.stop();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('draining the outbox has to wait');
  expect(await app.sql('select error from belfry.outbox')).toEqual([{ error: null }]);
});

describe('the schema', () => {
  test('is installed by the CLI, idempotently, and lets a role only call notify', async () => {
    const app = await openApplication();
    const { code, stdout, stderr } = await belfry(['outbox', 'install', app.url, '--grant', 'pg_monitor'], {});
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^The outbox is installed in .+\.\n$/);
    const may = `select has_schema_privilege('pg_monitor', 'belfry', 'usage') as reach,
      has_function_privilege('pg_monitor', 'belfry.notify(text, jsonb, jsonb, text)', 'execute') as notify,
      (select prosecdef from pg_proc where oid = 'belfry.notify(text, jsonb, jsonb, text)'::regprocedure) as as_owner,
      has_function_privilege('pg_monitor', 'belfry.retry(bigint)', 'execute') as retry,
      has_table_privilege('pg_monitor', 'belfry.outbox', 'select, insert, update, delete') as touch`;
    expect(await app.sql(may)).toEqual([{ reach: true, notify: true, as_owner: true, retry: false, touch: false }]);
    await app.notify({});
    expect((await app.drain())!.done).toHaveLength(1);
  });

  test('gives a granted role no way to read, change, lock, shadow or escalate', async () => {
    const app = await openApplication();
    await app.outbox.install('pg_checkpoint');
    await app.notify({ mark: 'hidden', secret: 1 });
    const client = new pg.Client({ connectionString: app.url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('set role pg_checkpoint');
    const denied = [
      'select * from belfry.outbox',
      'select count(*) from belfry.outbox',
      `insert into belfry.outbox (id, event, context, options, created_at) values (gen_random_uuid(), 'a/b/c', '{}', '{}', now())`,
      'update belfry.outbox set failed_at = null',
      'delete from belfry.outbox',
      'truncate belfry.outbox',
      `do $$ begin lock table belfry.outbox in access share mode; end $$`,
      `do $$ begin lock table belfry.outbox in access exclusive mode; end $$`,
      'select * from belfry.outbox_seq_seq',
      `select nextval('belfry.outbox_seq_seq')`,
      'copy belfry.outbox to stdout',
      'select belfry.retry()',
      'select belfry.new_id()',
      'create table belfry.mine (id int)',
      `create function belfry.mine() returns int language sql as 'select 1'`,
      `create or replace function belfry.new_id() returns uuid language sql as 'select gen_random_uuid()'`,
      'alter function belfry.notify(text, jsonb, jsonb, text) security invoker',
      'alter function belfry.notify(text, jsonb, jsonb, text) reset search_path',
      'drop function belfry.notify(text, jsonb, jsonb, text)',
      'create trigger mine before insert on belfry.outbox execute function suppress_redundant_updates_trigger()',
      'create rule mine as on insert to belfry.outbox do instead nothing',
      'alter table belfry.outbox disable row level security',
      'drop schema belfry cascade',
      'create schema mine',
      'create table public.mine (id int)',
      'create extension pg_trgm',
    ];
    for (const statement of denied) {
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    // What it makes for itself in its own session is neither called nor written to.
    await client.query(`create temp table outbox (like pg_class);
      create function pg_temp.new_id() returns uuid language plpgsql as $$ begin raise exception 'shadowed'; end $$;
      create function pg_temp.clock_timestamp() returns timestamptz language plpgsql as $$ begin raise exception 'shadowed'; end $$;
      set search_path = pg_temp, belfry, pg_catalog`);
    const { rows } = await client.query(`select notify('shop/web/go', '{"mark": "granted", "n": 1}') as id`);
    expect(rows[0].id).toMatch(/^[0-9a-f-]{36}$/);
    expect((await app.drain())!.done).toHaveLength(2);
    expect(await stored('granted')).toEqual([1]);
  });

  test('does not let a role block others by holding the drain lock', async () => {
    const [app, other] = [await openApplication(), await openApplication()];
    const client = new pg.Client({ connectionString: app.url });
    await client.connect();
    onTestFinished(() => client.end());
    const lock = createHash('sha256').update('belfry outbox drain').digest().readBigInt64BE();
    await client.query(`select pg_advisory_lock(${lock})`);
    await app.notify({ mark: 'locked', n: 1 });
    await other.notify({ mark: 'locked', n: 2 });
    expect(await app.drain()).toBeUndefined();
    expect((await other.drain())!.done).toHaveLength(1);
    await client.query(`select pg_advisory_unlock(${lock})`);
    expect((await app.drain())!.done).toHaveLength(1);
  });

  test('is reported with what to do if it is missing', async () => {
    const database = await createTestDatabase('template1');
    onTestFinished(() => database.drop());
    const outbox = new Outbox(sourceOf('acme', database.url));
    onTestFinished(() => outbox.close());
    await expect(outbox.drain(world.service.runtime.deps)).rejects.toThrow('run `belfry outbox install`');
    const BELFRY_OUTBOX_URLS = `acme=${database.url}`;
    const { code, stdout } = await belfry(['outbox', 'status'], { BELFRY_OUTBOX_URLS });
    expect([code, stdout]).toEqual([1, expect.stringContaining('run `belfry outbox install`')]);
  });
});

test('a running service drains several databases, reports its lag, and survives an unreachable one', async () => {
  const [one, two] = [await openApplication(), await openApplication()];
  const away = `${tenant.slug}=postgres://nobody@127.0.0.1:1/away`;
  const service = await startService(
    testConfig(world.service.runtime.url, {
      BELFRY_ROLE: 'worker',
      BELFRY_OUTBOX_URLS: `${tenant.slug}=${one.url} ${tenant.slug}=${two.url}, ${away}`,
    }),
    silent,
  );
  onTestFinished(() => service.stop());
  await one.notify({ mark: 'several', n: 1 });
  await two.notify({ mark: 'several', n: 2 });
  await eventually(async () => expect((await stored('several')).toSorted()).toEqual([1, 2]), 15_000);
  await eventually(async () => {
    const text = await (await fetch(`${service.address}/metrics`)).text();
    const sample = (name: string, url: string) =>
      text
        .split('\n')
        .find(line => line.startsWith(`${name}{outbox="${new URL(url).host}${new URL(url).pathname}"`))
        ?.split(' ')[1];
    expect(sample('belfry_outbox_taken_total', one.url)).toBe('1');
    expect(sample('belfry_outbox_up', one.url)).toBe('1');
    expect(Number(sample('belfry_outbox_lag_seconds', two.url))).toBeLessThan(60);
    expect(text).toContain('belfry_outbox_up{outbox="127.0.0.1:1/away"} 0');
  }, 15_000);
});

test.each([
  ['shop', /entry 1 is not of the form ORGANIZATION=postgres/],
  ['acme=http://db/shop', /entry 1/],
  ['acme=postgres://a:hunter2@db/shop acme=mysql://a:hunter2@db/x', /entry 2/],
  ['acme=postgres://db/shop acme=postgres://db/shop', /more than once/],
])('the setting %s is rejected without repeating a password', (text, message) => {
  let error = '';
  try {
    testConfig('postgres://db/belfry', { BELFRY_OUTBOX_URLS: text });
  } catch (caught) {
    error = String(caught);
  }
  expect(error).toMatch(message);
  expect(error).not.toContain('hunter2');
});
