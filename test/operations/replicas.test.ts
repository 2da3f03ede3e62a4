/**
 * Reads from a real standby: which go there, and that a standby which is late, silent or gone is never noticed.
 *
 * @module-tag sweep
 */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { openPair, type Pair } from '../../chaos/pair.ts';
import { type Service, startService } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { serverUrls } from '../../src/core/operations/database-url.ts';
import type { FallbackCause } from '../../src/db/connection/replicas.ts';
import { routes } from '../../src/http/routes.ts';
import { type Answer, ask } from '../support/api.ts';
import { fill, pathValues } from '../support/api-paths.ts';
import { eventually } from '../support/eventually.ts';
import { signalDatabase } from '../support/process.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

let folder: string;
let pair: Pair;
let standbyUrl: string;
/** Two processes that share nothing but the database. */
let services: [Service, Service];
let tenants: Tenants;
const lines: { level: number; msg: string; cause?: string }[] = [];
const log = pino(
  { level: 'info' },
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()));
      done();
    },
  }),
);

const start = (env: Record<string, string>) =>
  startService(
    loadConfig({
      DATABASE_URL: serverUrls(pair.url)[0]!,
      BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
      BELFRY_ROLE: 'api',
      PORT: '0',
      ...env,
    }),
    log,
  );

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-replica-'));
  await chmod(folder, 0o755);
  pair = await openPair(folder, false);
  standbyUrl = serverUrls(pair.url.split('?')[0]!)[1]!;
  services = [await start({ BELFRY_REPLICA_URL: standbyUrl }), await start({ BELFRY_REPLICA_URL: standbyUrl })];
  tenants = await buildTenants(services[0].runtime.deps);
});
afterAll(async () => {
  for (const service of services) await service.stop();
  await pair.release();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});
beforeEach(async () => {
  await pair.standby.sql('select pg_wal_replay_resume()');
});

const replicasOf = ({ replicaReads }: Service) => replicaReads!.replicas;
const reader = () => tenants.acme.keys.without['event:trigger'];
const otherReader = () => tenants.acme.keys.only['user:read'];
const get = (service: Service, at: string, key = reader()) => ask(service.address, { path: at, key });
const fallbacksOf = (service: Service) => Object.fromEntries(replicasOf(service).fallbacks);
const usernames = ({ body }: Answer): string[] => body.map(({ username }: { username: string }) => username);
const users = '/api/o/acme/u/';

/** Waits until the caller's reads go to the replica. */
async function settle(service: Service, key = reader()): Promise<void> {
  await eventually(async () => {
    const before = replicasOf(service).reads;
    await get(service, `${users}?limit=1`, key);
    expect(replicasOf(service).reads).toBeGreaterThan(before);
  }, 60_000);
}

const addUser = async (service: Service, email: string) => {
  const answer = await ask(service.address, { method: 'POST', path: users, key: reader(), body: { email } });
  expect(answer.status).toBe(201);
};

const allowed = routes.filter(({ readsReplica }) => readsReplica);

test('only lists, statistics, searches and exports may be read from a replica', () => {
  expect(allowed.map(({ id }) => id).sort()).toEqual([
    'exportAudit',
    'exportMembers',
    'exportOnCallReport',
    'exportSuppressions',
    'listActivity',
    'listAudit',
    'listDeliveries',
    'listEventStatistics',
    'listFailureCauses',
    'listFailures',
    'listFeedback',
    'listMembers',
    'listOccurrences',
    'listSandbox',
    'listSuppressions',
    'listUnmatchedFeedback',
    'listUserDeliveries',
    'listUsers',
    'listWebhookMessages',
    'retrieveOnCallReport',
    'retrieveStatistics',
    'searchMembers',
  ]);
  expect(allowed.filter(({ method }) => method !== 'GET')).toEqual([]);
});

/** What they cannot do without. */
const span = '?since=2027-01-04T00:00:00Z&until=2027-01-11T00:00:00Z';
const queries: Record<string, string> = { retrieveOnCallReport: span, exportOnCallReport: span };

test.each(allowed)('$id is read from the replica', async ({ id, path: pattern }) => {
  const [service] = services;
  await settle(service);
  const before = { reads: replicasOf(service).reads, fallbacks: fallbacksOf(service) };
  expect(await get(service, fill(pattern, pathValues(tenants)) + (queries[id] ?? ''))).toMatchObject({
    status: 200,
  });
  expect(replicasOf(service).reads).toBeGreaterThan(before.reads);
  expect(fallbacksOf(service)).toEqual(before.fallbacks);
});

test('the statement runs on the standby', async () => {
  await settle(services[0]);
  const sessions = await pair.standby.sql<{ query: string }>(
    "select query from pg_stat_activity where application_name = 'belfry replica'",
  );
  expect(sessions.map(({ query }) => query).join()).toContain('users');
});

test('a key that may trigger events reads the primary', async () => {
  const [service] = services;
  await settle(service);
  const before = replicasOf(service).reads;
  await get(service, users, tenants.acme.keys.all);
  expect(replicasOf(service).reads).toBe(before);
});

test('callers see their own changes at once, in every process', async () => {
  for (const service of services) await settle(service);
  await pair.standby.sql('select pg_wal_replay_pause()');
  await addUser(services[0], 'own@acme.test');
  for (const service of services) expect(usernames(await get(service, users))).toContain('own@acme.test');
  await pair.standby.sql('select pg_wal_replay_resume()');
  for (const service of services) await settle(service);
});

