/** Authenticator apps and recovery codes, and organizations that require a second factor. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { generateRecoveryCodes, recoveryCodeHash } from '../../src/core/identity/recovery-codes.ts';
import type { Role } from '../../src/core/identity/roles.ts';
import { sha256 } from '../../src/core/identity/tokens.ts';
import { resetTwoFactor } from '../../src/services/identity/accounts.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { Browser, password, signInNewAccount, simulateAttemptsFromAnywhere } from '../support/accounts.ts';
import { type Answer, asker, expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';
import { codeOf, enroll } from '../support/totp.ts';

let service: Service;
let tenants: Tenants;

beforeAll(async () => {
  ({ service, tenants } = await testTenants({ TRUST_PROXY: '127.0.0.1' }));
});
afterAll(() => service.stop());

const person = (input = {}) => signInNewAccount(service.address, service.runtime.deps, input);
const member = (role: Role, organization = 'acme') => person({ membership: { organization, role } });
const stranger = () => new Browser(service.address);
const post = (who: Browser, path: string, body?: object, headers = {}) =>
  who.ask({ method: 'POST', path, body, headers });

/** Returns the token of the first step. */
function tokenOf(answer: Answer): string {
  expect(answer.status, answer.text).toBe(401);
  expect(answer.body.code).toBe('session.second_factor');
  return answer.body.second_factor.token;
}

/** Moves the last confirmation of the account's sessions into the past. */
async function letTimePass(id: number, minutes = 16): Promise<void> {
  const confirmed_at = new Date(Date.now() - minutes * 60_000);
  await service.runtime.deps.db.updateTable('sessions').set({ confirmed_at }).where('account_id', '=', id).execute();
}

