/** List endpoints: in pages or complete, of any length, for slow and disconnecting clients. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { routes } from '../../src/http/routes.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { fill, pathValues } from '../support/api-paths.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startBelfry } from '../support/process.ts';
import { runSql } from '../support/sql.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

/** Creates an organization with that many users. Returns an API key for it. */
async function crowd(slug: string, size: number): Promise<string> {
  await runSql(
    service.runtime.url,
    `with o as (insert into organizations (slug, name) values ('${slug}', '${slug}') returning id)
     insert into users (organization_id, username, email)
     select o.id, 'user-' || n || '@${slug}.test', 'User-' || n || '@${slug}.test' from o, generate_series(1, ${size}) as n`,
  );
  return (await createKey(service.runtime.deps, slug, { name: 'all', permissions: ['*'] })).key;
}

const nextOf = (link: string | undefined) => /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];

/** Reads all pages by following the Link headers. */
async function pages(path: string, key: string): Promise<unknown[][]> {
  const found: unknown[][] = [];
  let next: string | undefined = `${service.address}${path}`;
  while (next) {
    const { pathname, search } = new URL(next);
    const { status, body, headers, text } = await ask({ path: pathname + search, key });
    expect(status, text).toBe(200);
    found.push(body);
    next = nextOf(headers.link);
  }
  return found;
}

describe('pages', () => {
  // Lists of an account are not available to API keys: see accounts-sessions.test.ts.
  const lists = routes.filter(route => 'list' in route && route.permission !== 'account');

  test.each(lists.map(route => route.path))('of %s give each item once, in the order of the whole list', async path => {
    const at = fill(path, pathValues(tenants));
    const { body: whole } = await ask({ path: at });
    const single = await pages(`${at}?limit=1`, tenants.acme.keys.all);
    expect(single.flat()).toEqual(whole);
    expect(single.map(page => page.length)).toEqual(whole.length === 0 ? [0] : whole.map(() => 1));
  });

  test('of any size add up to the whole list in the order of ids', async () => {
    const key = await crowd('paged', 2_345);
    const { body: whole } = await ask({ path: '/api/o/paged/u/', key });
    expect(whole.map((user: { id: number }) => user.id)).toEqual(
      whole.map((user: { id: number }) => user.id).toSorted((a: number, b: number) => a - b),
    );
    for (const limit of [7 * 67, 335, 1000]) {
      const found = await pages(`/api/o/paged/u/?limit=${limit}`, key);
      expect(found.flat()).toEqual(whole);
      expect(found).toHaveLength(Math.ceil(2_345 / limit));
    }
  });

  test('have no next link on the last page, even when it is full', async () => {
    const { body, headers } = await ask({ path: '/api/o/acme/u/?limit=2' });
    expect([body.length, headers.link]).toEqual([2, undefined]);
  });

  test('do not repeat or miss items when others are added or deleted between requests', async () => {
    const key = await crowd('moving', 30);
    const { body: first, headers } = await ask({ path: '/api/o/moving/u/?limit=10', key });
    await runSql(service.runtime.url, `delete from users where id = ${first[9].id} or id = ${first[3].id}`);
    await ask({ method: 'POST', path: '/api/o/moving/u/', key, body: { email: 'late@moving.test' } });
    const rest = (await pages(nextOf(headers.link)!.slice(service.address.length), key)).flat() as {
      username: string;
    }[];
    expect(rest).toHaveLength(21);
    expect(rest.at(-1)!.username).toBe('late@moving.test');
  });

  test('keep the other query parameters in the next link', async () => {
    const { headers } = await ask({ path: '/api/o/acme/u?limit=1&note=a%26b' });
    const next = new URL(nextOf(headers.link)!);
    expect([next.pathname, next.searchParams.get('note'), next.searchParams.get('limit')]).toEqual([
      '/api/o/acme/u',
      'a&b',
      '1',
    ]);
  });

  test.each(['0', '-1', '1001', '1.5', 'ten', '', '5&limit=6', 'NaN', '99999999999999999999', 'null'])(
    'with limit=%s are refused',
    async limit => {
      expectProblem(await ask({ path: `/api/o/acme/u/?limit=${limit}` }), 400, 'request.invalid', ['limit']);
    },
  );

  test.each([
    '',
    '1',
    'after+1',
    'YWZ0ZXI',
    Buffer.from('after -1').toString('base64url'),
    'x'.repeat(65),
    'a&cursor=b',
  ])('with cursor=%s are refused', async cursor => {
    expectProblem(await ask({ path: `/api/o/acme/u/?limit=1&cursor=${cursor}` }), 400, 'request.invalid', ['cursor']);
    expectProblem(await ask({ path: `/api/o/acme/u/?cursor=${cursor}` }), 400, 'request.invalid', ['cursor']);
  });

  test('cannot reach into another organization by its cursor', async () => {
    const cursor = Buffer.from('after 0').toString('base64url');
    const { body } = await ask({ path: `/api/o/rival/u/?limit=1000&cursor=${cursor}`, key: tenants.rival.keys.all });
    expect(body.map((user: { username: string }) => user.username)).toEqual(['jane@rival.test', 'joe@rival.test']);
  });
});

