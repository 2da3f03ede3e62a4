/**
 * Requests of one organization neither delay those of another nor use up its share of memory.
 *
 * @module-tag sweep
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { requestCost } from '../../src/core/configuration/limits.ts';
import { FairBudget } from '../../src/lib/load/fair-budget.ts';
import { FairTurns } from '../../src/lib/load/fair-turns.ts';
import { TokenBucket } from '../../src/lib/load/token-bucket.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { changeLimits } from '../../src/services/configuration/limits/limits.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const mebibyte = 1024 * 1024;
const kibibyte = 1024;

describe('a body', () => {
  test.each([
    [0, 1],
    [16 * kibibyte, 1],
    [16 * kibibyte + 1, 2],
    [mebibyte, 64],
  ])('of %i bytes counts as %i requests', (bytes, cost) => {
    expect(requestCost(bytes)).toBe(cost);
  });
});

describe('a token bucket', () => {
  test('accepts a cost above its capacity, and goes into debt', () => {
    const bucket = new TokenBucket(10, 0);
    expect(bucket.take(0, 64)).toEqual({ taken: true, left: 0, resetSeconds: 7 });
    expect(bucket.take(0)).toEqual({ taken: false, left: 0, resetSeconds: 6 });
    expect(bucket.take(5_400).taken).toBe(false);
    expect(bucket.take(5_500).taken).toBe(true);
  });

  test('accepts charges after the fact', () => {
    const bucket = new TokenBucket(10, 0);
    bucket.take(0);
    bucket.charge(9);
    expect(bucket.take(0).taken).toBe(false);
  });
});

describe('a byte budget', () => {
  test('lets a group hold half of it, and reserves the rest for others', () => {
    const budget = new FairBudget(100);
    expect(budget.take(1, 50)).toBe(true);
    expect(budget.take(1, 1)).toBe(false);
    expect(budget.take(2, 25)).toBe(true);
    expect(budget.take(2, 1)).toBe(false);
    expect(budget.take(3, 12)).toBe(true);
    budget.release(1, 50);
    expect(budget.has(1)).toBe(false);
    expect(budget.take(2, 10)).toBe(true);
  });
});

describe('fair turns', () => {
  test('alternate between groups, in order within each', async () => {
    const turns = new FairTurns();
    const ran: string[] = [];
    const all = ['A1', 'A2', 'A3', 'B1', 'C1', 'C2'];
    const done = Promise.all(
      all.map(name => new Promise<void>(resolve => turns.run(name.charCodeAt(0), () => resolve(void ran.push(name))))),
    );
    await done;
    // The first began when it was alone.
    expect(ran).toEqual(['A1', 'A2', 'B1', 'C1', 'A3', 'C2']);
  });

  test('yield to the event loop between two steps', async () => {
    const turns = new FairTurns();
    let ended = 0;
    const work = () => {
      for (const until = performance.now() + 20; performance.now() < until; );
      ended++;
    };
    for (let i = 0; i < 5; i++) turns.run(i % 2, work);
    const seen = new Set<number>();
    while (ended < 5) {
      seen.add(ended);
      await turn();
    }
    expect([...seen]).toEqual([0, 1, 2, 3, 4]);
  });

  test('continue after the queue was empty', async () => {
    const turns = new FairTurns();
    const ran: number[] = [];
    for (const nth of [1, 2, 3]) {
      turns.run(1, () => void ran.push(nth));
      await eventually(() => expect(ran).toContain(nth));
    }
  });
});

describe('a service', () => {
  let service: Service;
  const agent = new Agent({ keepAlive: true });
  const keys: Record<string, string> = {};
  const path = (org: string) => `/api/o/${org}/p/shop/a/web/e/news/trigger/`;

  beforeAll(async () => {
    service = await testService({});
    for (const slug of ['large', 'small', 'limited']) await organization(slug);
  });
  afterAll(async () => {
    agent.destroy();
    await service.stop();
  });

  async function organization(slug: string): Promise<void> {
    const { deps } = service.runtime;
    const applications = [{ slug: 'web', name: 'Web', events: [{ slug: 'news', name: 'News' }] }];
    const document = { slug, name: slug, projects: [{ slug: 'shop', name: 'Shop', applications }] };
    await applyConfiguration(deps, { organizations: [document] }, { prune: false });
    keys[slug] = (await createKey(deps, slug, { name: 'all', permissions: ['*'] })).key;
  }

  const trigger = (org: string, bytes: number, ask: Ask = asker(service.address, keys[org])) =>
    ask({ method: 'POST', path: path(org), body: bodyOf(bytes) });

  function bodyOf(bytes: number): string {
    const empty = JSON.stringify({ context: { text: '' } });
    return JSON.stringify({ context: { text: 'x'.repeat(bytes - empty.length) } });
  }

  /** Announces a body and sends none of it. */
  function announce(org: string, headers: Record<string, string>) {
    const { hostname, port } = new URL(service.address);
    const all = { authorization: `Key ${keys[org]}`, 'content-type': 'application/json', ...headers };
    const sent = request({ agent, hostname, port, method: 'POST', path: path(org), headers: all });
    const answer = new Promise<IncomingMessage>(resolve => sent.once('response', resolve));
    sent.on('error', () => {});
    sent.flushHeaders();
    return { sent, answer };
  }

  test('answers a small trigger before earlier large ones of another organization', async () => {
    await trigger('small', 100);
    let answered = 0;
    const all = Array.from({ length: 32 }, () =>
      trigger('large', mebibyte).then(answer => {
        answered++;
        return answer.status;
      }),
    );
    await eventually(() => expect(answered).toBeGreaterThan(0), 30_000);
    for (let i = 0; i < 3; i++) expect((await trigger('small', 100)).status).toBe(201);
    const meanwhile = answered;
    expect(await Promise.all(all)).toEqual(all.map(() => 201));
    expect(meanwhile).toBeLessThan(24);
  });

  test('rejects a body of an organization that uses its whole share before reading it, and no other', async () => {
    const opened: ReturnType<typeof announce>[] = [];
    const refused: IncomingMessage[] = [];
    try {
      while (refused.length === 0 && opened.length < 100) {
        const next = announce('large', { 'content-length': String(mebibyte) });
        opened.push(next);
        next.answer.then(answer => refused.push(answer));
        await asker(service.address, keys.small)({ path: '/api/o/small/' });
      }
      await eventually(() => expect(refused.length).toBeGreaterThan(0));
      expect(refused[0]!.statusCode).toBe(429);
      expect(refused[0]!.headers['retry-after']).toBe('1');
      expect((await trigger('large', 100)).status).toBe(201);
      expect((await trigger('small', mebibyte)).status).toBe(201);
    } finally {
      for (const { sent } of opened) sent.destroy();
    }
    await eventually(async () => expect((await trigger('large', mebibyte)).status).toBe(201));
  });

  test('counts a body without a length as the maximum of the endpoint', async () => {
    const opened: ClientRequest[] = [];
    try {
      let status: number | undefined;
      while (status === undefined && opened.length < 100) {
        const { sent, answer } = announce('large', { 'transfer-encoding': 'chunked' });
        opened.push(sent);
        answer.then(({ statusCode }) => {
          status = statusCode;
        });
        await asker(service.address, keys.small)({ path: '/api/o/small/' });
      }
      expect(status).toBe(429);
    } finally {
      for (const sent of opened) sent.destroy();
    }
  });

  test('charges the key per started 16 KiB, and never blocks it permanently', async () => {
    const { key } = await createKey(service.runtime.deps, 'small', {
      name: 'limited',
      permissions: ['*'],
      requests_per_second: 10,
    });
    const ask = asker(service.address, key);
    const first = await trigger('small', 20 * kibibyte, ask);
    expect([first.status, first.headers['ratelimit-remaining']]).toEqual([201, '8']);
    const large = await eventually(async () => {
      const answer = await trigger('small', mebibyte, ask);
      expect(answer.status).toBe(201);
      return answer;
    });
    expect(large.headers['ratelimit-remaining']).toBe('0');
    expectProblem(await trigger('small', 100, ask), 429, 'request.rate_limited');
    await eventually(async () => expect((await trigger('small', 100, ask)).status).toBe(201), 20_000);
  });

  test('charges a body without a length after it was read, and an oversized one like an empty one', async () => {
    const { key } = await createKey(service.runtime.deps, 'small', {
      name: 'chunked',
      permissions: ['*'],
      requests_per_second: 10,
    });
    const ask = asker(service.address, key);
    expect((await trigger('small', 20 * mebibyte, ask)).status).toBe(413);
    const { hostname, port } = new URL(service.address);
    const headers = { authorization: `Key ${key}`, 'content-type': 'application/json' };
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request({ agent, hostname, port, method: 'POST', path: path('small'), headers }, answer => {
        answer.resume().once('end', () => resolve(answer.statusCode));
      });
      sent.on('error', reject);
      const body = bodyOf(mebibyte);
      sent.write(body.slice(0, 1_000));
      sent.end(body.slice(1_000));
    });
    expect(status).toBe(201);
    expectProblem(await trigger('small', 100, ask), 429, 'request.rate_limited');
  });

  test('charges the organization per started 16 KiB of a trigger', async () => {
    const { deps } = service.runtime;
    const place = await deps.tenantCache.resolvePath({ org: 'limited' });
    await changeLimits(deps, place!.organization, { triggers_per_second: 10 });
    await eventually(async () => {
      expect((await trigger('limited', mebibyte)).status).toBe(201);
      expectProblem(await trigger('limited', 100), 429, 'limit.triggers');
    });
  });

  test('rejects too many values, whatever their size', async () => {
    const ask = asker(service.address, keys.small);
    const body = (values: number) => `{"context":{"a":[${'0,'.repeat(values - 1)}0]}}`;
    expect((await ask({ method: 'POST', path: path('small'), body: body(100_000) })).status).toBe(201);
    const refused = await ask({ method: 'POST', path: path('small'), body: body(100_001) });
    expectProblem(refused, 400, 'request.invalid', ['body']);
  });
});
