/** Invites, and the members of an organization. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import type { Role } from '../../src/core/identity/roles.ts';
import { removeAccount } from '../../src/services/identity/accounts.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { Browser, newAccount, password, signInNewAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testTenants } from '../support/tenants.ts';

let service: Service;
let owner: Browser & { id: number; email: string };
let admin: Browser & { id: number; email: string };

const member = (role: Role, organization = 'acme') =>
  signInNewAccount(service.address, service.runtime.deps, { membership: { organization, role } });

beforeAll(async () => {
  ({ service } = await testTenants());
  owner = await member('owner');
  admin = await member('admin');
});
afterAll(() => service.stop());

let count = 0;
const newEmail = () => `invited-${++count}@people.test`;

const invite = (who: Browser, email: string, role: Role = 'viewer') =>
  who.ask({ method: 'POST', path: '/api/o/acme/invite/', body: { email, role } });

async function invited(email: string, role: Role = 'viewer'): Promise<string> {
  const answer = await invite(owner, email, role);
  expect(answer.status, answer.text).toBe(201);
  return `/api/invite/${answer.body.link.split('/').at(-1)}/`;
}

describe('an invite', () => {
  test('is a link that is shown once and names organization, email and role', async () => {
    const email = newEmail();
    const answer = await invite(owner, email.toUpperCase(), 'editor');
    expect(answer.body).toEqual({
      id: expect.any(Number),
      email,
      role: 'editor',
      expires_at: expect.any(String),
      link: expect.stringMatching(`^${service.address}/invite/[\\w-]{43}$`),
      mailed: false,
      mail_failure: null,
    });
    const inDays = (Date.parse(answer.body.expires_at) - Date.now()) / 86_400_000;
    expect(inDays).toBeGreaterThan(6.9);
    expect(inDays).toBeLessThanOrEqual(7);
    const path = `/api/invite/${answer.body.link.split('/').at(-1)}/`;
    expect((await new Browser(service.address).ask({ path })).body).toEqual({
      organization: { slug: 'acme', name: 'The acme company' },
      email,
      role: 'editor',
      expires_at: answer.body.expires_at,
      password: true,
    });
    const { body: list, text } = await owner.ask({ path: '/api/o/acme/invite/' });
    expect(list).toContainEqual(expect.objectContaining({ email, role: 'editor', invited_by: owner.email }));
    expect(text).not.toContain(path.split('/')[3]);
  });

  test('creates an account that is signed in and a member, once', async () => {
    const email = newEmail();
    const path = await invited(email, 'editor');
    const browser = new Browser(service.address);
    const accept = (body: object) => browser.ask({ method: 'POST', path, body });
    expectProblem(await accept({}), 400, 'request.invalid', ['password']);
    expectProblem(await accept({ password }), 400, 'request.invalid', ['name']);
    expectProblem(await accept({ name: 'New', password: 'short' }), 400, 'request.invalid', ['password']);
    const answer = await accept({ name: 'New', password });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toMatchObject({ account: { email, name: 'New', admin: false } });
    expect(answer.body.organizations).toMatchObject([{ slug: 'acme', role: 'editor' }]);
    expect((await browser.ask({ path: '/api/o/acme/u/' })).status).toBe(200);
    expectProblem(await new Browser(service.address).ask({ path }), 404, 'invite.not_found');
    expectProblem(await new Browser(service.address).ask({ method: 'POST', path, body: {} }), 404, 'invite.not_found');
    expect((await new Browser(service.address).signIn(email)).status).toBe(200);
  });

  test('is accepted only once when it is used twice concurrently', async () => {
    const path = await invited(newEmail());
    const accept = () => new Browser(service.address).ask({ method: 'POST', path, body: { name: 'Fast', password } });
    const statuses = (await Promise.all([accept(), accept()])).map(answer => answer.status);
    expect(statuses.toSorted()[0]).toBe(201);
    expect(statuses.toSorted()[1]).toBeGreaterThanOrEqual(400);
    expect(statuses.toSorted()[1]).toBeLessThan(500);
  });

  test('requires the password of an existing account', async () => {
    const { email } = await newAccount(service.runtime.deps);
    const path = await invited(email);
    const accept = (body: object) => new Browser(service.address).ask({ method: 'POST', path, body });
    expectProblem(await accept({}), 400, 'request.invalid', ['password']);
    expectProblem(await accept({ name: 'Thief', password: 'of somebody else' }), 401, 'session.refused');
    const answer = await accept({ password });
    expect([answer.status, answer.body.account.name]).toEqual([201, 'A person']);
  });

  test('requires nothing from a user who is signed in with the invited email', async () => {
    const person = await member('viewer', 'rival');
    const path = await invited(person.email, 'editor');
    const bare = { method: 'POST', path, body: {} };
    expectProblem(await person.ask({ ...bare, headers: { 'x-csrf-token': 'x' } }), 403, 'session.csrf');
    const answer = await person.ask(bare);
    expect(answer.status, answer.text).toBe(201);
    const found = answer.body.organizations.map(({ slug, role }: { slug: string; role: Role }) => [slug, role]);
    expect(found.toSorted()).toEqual([
      ['acme', 'editor'],
      ['rival', 'viewer'],
    ]);
  });

  test('cannot be accepted by a user who is signed in with another email', async () => {
    const person = await member('viewer', 'rival');
    const email = newEmail();
    const path = await invited(email, 'owner');
    expectProblem(await person.ask({ method: 'POST', path, body: {} }), 400, 'request.invalid', ['password']);
    expectProblem(await person.ask({ path: '/api/o/acme/' }), 404);
  });

  test('ends when it expires, is withdrawn, or is replaced by a newer one', async () => {
    const visitor = new Browser(service.address);
    const late = newEmail();
    const latePath = await invited(late);
    const { db } = service.runtime.deps;
    await db.updateTable('invites').set({ expires_at: new Date() }).where('email', '=', late).execute();
    expectProblem(await visitor.ask({ path: latePath }), 404, 'invite.not_found');
    expectProblem(await visitor.ask({ method: 'POST', path: latePath, body: { name: 'Late', password } }), 404);

    const withdrawn = newEmail();
    const withdrawnPath = await invited(withdrawn);
    const { body } = await owner.ask({ path: '/api/o/acme/invite/' });
    const { id } = body.find((each: { email: string }) => each.email === withdrawn);
    const answer = await owner.ask({ method: 'DELETE', path: `/api/o/acme/invite/${id}/` });
    expect([answer.status, answer.body]).toEqual([200, { deleted: { invites: 1 } }]);
    expectProblem(await visitor.ask({ path: withdrawnPath }), 404, 'invite.not_found');

    const twice = newEmail();
    const [first, second] = [await invited(twice), await invited(twice, 'editor')];
    expectProblem(await visitor.ask({ path: first }), 404, 'invite.not_found');
    expect((await visitor.ask({ path: second })).body.role).toBe('editor');
  });

  test('is refused for members, for invalid emails, and for roles with permissions that the caller lacks', async () => {
    expectProblem(await invite(owner, admin.email), 409, 'resource.exists', ['email']);
    expectProblem(await invite(owner, 'nobody'), 400, 'request.invalid', ['email']);
    expectProblem(await invite(owner, newEmail(), 'king' as Role), 400, 'request.invalid', ['role']);
    expectProblem(await invite(admin, newEmail(), 'owner'), 403, 'role.permission');
    expect((await invite(admin, newEmail(), 'admin')).status).toBe(201);
  });
});

describe('an invite of an owner', () => {
  test('cannot be withdrawn or replaced by an admin', async () => {
    const email = newEmail();
    const path = await invited(email, 'owner');
    const { body } = await owner.ask({ path: '/api/o/acme/invite/' });
    const { id } = body.find((each: { email: string }) => each.email === email);
    const withdraw = { method: 'DELETE', path: `/api/o/acme/invite/${id}/` };
    expectProblem(await admin.ask(withdraw), 403, 'role.permission');
    expectProblem(await invite(admin, email, 'viewer'), 403, 'role.permission');
    expect((await new Browser(service.address).ask({ path })).body.role).toBe('owner');
    expect((await owner.ask(withdraw)).status).toBe(200);
  });
});

describe('an invite ends with its inviter:', () => {
  const { accept, isListed } = {
    accept: (path: string) =>
      new Browser(service.address).ask({ method: 'POST', path, body: { name: 'Invited', password } }),
    isListed: async (email: string) =>
      (await owner.ask({ path: '/api/o/acme/invite/' })).body.some((each: { email: string }) => each.email === email),
  };
  const inviteBy = async (who: Browser, role: Role) => {
    const email = newEmail();
    const { body } = await invite(who, email, role);
    return { email, path: `/api/invite/${body.link.split('/').at(-1)}/` };
  };

  const ends: [name: string, role: Role, end: (inviter: { id: number; email: string }) => Promise<unknown>][] = [
    [
      'when it is removed from the organization',
      'admin',
      ({ id }) => owner.ask({ method: 'DELETE', path: `/api/o/acme/account/${id}/` }),
    ],
    ['when its account is deleted', 'viewer', ({ email }) => removeAccount(service.runtime.deps, email)],
    [
      'when its role becomes lower than what it granted',
      'owner',
      ({ id }) => owner.ask({ method: 'PATCH', path: `/api/o/acme/account/${id}/`, body: { role: 'admin' } }),
    ],
    [
      'when its role no longer allows invites',
      'viewer',
      ({ id }) => owner.ask({ method: 'PATCH', path: `/api/o/acme/account/${id}/`, body: { role: 'editor' } }),
    ],
  ];
  test.each(ends)('%s', async (_, role, end) => {
    const inviter = await member(role === 'owner' ? 'owner' : 'admin');
    const { email, path } = await inviteBy(inviter, role);
    expect(await isListed(email)).toBe(true);
    await end(inviter);
    expect(await isListed(email)).toBe(false);
    expectProblem(await accept(path), 404, 'invite.not_found');
  });

  test('when it was a key that is revoked', async () => {
    const { deps } = service.runtime;
    const { id, key } = await createKey(deps, 'acme', { name: 'inviting', permissions: ['*'] });
    const body = { email: newEmail(), role: 'viewer' };
    const headers = { authorization: `Key ${key}` };
    const asked = { method: 'POST', path: '/api/o/acme/invite/', headers };
    const answers = [
      await ask(service.address, { ...asked, body }),
      await ask(service.address, { ...asked, body: { ...body, email: newEmail() } }),
    ];
    const [first, second] = answers.map(answer => `/api/invite/${answer.body.link.split('/').at(-1)}/`);
    expect((await accept(first!)).status).toBe(201);
    await owner.ask({ method: 'POST', path: '/api/o/acme/k/revoke/', body: { key: id } });
    expectProblem(await accept(second!), 404, 'invite.not_found');
  });
});

describe('members', () => {
  const change = (who: Browser, id: number, role: Role) =>
    who.ask({ method: 'PATCH', path: `/api/o/acme/account/${id}/`, body: { role } });
  const remove = (who: Browser, id: number, organization = 'acme') =>
    who.ask({ method: 'DELETE', path: `/api/o/${organization}/account/${id}/` });

  test('are listed with their roles, without members of other organizations', async () => {
    const other = await member('viewer', 'rival');
    const { body, text } = await owner.ask({ path: '/api/o/acme/account/' });
    expect(body).toContainEqual({
      id: admin.id,
      email: admin.email,
      name: 'A person',
      role: 'admin',
      created_at: expect.any(String),
      last_seen_at: expect.any(String),
      two_factor: false,
      linked: false,
    });
    expect(text).not.toContain(other.email);
  });

  test('get another role with immediate effect', async () => {
    const person = await member('viewer');
    const create = () => person.ask({ method: 'POST', path: '/api/o/acme/u/', body: { email: newEmail() } });
    expectProblem(await create(), 403, 'role.permission');
    const answer = await change(admin, person.id, 'editor');
    expect([answer.status, answer.body]).toMatchObject([200, { id: person.id, role: 'editor' }]);
    await eventually(async () => expect((await create()).status).toBe(201), 1_000);
  });

  test('lose all access when they are removed', async () => {
    const person = await member('editor');
    const answer = await remove(admin, person.id);
    expect([answer.status, answer.body]).toEqual([200, { deleted: { accounts: 1 } }]);
    await eventually(async () => expectProblem(await person.ask({ path: '/api/o/acme/' }), 404), 1_000);
    expect((await person.ask({ path: '/api/session/' })).body.organizations).toEqual([]);
    expectProblem(await change(admin, person.id, 'viewer'), 404, 'account.not_found');
  });

  test('who are owners cannot be changed or removed by an admin', async () => {
    expectProblem(await change(admin, owner.id, 'viewer'), 403, 'role.permission');
    expectProblem(await remove(admin, owner.id), 403, 'role.permission');
    expectProblem(await change(admin, admin.id, 'owner'), 403, 'role.permission');
  });

  test('always include an owner, even when two leave at the same time', async () => {
    const instance = await signInNewAccount(service.address, service.runtime.deps, { admin: true });
    await instance.ask({ method: 'POST', path: '/api/o/', body: { slug: 'pair', name: 'Pair' } });
    const path = `/api/o/pair/account/${instance.id}/`;
    expectProblem(await instance.ask({ method: 'DELETE', path }), 409, 'account.last_owner');
    expectProblem(await instance.ask({ method: 'PATCH', path, body: { role: 'viewer' } }), 409, 'account.last_owner');
    const second = await member('owner', 'pair');
    const statuses = (
      await Promise.all([remove(instance, instance.id, 'pair'), remove(second, second.id, 'pair')])
    ).map(answer => answer.status);
    expect(statuses.toSorted()).toEqual([200, 409]);
  });

  test('are not changed by a request with an outdated ETag', async () => {
    const person = await member('viewer');
    const first = await change(admin, person.id, 'editor');
    await change(owner, person.id, 'viewer');
    const path = `/api/o/acme/account/${person.id}/`;
    const headers = { 'if-match': first.headers.etag! };
    expectProblem(await admin.ask({ method: 'PATCH', path, body: { role: 'admin' }, headers }), 412, 'request.stale');
  });
});