describe('a whole list', () => {
  test.each([0, 1, 999, 1_000, 1_001, 2_000, 5_432])('of %i items is one array', async size => {
    const key = await crowd(`crowd-${size}`, size);
    const { status, body, headers } = await ask({ path: `/api/o/crowd-${size}/u/`, key });
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(headers.link).toBeUndefined();
    expect(new Set(body.map((user: { id: number }) => user.id)).size).toBe(size);
    expect(body).toHaveLength(size);
    const head = await ask({ method: 'HEAD', path: `/api/o/crowd-${size}/u/`, key });
    expect([head.status, head.text]).toEqual([200, '']);
  });

  test('returns users with exactly their fields, whatever characters their names contain', async () => {
    const key = await crowd('odd', 0);
    const names = [
      '"quoted"',
      'back\\slash',
      'line\nbreak\ttab\b\f\r',
      '\u0001\u001f\u007f',
      '\u2028',
      '😀 Ω ‮',
      '</script>',
      '',
    ];
    const made: unknown[] = [];
    for (const [i, first_name] of names.entries()) {
      const body = { email: `odd${i}@odd.test`, first_name, last_name: first_name };
      const { id } = (await ask({ method: 'POST', path: '/api/o/odd/u/', key, body })).body;
      made.push({ id, email: body.email, username: body.email, first_name, last_name: first_name, locked: false });
    }
    const { body, text } = await ask({ path: '/api/o/odd/u/', key });
    expect(body).toEqual(made);
    expect(text, 'nothing between the values').toBe(JSON.stringify(made));
  });
});

/** Requests the whole list and returns the response before its body is read. */
async function begin(
  address: string,
  path: string,
  key: string,
): Promise<{ sent: ClientRequest; answer: IncomingMessage }> {
  const sent = request(`${address}${path}`, { headers: { authorization: `Key ${key}` }, agent: false });
  sent.on('error', () => {});
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { sent, answer };
}

/** Counts the objects of a streamed JSON array. */
async function countObjects(answer: IncomingMessage): Promise<number> {
  let count = 0;
  let [first, last] = [0, 0];
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    first ||= chunk[0]!;
    last = chunk.at(-1)!;
    for (let at = chunk.indexOf('{'); at >= 0; at = chunk.indexOf('{', at + 1)) count++;
  }
  expect(String.fromCharCode(first, last)).toBe('[]');
  expect(answer.complete).toBe(true);
  return count;
}

describe('readers', () => {
  const size = 150_000;
  const path = '/api/o/slow/u/';
  let key: string;
  beforeAll(async () => {
    key = await crowd('slow', size);
  });

  const allIdle = () =>
    eventually(() => {
      const { totalCount, idleCount, waitingCount } = service.runtime.database.pool;
      expect([idleCount, waitingCount]).toEqual([totalCount, 0]);
    }, 20_000);

  test('that are slow hold no database connection, and receive everything', { tags: ['sweep'] }, async () => {
    const slow = await Promise.all(Array.from({ length: 15 }, () => begin(service.address, path, key)));
    await allIdle();
    expect((await ask({ path: '/api/o/acme/u/' })).status).toBe(200);
    const [one, ...others] = slow;
    for (const { sent } of others) sent.destroy();
    expect(await countObjects(one!.answer)).toBe(size);
    await allIdle();
  });

  test('that disconnect in the middle leak no connection', async () => {
    for (let round = 0; round < 10; round++) {
      const readers = await Promise.all(Array.from({ length: 5 }, () => begin(service.address, path, key)));
      for (const [i, { sent, answer }] of readers.entries()) {
        answer.on('error', () => {});
        if (i % 2) await once(answer, 'data');
        sent.destroy();
      }
    }
    await allIdle();
    expect((await ask({ path: '/api/o/acme/u/' })).body).toHaveLength(2);
  });

  test('receive everything even if the database connections are terminated while they read', {
    tags: ['sweep'],
  }, async () => {
    const { answer } = await begin(service.address, path, key);
    await allIdle();
    await runSql(
      service.runtime.url,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'belfry'",
    );
    await eventually(() => expect(service.runtime.database.pool.totalCount).toBe(0));
    expect(await countObjects(answer)).toBe(size);
  });
});

test.runIf(existsSync('/proc/self/status'))(
  '200,000 users are returned in one array with constant memory',
  { tags: ['sweep'] },
  async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop(), 60_000);
    const server = await startBelfry({
      DATABASE_URL: database.url,
      BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
      BELFRY_ROLE: 'api',
      LOG_LEVEL: 'info',
    });
    onTestFinished(async () => void (await server.end('SIGTERM')));
    await runSql(
      database.url,
      `with o as (insert into organizations (slug, name) values ('vast', 'Vast') returning id)
     insert into users (organization_id, username, email, first_name, last_name)
     select o.id, 'user-' || n || '@vast.test', 'user-' || n || '@vast.test', 'First ' || n, 'Last ' || n
     from o, generate_series(1, 200000) as n`,
    );
    const { key } = await keyFor(database.url, 'vast');
    const memory = () =>
      Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))![1]) / 1024;

    for (let i = 0; i < 60; i++) await asker(server.address, key)({ path: '/api/o/vast/u/?limit=1000' });
    const before = memory();
    let highest = before;
    const watch = setInterval(() => {
      highest = Math.max(highest, memory());
    }, 20);
    const { answer } = await begin(server.address, '/api/o/vast/u/', key);
    expect(await countObjects(answer)).toBe(200_000);
    clearInterval(watch);
    expect(highest - before).toBeLessThan(64);
  },
);

/** Creates an API key in the database of a server that runs in another process. */
async function keyFor(url: string, slug: string): Promise<{ key: string }> {
  const { openRuntime } = await import('../../src/app.ts');
  const { silent, testConfig } = await import('../support/database.ts');
  const runtime = await openRuntime(testConfig(url), silent);
  try {
    return await createKey(runtime.deps, slug, { name: 'all', permissions: ['*'] });
  } finally {
    await runtime.close();
  }
}
