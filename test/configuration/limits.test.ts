/**
 * The rate and concurrency limits of a channel hold across all workers: two services on one database, and a sink that measures.
 *
 * @module-tag sweep
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { isUnavailable } from '../../src/db/connection/pool.ts';
import { reserveSendTimes, Slots } from '../../src/db/ledger/deliver/channel-limits.ts';
import { ChannelRateLimiter } from '../../src/engine/limits/channel-rate.ts';
import type { PlannedChannel } from '../../src/pipeline/plans.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Ask, asker } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { secret } from '../support/sink.ts';
import { findMistakes } from '../support/sink-ledger.ts';
import { runSql } from '../support/sql.ts';

let database: TestDatabase;
let services: Service[];
let sink: Server;
/** Arrival times, the maximum number of requests in flight, and the duration of an answer. */
let arrivals: number[] = [];
let underWay = 0;
let peak = 0;
let answerMs = 0;

beforeAll(async () => {
  sink = createServer(async (request, response) => {
    for await (const _ of request);
    arrivals.push(Date.now());
    peak = Math.max(peak, ++underWay);
    await sleep(answerMs);
    underWay--;
    response.end();
  });
  sink.listen(0, '127.0.0.1');
  await once(sink, 'listening');
  database = await createTestDatabase();
  const start = () => startService(testConfig(database.url), silent);
  services = [await start(), await start()];
});
afterAll(async () => {
  await Promise.all(services.map(service => service.stop()));
  await database.drop();
  sink.close();
});
beforeEach(() => {
  [arrivals, underWay, peak, answerMs] = [[], 0, 0, 0];
});

const sql = <Row extends pg.QueryResultRow>(text: string, ...values: unknown[]) =>
  runSql<Row>(database.url, text, values);

interface Tenant {
  id: number;
  channel: number;
  trigger(options?: object): Promise<string>;
  /** Resolves once the occurrence is completed. */
  counts(occurrence: string, withinMs: number): Promise<Record<string, number>>;
}

let tenants = 0;

