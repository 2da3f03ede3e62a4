/** Invites and password resets by mail, against a real SMTP server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { Mailer } from '../../src/services/identity/mail.ts';
import { Browser, newAccount, password, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { buildTenants } from '../support/tenants.ts';
import { codeOf, enroll } from '../support/totp.ts';

let service: Service;
let plain: Service;
let smtp: SmtpPeer;

beforeAll(async () => {
  smtp = await openSmtpPeer({ starttls: false });
  service = await testService({
    BELFRY_ROLE: 'api',
    BASE_URL: 'https://belfry.acme.test',
    TRUST_PROXY: '127.0.0.1',
    BELFRY_MAIL_URL: `smtp://localhost:${smtp.port}?from=Belfry%20<no-reply@acme.test>`,
    // Tenants have no access to the loopback interface, the service itself has.
    BELFRY_OUTBOUND_ALLOW: '10.0.0.0/8',
  });
  plain = await testService({ BELFRY_ROLE: 'api' });
  await buildTenants(service.runtime.deps);
});
afterAll(async () => {
  await Promise.all([service.stop(), plain.stop()]);
  await smtp.close();
});
beforeEach(() => {
  smtp.mails.length = 0;
  smtp.fault = undefined;
});

let network = 0;
const request = (email: string, headers: Record<string, string> = {}) =>
  ask(service.address, {
    method: 'POST',
    path: '/api/password-reset/',
    body: { email },
    headers: { 'x-forwarded-for': `192.0.2.${++network}`, ...headers },
  });
const mailed = (count = 1) =>
  eventually(() => {
    expect(smtp.mails).toHaveLength(count);
    return smtp.mails.at(-1)!;
  });
/** Returns the token of the link in a mail, in which long lines are broken with "=". */
const tokenIn = (raw: string, what: string) =>
  new RegExp(`https://belfry\\.acme\\.test/${what}/([\\w-]{43})`).exec(
    raw.replaceAll('=\r\n', '').replaceAll('=3D', '='),
  )![1]!;
const resetPath = async (email: string) => {
  await request(email);
  return `/api/password-reset/${tokenIn((await mailed()).raw, 'reset-password')}/`;
};
const reset = (path: string, newPassword = 'a new, longer one') =>
  ask(service.address, { method: 'POST', path, body: { password: newPassword } });

test('the sign-in options show whether password resets are available', async () => {
  const optionsOf = async ({ address }: Service) => (await ask(address, { path: '/api/session/options/' })).body;
  expect(await optionsOf(service)).toMatchObject({ password_reset: true });
  expect(await optionsOf(plain)).toMatchObject({ password_reset: false });
  const refused = await ask(plain.address, {
    method: 'POST',
    path: '/api/password-reset/',
    body: { email: 'a@b.test' },
  });
  expectProblem(refused, 409, 'reset.unavailable');
});

