/** Guessing passwords: slow, soon refused, and it tells nothing about who has an account. */
import { argon2Sync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { costs, Passwords, TooManyPasswords } from '../src/lib/passwords.ts';
import { resetPassword } from '../src/services/accounts.ts';
import { runMaintenance } from '../src/services/maintenance.ts';
import { sessionLife } from '../src/services/sessions.ts';
import { Browser, guessedFromAnywhere, newAccount, password } from './support/accounts.ts';
import { expectProblem } from './support/api.ts';
import { testService } from './support/database.ts';

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

/** As if the time of refusal were over. */
async function wait(): Promise<void> {
  const { db } = service.runtime.deps;
  await db
    .updateTable('sign_in_limits')
    .set({ locked_until: new Date(Date.now() - 1) })
    .execute();
}

test('the fifth wrong password locks for a while, then for longer; the right one counts from the beginning', async () => {
  const { email } = await newAccount(service.runtime.deps);
  for (let i = 0; i < 5; i++) expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
  const refused = await attempt(email, password);
  expectProblem(refused, 429, 'session.locked');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50);
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);

  await wait();
  expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
  const longer = await attempt(email, password);
  expectProblem(longer, 429, 'session.locked');
  expect(Number(longer.headers['retry-after'])).toBeGreaterThan(100);

  await wait();
  expect((await attempt(email, password)).status).toBe(200);
  for (let i = 0; i < 4; i++) expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
  expect((await attempt(email, password)).status).toBe(200);
});

test('an email that belongs to nobody gets the very same answers', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const guess = async (of: string) => {
    const { status, body, headers } = await attempt(of, 'wrong password');
    const { request_id, detail, ...problem } = body;
    return { status, problem, detail: detail.replaceAll(/\d+/g, 'n'), hasWait: 'retry-after' in headers };
  };
  for (let i = 0; i < 7; i++) expect(await guess('nobody@people.test')).toEqual(await guess(email));
});

test('guesses at the same time are counted one by one', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await attempt(email, 'wrong password')).status),
  );
  expect(statuses.filter(status => status === 401)).toHaveLength(5);
  expect(statuses.filter(status => status === 429)).toHaveLength(15);
});

test('wrong passwords of long ago are forgotten', async () => {
  const { email } = await newAccount(service.runtime.deps);
  const { db } = service.runtime.deps;
  for (let i = 0; i < 4; i++) await attempt(email, 'wrong password');
  await db
    .updateTable('sign_in_limits')
    .set({ since: new Date(Date.now() - 16 * 60_000) })
    .execute();
  for (let i = 0; i < 4; i++) expectProblem(await attempt(email, 'wrong password'), 401, 'session.refused');
});

test('the operator opens a locked account with a new password', async () => {
  const { email } = await newAccount(service.runtime.deps);
  for (let i = 0; i < 6; i++) await attempt(email, 'wrong password');
  const fresh = await resetPassword(service.runtime.deps, email);
  expect(fresh).toMatch(/^[a-z]{4}(-[a-z]{4}){4}$/);
  expect((await attempt(email, fresh)).status).toBe(200);
});

describe('somebody else’s guesses', () => {
  test('lock their own network, and not the owner on another one', async () => {
    const { email } = await newAccount(service.runtime.deps);
    for (let i = 0; i < 6; i++) await attempt(email, 'wrong password', '198.51.100.1');
    expectProblem(await attempt(email, password, '198.51.100.1'), 429, 'session.locked');
    expect((await attempt(email, password, '198.51.100.2')).status).toBe(200);
  });

  test('from very many networks lock strangers out, but not a device that has signed in before', async () => {
    const { email } = await newAccount(service.runtime.deps);
    const known = new Browser(service.address);
    expect((await known.signIn(email)).status).toBe(200);
    await guessedFromAnywhere(service.runtime.deps, email, 49);
    expectProblem(await attempt(email, 'wrong password', '203.0.113.199'), 401, 'session.refused');
    expectProblem(await attempt(email, password, '203.0.113.200'), 429, 'session.locked');
    expect((await known.signIn(email)).status).toBe(200);
  });

  test('from a network that is refused altogether do not stop a device that has signed in before', async () => {
    const { email } = await newAccount(service.runtime.deps);
    const headers = { 'x-forwarded-for': '192.0.2.77' };
    const known = new Browser(service.address);
    const signIn = () => known.ask({ method: 'POST', path: '/api/session/', body: { email, password }, headers });
    expect((await signIn()).status).toBe(200);
    for (let i = 0; i < 100; i++) service.runtime.deps.signIn.failures.note('192.0.2.77', Date.now());
    expectProblem(await attempt(email, password, '192.0.2.77'), 429, 'session.locked');
    expect((await signIn()).status).toBe(200);
  });
});

test('a device that has signed in before is limited by itself, and its cookie is of one account', async () => {
  const { deps } = service.runtime;
  const [{ email }, other] = [await newAccount(deps), await newAccount(deps)];
  const known = new Browser(service.address);
  await known.signIn(email);
  expect(known.device).toMatch(/^belfry_device_\d+=[\w-]{22}\.[\w-]{43}$/);
  for (let i = 0; i < 5; i++) expectProblem(await known.signIn(email, 'wrong password'), 401, 'session.refused');
  expectProblem(await known.signIn(email), 429, 'session.locked');
  // Neither a made-up cookie nor somebody else's makes a stranger known.
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

test('a network address that fails a hundred times is refused, and others are not', async () => {
  const { failures } = service.runtime.deps.signIn;
  for (let i = 0; i < 99; i++) failures.note('192.0.2.99', Date.now());
  expectProblem(await attempt('a@people.test', 'wrong password', '192.0.2.99'), 401);
  expectProblem(await attempt('b@people.test', 'wrong password', '192.0.2.99'), 429, 'session.locked');
  expectProblem(await attempt('b@people.test', 'wrong password', '192.0.2.98'), 401);
  for (let i = 0; i < 100; i++) failures.note('2001:db8:0:0', Date.now());
  for (const of of ['2001:db8::1', '2001:db8:0:0:5::6', '2001:db8::7:8:9:a']) {
    expectProblem(await attempt('c@people.test', 'wrong password', of), 429, 'session.locked');
  }
  expectProblem(await attempt('c@people.test', 'wrong password', '2001:db8:0:1::1'), 401);
});

test('a password is kept as Argon2id, and hashed again when the parameters have risen', async () => {
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

test('more passwords at once than can wait are turned away, and the rest get their turn', async () => {
  const passwords = new Passwords(3);
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => passwords.hash(password)));
  expect(results.filter(result => result.status === 'fulfilled')).toHaveLength(5);
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(TooManyPasswords);
  expect(await passwords.verify(password, await passwords.hash(password))).toBe(true);
});

test('maintenance removes sessions, invites and failures whose time is over', async () => {
  const { deps } = service.runtime;
  const { db } = deps;
  const { email, id } = await newAccount(deps);
  const browsers = [new Browser(service.address), new Browser(service.address), new Browser(service.address)];
  for (const browser of browsers) await browser.signIn(email);
  const hashes = await db.selectFrom('sessions').select('token_hash').where('account_id', '=', id).execute();
  const past = new Date(Date.now() - 1_000);
  const idle = new Date(Date.now() - sessionLife.idleMs - 1_000);
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