async function declare(people: number, limits: object): Promise<Tenant> {
  const slug = `t${++tenants}`;
  const { deps } = services[0]!.runtime;
  const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`;
  const hooks = {
    slug: 'hooks',
    name: 'Hooks',
    type: 'webhook',
    providers: [{ use: 'standard-webhooks', url, secret }],
    ...limits,
  };
  const users = Array.from({ length: people }, (_, i) => ({ email: `p${i}@x.test` }));
  const notification = { name: 'n', recipients: { list: 'All' }, channels: ['hooks'], message: { body: 'x' } };
  const events = [{ slug: 'go', name: 'Go', notifications: [notification] }];
  const project = {
    slug: 'shop',
    name: 'Shop',
    distribution_lists: [{ name: 'All', members: users.map(user => user.email) }],
    applications: [{ slug: 'web', name: 'Web', events }],
  };
  const organization = { slug, name: slug, channels: [hooks], users, projects: [project] };
  await applyConfiguration(deps, { organizations: [organization] }, { prune: false });
  const { key } = await createKey(deps, slug, { name: 'test', permissions: ['*'] });
  const asks: Ask[] = services.map(service => asker(service.address, key));
  const [row] = await sql<{ id: number; channel: number }>(
    `select o.id::int, c.id::int as channel from organizations o join channels c on c.organization_id = o.id
     where o.slug = $1`,
    slug,
  );
  return {
    ...row!,
    async trigger(options = {}) {
      const path = `/api/o/${slug}/p/shop/a/web/e/go/trigger/`;
      const answer = await asks[0]!({ method: 'POST', path, body: { options } });
      expect(answer.status, answer.text).toBe(201);
      return answer.body.occurrence;
    },
    counts: (occurrence, withinMs) =>
      eventually(async () => {
        const { body } = await asks[1]!({ path: `/api/o/${slug}/occurrence/${occurrence}/` });
        expect(body.status, JSON.stringify(body.counts)).toBe('completed');
        return body.counts;
      }, withinMs),
  };
}

const attempts = async ({ id }: Tenant) =>
  (await sql<{ attempts: number }>('select distinct attempts from deliveries where organization_id = $1', id)).map(
    row => row.attempts,
  );

/** Returns the maximum number of arrivals within any span of so many milliseconds. */
function busiest(ms: number): number {
  return Math.max(...arrivals.map((from, i) => arrivals.slice(i).filter(at => at < from + ms).length));
}

describe('a rate', () => {
  test('holds across two workers, and postponing is not an attempt', async () => {
    const rate = 20;
    const tenant = await declare(100, { rate_per_second: rate });
    const began = Date.now();
    const occurrence = await tenant.trigger();
    expect(await tenant.counts(occurrence, 25_000)).toMatchObject({ sent: 100, failed: 0, pending: 0 });
    expect((Date.now() - began) / 1_000).toBeGreaterThan(4.7);
    expect(arrivals).toHaveLength(100);
    // On a busy machine a message may reach the sink late; the assigned times are measured below.
    for (const span of [1, 2, 3]) expect(busiest(span * 1_000)).toBeLessThanOrEqual(rate * span + 2 * rate);
    expect(await attempts(tenant)).toEqual([1]);
    expect(await findMistakes(database.url)).toEqual([]);
  });

  test('lets urgent messages pass a long backlog', async () => {
    const tenant = await declare(60, { rate_per_second: 5 });
    const blast = await tenant.trigger({ priority: 'bulk' });
    await eventually(async () => {
      const [row] = await sql<{ waiting: number }>(
        `select count(*)::int as waiting from deliveries
         where occurrence_id = $1 and status = 'pending' and due_at > now() + '2 seconds'`,
        blast,
      );
      expect(row!.waiting, 'a long line').toBeGreaterThan(30);
    });
    const began = fairNow();
    const urgent = await tenant.trigger({ priority: 'urgent', limit_to: ['p7@x.test'] });
    expect(await tenant.counts(urgent, 6_000)).toMatchObject({ sent: 1 });
    expect(fairNow() - began).toBeLessThan(6_000);
    const [left] = await sql<{ waiting: number; soon: number }>(
      `select count(*)::int as waiting, count(*) filter (where due_at < now() + '20 seconds')::int as soon
       from deliveries where occurrence_id = $1 and status = 'pending'`,
      blast,
    );
    expect(left!.waiting).toBeGreaterThan(20);
    expect(left!.soon, 'the line is as long as the rate makes it').toBe(left!.waiting);
    await sql('update channels set rate_per_second = null where organization_id = $1', tenant.id);
    await sql(`update deliveries set due_at = now() where organization_id = $1 and status = 'pending'`, tenant.id);
    expect(await tenant.counts(blast, 10_000)).toMatchObject({ sent: 60 });
  });

  test('postpones urgent messages by at most a second', async () => {
    const tenant = await declare(40, { rate_per_second: 2 });
    const urgent = await tenant.trigger({ priority: 'urgent' });
    const waiting = await eventually(async () => {
      const [row] = await sql<{ waiting: number; seconds: number }>(
        `select count(*)::int as waiting, max(extract(epoch from due_at - now()))::float as seconds
         from deliveries where occurrence_id = $1 and detail like 'the channel is limited to 2 messages per second'`,
        urgent,
      );
      expect(row!.waiting).toBeGreaterThan(30);
      return row!;
    });
    expect(waiting.seconds).toBeLessThan(1.1);
    await sql('update channels set rate_per_second = null where organization_id = $1', tenant.id);
    expect(await tenant.counts(urgent, 10_000)).toMatchObject({ sent: 40 });
  });

  test('gives concurrent callers distinct times: at most the rate plus one per second', async () => {
    const tenant = await declare(1, {});
    const perSecond = 50;
    const pools = [0, 1].map(() => new pg.Pool({ connectionString: database.url, max: 4 }));
    const moments: number[] = [];
    const askUntil = Date.now() + 2_500;
    const ask = async (pool: pg.Pool) => {
      while (Date.now() < askUntil) {
        const asked = { channelId: tenant.channel, perSecond, requested: 7, aheadMs: 200 };
        const began = performance.now();
        const { granted, waitMs } = await reserveSendTimes(pool, tenant.id, asked);
        expect(granted).toBeLessThanOrEqual(7);
        expect(waitMs).toBeLessThan(granted > 0 ? 201 : 3_000);
        // The time of the answer is between the request and its result.
        for (let n = 0; n < granted; n++) moments.push(began + waitMs + (n * 1_000) / perSecond);
        if (granted === 0) await sleep(20);
      }
    };
    await Promise.all([...pools, ...pools, ...pools].map(ask));
    await Promise.all(pools.map(pool => pool.end()));
    moments.sort((a, b) => a - b);
    expect(moments.length, 'all of them are given').toBeGreaterThan(2.2 * perSecond);
    arrivals = moments;
    expect(busiest(1_000)).toBeLessThanOrEqual(perSecond + 3);
    expect(moments.length / ((moments.at(-1)! - moments[0]!) / 1_000)).toBeLessThan(perSecond * 1.1);
  });

  test('holds for a process that was delayed and then has many messages to send', async () => {
    const perSecond = 20;
    const tenant = await declare(1, {});
    const channel = { organizationId: tenant.id, id: tenant.channel, ratePerSecond: perSecond } as PlannedChannel;
    const pace = new ChannelRateLimiter(services[0]!.runtime.deps.pool, channel);
    let stalled = false;
    const takers = Array.from({ length: 60 }, async () => {
      while (!(await pace.acquire(1))) await sleep(20);
      arrivals.push(performance.now());
      if (!stalled && arrivals.length > 8) {
        stalled = true;
        const until = performance.now() + 700;
        while (performance.now() < until);
      }
    });
    await Promise.all(takers);
    expect(busiest(999)).toBeLessThanOrEqual(perSecond + 1);
  });
});

describe('concurrency', () => {
  test('holds across two workers', async () => {
    answerMs = 50;
    const tenant = await declare(80, { concurrency: 3 });
    const occurrence = await tenant.trigger();
    expect(await tenant.counts(occurrence, 25_000)).toMatchObject({ sent: 80, pending: 0 });
    expect(peak).toBeLessThanOrEqual(3);
    expect(peak, 'all of it is used').toBe(3);
    expect(await attempts(tenant)).toEqual([1]);
    expect(await findMistakes(database.url)).toEqual([]);
  });

  test('is fully used', async () => {
    answerMs = 50;
    const concurrency = 8;
    const people = 400;
    const tenant = await declare(people, { concurrency });
    // A slot that is found free only by the next look would be used for a third of the time.
    const requested = (0.5 * concurrency) / 0.05;
    let best = 0;
    // The best of five, because the machine is shared.
    for (let run = 0; run < 5 && best <= requested; run++) {
      arrivals = [];
      const occurrence = await tenant.trigger();
      expect(await tenant.counts(occurrence, 25_000)).toMatchObject({ sent: people });
      best = Math.max(best, people / ((arrivals.at(-1)! - arrivals[0]!) / 1_000));
    }
    expect(peak).toBeLessThanOrEqual(concurrency);
    expect(best).toBeGreaterThan(requested);
  });

  test('leaves no slot taken', async () => {
    const tenant = await declare(10, { concurrency: 2 });
    await tenant.counts(await tenant.trigger(), 10_000);
    await eventually(async () => {
      const locks = await sql(
        `select from pg_locks l join pg_stat_activity a using (pid)
         where l.locktype = 'advisory' and a.application_name = 'belfry slots'
           and a.datname = current_database()`,
      );
      expect(locks).toHaveLength(0);
    });
  });

  test('continues when the connection that holds the slots breaks', async () => {
    answerMs = 50;
    const tenant = await declare(40, { concurrency: 2 });
    const occurrence = await tenant.trigger();
    await eventually(() => expect(arrivals.length).toBeGreaterThan(5));
    await sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'belfry slots' and datname = current_database()`,
    );
    expect(await tenant.counts(occurrence, 20_000)).toMatchObject({ sent: 40 });
  });

  test('a database that accepts and does not answer counts as unavailable, and is tried again next time', {
    tags: ['sweep'],
  }, async () => {
    const mute = createTcpServer();
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const lost: Error[] = [];
    const { port } = mute.address() as AddressInfo;
    const slots = new Slots(`postgres://nobody@127.0.0.1:${port}/none`, error => void lost.push(error));
    const error = await slots.take('1/1', 1, [], 1).catch((reason: unknown) => reason);
    expect(isUnavailable(error), String(error)).toBe(true);
    expect(lost).toHaveLength(1);
    mute.close();
    expect(await slots.take('1/1', 1, [], 1).catch((reason: unknown) => isUnavailable(reason))).toBe(true);
    expect(lost).toHaveLength(2);
    await slots.close();
  });

  test('a slot belongs to one process, and is free when that process is gone', async () => {
    const [one, two] = [new Slots(database.url, () => {}), new Slots(database.url, () => {})];
    expect(await one.take('1/1', 3, [], 2)).toEqual([1, 2]);
    expect(await two.take('1/1', 3, [], 5)).toEqual([3]);
    expect(await two.take('1/2', 3, [], 1)).toEqual([1]);
    expect(await one.take('1/1', 3, [1, 2], 5)).toEqual([]);
    await one.free('1/1', 1);
    expect(await two.take('1/1', 3, [3], 5)).toEqual([1]);
    await one.close();
    await eventually(async () => expect(await two.take('1/1', 3, [1, 3], 5)).toEqual([2]));
    await two.close();
  });
});

test('rate and concurrency hold at the same time', async () => {
  answerMs = 100;
  const tenant = await declare(40, { rate_per_second: 15, concurrency: 2 });
  expect(await tenant.counts(await tenant.trigger(), 25_000)).toMatchObject({ sent: 40 });
  expect(peak).toBeLessThanOrEqual(2);
  expect(busiest(1_000)).toBeLessThanOrEqual(18);
});

test('a channel without limits takes no token and no slot', async () => {
  const before = await sql('select * from channel_rates');
  const tenant = await declare(50, {});
  expect(await tenant.counts(await tenant.trigger(), 10_000)).toMatchObject({ sent: 50 });
  expect(await sql('select * from channel_rates')).toHaveLength(before.length);
});
