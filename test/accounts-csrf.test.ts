/** What another website makes a browser send changes nothing; programs with a key are not asked. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { type Browser, newAccount, password, signedIn } from './support/accounts.ts';
import { ask, expectProblem } from './support/api.ts';
import { testService } from './support/database.ts';
import { buildTenants, type Tenants } from './support/tenants.ts';

let service: Service;
let tenants: Tenants;
let browser: Browser;
let stranger: Browser;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api', BASE_URL: 'https://belfry.test' });
  tenants = await buildTenants(service.runtime.deps);
  const membership = { organization: 'acme', role: 'owner' } as const;
  browser = await signedIn(service.address, service.runtime.deps, { membership });
  stranger = await signedIn(service.address, service.runtime.deps);
});
afterAll(() => service.stop());

let count = 0;
const create = (headers: Record<string, string>) =>
  browser.ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: `csrf-${++count}@acme.test` }, headers });

test('a change needs the token of this very session', async () => {
  expect((await create({})).status).toBe(201);
  for (const token of ['', 'x', 'x'.repeat(43), stranger.csrf, `${browser.csrf}x`]) {
    expectProblem(await create({ 'x-csrf-token': token }), 403, 'session.csrf');
  }
  const headers = { cookie: browser.cookie };
  const bare = await ask(service.address, { method: 'DELETE', path: '/api/session/', headers });
  expectProblem(bare, 403, 'session.csrf');
});

test('reading needs none', async () => {
  const answer = await ask(service.address, { path: '/api/o/acme/u/', headers: { cookie: browser.cookie } });
  expect(answer.status).toBe(200);
});

describe('a request of another website', () => {
  const foreign = [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.test' },
    { origin: 'https://belfry.test.evil.test' },
    { origin: 'null' },
  ] as Record<string, string>[];

  test.each(foreign)('changes nothing although it knows the token: %o', async headers => {
    expectProblem(await create(headers), 403, 'session.csrf');
  });

  test.each(foreign)('signs nobody in: %o', async headers => {
    const { email } = await newAccount(service.runtime.deps);
    const body = { email, password };
    const answer = await ask(service.address, { method: 'POST', path: '/api/session/', body, headers });
    expectProblem(answer, 403, 'session.csrf');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });
});

test('a request of the console itself is taken, at its own address and at the public one', async () => {
  expect((await create({ origin: service.address, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
  expect((await create({ origin: 'https://belfry.test', 'sec-fetch-site': 'same-origin' })).status).toBe(201);
});

test('a request with a key is not asked for a token, whatever cookie it carries', async () => {
  const headers = { cookie: browser.cookie, origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
  const body = { email: `csrf-${++count}@acme.test` };
  const key = tenants.acme.keys.all;
  const answer = await ask(service.address, { method: 'POST', path: '/api/o/acme/u/', key, body, headers });
  expect(answer.status).toBe(201);
});

test('a key beside a cookie gives a stranger no way around the token', async () => {
  const headers = { cookie: browser.cookie };
  const key = tenants.acme.keys.all;
  const answer = await ask(service.address, { method: 'DELETE', path: '/api/session/', key, headers });
  expectProblem(answer, 403, 'session.csrf');
});
