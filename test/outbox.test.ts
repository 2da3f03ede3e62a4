/** Triggers from inside an application's own transactions: by commit alone, once each, in order where it is asked for. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startService } from '../src/app.ts';
import { readOutboxSources } from '../src/core/outbox.ts';
import { examine } from '../src/services/doctor.ts';
import { Outbox } from '../src/services/outbox.ts';
import { eventually } from './support/api.ts';
import { createTestDatabase, silent, testConfig } from './support/database.ts';
import { belfry } from './support/process.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';
import { runSql } from './support/sql.ts';

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

test('only a commit sends, and the identifier is known before it', async () => {
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

test('what was stored here and not deleted there is not sent again', async () => {
  const app = await openApplication();
  for (const n of [1, 2, 3]) await app.notify({ mark: 'again', n });
  // As when the process ends between the two: the deletion is lost.
  await app.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'lost'; end $$;
    create trigger refuse before delete on belfry.outbox execute function public.refuse()`);
  await expect(app.drain()).rejects.toThrow('lost');
  expect(await stored('again')).toEqual([1, 2, 3]);
  await app.sql('drop trigger refuse on belfry.outbox');
  expect((await app.drain())!.done).toHaveLength(3);
  expect(await stored('again')).toEqual([1, 2, 3]);
});

test('two processes at once take each row once', async () => {
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

test('rows of one key are stored in the order of their commits', async () => {
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

  test('is kept with the reason, and holds up nothing', async () => {
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

    const checks = await examine(world.service.runtime.deps, Date.now(), { outboxes: [app.outbox.source] });
    expect(checks.find(({ name }) => name.startsWith('outbox'))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^2 refused: select seq, event, error/),
    });
  });

  test('is sent once its cause is mended and somebody asks', async () => {
    const app = await openApplication();
    await app.sql(`select belfry.notify('shop/web/go', '{"mark": "mended", "n": 1}', '{"delay": "wrong"}')`);
    await app.drain();
    await app.sql(`update belfry.outbox set options = '{}'`);
    expect(await app.sql('select belfry.retry()::int as count')).toEqual([{ count: 1 }]);
    await app.drain();
    expect(await stored('mended')).toEqual([1]);
  });

  test('after more than a week is not sent unasked', async () => {
    const app = await openApplication();
    await app.notify({ mark: 'old', n: 1 });
    await app.sql(`update belfry.outbox set created_at = now() - interval '8 days'`);
    await app.drain();
    expect(await stored('old')).toEqual([]);
    expect(await app.sql('select error from belfry.outbox')).toEqual([
      { error: 'waited for more than 7 days: select belfry.retry(seq) sends it all the same' },
    ]);
  });

  test.each([
    ["belfry.notify('order-paid')", 'event must be project/application/event'],
    ['belfry.notify(null)', 'event must be project/application/event'],
    [`belfry.notify('shop/web/go', '[]')`, 'context must be a JSON object'],
    [`belfry.notify('shop/web/go', null)`, 'context must be a JSON object'],
    [`belfry.notify('shop/web/go', '{}', '"x"')`, 'options must be a JSON object'],
    [`belfry.notify('shop/web/go', jsonb_build_object('a', repeat('x', 1000000)))`, '1,000,000 bytes'],
  ])('%s is refused where it is called', async (call, message) => {
    const app = await openApplication();
    await expect(app.sql(`select ${call}`)).rejects.toThrow(message);
  });
});

test('an organization that triggers too fast is waited for, and nothing is lost', async () => {
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

describe('the schema', () => {
  test('is installed by the command line, twice without harm, and lets a role notify and nothing else', async () => {
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

  test('is missed in words that say what to do', async () => {
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

test('a running service drains several databases, tells how far behind it is, and outlives one that is away', async () => {
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
  ['acme=postgres://db/shop acme=postgres://db/shop', /twice/],
])('the setting %s is refused, and no password is repeated', (text, message) => {
  let error = '';
  try {
    testConfig('postgres://db/belfry', { BELFRY_OUTBOX_URLS: text });
  } catch (caught) {
    error = String(caught);
  }
  expect(error).toMatch(message);
  expect(error).not.toContain('hunter2');
});
