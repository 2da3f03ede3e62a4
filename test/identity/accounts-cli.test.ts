/** Account management on the command line, for the operator. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { Browser } from '../support/accounts.ts';
import { expectProblem } from '../support/api.ts';
import { command } from '../support/command.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { belfry } from '../support/process.ts';
import { buildTenants } from '../support/tenants.ts';
import { enroll } from '../support/totp.ts';

let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
  await buildTenants(service.runtime.deps);
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const settings = () => ({ DATABASE_URL: database.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' });

const account = (args: string[], env = {}) => command(['account', ...args], { ...settings(), ...env });
/** Starts the real program, with something on its standard input. */
const accountWith = (input: string, args: string[]) => belfry(['account', ...args], settings(), input);

test('an account is created, listed, given a new password and removed while the server is running', {
  tags: ['sweep'],
}, async () => {
  const email = 'operator@people.test';
  const created = await account(['create', '--email', 'Operator@people.test', '--name', 'Op', '--admin']);
  expect([created.code, created.stderr]).toEqual([0, '']);
  expect(created.stdout).toMatch(/^[a-z]{4}(-[a-z]{4}){4}\n$/);
  const browser = new Browser(service.address);
  expect((await browser.signIn(email, created.stdout.trim())).body.account).toMatchObject({ name: 'Op', admin: true });

  const again = await account(['create', '--email', email]);
  expect([again.code, again.stdout]).toEqual([1, '']);
  expect(again.stderr).toContain('an account with the email operator@people.test already exists');

  expect((await account(['list'])).stdout).toMatch(/^operator@people\.test +Op +yes +\d{4}-/m);
  const reset = await account(['reset-password', '--email', email]);
  expect(reset.code).toBe(0);
  await eventually(async () => expectProblem(await browser.ask({ path: '/api/session/' }), 401), 1_000);
  expect((await browser.signIn(email, reset.stdout.trim())).status).toBe(200);

  expect((await account(['remove', '--email', email])).code).toBe(0);
  await eventually(async () => expectProblem(await browser.ask({ path: '/api/session/' }), 401), 1_000);
  expect(JSON.parse((await account(['list', '--json'])).stdout)).not.toContainEqual(expect.objectContaining({ email }));
});

test('unlink removes the link of one account, and of all accounts of an issuer', { tags: ['sweep'] }, async () => {
  const issuer = 'https://previous.example';
  const { db } = service.runtime.deps;
  const emails = ['linked-1@people.test', 'linked-2@people.test'];
  for (const email of emails) {
    const fields = { email, name: '', admin: false, email_verified: true, oidc_issuer: issuer, oidc_subject: email };
    await db.insertInto('accounts').values(fields).execute();
  }
  expect((await account(['list'])).stdout).toContain(issuer);
  expect((await account(['unlink', '--email', emails[0]!])).stdout).toBe(
    `Unlinked ${emails[0]} from the identity provider.\n`,
  );
  expect((await account(['unlink', '--issuer', issuer])).stdout).toBe(`Accounts unlinked from ${issuer}: 1.\n`);
  expect((await account(['list'])).stdout).not.toContain(issuer);
});

test('reset-two-factor lets a user who has lost every second factor sign in with the password', {
  tags: ['sweep'],
}, async () => {
  const email = 'lost@people.test';
  const { stdout } = await account(['create', '--email', email]);
  const browser = new Browser(service.address);
  await browser.signIn(email, stdout.trim());
  await enroll(browser);
  expect((await account(['list'])).stdout).toMatch(/^lost@people\.test .* on *$/m);
  const reset = await account(['reset-two-factor', '--email', email]);
  expect([reset.code, reset.stdout]).toEqual([0, `Removed the second factors of ${email}.\n`]);
  expect((await new Browser(service.address).signIn(email, stdout.trim())).status).toBe(200);
  expect((await account(['list'])).stdout).toMatch(/^lost@people\.test .* off *$/m);
});

test('audit prints JSON lines from the database and from a server, and records the export', {
  tags: ['sweep'],
}, async () => {
  const env = settings();
  const { key } = await createKey(service.runtime.deps, 'acme', { name: 'auditor', permissions: ['audit:read'] });
  const remote = { ...env, BELFRY_URL: service.address, BELFRY_KEY: key };
  const linesOf = ({ stdout }: { stdout: string }) =>
    stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
  const own = linesOf(await command(['audit', 'acme', '--noun', 'audit'], env));
  expect(own).toMatchObject([{ action: 'export', noun: 'audit', actor: { kind: 'command' } }]);
  const theirs = linesOf(await command(['audit', 'acme', '--noun', 'audit', '--since', '2020-01-01'], remote));
  expect(theirs).toMatchObject([{ actor: { kind: 'key', name: 'auditor' } }, { actor: { kind: 'command' } }]);
  for (const [args, text] of [
    [[], 'name the organization'],
    [['acme', '--since', 'yesterday'], '--since must be a time'],
  ] as const) {
    const refused = await command(['audit', ...args], env);
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain(text);
  }
});

test('a member is created with a password from standard input', { tags: ['sweep'] }, async () => {
  const email = 'member@people.test';
  const args = ['create', '--email', email, '--org', 'acme', '--role', 'editor', '--password-stdin'];
  const { code, stdout } = await accountWith('given by the operator\n', args);
  expect([code, stdout]).toEqual([0, `Created ${email}.\n`]);
  const { body } = await new Browser(service.address).signIn(email, 'given by the operator');
  expect(body.organizations).toMatchObject([{ slug: 'acme', role: 'editor' }]);
});

test.each([
  [[], 2, 'choose create, list, reset-password, reset-two-factor, unlink or remove'],
  [['create'], 2, '--email is missing'],
  [['create', '--email', 'x@people.test', '--org', 'acme'], 2, '--org and --role must be used together'],
  [['create', '--email', 'x@people.test', '--org', 'acme', '--role', 'king'], 2, '--role must be one of'],
  [
    ['create', '--email', 'x@people.test', '--org', 'nowhere', '--role', 'owner'],
    1,
    'there is no organization nowhere',
  ],
  [['create', '--email', 'nobody'], 1, 'is not a valid email address'],
  [['remove', '--email', 'nobody@people.test'], 1, 'no account with the email nobody@people.test'],
  [['remove', '--email', 'owner@acme.test'], 1, 'the last owner of the organization acme'],
])('%j exits with %i and an explanation', async (args, code, text) => {
  const result = await account(args);
  expect([result.code, result.stdout]).toEqual([code, '']);
  expect(result.stderr).toContain(text);
});

test('a weak password is refused, and so is running against a server', { tags: ['sweep'] }, async () => {
  const weak = await accountWith('password123\n', ['create', '--email', 'x@people.test', '--password-stdin']);
  expect([weak.code, weak.stderr]).toEqual([1, expect.stringContaining('too easy to guess')]);
  const remote = await account(['list'], { BELFRY_URL: service.address, BELFRY_KEY: 'bf_x' });
  expect([remote.code, remote.stderr]).toEqual([2, expect.stringContaining('unset BELFRY_URL')]);
});