test('a page is not older than the page before it', async () => {
  const [service, other] = services;
  for (const each of services) await settle(each, otherReader());
  await pair.standby.sql('select pg_wal_replay_pause()');
  await addUser(service, 'page-a@acme.test');
  await addUser(service, 'page-b@acme.test');
  const { body: all } = await get(service, users);
  const first = await get(service, `${users}?limit=${all.length - 1}`);
  const next = new URL(/<(.*)>/.exec(first.headers.link!)![1]!);
  const before = fallbacksOf(other);
  expect(usernames(await get(other, next.pathname + next.search, otherReader()))).toEqual(['page-b@acme.test']);
  const plain = Buffer.from(`after ${all.at(-2).id}`).toString('base64url');
  expect(usernames(await get(other, `${users}?cursor=${plain}`, otherReader()))).toEqual(['page-b@acme.test']);
  expect(fallbacksOf(other)).not.toEqual(before);
  await pair.standby.sql('select pg_wal_replay_resume()');
  const onReplica = await eventually(async () => {
    const reads = replicasOf(other).reads;
    const answer = await get(other, next.pathname + next.search, otherReader());
    expect(replicasOf(other).reads).toBeGreaterThan(reads);
    return answer;
  }, 60_000);
  expect(usernames(onReplica)).toEqual(['page-b@acme.test']);
});

test('a replica that falls behind is given up with one log line, and used again when it has caught up', async () => {
  const [service] = services;
  await settle(service, otherReader());
  lines.length = 0;
  await pair.standby.sql('select pg_wal_replay_pause()');
  await addUser(services[1], 'late@acme.test');
  for (const each of services) {
    await eventually(() => expect(replicasOf(each).listStatuses()[0]!.cause).toBe('behind'), 60_000);
  }
  expect(usernames(await get(service, users, otherReader()))).toContain('late@acme.test');
  const { text } = await ask(service.address, { path: '/metrics' });
  expect(text).toMatch(/^belfry_replica_used\{replica="127\.0\.0\.1:\d+\/belfry"\} 0$/m);
  expect(text).toMatch(/^belfry_replica_fallbacks_total\{cause="behind"\} [1-9]/m);
  const { status, body } = await ask(service.address, { path: '/readyz' });
  expect([status, body.status]).toEqual([200, 'ready, a replica is not used']);
  await pair.standby.sql('select pg_wal_replay_resume()');
  await settle(service, otherReader());
  await eventually(() => expect(lines.filter(({ msg }) => msg.includes('is used for reads'))).toHaveLength(2), 60_000);
  // One of each process.
  expect(lines.filter(({ cause }) => cause === 'behind')).toHaveLength(2);
});

test.each<[what: string, replicaUrl: () => string, cause: FallbackCause]>([
  ['the primary', () => serverUrls(pair.url)[0]!.split('?')[0]!, 'foreign'],
  ['a server of another database', () => inject('postgresUrl'), 'foreign'],
  ['an address that refuses connections', () => standbyUrl.replace(/:\d+\/belfry/, ':1/belfry'), 'unreachable'],
  ['a standby on which reads fail', () => `${standbyUrl}?options=-c%20search_path%3Dnowhere`, 'failed'],
])('with %s as a replica, the primary answers', async (_, replicaUrl, cause) => {
  const service = await start({ BELFRY_REPLICA_URL: replicaUrl() });
  try {
    await eventually(async () => {
      const { status, body } = await get(service, users);
      expect([status, body.length > 1]).toEqual([200, true]);
      expect(fallbacksOf(service)).toHaveProperty(cause);
    }, 60_000);
    expect(replicasOf(service).reads).toBe(0);
  } finally {
    await service.stop();
  }
});

test('of several replicas, one that works is used', async () => {
  const service = await start({ BELFRY_REPLICA_URL: standbyUrl.replace('@', '@127.0.0.1:1,') });
  try {
    await settle(service);
    expect(
      replicasOf(service)
        .listStatuses()
        .map(({ cause }) => cause),
    ).toEqual(['unreachable', undefined]);
  } finally {
    await service.stop();
  }
});

test('a standby that was promoted is not used any more', async () => {
  const second = path.join(folder, 'second');
  await mkdir(second, { mode: 0o755 });
  const other = await openPair(second, false);
  const [primaryUrl, replicaUrl] = serverUrls(other.url.split('?')[0]!);
  const service = await start({ DATABASE_URL: primaryUrl!, BELFRY_REPLICA_URL: replicaUrl! });
  const causeIs = (cause: FallbackCause | undefined) =>
    eventually(() => expect(replicasOf(service).listStatuses()[0]!.cause).toBe(cause), 60_000);
  try {
    await causeIs(undefined);
    await other.promote();
    await causeIs('foreign');
  } finally {
    await service.stop();
    await other.release();
  }
});

test('a request is answered although its replica goes silent', async () => {
  const [service] = services;
  await settle(service);
  await signalDatabase(pair.standby.dataDir, 'SIGSTOP');
  try {
    expect(await get(service, users)).toMatchObject({ status: 200 });
    await eventually(() => expect(replicasOf(service).listStatuses()[0]!.cause).toBe('unreachable'), 60_000);
  } finally {
    await signalDatabase(pair.standby.dataDir, 'SIGCONT');
  }
  await settle(service);
});

test('a request is answered although its replica is killed', async () => {
  const [service] = services;
  await settle(service);
  await signalDatabase(pair.standby.dataDir, 'SIGKILL');
  expect(await get(service, users)).toMatchObject({ status: 200 });
  expect(fallbacksOf(service)).toHaveProperty('unreachable');
});
