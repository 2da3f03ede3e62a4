/** Passkeys: forged, relayed, replayed and cloned responses are refused. A real browser is tested in browser-sign-in.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { Browser, password, signInNewAccount } from '../support/accounts.ts';
import { type Answer, expectProblem } from '../support/api.ts';
import { addPasskey, expectRefused, type Forgery, SoftwarePasskey, signInWith } from '../support/passkey.ts';
import { testTenants } from '../support/tenants.ts';

const origin = 'https://belfry.acme.test';
let service: Service;

beforeAll(async () => {
  ({ service } = await testTenants({ BASE_URL: origin, TRUST_PROXY: '127.0.0.1' }));
});
afterAll(() => service.stop());

const stranger = () => new Browser(service.address);
const person = (input = {}) => signInNewAccount(service.address, service.runtime.deps, input);
const post = (who: Browser, path: string, body?: object) => who.ask({ method: 'POST', path, body });

/** Each would be accepted if that one property were not checked. */
const forgeries: [what: string, forgery: Forgery][] = [
  ['another origin', { origin: 'https://evil.test' }],
  ['the same host over plain HTTP', { origin: 'http://belfry.acme.test' }],
  ['the same host on another port', { origin: 'https://belfry.acme.test:8443' }],
  ['a host below ours', { origin: 'https://evil.belfry.acme.test' }],
  ['another relying party', { rpId: 'evil.test' }],
  ['the domain above ours as relying party', { rpId: 'acme.test' }],
  ['another challenge', { challenge: Buffer.alloc(32, 7).toString('base64url') }],
];

describe('a registration', () => {
  const register = async (who: Browser, forgery: Forgery, passkey = new SoftwarePasskey(origin)): Promise<Answer> => {
    const { body } = await post(who, '/api/session/passkeys/options/');
    const response = passkey.create(body.options, forgery);
    return post(who, '/api/session/passkeys/', { token: body.token, name: 'Forged', response });
  };
  const passkeysOf = async (who: Browser) => (await who.ask({ path: '/api/session/two-factor/' })).body.passkeys;

  test.each([...forgeries, ['a response for signing in', { type: 'webauthn.get' }] as [string, Forgery]])(
    'for %s is refused',
    async (_, forgery) => {
      const owner = await person();
      expectProblem(await register(owner, forgery), 400, 'passkey.invalid');
      expect(await passkeysOf(owner)).toEqual([]);
      expect((await register(owner, {})).status).toBe(201);
    },
  );

  test('that was begun by another account is refused', async () => {
    const [one, two] = [await person(), await person()];
    const { body } = await post(one, '/api/session/passkeys/options/');
    const response = new SoftwarePasskey(origin).create(body.options);
    const stolen = { token: body.token, name: 'Stolen', response };
    expectProblem(await post(two, '/api/session/passkeys/', stolen), 401, 'session.expired');
  });

  test('of a passkey that another account has is refused, and the other account keeps it', async () => {
    const [one, two] = [await person(), await person()];
    const passkey = await addPasskey(one, origin);
    expectProblem(await register(two, {}, passkey), 400, 'passkey.invalid');
    const opened = await signInWith(stranger(), passkey);
    expect(opened.body.account.email).toBe(one.email);
  });

  test('is accepted only once', async () => {
    const owner = await person();
    const { body } = await post(owner, '/api/session/passkeys/options/');
    const first = new SoftwarePasskey(origin);
    const once = { token: body.token, name: 'First', response: first.create(body.options) };
    expect((await post(owner, '/api/session/passkeys/', once)).status).toBe(201);
    expect((await post(owner, '/api/session/passkeys/', once)).status).not.toBe(201);
    const second = { ...once, name: 'Second', response: new SoftwarePasskey(origin).create(body.options) };
    expectProblem(await post(owner, '/api/session/passkeys/', second), 401, 'session.expired');
    expect(await passkeysOf(owner)).toHaveLength(1);
  });
});