describe('a password reset', () => {
  test('responds the same whether or not the account exists, and sends mail only if it does', async () => {
    const { email } = await newAccount(service.runtime.deps);
    const known = await request(email.toUpperCase());
    const unknown = await request('nobody@people.test');
    expect([known.status, known.body]).toEqual([200, { requested: true }]);
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
    const mail = await mailed();
    expect(mail.to).toEqual([email]);
    expect(mail.headers).toMatchObject({ from: 'Belfry <no-reply@acme.test>', subject: 'Reset your Belfry password' });
    expect(mail.raw).toContain('text/html');
  });

  test('links to BASE_URL, not to the Host header of the request', async () => {
    const { email } = await newAccount(service.runtime.deps);
    await request(email, { host: 'evil.test', 'x-forwarded-host': 'evil.test' });
    const { raw } = await mailed();
    expect(raw).not.toContain('evil.test');
  });

  test('sets a new password once and ends all sessions', async () => {
    const person = await signInNewAccount(service.address, service.runtime.deps);
    const path = await resetPath(person.email);
    expect((await ask(service.address, { path })).body).toEqual({ email: person.email });
    expectProblem(await reset(path, 'short'), 400, 'request.invalid', ['password']);
    const answers = await Promise.all([reset(path), reset(path)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    expectProblem(await reset(path), 404, 'reset.not_found');
    expectProblem(await ask(service.address, { path }), 404, 'reset.not_found');
    await eventually(async () => expectProblem(await person.ask({ path: '/api/session/' }), 401), 1_000);
    expectProblem(await new Browser(service.address).signIn(person.email), 401, 'session.refused');
    expect((await new Browser(service.address).signIn(person.email, 'a new, longer one')).status).toBe(200);
  });

  test('invalidates the other links of the account and clears its lockout', async () => {
    const { email } = await newAccount(service.runtime.deps);
    await request(email);
    const first = tokenIn((await mailed()).raw, 'reset-password');
    await request(email);
    const second = tokenIn((await mailed(2)).raw, 'reset-password');
    const browser = new Browser(service.address);
    for (let i = 0; i < 6; i++) await browser.signIn(email, 'wrong password');
    expect((await reset(`/api/password-reset/${second}/`)).status).toBe(200);
    expectProblem(await reset(`/api/password-reset/${first}/`), 404, 'reset.not_found');
    expect((await browser.signIn(email, 'a new, longer one')).status).toBe(200);
  });

  test('expires after an hour', async () => {
    const { email, id } = await newAccount(service.runtime.deps);
    const path = await resetPath(email);
    const { db } = service.runtime.deps;
    const row = () =>
      db.selectFrom('password_resets').selectAll().where('account_id', '=', id).executeTakeFirstOrThrow();
    const minutes = ((await row()).expires_at.getTime() - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(58);
    expect(minutes).toBeLessThanOrEqual(60);
    expect(path).not.toContain((await row()).token_hash.toString('base64url'));
    const expires_at = new Date(Date.now() - 1);
    await db.updateTable('password_resets').set({ expires_at }).where('account_id', '=', id).execute();
    expectProblem(await reset(path), 404, 'reset.not_found');
  });

  test('does not bypass a second factor', async () => {
    const person = await signInNewAccount(service.address, service.runtime.deps);
    const { secret } = await enroll(person);
    await reset(await resetPath(person.email));
    const browser = new Browser(service.address);
    const first = await browser.signIn(person.email, 'a new, longer one');
    expectProblem(
      { ...first, body: { ...first.body, second_factor: undefined } } as never,
      401,
      'session.second_factor',
    );
    const body = { token: first.body.second_factor.token, code: codeOf(secret) };
    expect((await browser.ask({ method: 'POST', path: '/api/session/second-factor/', body })).status).toBe(200);
  });

  test('of an account without a password points to the identity provider and creates no link', async () => {
    const { email, id } = await newAccount(service.runtime.deps);
    const { db } = service.runtime.deps;
    await db
      .updateTable('accounts')
      .set({ password_hash: null, oidc_issuer: 'https://idp.test', oidc_subject: String(id) })
      .where('id', '=', id)
      .execute();
    await request(email);
    expect((await mailed()).raw.replaceAll('=\r\n', '')).toContain('has no password');
    expect(await db.selectFrom('password_resets').selectAll().where('account_id', '=', id).execute()).toEqual([]);
  });

  test('is limited per address and per network', async () => {
    const { email } = await newAccount(service.runtime.deps);
    for (let i = 0; i < 6; i++) expect((await request(email)).status).toBe(200);
    await service.runtime.deps.mailer!.drain();
    expect(smtp.mails.filter(({ to }) => to[0] === email)).toHaveLength(3);
    const headers = { 'x-forwarded-for': '198.51.100.9' };
    for (let i = 0; i < 20; i++) expect((await request('nobody@people.test', headers)).status).toBe(200);
    expectProblem(await request('nobody@people.test', headers), 429, 'reset.limited');
  });

  test('is recorded in the audit log of the organizations of the account', async () => {
    const membership = { organization: 'acme', role: 'owner' } as const;
    const person = await signInNewAccount(service.address, service.runtime.deps, { membership });
    await reset(await resetPath(person.email));
    const browser = new Browser(service.address);
    await browser.signIn(person.email, 'a new, longer one');
    const { body } = await browser.ask({ path: `/api/o/acme/audit/?path=${person.email}&limit=3` });
    expect(body.map((entry: { action: string }) => entry.action)).toEqual([
      'sign in',
      'reset password',
      'ask for password reset',
    ]);
    expect(body[2].actor).toEqual({ kind: 'visitor', id: null, name: 'anonymous' });
  });
});

describe('an invite', () => {
  const invite = async (email: string) => {
    const membership = { organization: 'acme', role: 'owner' } as const;
    const owner = await signInNewAccount(service.address, service.runtime.deps, { membership });
    const body = { email, role: 'viewer' };
    return { owner, answer: await owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body }) };
  };

  test('is mailed with the name of the inviter and a working link', async () => {
    const { owner, answer } = await invite('mailed@people.test');
    expect(answer.body).toMatchObject({ mailed: true, mail_failure: null });
    const mail = await mailed();
    expect(mail.to).toEqual(['mailed@people.test']);
    expect(mail.headers.subject).toBe('Join The acme company on Belfry');
    expect(mail.raw).toContain(owner.email);
    const path = `/api/invite/${tokenIn(mail.raw, 'invite')}/`;
    const body = { name: 'Mailed', password };
    expect((await ask(service.address, { method: 'POST', path, body })).status).toBe(201);
  });

  test('shows stored names so that they do not reorder the text around them', async () => {
    const sent: { content: { title: string; text: string } }[] = [];
    const send = async (message: never) => {
      sent.push(message);
      return { ok: true, id: '1' };
    };
    const mailer = new Mailer({ send } as never, { info: () => {}, warn: () => {} });
    const organization = 'Acme \u202egnp';
    const values = {
      organization,
      inviter: 'Eve',
      role: 'viewer',
      until: 'today',
      link: 'https://belfry.test/invite/x',
    };
    await mailer.send({ to: 'a@x.test', template: 'invite', values });
    expect(JSON.stringify(sent[0]!.content)).toContain(`Join \u2068${organization}\u2069 on Belfry`);
    expect(JSON.stringify(sent[0]!.content)).not.toContain(`**${organization}`);
  });

  test('that could not be mailed returns the reason and a working link', async () => {
    smtp.fault = { rcpt: '550 5.1.1 no such mailbox' };
    const { answer } = await invite('refused@people.test');
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ mailed: false, mail_failure: expect.stringContaining('no such mailbox') });
    expect(answer.body.link).toMatch(/^https:\/\/belfry\.acme\.test\/invite\//);
  });
});
