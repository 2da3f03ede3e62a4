/**
 * Any role that can connect to the database can NOTIFY on any channel, so announcements are untrusted hints: at most they
 * cause caches to be read again, at a bounded cost.
 */
import v8 from 'node:v8';
import vm from 'node:vm';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { InboxStreams, type StreamSink } from '../../src/services/audience/inbox-streams.ts';
import { TenantCache } from '../../src/services/configuration/paths/tenant-cache.ts';
import { ReplicaReads } from '../../src/services/operations/replica-reads.ts';
import { ask } from '../support/api.ts';
import { silent, testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

v8.setFlagsFromString('--expose-gc');
const collectGarbage: () => void = vm.runInNewContext('gc');

function retainedBytes(work: () => void): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  work();
  collectGarbage();
  return process.memoryUsage().heapUsed - before;
}

test('reads from replicas retain a bounded number of callers who changed something', { tags: ['sweep'] }, () => {
  const reads = new ReplicaReads({} as never, async () => true);
  const retained = retainedBytes(() => {
    for (let i = 0; i < 300_000; i++) reads.handleAnnouncement(`account ${i}`);
    for (let i = 0; i < 2_000; i++) reads.handleAnnouncement(`key ${`${i}`.padEnd(7_900, 'x')}`);
  });
  expect(retained).toBeLessThan(5_000_000);
});

describe('the tenant cache', () => {
  const cache = new TenantCache({} as never);
  cache.markConnected();
  const entries = new Map();
  let reads = 0;
  const readFor = (organizationId: number) =>
    cache.getOrRead(
      entries,
      `of ${organizationId}`,
      async () => ++reads,
      () => organizationId,
    );

  test('retains nothing of announcements that name no organization and no account', { tags: ['sweep'] }, () => {
    const retained = retainedBytes(() => {
      for (let i = 0; i < 2_000; i++) {
        cache.handleAnnouncement(`${i}`.padEnd(8_000, '\u00ff'));
        cache.handleAnnouncement(`account ${`${i}`.padEnd(7_900, '\u00ff')}`);
      }
    });
    expect(retained).toBeLessThan(5_000_000);
  });

  test('retains a bounded number of those that name one which does not exist', { tags: ['sweep'] }, () => {
    const retained = retainedBytes(() => {
      for (let i = 1; i < 500_000; i++) cache.handleAnnouncement(`account ${1_000_000 + i}`);
    });
    expect(retained).toBeLessThan(20_000_000);
  });

  test('discards everything read before an announcement, even after more announcements than it keeps', async () => {
    expect(await readFor(7)).toBe(1);
    expect(await readFor(7)).toBe(1);
    cache.handleAnnouncement('7');
    for (let i = 1_000; i < 300_000; i++) cache.handleAnnouncement(String(i));
    expect(await readFor(7)).toBe(2);
    expect(await readFor(7)).toBe(2);
    cache.handleAnnouncement('garbage 7');
    expect(await readFor(7)).toBe(2);
  });
});

test('the cost of an inbox announcement does not depend on the number of open streams', async () => {
  let reads = 0;
  const pool = {
    query: async () => {
      reads++;
      return { rows: [] };
    },
  };
  const sink = new Proxy({} as StreamSink, { get: () => () => true });
  const cost = async (open: number) => {
    const streams = new InboxStreams(pool as never, silent);
    for (let i = 0; i < open; i++) {
      streams.open({ organizationId: 1, userId: i, after: 0, endsAt: Number.POSITIVE_INFINITY }, sink);
    }
    await new Promise(setImmediate);
    reads = 0;
    const from = process.cpuUsage();
    for (let i = 0; i < 5_000; i++) streams.announced('*');
    await new Promise(setImmediate);
    const { user, system } = process.cpuUsage(from);
    await eventually(() => expect(reads).toBeGreaterThan(0));
    streams.closeAll();
    return user + system;
  };
  const few = await cost(100);
  const many = await cost(5_000);
  // The streams are iterated once, not for each announcement.
  expect(many).toBeLessThan(few + 500_000);
});

describe('a role without privileges', () => {
  let service: Service;
  let tenants: Tenants;
  let stranger: pg.Client;

  beforeAll(async () => {
    service = await testService();
    tenants = await buildTenants(service.runtime.deps);
    stranger = new pg.Client({ connectionString: service.runtime.url });
    await stranger.connect();
    // A predefined PostgreSQL role without privileges here.
    await stranger.query('set role pg_checkpoint');
  });
  afterAll(async () => {
    await stranger.end();
    await service.stop();
  });

  const channels = ['belfry_changed', 'belfry_work', 'belfry_inbox'];
  const ping = (key = tenants.acme.keys.all) => ask(service.address, { path: '/api/system/ping/', key });

  test('cannot read any table', async () => {
    await expect(stranger.query('select 1 from occurrences')).rejects.toThrow('permission denied');
    await expect(stranger.query('select 1 from keys')).rejects.toThrow('permission denied');
  });

  test('breaks nothing by sending garbage on the channels of the service', async () => {
    const garbage = [
      ...[
        '',
        ' ',
        '*',
        '-1',
        '0',
        'NaN',
        '1e400',
        '99999999999999999999',
        'account',
        'account ',
        'account -1',
        '{"a":',
      ],
      ...[
        'revoked',
        'revoked *',
        'revoked 1:1',
        '1:1:1',
        ':',
        '__proto__',
        'constructor',
        '\u202e\ud83d\ude00',
        '\u0001',
      ],
      ...['x'.repeat(7_999), '1 '.repeat(3_999), '9'.repeat(7_999), `account ${'9'.repeat(7_900)}`],
      ...[tenants.rival.id, tenants.acme.id].flatMap(id => [String(id), `account ${id}`, `${id}:${id}`]),
    ];
    for (const channel of channels) {
      for (const payload of garbage) await stranger.query('select pg_notify($1, $2)', [channel, payload]);
    }
    expect((await ping()).status).toBe(200);
    expect((await ping(tenants.acme.keys.all.replace(/.$/, last => (last === 'x' ? 'y' : 'x')))).status).toBe(401);
    const { status, text } = await ask(service.address, { path: '/api/o/rival/u/', key: tenants.acme.keys.all });
    expect([status, text]).toEqual([404, expect.not.stringContaining('jane')]);
  });

  test('slows the service down only briefly with fifty thousand announcements, and a revoked key stays revoked', {
    tags: ['sweep'],
  }, async () => {
    for (const channel of channels) {
      await stranger.query(`select pg_notify('${channel}', i || ':' || i) from generate_series(1, 50000) i`);
      await stranger.query(`select pg_notify('${channel}', 'account ' || i) from generate_series(1, 50000) i`);
    }
    expect((await ping()).status).toBe(200);
    const created = await ask(service.address, {
      method: 'POST',
      path: '/api/o/acme/k/',
      key: tenants.acme.keys.all,
      body: { name: 'short-lived', permissions: ['system:ping'] },
    });
    expect((await ping(created.body.key)).status).toBe(200);
    await runSql(service.runtime.url, `update keys set revoked_at = now() where name = 'short-lived'`);
    await eventually(async () => expect((await ping(created.body.key)).status).toBe(401), 60_000);
    expect((await ask(service.address, { path: '/readyz' })).status).toBe(200);
  });
});
