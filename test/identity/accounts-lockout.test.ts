/**
 * Lockout: guessing passwords is slow, soon refused, and does not reveal which accounts exist.
 *
 * @module-tag sweep
 */
import { argon2Sync } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { costs, PasswordQueueFullError, Passwords } from '../../src/lib/secrets/passwords.ts';
import { resetPassword } from '../../src/services/identity/accounts.ts';
import { sessionLifetime } from '../../src/services/identity/sessions.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { Browser, newAccount, password, signInNewAccount, simulateAttemptsFromAnywhere } from '../support/accounts.ts';
import { type Asked, expectProblem } from '../support/api.ts';
import { useProductionCosts } from '../support/cheap-passwords.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { addPasskey, SoftwarePasskey, signInWith } from '../support/passkey.ts';
import { codeOf, enroll } from '../support/totp.ts';

let service: Service;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api', TRUST_PROXY: '127.0.0.1' });
});
afterAll(() => service.stop());

const attempt = (email: string, given: string, from = '192.0.2.1') =>
  new Browser(service.address).ask({
    method: 'POST',
    path: '/api/session/',
    body: { email, password: given },
    headers: { 'x-forwarded-for': from },
  });

/** Moves every lock into the past. */
async function expireLocks(): Promise<void> {
  const { db } = service.runtime.deps;
  await db
    .updateTable('sign_in_limits')
    .set({ locked_until: new Date(Date.now() - 1) })
    .execute();
}

test('the fifth wrong password locks, further ones lock for longer, and the right one resets the count', async () => {
  const { email } = await newAccount(service.runtime.deps);
  for (let i = 0; i < 5; i++) expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
  const refused = await attempt(email, password);
  expectProblem(refused, 429, 'session.locked');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50);
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);

  await expireLocks();
  expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
  const longer = await attempt(email, password);
  expectProblem(longer, 429, 'session.locked');
  expect(Number(longer.headers['retry-after'])).toBeGreaterThan(100);

  await expireLocks();
  expect((await attempt(email, password)).status).toBe(200);
  for (let i = 0; i < 4; i++) expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
  expect((await attempt(email, password)).status).toBe(200);
});

test('an unknown email gets exactly the same responses', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const guess = async (of: string) => {
    const { status, body, headers } = await attempt(of, 'wrong password');
    const { request_id, detail, ...problem } = body;
    return { status, problem, detail: detail.replaceAll(/\d+/g, 'n'), hasWait: 'retry-after' in headers };
  };
  for (let i = 0; i < 7; i++) expect(await guess('nobody@people.test')).toEqual(await guess(email));
});

test('concurrent attempts are all counted', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await attempt(email, 'wrong password')).status),
  );
  expect(statuses.filter(status => status === 401)).toHaveLength(5);
  expect(statuses.filter(status => status === 429)).toHaveLength(15);
});

test('old failed attempts are forgotten', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const { db } = service.runtime.deps;
  for (let i = 0; i < 4; i++) await attempt(email, 'wrong password');
  await db
    .updateTable('sign_in_limits')
    .set({ since: new Date(Date.now() - 16 * 60_000) })
    .execute();
  for (let i = 0; i < 4; i++) expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
});

test('a password reset by the operator unlocks the account', async () => {
  const { email } = await newAccount(service.runtime.deps);
  for (let i = 0; i < 6; i++) await attempt(email, 'wrong password');
  const fresh = await resetPassword(service.runtime.deps, email);
  expect(fresh).toMatch(/^[a-z]{4}(-[a-z]{4}){4}$/);
  expect((await attempt(email, fresh)).status).toBe(200);
});

describe('failed attempts of others', () => {
  test('lock their own network but not the owner on another one', async () => {
    const { email } = await newAccount(service.runtime.deps);
    for (let i = 0; i < 6; i++) await attempt(email, 'wrong password', '198.51.100.1');
    expectProblem(await attempt(email, password, '198.51.100.1'), 429, 'session.locked');
    expect((await attempt(email, password, '198.51.100.2')).status).toBe(200);
  });

  test('from many networks lock unknown devices out, but not a device that has signed in before', async () => {
    const { email } = await newAccount(service.runtime.deps);
    const known = new Browser(service.address);
    expect((await known.signIn(email)).status).toBe(200);
    await simulateAttemptsFromAnywhere(service.runtime.deps, email, 49);
    expectProblem(await attempt(email, 'wrong password', '203.0.113.199'), 401, 'session.refused');
    expectProblem(await attempt(email, password, '203.0.113.200'), 429, 'session.locked');
    expect((await known.signIn(email)).status).toBe(200);
  });

  test('that block a whole network do not block a device that has signed in before', async () => {
    const { email } = await newAccount(service.runtime.deps);
    const headers = { 'x-forwarded-for': '192.0.2.77' };
    const known = new Browser(service.address);
    const signIn = () => known.ask({ method: 'POST', path: '/api/session/', body: { email, password }, headers });
    expect((await signIn()).status).toBe(200);
    for (let i = 0; i < 100; i++) service.runtime.deps.signIn.failures.record('192.0.2.77', Date.now());
    expectProblem(await attempt(email, password, '192.0.2.77'), 429, 'session.locked');
    expect((await signIn()).status).toBe(200);
  });
});

