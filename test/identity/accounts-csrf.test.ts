/** CSRF protection: requests that another website makes a browser send change nothing; requests with a key need no token. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Browser, newAccount, password, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let browser: Browser;
let stranger: Browser;

beforeAll(async () => {
  ({ service, tenants } = await testTenants({ BASE_URL: 'https://belfry.test' }));
  const membership = { organization: 'acme', role: 'owner' } as const;
  browser = await signInNewAccount(service.address, service.runtime.deps, { membership });
  stranger = await signInNewAccount(service.address, service.runtime.deps);
});
afterAll(() => service.stop());

let count = 0;
const create = (headers: Record<string, string>) =>
  browser.ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: `csrf-${++count}@acme.test` }, headers });

test('a change requires the CSRF token of the same session', async () => {
  expect((await create({})).status).toBe(201);
  for (const token of ['', 'x', 'x'.repeat(43), stranger.csrf, `${browser.csrf}x`]) {
    expectProblem(await create({ 'x-csrf-token': token }), 403, 'session.csrf');
  }
  const headers = { cookie: browser.cookie };
  const bare = await ask(service.address, { method: 'DELETE', path: '/api/session/', headers });
  expectProblem(bare, 403, 'session.csrf');
});

test('reading requires no CSRF token', async () => {
  const answer = await ask(service.address, { path: '/api/o/acme/u/', headers: { cookie: browser.cookie } });
  expect(answer.status).toBe(200);
});

describe('a request from another website', () => {
  const foreign = [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.test' },
    { origin: 'https://belfry.test.evil.test' },
    { origin: 'null' },
  ] as Record<string, string>[];

  test.each(foreign)('changes nothing even with the right token: %o', async headers => {
    expectProblem(await create(headers), 403, 'session.csrf');
  });

  test.each(foreign)('does not sign in: %o', async headers => {
    const { email } = await newAccount(service.runtime.deps);
    const body = { email, password };
    const answer = await ask(service.address, { method: 'POST', path: '/api/session/', body, headers });
    expectProblem(answer, 403, 'session.csrf');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });
});

test('a request of the console itself is accepted, at its own address and at the public one', async () => {
  expect((await create({ origin: service.address, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
  expect((await create({ origin: 'https://belfry.test', 'sec-fetch-site': 'same-origin' })).status).toBe(201);
});

test('a request with a key needs no CSRF token, whatever cookie it has', async () => {
  const headers = { cookie: browser.cookie, origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
  const body = { email: `csrf-${++count}@acme.test` };
  const key = tenants.acme.keys.all;
  const answer = await ask(service.address, { method: 'POST', path: '/api/o/acme/u/', key, body, headers });
  expect(answer.status).toBe(201);
});

test('adding a key to a request with a cookie does not bypass the CSRF token', async () => {
  const headers = { cookie: browser.cookie };
  const key = tenants.acme.keys.all;
  const answer = await ask(service.address, { method: 'DELETE', path: '/api/session/', key, headers });
  expectProblem(answer, 403, 'session.csrf');
});
