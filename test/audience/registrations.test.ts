/** Registrations of users with an application. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const application = '/api/o/acme/p/shop/a/web/';
const register = (body: object) => ask({ method: 'POST', path: `${application}register/`, body });
const unregister = (username: string) =>
  ask({ method: 'POST', path: `${application}unregister/${encodeURIComponent(username)}/`, body: {} });

test('registering an unknown user creates it, and adds its addresses to the list', async () => {
  const { body: list } = await ask({ method: 'POST', path: '/api/o/acme/p/shop/d/', body: { name: 'Registered' } });
  const answer = await register({
    username: 'New@acme.test',
    first_name: 'New',
    last_name: '',
    email: '',
    custom_fields: { plan: 'pro', seats: 3 },
    addresses: [
      { value: '+15555550123' },
      { name: 'email work', value: 'w@acme.test', assign_to_preferred_channel: false },
    ],
    distribution_list: 'registered',
  });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toEqual({
    user: expect.objectContaining({ username: 'new@acme.test', email: 'New@acme.test', first_name: 'New' }),
    created: true,
    membership: { application: 'web', active: true, custom_fields: { plan: 'pro', seats: 3 } },
    addresses: [
      { name: 'phone', value: '+15555550123' },
      { name: 'email work', value: 'w@acme.test' },
    ],
    assignments: [{ address: '+15555550123', channel: expect.any(String) }],
    distribution_list: 'Registered',
  });
  const members = await ask({ path: `/api/o/acme/p/shop/d/${list.id}/m/` });
  expect(members.body).toEqual([expect.objectContaining({ address: '+15555550123', user: 'new@acme.test' })]);
  const [entry] = (await ask({ path: '/api/o/acme/audit/?noun=user&limit=1' })).body;
  expect(entry).toMatchObject({ action: 'register', noun: 'user', path: 'shop/web/new@acme.test' });
});

test('an existing user keeps name and email, and custom fields are merged', async () => {
  await register({ username: 'twice@acme.test', first_name: 'First', custom_fields: { a: 1, b: 2 } });
  const again = await register({
    username: 'twice@acme.test',
    first_name: 'Other',
    custom_fields: { b: null, c: 3 },
    active: false,
  });
  expect(again.body).toMatchObject({ created: false, user: { first_name: 'First' } });
  expect(again.body.membership).toEqual({ application: 'web', active: false, custom_fields: { a: 1, c: 3 } });
});

test('concurrent registrations of a user lose no custom field', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => register({ username: 'rush@acme.test', custom_fields: { [`f${i}`]: i } })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const { body } = await register({ username: 'rush@acme.test' });
  expect(Object.keys(body.membership.custom_fields)).toHaveLength(8);
});

test('an invalid registration stores nothing and names the field', async () => {
  const wrong = await register({
    username: 'gone@acme.test',
    addresses: [{ name: 'email', value: 'x' }, { value: 'y' }],
  });
  expect(Object.keys(wrong.body.errors)).toEqual(['addresses/0/value', 'addresses/1/name']);
  const unknown = await register({ username: 'gone@acme.test', distribution_list: 'No such list' });
  expect(unknown.body.errors).toEqual({
    distribution_list: [expect.stringContaining('there is no distribution list')],
  });
  expect((await register({ username: 'gone' })).body.errors).toHaveProperty('email');
  expect((await register({ username: 'gone@acme.test', colour: 'red' })).body.errors).toHaveProperty('colour');
  expect((await ask({ path: '/api/o/acme/u/gone@acme.test/' })).status).toBe(404);
});

test('a username need not be an email address if an email is given', async () => {
  const { body } = await register({ username: 'jdoe', email: 'jdoe@acme.test' });
  expect(body).toMatchObject({ created: true, user: { username: 'jdoe', email: 'jdoe@acme.test' } });
  expect((await register({ username: 'JDoe' })).body).toMatchObject({ created: false });
  expect((await unregister('jdoe')).body).toEqual({ deleted: 1 });
});

test('unregistering deletes only the registration', async () => {
  await register({ username: 'leaves@acme.test', custom_fields: { a: 1 } });
  expect((await unregister('leaves@acme.test')).body).toEqual({ deleted: 1 });
  expect((await unregister('leaves@acme.test')).body).toEqual({ deleted: 0 });
  expect((await ask({ path: '/api/o/acme/u/leaves@acme.test/' })).status).toBe(200);
  expect((await register({ username: 'leaves@acme.test' })).body.membership.custom_fields).toEqual({});
  expect((await unregister('nobody@acme.test')).status).toBe(404);
});

test('registrations of a user are listed, and counted in dry runs of deletes', async () => {
  await register({ username: 'listed@acme.test', custom_fields: { plan: 'pro' }, active: false });
  const { body } = await ask({ path: '/api/o/acme/u/listed@acme.test/registrations/' });
  expect(body).toEqual([
    expect.objectContaining({ project: 'shop', application: 'web', active: false, custom_fields: { plan: 'pro' } }),
  ]);
  const person = await ask({ method: 'DELETE', path: '/api/o/acme/u/listed@acme.test/?dry_run=true' });
  expect(person.body.deleted).toMatchObject({ registrations: 1 });
  const web = await ask({ method: 'DELETE', path: `${application}?dry_run=true` });
  expect(web.body.deleted.registrations).toBeGreaterThan(0);
  expect((await ask({ method: 'DELETE', path: '/api/o/acme/p/shop/?dry_run=true' })).body.deleted).toMatchObject({
    registrations: web.body.deleted.registrations,
  });
});