test('a device that has signed in before has its own limit, and its cookie is valid for one account', async () => {
  const { deps } = service.runtime;
  const [{ email }, other] = [await newAccount(deps), await newAccount(deps)];
  const known = new Browser(service.address);
  await known.signIn(email);
  expect(known.device).toMatch(/^belfry_device_\d+=[\w-]{22}\.[\w-]{43}$/);
  for (let i = 0; i < 5; i++) expectProblem(await known.signIn(email, 'wrong password'), 401, 'session.refused');
  expectProblem(await known.signIn(email), 429, 'session.locked');
  // Neither a forged cookie nor the cookie of another account is recognized.
  const from = '198.51.100.40';
  for (let i = 0; i < 5; i++) await attempt(other.email, 'wrong password', from);
  const [, signed] = known.device.split('=');
  for (const value of [signed, `${'x'.repeat(22)}.${'y'.repeat(43)}`, 'nonsense', '']) {
    const cookie = `belfry_device_${other.id}=${value}`;
    const body = { email: other.email, password };
    const headers = { 'x-forwarded-for': from, cookie };
    const answer = await new Browser(service.address).ask({ method: 'POST', path: '/api/session/', body, headers });
    expectProblem(answer, 429, 'session.locked');
  }
});

test('a network address is refused after a hundred failures, and others are not', async () => {
  const { failures } = service.runtime.deps.signIn;
  for (let i = 0; i < 99; i++) failures.record('192.0.2.99', Date.now());
  expectProblem(await attempt('a@people.test', 'wrong password', '192.0.2.99'), 401);
  expectProblem(await attempt('b@people.test', 'wrong password', '192.0.2.99'), 429, 'session.locked');
  expectProblem(await attempt('b@people.test', 'wrong password', '192.0.2.98'), 401);
  for (let i = 0; i < 100; i++) failures.record('2001:db8:0:0', Date.now());
  for (const of of ['2001:db8::1', '2001:db8:0:0:5::6', '2001:db8::7:8:9:a']) {
    expectProblem(await attempt('c@people.test', 'wrong password', of), 429, 'session.locked');
  }
  expectProblem(await attempt('c@people.test', 'wrong password', '2001:db8:0:1::1'), 401);
});

