/**
 * The log never contains addresses, tokens, keys, query strings or bodies, whatever the request and its outcome.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { signRecipientToken } from '../../src/core/message/recipient-links.ts';
import { routes } from '../../src/http/routes.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { describeError } from '../../src/lib/telemetry/describe-error.ts';
import { createLog } from '../../src/lib/telemetry/log.ts';
import { createUser } from '../../src/services/audience/users.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { newAccount, signInNewAccount } from '../support/accounts.ts';
import { ask } from '../support/api.ts';
import { fill, parametersOf, pathValues } from '../support/api-paths.ts';
import { createTestDatabase, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

const marker = 'zqmark';
const address = `${marker}-person@${marker}.test`;
const { sign } = createSigner('a secret of at least 32 characters');

let database: TestDatabase;
let service: Service;
let tenants: Tenants;
let values: ReturnType<typeof pathValues>;
let smtp: SmtpPeer;
let lines: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  const log = createLog('debug', { write: (line: string) => void lines.push(line) });
  smtp = await openSmtpPeer({ starttls: false });
  const mail = `smtp://127.0.0.1:${smtp.port}?from=belfry@x.test&starttls=never`;
  const env = { BELFRY_MAIL_URL: mail, BASE_URL: 'http://127.0.0.1' };
  service = await startService(testConfig(database.url, env), log);
  tenants = await buildTenants(service.runtime.deps);
  values = pathValues(tenants);
});
afterAll(async () => {
  await service.stop();
  await smtp.close();
  await database.drop();
});

const headers = {
  'user-agent': `agent ${marker}`,
  referer: `https://x.test/${marker}`,
  'x-forwarded-for': '203.0.113.7',
  'x-request-id': `${marker} is no sane id`,
  'idempotency-key': marker,
  'last-event-id': marker,
  'if-match': `"${marker}"`,
  'accept-language': marker,
  traceparent: `00-${marker}`,
  cookie: `other=${marker}`,
};
const query = `?${marker}=${marker}&search=${marker}&cursor=${marker}&limit=${marker}&token=bfr.${marker}&saved=${marker}`;

/** Expects one log line per request, and the marker in none of them. */
async function expectPrivate(count: number): Promise<Record<string, unknown>[]> {
  const requests = () => lines.map(line => JSON.parse(line)).filter(line => line.msg === 'request');
  await eventually(() => expect(requests().length).toBeGreaterThanOrEqual(count));
  expect(lines.filter(line => line.toLowerCase().includes(marker))).toEqual([]);
  const seen = requests();
  lines = [];
  return seen;
}

describe.each(routes)('$method $path', ({ method, path }) => {
  test('logs the pattern of the route and nothing that was sent', async () => {
    lines = [];
    const key = tenants.acme.keys.all;
    const parameters = parametersOf(path);
    const asked = parameters.map(name => fill(path, values, { [name]: name === 'username' ? address : marker }));
    // Nothing is deleted, because other tests need it.
    if (method !== 'DELETE') asked.push(`${fill(path, values)}${query}`);
    const body =
      method === 'GET' || method === 'DELETE' ? undefined : { [marker]: marker, email: address, to: address };
    for (const one of asked) await ask(service.address, { method, path: one, key, headers, body });
    await ask(service.address, { method, path: fill(path, values), key: `bf_${marker}`, headers, body });
    for (const line of await expectPrivate(asked.length + 1)) expect(line.route).toMatch(/^(\/|none$)/);
  });
});

test('a recipient is logged by id, with the organization', async () => {
  lines = [];
  const { acme } = tenants;
  await createUser(service.runtime.deps, acme.id, { email: address } as never);
  const [{ id }] = (
    await service.runtime.database.pool.query('select id::int from users where username = $1', [address])
  ).rows;
  const expiresAt = Math.floor(Date.now() / 1_000) + 600;
  const token = signRecipientToken({ organizationId: acme.id, userId: id, generation: 0, expiresAt }, sign);
  const path = `/api/o/acme/u/${encodeURIComponent(address)}/inbox/`;
  const answer = await ask(service.address, { path, headers: { ...headers, authorization: `Bearer ${token}` } });
  expect(answer.status, answer.text).toBe(200);
  await ask(service.address, { path: `${path}stream/?token=${token}`, method: 'HEAD' });
  const [line] = await expectPrivate(2);
  expect(line).toMatchObject({
    organization: 'acme',
    recipient: id,
    route: '/api/o/:org/u/:username/inbox/',
    status: 200,
    ms: expect.any(Number),
    request_id: expect.any(String),
  });
});

