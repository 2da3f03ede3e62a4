/** Connections to the primary among several servers. A failover with a real standby is a fault test. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Database, isUnavailable, openDatabase } from '../../src/db/connection/pool.ts';
import { PrimaryClient, requireWritable } from '../../src/db/connection/primary.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openSilentProxy, type SilentProxy } from '../support/silent-proxy.ts';
import { runSql } from '../support/sql.ts';

let database: TestDatabase;
let proxy: SilentProxy;
let pools: Database | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openSilentProxy(database.url);
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});
afterEach(async () => {
  await pools?.close();
  pools = undefined;
});

/** Port 1 refuses connections. */
const among = (...ports: (string | number)[]) => {
  const { port } = new URL(proxy.url);
  const hosts = ports.map(each => `127.0.0.1:${each === 'real' ? port : each}`).join();
  return proxy.url.replace(`127.0.0.1:${port}`, hosts);
};

test('a pool connects to the server that accepts writes', async () => {
  pools = openDatabase({ url: among(1, 'real'), name: 'primary' });
  const { rows } = await pools.pool.query('select 1 as one');
  expect(rows).toEqual([{ one: 1 }]);
});

test('without a primary, the error is temporary and says what each server answered', async () => {
  const change = `alter database ${new URL(database.url).pathname.slice(1)}`;
  await runSql(database.url, `${change} set default_transaction_read_only = on`);
  try {
    pools = openDatabase({ url: among(1, 'real'), name: 'primary' });
    const error: Error = await pools.pool.query('select 1').catch(each => each);
    expect(error.message).toMatch(
      /no PostgreSQL server accepts writes \(.*:1\/.*: .*ECONNREFUSED.*; .*: is read-only\)/,
    );
    expect(isUnavailable(error)).toBe(true);
  } finally {
    await runSql(database.url, `begin read write; ${change} reset default_transaction_read_only; commit`);
  }
});

test('a wrong password is reported as such', async () => {
  const client = new PrimaryClient({ connectionString: among(1, 'real').replace(/:[^:@]*@/, ':wrong@') });
  await expect(client.connect()).rejects.toMatchObject({ code: '28P01' });
});

test('a connection whose server became read-only is replaced', async () => {
  pools = openDatabase({ url: among('real'), name: 'primary', connections: 1 });
  await pools.pool.query('set default_transaction_read_only = on');
  const refused = await pools.pool.query('create table written ()').catch(each => each);
  expect(isUnavailable(refused)).toBe(true);
  await pools.pool.query('create table written ()');
});

test('a heartbeat fails on a server that became read-only', async () => {
  const client = new PrimaryClient({ connectionString: database.url });
  await client.connect();
  await requireWritable(client);
  await client.query('set default_transaction_read_only = on');
  await expect(requireWritable(client)).rejects.toThrow('is read-only');
  await client.end();
});
