/** Behavior common to all endpoints: links, proxies, rate limits, CORS, request ids and malformed HTTP. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { TokenBucket } from '../../src/lib/load/token-bucket.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Asked, ask, expectFields, expectProblem, problemFields } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

const settings = {
  plain: {},
  public: { BASE_URL: 'https://notify.example.com/belfry/' },
  proxied: { TRUST_PROXY: '127.0.0.0/8' },
  otherwise: { TRUST_PROXY: '10.0.0.1' },
  shared: { CORS_ORIGINS: 'https://app.example.com,https://other.example.com' },
  worker: { BELFRY_ROLE: 'worker' },
};
type Name = keyof typeof settings;

let database: TestDatabase;
let services: Record<Name, Service>;
let tenants: Tenants;

beforeAll(async () => {
  database = await createTestDatabase();
  const started: [string, Service][] = [];
  for (const [name, env] of Object.entries<Record<string, string>>(settings)) {
    started.push([name, await startService(testConfig(database.url, { BELFRY_ROLE: 'api', ...env }), silent)]);
  }
  services = Object.fromEntries(started) as typeof services;
  tenants = await buildTenants(services.plain.runtime.deps);
});
afterAll(async () => {
  await Promise.all(Object.values(services).map(service => service.stop()));
  await database.drop();
});

const send = (name: Name, asked: Partial<Asked> = {}) =>
  ask(services[name].address, { path: '/api/o/acme/', key: tenants.acme.keys.all, ...asked });

describe('links', () => {
  const origin = async (name: Name, headers: Record<string, string> = {}) => {
    const { body } = await send(name, { headers });
    expect(body.users).toMatch(/\/api\/o\/acme\/u\/$/);
    return body.users.replace(/\/api\/o\/acme\/u\/$/, '');
  };
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'public.example.com' };

  test('start with the scheme and host of the request', async () => {
    expect(await origin('plain')).toBe(services.plain.address);
    expect(await origin('plain', { host: 'belfry.internal:8000' })).toBe('http://belfry.internal:8000');
  });

  test('start with BASE_URL if it is set', async () => {
    expect(await origin('public')).toBe('https://notify.example.com/belfry');
    expect(await origin('public', { host: 'else.example', ...forwarded })).toBe('https://notify.example.com/belfry');
  });

  test('to the next page start with BASE_URL as well', async () => {
    const { headers } = await send('public', { path: '/api/o/acme/u/?limit=1' });
    expect(headers.link).toMatch(
      /^<https:\/\/notify\.example\.com\/belfry\/api\/o\/acme\/u\/\?limit=1&cursor=\S+>; rel="next"$/,
    );
  });

  test('follow X-Forwarded-Proto and -Host of a trusted proxy', async () => {
    expect(await origin('proxied', forwarded)).toBe('https://public.example.com');
  });

  test('ignore these headers from other peers', async () => {
    expect(await origin('plain', forwarded)).toBe(services.plain.address);
    expect(await origin('otherwise', forwarded)).toBe(services.otherwise.address);
  });
});

describe('the rate limit of a key', () => {
  let count = 0;
  const newKey = async (requests_per_second: number | null) => {
    const name = `rated ${++count}`;
    return (await createKey(services.plain.runtime.deps, 'acme', { name, permissions: ['*'], requests_per_second }))
      .key;
  };
  const burst = (key: string, size: number) =>
    Promise.all(Array.from({ length: size }, () => send('plain', { key, path: '/api/system/ping/' })));

  test('answers 429 with Retry-After and RateLimit headers when it is exceeded', async () => {
    const answers = await burst(await newKey(1), 40);
    const refused = answers.filter(answer => answer.status === 429);
    expect(answers.filter(answer => answer.status === 200).length).toBeGreaterThanOrEqual(1);
    expect(refused.length).toBeGreaterThanOrEqual(1);
    for (const answer of refused) {
      expectProblem(answer, 429, 'request.rate_limited');
      expect(answer.headers).toMatchObject({ 'retry-after': '1', 'ratelimit-limit': '1', 'ratelimit-remaining': '0' });
    }
  });

  test('reports the remaining requests', async () => {
    const { headers } = await send('plain', { key: await newKey(100) });
    expect(headers).toMatchObject({ 'ratelimit-limit': '100', 'ratelimit-remaining': '99', 'ratelimit-reset': '1' });
  });

  test('recovers over time', async () => {
    const key = await newKey(1);
    expect((await burst(key, 30)).map(answer => answer.status)).toContain(429);
    await eventually(async () => expect((await send('plain', { key })).status).toBe(200));
  });

  test('does not affect other keys', async () => {
    const [busy, calm] = [await newKey(1), await newKey(1)];
    await burst(busy, 10);
    expect((await send('plain', { key: calm })).status).toBe(200);
  });

  test('stays correct if requests are counted out of order or the clock is set back', () => {
    const bucket = new TokenBucket(2, 10_000);
    expect(bucket.take(9_000)).toEqual({ taken: true, left: 1, resetSeconds: 1 });
    expect(bucket.take(5_000)).toEqual({ taken: true, left: 0, resetSeconds: 1 });
    expect(bucket.take(9_999)).toEqual({ taken: false, left: 0, resetSeconds: 1 });
    expect(bucket.take(10_500).taken).toBe(true);
  });

  test('does not exist by default', async () => {
    const answers = await burst(await newKey(null), 100);
    expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([200]));
    expect(answers[0]!.headers).not.toHaveProperty('ratelimit-limit');
  });
});

describe('another origin', () => {
  const origin = 'https://app.example.com';
  const preflight = {
    origin,
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization',
  };
  const allowed = (headers: Record<string, string>) => headers['access-control-allow-origin'];

  test('gets no CORS headers by default', async () => {
    expect(allowed((await send('plain', { headers: { origin } })).headers)).toBeUndefined();
    expect(allowed((await send('plain', { method: 'OPTIONS', headers: preflight })).headers)).toBeUndefined();
  });

  test('gets CORS headers if it is allowed, even for an error', async () => {
    expect(allowed((await send('shared', { headers: { origin } })).headers)).toBe(origin);
    const refused = await send('shared', { key: undefined, headers: { origin } });
    expect([refused.status, allowed(refused.headers)]).toEqual([401, origin]);
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH'])('may %s with a key', async method => {
    const headers = { ...preflight, 'access-control-request-method': method };
    const answer = await send('shared', { method: 'OPTIONS', path: '/api/o/acme/u/x/', key: undefined, headers });
    expect([answer.status, allowed(answer.headers)]).toEqual([204, origin]);
    expect(answer.headers['access-control-allow-methods']?.split(/, ?/)).toContain(method);
    expect(answer.headers['access-control-allow-headers']).toBe('authorization');
  });

  test('gets no CORS headers if it is not allowed', async () => {
    const { headers } = await send('shared', { headers: { origin: 'https://app.example.com.evil.test' } });
    expect(allowed(headers)).toBeUndefined();
  });
});

describe('every response', () => {
  const forwarded = { 'x-forwarded-proto': 'https' };

  test('has nosniff, and no-store for the API', async () => {
    for (const path of ['/api/o/acme/', '/api/nowhere/', '/api/o/%zz/', '/api/o/acme/u/']) {
      const { headers } = await send('plain', { path });
      expect([path, headers['x-content-type-options']]).toEqual([path, 'nosniff']);
      expect([path, headers['cache-control']]).toEqual([path, 'no-store']);
    }
    for (const path of ['/', '/healthz', '/metrics', '/openapi.json', '/docs', '/nowhere']) {
      const { headers } = await send('plain', { path });
      expect([path, headers['x-content-type-options']]).toEqual([path, 'nosniff']);
      expect([path, headers['cache-control']]).not.toEqual([path, 'no-store']);
    }
  });

  test('has HSTS over https, by a trusted proxy or BASE_URL', async () => {
    const strict = async (name: Name, headers = {}) =>
      (await send(name, { headers })).headers['strict-transport-security'];
    expect(await strict('public')).toBe('max-age=31536000');
    expect(await strict('proxied', forwarded)).toBe('max-age=31536000');
    expect(await strict('proxied')).toBeUndefined();
    expect(await strict('plain', forwarded)).toBeUndefined();
    expect(await strict('otherwise', forwarded)).toBeUndefined();
  });
});

describe('a request', () => {
  test.each(['gzip', 'br', 'deflate', 'identity', 'x'])(
    'with a body in Content-Encoding: %s is refused',
    async encoding => {
      const asked = {
        method: 'POST',
        path: '/api/o/acme/u/',
        body: gzipSync('{"email":"gz@acme.test"}'),
        headers: { 'content-encoding': encoding },
      };
      const refused = await send('plain', asked);
      expectProblem(refused, 415, 'request.encoding');
      expect(refused.body.detail).toBe(`send the body without Content-Encoding: ${encoding}`);
      expectProblem(await send('plain', { ...asked, key: 'bf_no' }), 401);
    },
  );

  test.each([
    '//',
    '//api/system/ping/',
    '/api//system/ping/',
    '/api/system/ping//',
    '/api/o//',
    '/api/o//u/',
    '/api/o/acme//u/',
    '/o//acme',
    '/docs//',
    '//?a=b',
  ])('to %s, with an empty path segment, answers 404', async path => {
    expectProblem(await send('plain', { path, headers: { accept: 'text/html' } }), 404, 'path.not_found');
  });

  test('can have two slashes in its query', async () => {
    expect((await send('plain', { path: '/api/system/ping/?next=https://x.test//' })).status).toBe(200);
  });

  test('keeps the request id of the caller', async () => {
    expect((await send('plain', { headers: { 'x-request-id': 'my-1' } })).headers['x-request-id']).toBe('my-1');
    const refused = await send('plain', { key: undefined, headers: { 'x-request-id': 'my-2' } });
    expect(refused.body.request_id).toBe('my-2');
  });

  test('gets a new id instead of one that is too long or malformed', async () => {
    for (const strange of ['x'.repeat(129), 'a b', '<script>', 'a"b']) {
      const { headers } = await send('plain', { headers: { 'x-request-id': strange } });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test('to a worker process finds no API', async () => {
    expectProblem(await send('worker'), 404, 'path.not_found');
    expect((await send('worker', { path: '/healthz' })).status).toBe(200);
  });

  test.each([
    ['that is not HTTP', 'hello\r\n\r\n', 400],
    ['with a header that is too long', `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(80_000)}\r\n\r\n`, 431],
    ['with two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 400],
    ['with NUL in its path', 'GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n', 400],
  ])('%s is rejected with a problem document', async (_what, bytes, status) => {
    const { hostname, port } = new URL(services.plain.address);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.end(bytes);
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toContain('Content-Type: application/problem+json');
    expectFields(JSON.parse(body), problemFields);
    expect(JSON.parse(body)).toMatchObject({ status, code: 'request.malformed' });
    expect((await send('plain')).status).toBe(200);
  });
});
