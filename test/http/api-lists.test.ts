/** Distribution lists and their members. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { newEmail } from '../support/api-table.ts';
import { eventually } from '../support/eventually.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const create = (name: string, project = 'shop') =>
  ask({ method: 'POST', path: `/api/o/acme/p/${project}/d/`, body: { name } });
const add = (id: number, emails: unknown, project = 'shop') =>
  ask({ method: 'POST', path: `/api/o/acme/p/${project}/d/${id}/add/`, body: emails });
const membersOf = async (id: number, project = 'shop') =>
  (await ask({ path: `/api/o/acme/p/${project}/d/${id}/m/` })).body as { id: number; [field: string]: unknown }[];

let count = 0;
async function newList(project = 'shop'): Promise<number> {
  return (await create(`List number ${++count}`, project)).body.id;
}

async function countUsers(): Promise<number> {
  const { db } = service.runtime.deps;
  const row = await db.selectFrom('users').select(db.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  return row.n;
}

describe('the name of a list', () => {
  test('is unique within its project, ignoring letter case in any script', async () => {
    expect((await create('Ünïted Größe')).status).toBe(201);
    expectProblem(await create('ÜNÏTED größE'), 400, 'list.exists', ['name']);
    expectProblem(await create('ünïted größe'.normalize('NFD')), 400, 'list.exists', ['name']);
  });

  test('may be the same in another project, and in another organization', async () => {
    expect((await create('Everywhere')).status).toBe(201);
    expect((await create('Everywhere', 'depot')).status).toBe(201);
    const theirs = { method: 'POST', path: '/api/o/rival/p/shop/d/', key: tenants.rival.keys.all };
    expect((await ask({ ...theirs, body: { name: 'Everywhere' } })).status).toBe(201);
  });

  test('is stored unchanged, up to 255 characters', async () => {
    const name = `ΩΩ${'😀'.repeat(253)}`;
    expect((await create(name)).body.name).toBe(name);
    expectProblem(await create(`${name}x`), 400, 'request.invalid', ['name']);
  });

  test('is trimmed, also when it is compared', async () => {
    const { body } = await create(' \t Trimmed list \n');
    expect(body.name).toBe('Trimmed list');
    expectProblem(await create('Trimmed list '), 400, 'list.exists', ['name']);
    const path = `/api/o/acme/p/shop/d/${body.id}/`;
    const renamed = await ask({ method: 'PATCH', path, body: { name: '  Renamed list ' } });
    expect([renamed.status, renamed.body.name], renamed.text).toEqual([200, 'Renamed list']);
  });
});

describe('adding recipients', () => {
  test('creates users for unknown addresses, and adds all as members', async () => {
    const id = await newList();
    const { status, body } = await add(id, ['Brand.New@acme.test', 'jane@acme.test']);
    expect([status, body]).toEqual([200, { added: 2, existing: 0, created_users: 1 }]);
    const users = (await membersOf(id)).map(member => [member.user, member.address]);
    expect(users.sort()).toEqual([
      ['brand.new@acme.test', 'Brand.New@acme.test'],
      ['jane@acme.test', 'jane@acme.test'],
    ]);
    const { body: addresses } = await ask({ path: '/api/o/acme/u/brand.new@acme.test/address/' });
    expect(addresses).toEqual([{ name: 'email', value: 'Brand.New@acme.test' }]);
  });

  test('counts duplicate addresses once', async () => {
    const id = await newList();
    const email = newEmail();
    const { body } = await add(id, [email, email.toUpperCase(), email, 'joe@acme.test']);
    expect(body).toEqual({ added: 2, existing: 0, created_users: 1 });
    expect(await membersOf(id)).toHaveLength(2);
  });

  test('leaves members as they are', async () => {
    const id = await newList();
    await add(id, ['jane@acme.test']);
    const before = await membersOf(id);
    const { body } = await add(id, ['JANE@acme.test', 'joe@acme.test']);
    expect(body).toEqual({ added: 1, existing: 1, created_users: 0 });
    expect((await membersOf(id))[0]).toEqual(before[0]);
  });

  test('keeps an inactive member inactive', async () => {
    const id = await newList();
    await add(id, ['jane@acme.test']);
    const { db } = service.runtime.deps;
    await db.updateTable('members').set({ active: false }).where('list_id', '=', id).execute();
    await add(id, ['jane@acme.test']);
    expect(await membersOf(id)).toEqual([expect.objectContaining({ active: false })]);
  });

  test('adds no one if an address is invalid, and reports each invalid one by index', async () => {
    const id = await newList();
    const before = await countUsers();
    const emails = Array.from({ length: 60 }, (_, i) => (i % 2 ? `bad ${i}` : newEmail()));
    const named = emails.flatMap((email, i) => (email.startsWith('bad') ? [String(i)] : []));
    expectProblem(await add(id, emails), 400, 'request.invalid', named);
    expect(await membersOf(id)).toEqual([]);
    expect(await countUsers()).toBe(before);
  });

  test('does not touch the users of another organization', async () => {
    const id = await newList();
    expect((await add(id, [tenants.rival.username])).body.created_users).toBe(1);
    const { body } = await ask({ path: '/api/o/rival/u/', key: tenants.rival.keys.all });
    expect(body).toHaveLength(2);
  });

  test('accepts ten thousand addresses in one request', { tags: ['sweep'] }, async () => {
    const id = await newList();
    const emails = Array.from({ length: 10_000 }, (_, i) => `someone-with-a-long-name-${i}@subsidiary.acme.test`);
    expect((await add(id, emails)).body).toEqual({ added: 10_000, existing: 0, created_users: 10_000 });
    expect((await add(id, emails)).body).toEqual({ added: 0, existing: 10_000, created_users: 0 });
    expect(await membersOf(id)).toHaveLength(10_000);
  });

  test('rejects more than a hundred thousand addresses', async () => {
    const id = await newList();
    const emails = Array.from({ length: 100_001 }, (_, i) => `${i}@a.test`);
    expectProblem(await add(id, emails), 400, 'request.invalid', ['body']);
  });

  test('reports that there are too many items, not an error for each of five million', async () => {
    const id = await newList();
    const answer = await add(id, `[${'1,'.repeat(5_000_000)}1]`);
    expectProblem(answer, 400, 'request.invalid', ['body']);
  });
});

describe('the channel of a member', () => {
  /** A member of every kind of address, each by its channel. */
  async function channels(project: string): Promise<Record<string, string>> {
    const { db } = service.runtime.deps;
    const { id: organization_id } = tenants.acme;
    const id = await newList(project);
    const email = newEmail();
    await add(id, [email], project);
    const user = await db.selectFrom('users').select('id').where('username', '=', email).executeTakeFirstOrThrow();
    for (const name of ['email-work', 'phone', 'sms', 'slack']) {
      const address = await db
        .insertInto('addresses')
        .values({ organization_id, user_id: user.id, name, value: `${name} of ${email}` })
        .returning('id')
        .executeTakeFirstOrThrow();
      await db.insertInto('members').values({ organization_id, list_id: id, address_id: address.id }).execute();
    }
    const members = await membersOf(id, project);
    return Object.fromEntries(members.map(({ address, channel }) => [String(address).split(' ')[0], String(channel)]));
  }

  test("is the project's first enabled one for the kind of address, else the kind itself", async () => {
    expect(Object.values(await channels('shop'))).toEqual(['shop-mail', 'shop-mail', 'sms', 'sms', 'slack']);
  });

  test("is the organization's if the project has none", async () => {
    expect(Object.values(await channels('depot'))).toEqual(['mail', 'mail', 'sms', 'sms', 'slack']);
  });

  test('changes when a channel is enabled', async () => {
    const { db } = service.runtime.deps;
    await db.updateTable('channels').set({ enabled: true }).where('slug', 'in', ['texts', 'old-mail']).execute();
    await eventually(
      async () =>
        expect(Object.values(await channels('shop'))).toEqual(['old-mail', 'old-mail', 'texts', 'texts', 'slack']),
      5_000,
    );
  });
});