test('an account is logged by id, and a key by name', async () => {
  lines = [];
  const { deps } = service.runtime;
  const person = await signInNewAccount(service.address, deps, {
    email: `${marker}@people.test`,
    membership: { organization: 'acme', role: 'owner' },
  });
  await person.signIn(`${marker}@people.test`, `${marker} wrong`);
  await person.ask({ path: '/api/o/acme/' });
  await person.ask({ path: `/api/o/acme/search/?q=${marker}` });
  await ask(service.address, { path: '/api/o/acme/', key: tenants.acme.keys.all });
  const seen = await expectPrivate(5);
  expect(seen.find(line => line.route === '/api/o/:org/' && line.account)).toMatchObject({
    organization: 'acme',
    account: person.id,
  });
  expect(seen.at(-1)).toMatchObject({ organization: 'acme', key: expect.any(String) });
});

test('recipient links, unknown paths and malformed requests leave no data in the log', async () => {
  lines = [];
  const paths = [
    ...['preferences', 'unsubscribe', 'acknowledge', 't'].map(page => `/${page}/${marker}.1.${marker}${query}`),
    `/invite/${marker}`,
    `/reset-password?token=${marker}`,
    `/${marker}/nowhere${query}`,
    `/api/${marker}//x`,
    `/api/o/%E0%A4%A/${marker}`,
    `/api/o/${'x'.repeat(3_000)}${marker}/`,
    `/metrics${query}`,
    `/healthz${query}`,
  ];
  for (const path of paths) {
    await ask(service.address, { path, headers });
    await ask(service.address, { method: 'POST', path, headers, body: `${marker}=${marker}` });
  }
  await ask(service.address, { path: `/x y/${marker}` }).catch(() => undefined);
  await expectPrivate(1);
});

test('an address repeated in a provider rejection does not reach the log', async () => {
  lines = [];
  const { deps } = service.runtime;
  smtp.fault = { rcpt: `550 5.1.1 <${address}> unknown` };
  const provider = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'a@x.test', starttls: 'never' };
  const notification = { name: 'n', recipients: { trigger: true }, channels: ['mail'], message: { body: marker } };
  const events = [{ slug: 'go', name: 'Go', notifications: [notification] }];
  const organization = {
    slug: 'refused',
    name: 'Refused',
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
    users: [{ email: address }],
    projects: [{ slug: 'shop', name: 'Shop', applications: [{ slug: 'web', name: 'Web', events }] }],
  };
  await applyConfiguration(deps, { organizations: [organization] }, { prune: false });
  const { key } = await createKey(deps, 'refused', { name: 'all', permissions: ['*'] });
  const path = '/api/o/refused/p/shop/a/web/e/go/trigger/';
  const body = { context: { [marker]: marker }, options: { recipients: [address] } };
  const { body: made } = await ask(service.address, { method: 'POST', path, key, body });
  await eventually(async () => {
    const at = `/api/o/refused/occurrence/${made.occurrence}/deliveries/`;
    expect((await ask(service.address, { path: at, key })).body).toMatchObject([{ status: 'failed' }]);
  }, 20_000);
  // Belfry's own mail, too.
  const email = `${marker}-reset@people.test`;
  await newAccount(deps, { email });
  await ask(service.address, { method: 'POST', path: '/api/password-reset/', body: { email } });
  await eventually(() => expect(lines.join('')).toContain('mail not sent'), 20_000);
  await expectPrivate(2);
});

test('a database error is logged with code and stack, but without values', () => {
  const pgError = Object.assign(new Error(`invalid input syntax for type bigint: "${marker}"`), {
    code: '22P02',
    detail: `Failing row contains (${address}).`,
    where: `unnamed portal parameter $1 = '${address}'`,
  });
  const key = `bf_${'a'.repeat(12)}_${marker}${'b'.repeat(30)}`;
  const error = new Error(
    `550 5.1.1 <${address}>: no mailbox for +15555550100 at https://x.test/hook/${marker}?k=${marker} ${key}`,
    {
      cause: pgError,
    },
  );
  const text = JSON.stringify(describeError(error));
  expect(text.toLowerCase()).not.toContain(marker);
  expect(text).not.toContain('5555550100');
  expect(text).toContain('550 5.1.1');
  expect(text).toContain('https://x.test');
  expect(text).toContain('22P02');
  expect(text).toContain('log-privacy.test.ts');
  const joined = JSON.stringify(describeError(new AggregateError([error], address)));
  expect(joined.toLowerCase()).not.toContain(marker);
  expect(JSON.stringify(describeError({ message: address, url: `/u/${address}` }))).not.toContain(marker);
});