describe('a sign-in with a passkey alone', () => {
  test.each([
    ...forgeries,
    ['a response for registering', { type: 'webauthn.create' }] as [string, Forgery],
    ['no user verification', { userVerified: false }] as [string, Forgery],
    ['an unregistered passkey', { credentialId: Buffer.alloc(32, 9) }] as [string, Forgery],
  ])('with %s is refused', async (_, forgery) => {
    const passkey = await addPasskey(await person(), origin);
    const browser = stranger();
    expectRefused(await signInWith(browser, passkey, forgery));
    expect((await browser.ask({ path: '/api/session/' })).status).toBe(401);
    expect((await signInWith(stranger(), passkey)).status).toBe(200);
  });

  test('signed by one passkey with the id of another is refused', async () => {
    const victim = await addPasskey(await person(), origin);
    const attacker = await addPasskey(await person(), origin);
    expectRefused(await signInWith(stranger(), attacker, { credentialId: victim.id }));
  });

  test.each([0, 4, 5])(
    'whose counter went from 5 to %i is refused: the passkey may have been copied',
    async counter => {
      const passkey = await addPasskey(await person(), origin);
      expect((await signInWith(stranger(), passkey, { counter: 5 })).status).toBe(200);
      expectRefused(await signInWith(stranger(), passkey, { counter }));
      expect((await signInWith(stranger(), passkey, { counter: 6 })).status).toBe(200);
    },
  );

  test('opens one session, however often and however fast its response is sent', async () => {
    const owner = await person();
    const passkey = await addPasskey(owner, origin);
    // Synchronized passkeys have no counter, so only the challenge reveals a replay.
    const { body } = await post(stranger(), '/api/session/passkey/options/');
    const answer = { token: body.token, response: passkey.get(body.options, { counter: 0 }) };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(stranger(), '/api/session/passkey/', answer)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expectProblem(await post(stranger(), '/api/session/passkey/', answer), 401, 'session.expired');
  });

  test('requires its own challenge, not that of a registration or a second step', async () => {
    const owner = await person();
    const passkey = await addPasskey(owner, origin);
    const { body: registering } = await post(owner, '/api/session/passkeys/options/');
    const { body: first } = await stranger().signIn(owner.email);
    for (const [token, options] of [
      [registering.token, registering.options],
      [first.second_factor.token, first.second_factor.passkey],
      ['made up', registering.options],
    ]) {
      const answer = { token, response: passkey.get(options) };
      expectProblem(await post(stranger(), '/api/session/passkey/', answer), 401, 'session.expired');
    }
  });
});

describe('a passkey as the second factor', () => {
  const begin = async (email: string) => (await stranger().signIn(email, password)).body.second_factor;
  const finish = (token: string, response: object) =>
    post(stranger(), '/api/session/second-factor/', { token, passkey: response });

  test.each(forgeries)('with %s is refused', async (_, forgery) => {
    const owner = await person();
    const passkey = await addPasskey(owner, origin);
    const { token, passkey: options } = await begin(owner.email);
    expectRefused(await finish(token, passkey.get(options, forgery)));
    expect((await finish(token, passkey.get(options))).status).toBe(200);
  });

  test('needs no user verification after the password', async () => {
    const owner = await person();
    const passkey = await addPasskey(owner, origin);
    const { token, passkey: options } = await begin(owner.email);
    expect((await finish(token, passkey.get(options, { userVerified: false }))).status).toBe(200);
  });

  test('of another account is refused and recorded', async () => {
    const membership = { organization: 'acme', role: 'owner' } as const;
    const owner = await person({ membership });
    await addPasskey(owner, origin);
    const attacker = await addPasskey(await person(), origin);
    const { token, passkey: options } = await begin(owner.email);
    expectRefused(await finish(token, attacker.get(options)));
    const { body } = await owner.ask({ path: `/api/o/acme/audit/?path=${owner.email}&limit=1` });
    expect(body[0]).toMatchObject({ action: 'sign in failed', after: { wrong: 'passkey' } });
  });

  test('is accepted only once per challenge', async () => {
    const owner = await person();
    const passkey = await addPasskey(owner, origin);
    const { token, passkey: options } = await begin(owner.email);
    const response = passkey.get(options, { counter: 0 });
    const answers = await Promise.all(Array.from({ length: 5 }, () => finish(token, response)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
  });
});
