/** Concurrent identical requests: exactly one takes effect, and none gets an internal error. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { type Answer, type Ask, asker } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

let database: TestDatabase;
let services: Service[];
let tenants: Tenants;
let asks: Ask[];

beforeAll(async () => {
  database = await createTestDatabase();
  services = [
    await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent),
    await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent),
  ];
  tenants = await buildTenants(services[0]!.runtime.deps);
  asks = services.map(service => asker(service.address, tenants.acme.keys.all));
});
afterAll(async () => {
  await Promise.all(services.map(service => service.stop()));
  await database.drop();
});

/** Sends all requests at once, alternating between the two instances. */
function together(count: number, make: (i: number) => Parameters<Ask>[0]): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => asks[i % asks.length]!(make(i))));
}

const post = (path: string, body: unknown, headers = {}) => ({
  method: 'POST',
  path: `/api/o/acme${path}`,
  body,
  headers,
});
const statuses = (answers: Answer[]) =>
  Object.fromEntries(
    [...Map.groupBy(answers, answer => answer.status)].map(([status, group]) => [status, group.length]),
  );
const db = () => services[0]!.runtime.deps.db;

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map(item => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

test('of a hundred concurrent creations of one user, one succeeds and the others are rejected', async () => {
  const answers = await together(100, i => post('/u/', { email: i % 2 ? 'Race@acme.test' : 'race@acme.test' }));
  expect(statuses(answers)).toEqual({ 201: 1, 400: 99 });
  expect(new Set(answers.filter(answer => answer.status === 400).map(answer => answer.body.code))).toEqual(
    new Set(['user.exists']),
  );
  const users = await db().selectFrom('users').select('id').where('username', '=', 'race@acme.test').execute();
  const addresses = await db().selectFrom('addresses').select('name').where('user_id', '=', users[0]!.id).execute();
  expect([users.length, addresses]).toEqual([1, [{ name: 'email' }]]);
});

test('of a hundred concurrent creations of one list, one succeeds and the others are rejected', async () => {
  const answers = await together(100, i => post('/p/shop/d/', { name: i % 2 ? 'RACE' : 'race' }));
  expect(statuses(answers)).toEqual({ 201: 1, 400: 99 });
  const lists = await db().selectFrom('distribution_lists').select('id').where('name_key', '=', 'race').execute();
  expect(lists).toHaveLength(1);
});

describe('triggers with one idempotency key', () => {
  const trigger = '/p/shop/a/web/e/order-paid/trigger/';
  const stored = async (context: object) => {
    const rows = await db().selectFrom('occurrences').select(['id', 'context']).execute();
    return rows.filter(row => JSON.stringify(row.context) === JSON.stringify(context)).map(row => row.id);
  };

  test('fifty at two instances create one occurrence and get the same response', async () => {
    const context = { race: 'header' };
    const answers = await together(50, () => post(trigger, { context }, { 'idempotency-key': 'once' }));
    expect(statuses(answers)).toEqual({ 201: 50 });
    expect(new Set(answers.map(answer => answer.body.occurrence))).toEqual(new Set(await stored(context)));
    expect(await stored(context)).toHaveLength(1);
  });

  test('of fifty with one key and two bodies, those with the first body get its occurrence and the others a conflict', async () => {
    const answers = await together(50, i =>
      post(trigger, { context: { race: i % 5 }, options: { idempotency_key: 'two bodies' } }),
    );
    expect(statuses(answers)).toEqual({ 201: 10, 400: 40 });
    const made = new Set(answers.filter(answer => answer.status === 201).map(answer => answer.body.occurrence));
    expect(made.size).toBe(1);
    const refused = answers.filter(answer => answer.status === 400).map(answer => answer.body.code);
    expect(new Set(refused)).toEqual(new Set(['idempotency.conflict']));
  });

  test('hundreds with many keys, each sent several times, create one occurrence per key', async () => {
    const keys = Array.from({ length: 60 }, (_, i) => `key ${i}`);
    const order = shuffled([...keys, ...keys, ...keys, ...keys]);
    const answers = await together(order.length, i =>
      post(trigger, { context: { many: order[i]! } }, { 'idempotency-key': order[i]! }),
    );
    expect(statuses(answers)).toEqual({ 201: 240 });
    const pairs = new Set(answers.map((answer, i) => `${order[i]} ${answer.body.occurrence}`));
    expect(pairs.size).toBe(60);
  });

  test('triggers without a key each create an occurrence', async () => {
    const answers = await together(50, () => post(trigger, { context: { race: 'none' } }));
    expect(new Set(answers.map(answer => answer.body.occurrence)).size).toBe(50);
    expect(await stored({ race: 'none' })).toHaveLength(50);
  });
});

test('adding overlapping recipients in different orders adds each member once, without an error', {
  tags: ['sweep'],
}, async () => {
  const { body: list } = await asks[0]!(post('/p/shop/d/', { name: 'Crowd' }));
  const people = Array.from({ length: 800 }, (_, i) => `crowd-${(i * 7919) % 100_000}@acme.test`);
  const answers = await together(12, i => {
    const from = (i % 4) * 100;
    return post(`/p/shop/d/${list.id}/add/`, shuffled(people.slice(from, from + 500)));
  });
  expect(statuses(answers)).toEqual({ 200: 12 });
  const sum = (field: string) => answers.reduce((total, answer) => total + answer.body[field], 0);
  expect([sum('added'), sum('created_users')]).toEqual([800, 800]);
  const members = (await asks[0]!({ path: `/api/o/acme/p/shop/d/${list.id}/m/` })).body;
  expect(members.map((member: { user: string }) => member.user).sort()).toEqual(people.toSorted());
});

test('adding recipients and creating the same users concurrently succeeds for both', async () => {
  const { body: list } = await asks[0]!(post('/p/shop/d/', { name: 'Both ways' }));
  const people = Array.from({ length: 40 }, (_, i) => `both-${i}@acme.test`);
  const answers = await together(44, i =>
    i % 11 === 0
      ? post(`/p/shop/d/${list.id}/add/`, shuffled(people))
      : post('/u/', { email: people[i - Math.ceil(i / 11)] }),
  );
  expect(Object.keys(statuses(answers)).filter(status => Number(status) >= 500)).toEqual([]);
  const rows = await db().selectFrom('addresses').select('value').where('value', 'like', 'both-%').execute();
  expect(rows.map(row => row.value).sort()).toEqual(people.toSorted());
});

test('concurrent merges of custom fields lose nothing', async () => {
  await asks[0]!(post('/u/', { email: 'merge@acme.test', custom_fields: { kept: true } }));
  const answers = await together(60, i => ({
    method: i % 2 ? 'PUT' : 'PATCH',
    path: '/api/o/acme/u/merge@acme.test/',
    body: { custom_fields: { [`n${i}`]: i, deep: { [`n${i}`]: i } }, _mode: 'MERGE' },
  }));
  expect(statuses(answers)).toEqual({ 200: 60 });
  const { body } = await asks[0]!({ method: 'PATCH', path: '/api/o/acme/u/merge@acme.test/', body: {} });
  const all = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`n${i}`, i]));
  expect(body.custom_fields).toEqual({ kept: true, ...all, deep: all });
});

test('the same address added concurrently is stored once', async () => {
  const path = '/u/joe@acme.test/address/';
  const answers = await together(50, () => post(path, { name: 'phone', value: '+1 555 555 0100' }));
  expect(statuses(answers)).toEqual({ 200: 50 });
  const { body } = await asks[0]!({ path: `/api/o/acme${path}` });
  expect(body).toEqual([
    { name: 'email', value: 'joe@acme.test' },
    { name: 'phone', value: '+15555550100' },
  ]);
});
