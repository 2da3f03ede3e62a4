/**
 * Connections to PostgreSQL that go silent, as behind a firewall that forgets them. New connections work.
 *
 * @module-tag sweep
 */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connecting, type Database, isUnavailable, openDatabase } from '../../src/db/connection/pool.ts';
import { acquireLease } from '../../src/db/ledger/workers.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { passTime } from '../support/pass-time.ts';
import { openSilentProxy, type SilentProxy } from '../support/silent-proxy.ts';
import { runSql } from '../support/sql.ts';

let database: TestDatabase;
let proxy: SilentProxy;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openSilentProxy(database.url);
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

describe.each([
  ['a pool', false],
  ['a pool behind a pooler', true],
])('%s', (_, pooled) => {
  let pools: Database;

  beforeAll(() => {
    pools = openDatabase({ url: proxy.url, name: 'silence', connections: 1, silenceMs: 1_500, pooled });
  });
  afterAll(() => pools.close());

  test('replaces a connection that went silent, and rejects its statements as temporary failures', async () => {
    await pools.pool.query('select 1');
    proxy.silence();
    const waiting = await Promise.allSettled([pools.pool.query('select 2'), pools.pool.query('select 3 as three')]);
    expect(waiting[0].status === 'rejected' && isUnavailable(waiting[0].reason)).toBe(true);
    expect(waiting[1]).toMatchObject({ status: 'fulfilled', value: { rows: [{ three: 3 }] } });
  });

  test('waits for a statement that takes long', async () => {
    const { rows } = await pools.pool.query<{ ok: boolean }>('select pg_sleep(4) is not null as ok');
    expect(rows).toEqual([{ ok: true }]);
  });
});

test('a lease whose connection went silent is lost within two heartbeats', async () => {
  let lost: Error | undefined;
  const lease = await acquireLease(proxy.url, error => (lost = error), 2_000);
  proxy.silence();
  await eventually(() => expect(lost?.message).toMatch(/timeout/), 20_000);
  await lease.end();
});

test('the lease of a process that is frozen, and sends no heartbeat, is free within seconds', async () => {
  let lost: Error | undefined;
  const lease = await acquireLease(database.url, error => (lost = error), 60_000);
  await eventually(() => expect(lost?.message).toMatch(/idle-session timeout/), 20_000);
  await expect(lease.confirm()).rejects.toThrow();
});

test('a silent connection makes the process replace its older ones as well, without waiting for their silence', async () => {
  const pools = openDatabase({ url: proxy.url, name: 'silence', connections: 3, silenceMs: 3_000 });
  const ids = async () => {
    const rows = await Promise.all(
      [1, 2, 3].map(() => pools.pool.query<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.2)')),
    );
    return rows.map(({ rows: [row] }) => row!.pid);
  };
  const before = await ids();
  passTime(3_100);
  proxy.silence();
  await expect(pools.pool.query('select 1')).rejects.toThrow('did not respond');
  const began = fairNow();
  const after = await ids();
  expect(fairNow() - began).toBeLessThan(3_000);
  expect(after.filter(pid => before.includes(pid))).toEqual([]);
  await pools.close();
});

test('connections to a machine that hangs are checked once each, at the same time', async () => {
  const hanging = await openSilentProxy(database.url);
  const pools = openDatabase({ url: hanging.url, name: 'silence', connections: 3, silenceMs: 1_500 });
  await Promise.all([1, 2, 3].map(() => pools.pool.query('select pg_sleep(0.2)')));
  const opened = hanging.freeze();
  const waiting = [1, 2, 3].map(async nth => {
    // The check of the first one ends while the others are being checked.
    await new Promise(resolve => setTimeout(resolve, nth * 300));
    return pools.pool.query('select 1');
  });
  const settled = await Promise.allSettled(waiting);
  expect(settled.every(each => each.status === 'rejected' && isUnavailable(each.reason))).toBe(true);
  expect(opened()).toBe(3);
  await hanging.close();
  await pools.close();
});

test('a connection that found no server is not among those that another one makes suspicious', async () => {
  const hanging = await openSilentProxy(database.url);
  const ordinary = connecting.timeoutMs;
  connecting.timeoutMs = 1_000;
  const pools = openDatabase({ url: `${hanging.url}?target_session_attrs=primary`, name: 'silence', silenceMs: 1_500 });
  await pools.pool.query('select 1');
  hanging.freeze();
  const silent = expect(pools.pool.query('select 2')).rejects.toThrow('did not respond');
  await expect(pools.pool.query('select 3')).rejects.toThrow('no PostgreSQL server accepts writes');
  // Destroying its socket, which has no listener, would end the process.
  await silent;
  connecting.timeoutMs = ordinary;
  await hanging.close();
  await pools.close();
});

test('a lease that could not be taken in time leaves no session behind, and is not lost later', async () => {
  const sessions = `select pid from pg_stat_activity where application_name = 'belfry worker' and datname = current_database()`;
  let lost: Error | undefined;
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  await blocker.query('begin');
  await blocker.query('alter sequence worker_ids cache 1');
  await expect(acquireLease(database.url, error => (lost = error), 500)).rejects.toThrow('timeout');
  await blocker.end();
  await eventually(async () => expect(await runSql(database.url, sessions)).toEqual([]));
  expect(lost).toBeUndefined();
});

/** Whether the user may create a network and change it. */
const mayUnshare = spawnSync('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

test.skipIf(!mayUnshare)('a lease of a machine that vanished is free within seconds, not hours', async () => {
  const script = fileURLToPath(new URL('../support/vanished-machine.ts', import.meta.url));
  const { stdout } = await promisify(execFile)('unshare', ['--net', process.execPath, script]);
  const { freeAfterMs, isOrdinaryHeld } = JSON.parse(stdout) as { freeAfterMs: number; isOrdinaryHeld: boolean };
  expect(freeAfterMs).toBeLessThan(40_000);
  // Without the settings of src/db/connection/pool.ts, PostgreSQL does not notice.
  expect(isOrdinaryHeld).toBe(true);
});

test('every pool has the settings for it', async () => {
  // Not over a socket in the file system, to which these settings do not apply.
  const url = database.url.replace(/@[^:]*:/, '@127.0.0.1:');
  const pools = openDatabase({ url, name: 'vanished' });
  const { rows } = await pools.pool.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name like 'tcp_%' order by name",
  );
  expect(rows.map(({ name, setting }) => `${name} ${setting}`)).toEqual([
    'tcp_keepalives_count 5',
    'tcp_keepalives_idle 5',
    'tcp_keepalives_interval 2',
    'tcp_user_timeout 15000',
  ]);
  await pools.close();
});