describe('attempts are counted', () => {
  const post = (path: string, body: object, from: string) =>
    new Browser(service.address).ask({ method: 'POST', path, body, headers: { 'x-forwarded-for': from } });
  const statusesOf = async (answers: Promise<{ status: number }>[]) => {
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    return { refused: statuses.filter(status => status === 401 || status === 400).length, statuses };
  };
  /** Sends fifty at a time, because the hashing queue does not accept more. */
  async function inBatches<T>(total: number, make: (i: number) => Promise<T>): Promise<T[]> {
    const all: T[] = [];
    for (let i = 0; i < total; i += 50) {
      all.push(...(await Promise.all(Array.from({ length: Math.min(50, total - i) }, (_, j) => make(i + j)))));
    }
    return all;
  }
  const withFactor = async () => {
    const person = await signInNewAccount(service.address, service.runtime.deps);
    return { ...(await enroll(person)), person, email: person.email };
  };

  test('per network, also with a code and concurrently, up to a hundred in total', async () => {
    for (let i = 0; i < 80; i++) service.runtime.deps.signIn.failures.record('198.51.100.70', Date.now());
    const answers = await inBatches(50, i =>
      post('/api/session/', { email: `guessed-${i}@people.test`, password, code: '123456' }, '198.51.100.70'),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30);
    expectProblem(await attempt('other@people.test', password, '198.51.100.70'), 429, 'session.locked');
  });

  test.each([undefined, '123456', 'abcd-efgh-jkmn-pqrs'])(
    'against one account from everywhere with the code %s: fifty in all',
    async code => {
      const { email } = await newAccount(service.runtime.deps);
      const answers = await inBatches(80, i =>
        post('/api/session/', { email, password: 'wrong password', ...(code && { code }) }, `203.0.113.${i}`),
      );
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(50);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(30);
    },
  );

  test('but the right password and code sign the owner in while others use up the attempts', async () => {
    const { email, secret } = await withFactor();
    await inBatches(60, i =>
      post('/api/session/', { email, password: 'wrong password', code: '123456' }, `203.0.113.${i}`),
    );
    const wrong = { email, password, code: '123456' };
    expectProblem(await post('/api/session/', wrong, '203.0.113.201'), 429, 'session.locked');
    const opened = await post('/api/session/', { email, password, code: codeOf(secret) }, '203.0.113.200');
    expect(opened.status, opened.text).toBe(200);
  });

  test.each([
    ['six digits', '123456'],
    ['a recovery code', 'abcd-efgh-jkmn-pqrs'],
  ])('in the second step with %s: five of a hundred concurrent ones from one network are checked', async (_, code) => {
    const { email, secret, recoveryCodes } = await withFactor();
    const first = await attempt(email, password, '192.0.2.150');
    const { token } = first.body.second_factor;
    const path = '/api/session/second-factor/';
    const from = code === '123456' ? '192.0.2.151' : '192.0.2.152';
    const { refused } = await statusesOf(Array.from({ length: 100 }, () => post(path, { token, code }, from)));
    expect(refused).toBe(5);
    for (const right of [codeOf(secret), recoveryCodes[0]]) {
      expectProblem(await post(path, { token, code: right }, from), 429, 'session.locked');
    }
  });

  test('in the second step with six digits from many networks: fifty of a hundred concurrent ones are checked', async () => {
    const { email } = await withFactor();
    const { token } = (await attempt(email, password, '192.0.2.153')).body.second_factor;
    const guess = (_: unknown, i: number) =>
      post('/api/session/second-factor/', { token, code: '123456' }, `203.0.113.${i}`);
    expect((await statusesOf(Array.from({ length: 100 }, guess))).refused).toBe(50);
  });

  test('with password and code in one request when the password is right: five of a hundred are checked', async () => {
    const { email, secret } = await withFactor();
    const guess = (code: string) => post('/api/session/', { email, password, code }, '192.0.2.154');
    const answers = await inBatches(100, () => guess('123456'));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
    expectProblem(await guess(codeOf(secret)), 429, 'session.locked');
  });

  test.each([
    ['confirming who one is, before factors are changed or removed', '/api/session/confirm/', 'password'],
    ['changing the password', '/api/session/password/', 'current'],
  ])('in an open session, when %s: five of a hundred are checked', async (_, path, field) => {
    const { person } = await withFactor();
    const confirmed_at = new Date(Date.now() - 16 * 60_000);
    const { db } = service.runtime.deps;
    await db.updateTable('sessions').set({ confirmed_at }).where('account_id', '=', person.id).execute();
    const guess = (given: string) =>
      person.ask({ method: 'POST', path, body: { password: 'a new, longer one', [field]: given } });
    const answers = await inBatches(100, () => guess('wrong password'));
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(5);
    expectProblem(await guess(password), 429, 'session.locked');
    expectProblem(await person.ask({ method: 'DELETE', path: '/api/session/totp/' }), 403, 'session.unconfirmed');
  });

  test('for refused passkeys per network, and a valid passkey is never refused', async () => {
    const headers = { host: 'localhost:8000', 'x-forwarded-for': '198.51.100.71' };
    const browser = new Browser(service.address);
    const as = Object.assign(Object.create(browser), {
      ask: (asked: Asked) => browser.ask({ ...asked, headers: { ...asked.headers, ...headers } }),
    }) as Browser;
    const { email } = await newAccount(service.runtime.deps);
    await as.ask({ method: 'POST', path: '/api/session/', body: { email, password } });
    const right = await addPasskey(as, 'http://localhost:8000');
    const wrong = new SoftwarePasskey('http://localhost:8000');
    for (let i = 0; i < 100; i++) expectProblem(await signInWith(as, wrong), 401, 'passkey.refused');
    expectProblem(await signInWith(as, wrong), 429, 'session.locked');
    expectProblem(await attempt('other@people.test', password, '198.51.100.71'), 429, 'session.locked');
    expect((await signInWith(as, right)).status).toBe(200);
  });
});

