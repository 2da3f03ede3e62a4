/** Actions of accounts are in the audit log of their organizations, with the account's name. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { removeAccount, resetPassword } from '../../src/services/identity/accounts.ts';
import { Browser, password, signInNewAccount } from '../support/accounts.ts';
import { testTenants } from '../support/tenants.ts';

let service: Service;
let owner: Browser & { id: number; email: string };

beforeAll(async () => {
  ({ service } = await testTenants());
  owner = await signInNewAccount(service.address, service.runtime.deps, {
    membership: { organization: 'acme', role: 'owner' },
  });
});
afterAll(() => service.stop());

const entries = async (who = owner) => (await who.ask({ path: '/api/o/acme/audit/' })).body;

test('an entry of a change made in the console names the account', async () => {
  await owner.ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: 'logged@acme.test' } });
  const [entry] = await entries();
  expect(entry).toMatchObject({
    actor: { kind: 'account', id: String(owner.id), name: owner.email },
    action: 'create',
    noun: 'user',
    path: 'logged@acme.test',
    origin: '127.0.0.1',
  });
});

test('sign-in, sign-out, changes of name and password, and operator actions are recorded', async () => {
  const membership = { organization: 'acme', role: 'viewer' } as const;
  const person = await signInNewAccount(service.address, service.runtime.deps, { membership });
  await person.ask({ method: 'PATCH', path: '/api/session/', body: { name: 'Named' } });
  const body = { current: password, password: 'another long one' };
  await person.ask({ method: 'POST', path: '/api/session/password/', body });
  await person.ask({ method: 'DELETE', path: '/api/session/' });
  await resetPassword(service.runtime.deps, person.email);
  await removeAccount(service.runtime.deps, person.email);
  const own = (await entries()).filter((entry: { path: string }) => entry.path === person.email);
  const { id, email } = person;
  const account = { kind: 'account', id: String(id), name: email };
  const command = { kind: 'command', id: null, name: 'command line' };
  expect(own.map((entry: Record<string, unknown>) => [entry.noun, entry.action, entry.actor])).toEqual([
    ['account', 'delete', command],
    ['account', 'reset password', command],
    ['account', 'sign out', account],
    ['account', 'change password', account],
    ['account', 'update', account],
    ['account', 'sign in', account],
    ['account', 'create', command],
  ]);
});

test('accepting an invite is recorded as joining', async () => {
  const email = 'joined@people.test';
  const { body } = await owner.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role: 'viewer' } });
  const path = `/api/invite/${body.link.split('/').at(-1)}/`;
  await new Browser(service.address).ask({ method: 'POST', path, body: { name: 'Joined', password } });
  const about = (await entries()).filter((entry: { path: string }) => entry.path === email);
  expect(about.map((entry: Record<string, unknown>) => [entry.noun, entry.action])).toEqual([
    ['account', 'sign in'],
    ['account', 'join'],
    ['invite', 'create'],
  ]);
  expect(about[1].actor).toMatchObject({ kind: 'account', name: email });
});

test('the first entry of a new organization names its creator', async () => {
  const instance = await signInNewAccount(service.address, service.runtime.deps, { admin: true });
  await instance.ask({ method: 'POST', path: '/api/o/', body: { slug: 'begun', name: 'Begun' } });
  const { body } = await instance.ask({ path: '/api/o/begun/audit/' });
  expect(body).toMatchObject([{ action: 'create', noun: 'organization', actor: { name: instance.email } }]);
});

test('no entry contains a password or a token', async () => {
  const text = JSON.stringify(await entries());
  expect(text).not.toContain(password);
  expect(text).not.toContain('argon2');
  expect(text).not.toContain('/invite/');
});