describe('an authenticator app', () => {
  test('is added by confirming a code, and returns ten recovery codes', async () => {
    const owner = await person();
    const begun = await post(owner, '/api/session/totp/');
    expect(begun.body).toEqual({
      token: expect.any(String),
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      uri: expect.stringMatching(/^otpauth:\/\/totp\/Belfry:.*secret=.*/),
    });
    const confirm = (code: string, token = begun.body.token) =>
      post(owner, '/api/session/totp/confirm/', { token, code });
    expectProblem(await confirm('000000'), 400, 'request.invalid', ['code']);
    expectProblem(await confirm(codeOf(begun.body.secret), 'made up'), 401, 'session.expired');
    expect((await owner.ask({ path: '/api/session/two-factor/' })).body).toEqual({
      totp: null,
      passkeys: [],
      recovery_codes: 0,
    });
    const added = await confirm(codeOf(begun.body.secret));
    expect(added.body.recovery_codes).toHaveLength(10);
    expect((await owner.ask({ path: '/api/session/two-factor/' })).body).toEqual({
      totp: { created_at: expect.any(String) },
      passkeys: [],
      recovery_codes: 10,
    });
    expect((await owner.ask({ path: '/api/session/' })).body.account.two_factor).toBe(true);
  });

  test('can be confirmed only by the account that began adding it', async () => {
    const [one, two] = [await person(), await person()];
    const { body } = await post(one, '/api/session/totp/');
    const stolen = { token: body.token, code: codeOf(body.secret) };
    expectProblem(await post(two, '/api/session/totp/confirm/', stolen), 401, 'session.expired');
  });

  test('is required after the password, and each code works once', async () => {
    const owner = await person();
    const { secret } = await enroll(owner);
    const first = await stranger().signIn(owner.email);
    expect(first.body.second_factor).toEqual({
      token: expect.any(String),
      methods: { totp: true, passkey: false, recovery_code: true },
      passkey: null,
    });
    expect(first.headers['set-cookie']).toBeUndefined();
    const token = tokenOf(first);
    const browser = stranger();
    const finish = (code: string) => post(browser, '/api/session/second-factor/', { token, code });
    expectProblem(await finish('123456'), 401, 'session.code');
    const code = codeOf(secret);
    const opened = await finish(code);
    expect([opened.status, opened.body.account.email]).toEqual([200, owner.email]);
    expect((await browser.ask({ path: '/api/session/' })).status).toBe(200);
    expectProblem(await finish(code), 401, 'session.code');
    expectProblem(await finish(codeOf(secret, -1)), 401, 'session.code');
    expect((await finish(codeOf(secret, 1))).status).toBe(200);
  });

  test('accepts the same code only once when it is sent twice concurrently', async () => {
    const owner = await person();
    const { secret } = await enroll(owner);
    const token = tokenOf(await stranger().signIn(owner.email));
    const body = { token, code: codeOf(secret) };
    const answers = await Promise.all([0, 1, 2].map(() => post(stranger(), '/api/session/second-factor/', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  test('requires the token of a right password, which a password change invalidates', async () => {
    const owner = await person();
    const { secret } = await enroll(owner);
    const finish = (token: string) => post(stranger(), '/api/session/second-factor/', { token, code: codeOf(secret) });
    expectProblem(await finish('made up'), 401, 'session.expired');
    const { body } = await post(owner, '/api/session/totp/');
    expectProblem(await finish(body.token), 401, 'session.expired');
    const token = tokenOf(await stranger().signIn(owner.email));
    await post(owner, '/api/session/password/', { current: password, password: 'another, longer one' });
    expectProblem(await finish(token), 401, 'session.expired');
  });

  test('is stored encrypted', async () => {
    const owner = await person();
    const { secret } = await enroll(owner);
    const { db } = service.runtime.deps;
    const row = await db.selectFrom('accounts').selectAll().where('id', '=', owner.id).executeTakeFirstOrThrow();
    expect(row.totp_secret).toBeInstanceOf(Buffer);
    expect(row.totp_secret!.includes(secret)).toBe(false);
  });

  test('ends the sessions that were opened without it', async () => {
    const owner = await person();
    const elsewhere = stranger();
    await elsewhere.signIn(owner.email);
    await enroll(owner);
    await eventually(async () => expectProblem(await elsewhere.ask({ path: '/api/session/' }), 401), 1_000);
    expect((await owner.ask({ path: '/api/session/' })).status).toBe(200);
  });

  test('limits wrong codes per network and from all networks together', async () => {
    const owner = await person();
    const { secret } = await enroll(owner);
    const token = tokenOf(await stranger().signIn(owner.email));
    const finish = (code: string, from: string) =>
      post(stranger(), '/api/session/second-factor/', { token, code }, { 'x-forwarded-for': from });
    for (let i = 0; i < 5; i++) expectProblem(await finish('000000', '192.0.2.10'), 401, 'session.code');
    expectProblem(await finish(codeOf(secret), '192.0.2.10'), 429, 'session.locked');
    for (let i = 0; i < 45; i++) expectProblem(await finish('000000', `192.0.2.${20 + i}`), 401, 'session.code');
    expectProblem(await finish(codeOf(secret), '192.0.2.200'), 429, 'session.locked');
  });
});

describe('recovery codes', () => {
  test('are long, all different, and accepted in any case and spacing', () => {
    const codes = generateRecoveryCodes();
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[2-9a-z]{4}(-[2-9a-z]{4}){3}$/);
    const [code = ''] = codes;
    const typed = ` ${code.toUpperCase().replaceAll('-', ' ')} `;
    expect(recoveryCodeHash(typed)).toEqual(recoveryCodeHash(code));
    for (const wrong of ['', '123456', code.slice(1), `${code}2`]) expect(recoveryCodeHash(wrong)).toBeUndefined();
  });

  test('work once each instead of the app, even while codes of the app are locked', async () => {
    const owner = await person();
    const { recoveryCodes } = await enroll(owner);
    const finish = async (code: string) => {
      const token = tokenOf(await stranger().signIn(owner.email));
      return post(stranger(), '/api/session/second-factor/', { token, code });
    };
    const [first = '', second = ''] = recoveryCodes;
    expect((await finish(first)).status).toBe(200);
    expectProblem(await finish(first), 401, 'session.code');
    const locked = { scope: 'second factor from anywhere', attempts: 50, locked_until: new Date(Date.now() + 60_000) };
    const email_hash = sha256(owner.email);
    await service.runtime.deps.db
      .insertInto('sign_in_limits')
      .values({ email_hash, ...locked })
      .onConflict(conflict => conflict.columns(['email_hash', 'scope']).doUpdateSet(locked))
      .execute();
    expect((await finish(second.toUpperCase())).status).toBe(200);
    expect((await owner.ask({ path: '/api/session/two-factor/' })).body.recovery_codes).toBe(8);
  });

  test('are stored as hashes, and replaced all at once', async () => {
    const owner = await person();
    const { recoveryCodes } = await enroll(owner);
    const { db } = service.runtime.deps;
    const rows = await db.selectFrom('recovery_codes').selectAll().where('account_id', '=', owner.id).execute();
    expect(rows).toHaveLength(10);
    for (const { code_hash } of rows) expect(code_hash).toHaveLength(32);
    const { body } = await post(owner, '/api/session/recovery-codes/');
    expect(body.recovery_codes).toHaveLength(10);
    const token = tokenOf(await stranger().signIn(owner.email));
    const old = { token, code: recoveryCodes[0] };
    expectProblem(await post(stranger(), '/api/session/second-factor/', old), 401, 'session.code');
  });

  test('require a second factor', async () => {
    const answer = await post(await person(), '/api/session/recovery-codes/');
    expectProblem(answer, 409, 'account.two_factor_missing');
  });
});

describe('password and code in one request', () => {
  const signIn = (email: string, given: string, code: string, from = '192.0.2.1') =>
    post(stranger(), '/api/session/', { email, password: given, code }, { 'x-forwarded-for': from });

  test('sign the owner in while others guess from many networks', async () => {
    const owner = await person();
    const { secret } = await enroll(owner);
    const guess = (from: string) =>
      post(
        stranger(),
        '/api/session/',
        { email: owner.email, password: 'wrong password' },
        { 'x-forwarded-for': from },
      );
    await simulateAttemptsFromAnywhere(service.runtime.deps, owner.email, 49);
    expectProblem(await guess('203.0.113.98'), 401, 'session.refused');
    expectProblem(await guess('203.0.113.99'), 429, 'session.locked');
    const opened = await signIn(owner.email, password, codeOf(secret), '203.0.113.100');
    expect(opened.status, opened.text).toBe(200);
  });

  test('are refused after a whole second, so that the time does not reveal that the password was right', {
    tags: ['sweep'],
  }, async () => {
    const owner = await person();
    await enroll(owner);
    for (const given of [password, 'wrong password']) {
      const startedAt = performance.now();
      expectProblem(await signIn(owner.email, given, '000000', '192.0.2.4'), 401, 'session.refused');
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(999);
    }
  });

  test('reveal nothing unless both are right', { tags: ['sweep'] }, async () => {
    const owner = await person();
    const without = await person();
    const { secret } = await enroll(owner);
    const answers = [
      await signIn(owner.email, password, '000000'),
      await signIn(owner.email, 'wrong password', codeOf(secret)),
      await signIn(without.email, password, '000000', '192.0.2.2'),
      await signIn('nobody@people.test', password, '000000', '192.0.2.3'),
    ];
    for (const answer of answers) expectProblem(answer, 401, 'session.refused');
    expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1);
  });
});

describe('a change to how an account signs in', () => {
  test('requires the password again some time after signing in', async () => {
    const owner = await person();
    await enroll(owner);
    await letTimePass(owner.id);
    const changes = [
      () => post(owner, '/api/session/totp/'),
      () => post(owner, '/api/session/recovery-codes/'),
      () => owner.ask({ method: 'DELETE', path: '/api/session/totp/' }),
    ];
    for (const change of changes) expectProblem(await change(), 403, 'session.unconfirmed');
    const confirm = (given: string) => post(owner, '/api/session/confirm/', { password: given });
    expectProblem(await confirm('wrong password'), 400, 'request.invalid', ['password']);
    expectProblem(await changes[0]!(), 403, 'session.unconfirmed');
    expect((await confirm(password)).body).toEqual({ confirmed: true });
    for (const change of changes) expect((await change()).status).toBe(200);
  });

  test('that removes the last second factor makes the password sufficient and deletes the recovery codes', async () => {
    const owner = await person();
    await enroll(owner);
    expect((await owner.ask({ method: 'DELETE', path: '/api/session/totp/' })).status).toBe(200);
    expect((await stranger().signIn(owner.email)).status).toBe(200);
    const { body } = await owner.ask({ path: '/api/session/two-factor/' });
    expect(body).toEqual({ totp: null, passkeys: [], recovery_codes: 0 });
  });

  test('can be made by the operator for a user who has lost every factor', async () => {
    const owner = await person();
    await enroll(owner);
    await resetTwoFactor(service.runtime.deps, owner.email);
    await eventually(async () => expectProblem(await owner.ask({ path: '/api/session/' }), 401), 1_000);
    expect((await stranger().signIn(owner.email)).status).toBe(200);
  });
});

describe('an organization that requires two-factor authentication', () => {
  const require = (who: Browser, required: boolean, organization = 'rival') =>
    who.ask({ method: 'PUT', path: `/api/o/${organization}/two-factor/`, body: { required } });

  test('is set up only by an owner who has a second factor', async () => {
    const [owner, admin] = [await member('owner', 'rival'), await member('admin', 'rival')];
    expectProblem(await require(admin, true), 403, 'role.permission');
    expectProblem(await require(owner, true), 409, 'account.two_factor_missing');
    await enroll(owner);
    const answer = await require(owner, true);
    expect([answer.status, answer.body.two_factor_required]).toEqual([200, true]);
    const { body } = await owner.ask({ path: '/api/o/rival/audit/?noun=organization&limit=1' });
    expect(body[0]).toMatchObject({ action: 'update', after: { two_factor_required: true } });

    // All other accounts get an explanation for every request there, and keep their access elsewhere.
    const viewer = await member('viewer', 'rival');
    for (const path of ['/api/o/rival/', '/api/o/rival/u/', '/api/o/rival/settings/', '/api/o/rival/u/nobody/']) {
      expectProblem(await admin.ask({ path }), 403, 'session.two_factor_required');
    }
    expectProblem(await require(viewer, false), 403, 'session.two_factor_required');
    expect((await admin.ask({ path: '/api/session/' })).body.organizations).toMatchObject([
      { slug: 'rival', two_factor_required: true },
    ]);
    const instance = await person({ admin: true });
    expectProblem(await instance.ask({ path: '/api/o/rival/' }), 403, 'session.two_factor_required');
    expect((await instance.ask({ path: '/api/o/acme/' })).status).toBe(200);

    // API keys need no second factor.
    expect((await asker(service.address, tenants.rival.keys.all)({ path: '/api/o/rival/' })).status).toBe(200);

    await enroll(admin);
    expect((await admin.ask({ path: '/api/o/rival/u/' })).status).toBe(200);
    await admin.ask({ method: 'DELETE', path: '/api/session/totp/' });
    expectProblem(await admin.ask({ path: '/api/o/rival/u/' }), 403, 'session.two_factor_required');

    expect((await require(owner, false)).body.two_factor_required).toBe(false);
    expect((await admin.ask({ path: '/api/o/rival/u/' })).status).toBe(200);
  });

  test('keeps the requirement when it is renamed, with the API or a file', async () => {
    const owner = await member('owner', 'rival');
    await enroll(owner);
    await require(owner, true);
    await owner.ask({ method: 'PATCH', path: '/api/o/rival/', body: { name: 'Renamed' } });
    const organization = { slug: 'rival', name: 'Renamed again' };
    await post(owner, '/api/o/rival/configuration/apply/', { organization });
    const { body } = await owner.ask({ path: '/api/o/rival/settings/' });
    expect(body).toMatchObject({ name: 'Renamed again', two_factor_required: true });
    await require(owner, false);
  });
});

test('accepting an invite with a password does not bypass the second factor', async () => {
  const owner = await member('owner');
  const guest = await person();
  const { secret } = await enroll(guest);
  const { body } = await post(owner, '/api/o/acme/invite/', { email: guest.email, role: 'viewer' });
  const path = `/api/invite/${body.link.split('/').at(-1)}/`;
  const browser = stranger();
  const token = tokenOf(await post(browser, path, { password }));
  expect((await browser.ask({ path: '/api/session/' })).status).toBe(401);
  expect((await post(browser, '/api/session/second-factor/', { token, code: codeOf(secret) })).status).toBe(200);
  expect((await post(browser, path, {})).status).toBe(201);
});

test('changes and failures of second factors are recorded without secrets', async () => {
  const owner = await member('owner');
  const { secret, recoveryCodes } = await enroll(owner);
  const token = tokenOf(await stranger().signIn(owner.email));
  const headers = { 'x-forwarded-for': '192.0.2.55' };
  await post(stranger(), '/api/session/second-factor/', { token, code: '000000' }, headers);
  await post(stranger(), '/api/session/second-factor/', { token, code: recoveryCodes[0] }, headers);
  await post(owner, '/api/session/recovery-codes/');
  await owner.ask({ method: 'DELETE', path: '/api/session/totp/' });
  const { body, text } = await owner.ask({ path: `/api/o/acme/audit/?path=${owner.email}` });
  const own = { kind: 'account', id: String(owner.id), name: owner.email };
  expect(body.map((entry: Record<string, unknown>) => [entry.action, entry.actor, entry.origin])).toEqual([
    ['remove authenticator app', own, '127.0.0.1'],
    ['renew recovery codes', own, '127.0.0.1'],
    ['sign in', own, '192.0.2.55'],
    ['use recovery code', own, '192.0.2.55'],
    ['sign in failed', { kind: 'visitor', id: null, name: 'anonymous' }, '192.0.2.55'],
    ['add authenticator app', own, '127.0.0.1'],
    ['sign in', own, '127.0.0.1'],
    ['create', expect.anything(), null],
  ]);
  for (const hidden of [secret, ...recoveryCodes]) expect(text).not.toContain(hidden);
});

test('maintenance removes expired challenges and password resets', async () => {
  const { deps } = service.runtime;
  const { id } = await person();
  const [past, future] = [new Date(Date.now() - 1_000), new Date(Date.now() + 60_000)];
  for (const [i, expires_at] of [past, future].entries()) {
    const hash = Buffer.alloc(32, i + 1);
    await deps.db.insertInto('used_challenges').values({ challenge_hash: hash, expires_at }).execute();
    await deps.db.insertInto('password_resets').values({ token_hash: hash, account_id: id, expires_at }).execute();
  }
  await runMaintenance(deps, Date.now());
  const left = [Buffer.alloc(32, 2)];
  const challenges = await deps.db.selectFrom('used_challenges').select('challenge_hash').execute();
  const resets = await deps.db.selectFrom('password_resets').select('token_hash').execute();
  expect(challenges.map(row => row.challenge_hash)).toEqual(left);
  expect(resets.map(row => row.token_hash)).toEqual(left);
});