test('refusing takes the same time whether or not the account exists, however many organizations record it', async () => {
  useProductionCosts();
  const { deps } = service.runtime;
  const { email, id } = await newAccount(deps);
  const rows = Array.from({ length: 300 }, (_, i) => ({ slug: `crowd-${i}`, name: 'Crowd' }));
  const organizations = await deps.db.insertInto('organizations').values(rows).returning('id').execute();
  const memberships = organizations.map(row => ({ organization_id: row.id, account_id: id, role: 'viewer' }));
  await deps.db.insertInto('memberships').values(memberships).execute();
  const timeOf = async (of: string) => {
    const start = process.hrtime.bigint();
    expectProblem(await attempt(of, 'wrong password'), 401, 'session.refused');
    const took = Number(process.hrtime.bigint() - start);
    await deps.db.deleteFrom('sign_in_limits').execute();
    return took;
  };
  const entries = async () => {
    const { rows: found } = await sql<{ n: number }>`
      select count(*)::int as n from audit where action = 'sign in failed' and path = ${email}`.execute(deps.db);
    return found[0]!.n;
  };
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
  for (let i = 0; i < 7; i++) {
    times.unknown.push(await timeOf('nobody-here@people.test'));
    times.known.push(await timeOf(email));
    // Audit entries that are still being written must not slow down the next request.
    await eventually(async () => expect(await entries()).toBe(300 * (i + 1)), 20_000);
  }
  const median = (of: number[]) => of.toSorted((a, b) => a - b)[3]!;
  const ratio = median(times.known) / median(times.unknown);
  expect(ratio).toBeLessThan(2);
  expect(ratio).toBeGreaterThan(0.5);
});

test('a password is stored as an Argon2id hash, and hashed again when the parameters have increased', async () => {
  useProductionCosts();
  const { email, id } = await newAccount(service.runtime.deps);
  const { db } = service.runtime.deps;
  const stored = async () =>
    (await db.selectFrom('accounts').select('password_hash').where('id', '=', id).executeTakeFirst())!.password_hash!;
  expect(await stored()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);

  const nonce = Buffer.from('somesaltsomesalt');
  const tag = argon2Sync('argon2id', {
    message: password,
    nonce,
    parallelism: 1,
    tagLength: 32,
    memory: 1024,
    passes: 1,
  });
  const bare = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  const old = `$argon2id$v=19$m=1024,t=1,p=1$${bare(nonce)}$${bare(tag)}`;
  await db.updateTable('accounts').set({ password_hash: old }).where('id', '=', id).execute();
  expect((await attempt(email, password)).status).toBe(200);
  expect(await stored()).toContain(`m=${costs.memory},t=${costs.passes}`);
  expect((await attempt(email, password)).status).toBe(200);
});

test('passwords beyond the length of the hashing queue are refused, and the others are hashed', async () => {
  const passwords = new Passwords(10);
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => passwords.hash('192.0.2.1', password)));
  expect(results.filter(result => result.status === 'fulfilled')).toHaveLength(5);
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PasswordQueueFullError);
  const client = '192.0.2.1';
  expect(await passwords.verify(client, password, await passwords.hash(client, password))).toBe(true);
});

test('a client that floods the hashing queue neither fills it nor goes first', async () => {
  const passwords = new Passwords(100);
  let hashed = 0;
  const flood = Array.from({ length: 100 }, () => passwords.hash('192.0.2.1', password).then(() => hashed++));
  const settled = Promise.allSettled(flood);
  await passwords.hash('192.0.2.2', password);
  expect(hashed).toBeLessThan(10);
  expect((await settled).filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
});

test('maintenance removes expired sessions, invites and failed attempts', async () => {
  const { deps } = service.runtime;
  const { db } = deps;
  const { email, id } = await newAccount(deps);
  const browsers = [new Browser(service.address), new Browser(service.address), new Browser(service.address)];
  for (const browser of browsers) await browser.signIn(email);
  const hashes = await db.selectFrom('sessions').select('token_hash').where('account_id', '=', id).execute();
  const past = new Date(Date.now() - 1_000);
  const idle = new Date(Date.now() - sessionLifetime.idleMs - 1_000);
  const set = (fields: object, at: number) =>
    db.updateTable('sessions').set(fields).where('token_hash', '=', hashes[at]!.token_hash).execute();
  await set({ expires_at: past }, 0);
  await set({ last_used_at: idle }, 1);
  const { id: organization_id } = (await db
    .insertInto('organizations')
    .values({ slug: 'kept', name: 'Kept' })
    .returning('id')
    .executeTakeFirst())!;
  const invite = { organization_id, role: 'viewer', invited_by: 'x' };
  const invites = [
    { ...invite, email: 'a@people.test', token_hash: Buffer.alloc(32, 1), expires_at: past },
    { ...invite, email: 'b@people.test', token_hash: Buffer.alloc(32, 2), expires_at: new Date(Date.now() + 60_000) },
  ];
  await db.insertInto('invites').values(invites).execute();
  await attempt('late@people.test', 'wrong password');
  await db
    .updateTable('sign_in_limits')
    .set({ since: new Date(Date.now() - 16 * 60_000), locked_until: null })
    .execute();
  await runMaintenance(deps, Date.now());
  expect(await db.selectFrom('sessions').select('token_hash').where('account_id', '=', id).execute()).toEqual([
    hashes[2],
  ]);
  expect(await db.selectFrom('invites').select('email').execute()).toEqual([{ email: 'b@people.test' }]);
  expect(await db.selectFrom('sign_in_limits').selectAll().execute()).toEqual([]);
});
