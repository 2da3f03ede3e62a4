/** Managing users: search, profiles, updates without lost changes, deletion. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { parseSearch } from '../../src/core/audience/search.ts';
import { putUsers } from '../../src/db/audience/users.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const get = async (path: string) => {
  const answer = await ask({ path: `/api/o/acme/${path}` });
  expect(answer.status, answer.text).toBe(200);
  return answer;
};

async function create(email: string, first_name: string, last_name: string) {
  const answer = await ask({ method: 'POST', path: '/api/o/acme/u/', body: { email, first_name, last_name } });
  expect(answer.status, answer.text).toBe(201);
}

/** Usernames, page by page. */
async function search(text: string, limit = 2): Promise<string[]> {
  const found: string[] = [];
  let next: string | undefined = `/api/o/acme/u/?search=${encodeURIComponent(text)}&limit=${limit}`;
  while (next) {
    const answer = await ask({ path: next });
    expect(answer.status, answer.text).toBe(200);
    found.push(...answer.body.map((user: { username: string }) => user.username));
    next = /<https?:\/\/[^/]+([^>]+)>; rel="next"/.exec(answer.headers.link ?? '')?.[1];
  }
  return found;
}

test('a search finds users by prefixes of names and emails, each once, in a stable order', async () => {
  await create('one@find.test', 'Ann', 'Smith');
  await create('two@find.test', 'Smith', 'Annette');
  await create('ann@find.test', 'Zoe', 'Zimmer');
  await create('ann.x@find.test', 'Anna Maria', 'van der Berg');
  await create('five@find.test', 'ÄNNE', 'Öztürk');
  await create('no@find.test', 'Hannah', 'Jo');
  expect(await search('ann')).toEqual(['one@find.test', 'ann.x@find.test', 'two@find.test', 'ann@find.test']);
  expect(await search('ANN', 1)).toEqual(await search('ann', 100));
  expect(await search('ann smi')).toEqual(['one@find.test', 'two@find.test']);
  expect(await search('smi ann', 1)).toEqual(['two@find.test', 'one@find.test']);
  expect(await search('anna maria van der')).toEqual(['ann.x@find.test']);
  expect(await search('anna ma')).toEqual(['ann.x@find.test']);
  expect(await search('van der b')).toEqual(['ann.x@find.test']);
  expect(await search('änn')).toEqual(['five@find.test']);
  expect(await search('zoe ann@')).toEqual(['ann@find.test']);
  expect(await search('annx')).toEqual([]);
  expect(await search('100%_')).toEqual([]);
  expect((await get('u/?search=%20')).body.length).toBe((await get('u/')).body.length);
  const whole = await get('u/?search=ann');
  expect(Object.keys(whole.body[0])).toEqual(['id', 'email', 'username', 'first_name', 'last_name', 'locked']);
});

test('a changed name is found immediately, and the old one no longer', async () => {
  await create('rename@find.test', 'Quentin', 'Quick');
  await ask({ method: 'PATCH', path: '/api/o/acme/u/rename@find.test/', body: { first_name: ' Xaver ' } });
  expect(await search('quentin')).toEqual([]);
  expect(await search('xav')).toEqual(['rename@find.test']);
  const { db } = service.runtime.deps;
  const put = [{ username: 'put@find.test', email: 'put@find.test', first_name: 'Ygritte' }];
  await putUsers(db, tenants.acme.id, put);
  expect(await search('ygr')).toEqual(['put@find.test']);
  expect(await asker(service.address, tenants.rival.keys.all)({ path: '/api/o/rival/u/?search=ygr' })).toMatchObject({
    body: [],
  });
});

test('a cursor of another search is refused', async () => {
  const cursor = (text: string) => Buffer.from(`after ${text}`).toString('base64url');
  for (const text of ['5', '[9,1,"a"]', '[0,1]', '[0,"x","a","b"]', '{}', 'null', '[0,1,"a",5]']) {
    const path = `/api/o/acme/u/?search=ann&limit=1&cursor=${cursor(text)}`;
    expectProblem(await ask({ path }), 400, 'request.invalid', ['cursor']);
  }
});

test('a search text is split at every space', () => {
  expect(parseSearch('  ')).toEqual([]);
  expect(parseSearch('Ann')).toEqual([{ first: 'ann' }, { last: 'ann' }, { email: 'ann' }]);
  expect(parseSearch('a b c')).toEqual([
    { first: 'a', last: 'b c' },
    { first: 'a b', last: 'c' },
    { last: 'a', first: 'b c' },
    { last: 'a b', first: 'c' },
    { first: 'a b c' },
    { last: 'a b c' },
  ]);
});

test('a profile has an ETag, and an update of a stale profile is refused', async () => {
  const path = '/api/o/acme/u/joe@acme.test/profile/';
  const read = await ask({ path });
  expect(read.body).toMatchObject({ username: 'joe@acme.test', locale: null, custom_fields: {} });
  expect(Object.keys(read.body).slice(-2)).toEqual(['created_at', 'updated_at']);
  const headers = { 'if-match': read.headers.etag! };
  const changed = await ask({ method: 'PATCH', path, headers, body: { locale: 'pt-br', custom_fields: { a: 1 } } });
  expect(changed.body).toMatchObject({ locale: 'pt-BR', custom_fields: { a: 1 } });
  expect(changed.headers.etag).not.toBe(read.headers.etag);
  expect((await ask({ path })).headers.etag).toBe(changed.headers.etag);
  const stale = { headers, body: { first_name: 'Late' } };
  expectProblem(await ask({ method: 'PATCH', path, ...stale }), 412, 'request.stale');
  expectProblem(await ask({ method: 'PATCH', path: '/api/o/acme/u/joe@acme.test/', ...stale }), 412, 'request.stale');
  expectProblem(await ask({ method: 'DELETE', path: '/api/o/acme/u/joe@acme.test/', headers }), 412, 'request.stale');
  expectProblem(await ask({ method: 'PATCH', path, body: { locale: 'no such' } }), 400, 'request.invalid', ['locale']);
  expect((await ask({ path })).body.first_name).toBe('joe');
});

test('personal rules are stored, replaced as a whole and removed, and mistakes are named', async () => {
  const path = '/api/o/acme/u/joe@acme.test/profile/';
  const patch = (reach: unknown) => ask({ method: 'PATCH', path, body: { reach } });
  const reach = { normal: [{ by: 'email' }], important: [{ by: 'sms' }, { by: 'voice', after: '3m', repeat: 3 }] };
  expect((await patch(reach)).body.reach).toEqual(reach);
  expect((await ask({ path })).body.reach).toEqual(reach);
  expect((await patch({ normal: [{ by: 'sms' }] })).body.reach).toEqual({ normal: [{ by: 'sms' }] });
  expect((await patch({ normal: [] })).body.reach).toBeNull();
  const wrong = async (rule: object, at: string) =>
    expectProblem(await patch({ normal: [rule] }), 400, 'request.invalid', [at]);
  for (const rule of [{ by: 'pigeon' }, { by: 'webhook' }, { by: 'sms', after: 'soon' }, { by: 'sms', repeat: 11 }]) {
    const { status, body } = await patch({ normal: [rule] });
    expect([status, Object.keys(body.errors)]).toEqual([400, [`reach/normal/0/${Object.keys(rule).at(-1)}`]]);
  }
  await wrong({ by: 'sms', repeat: 2 }, 'reach/normal/0/after');
  await wrong({ by: 'sms', after: '7h', repeat: 2 }, 'reach/normal/0/after');
  const many = {
    important: [{ by: 'sms', after: '1m', repeat: 9 }, { by: 'email' }, { by: 'sms', after: '1h', repeat: 2 }],
  };
  expectProblem(await patch(many), 400, 'request.invalid', ['reach/important/2']);
  expect((await ask({ path })).body.reach).toBeNull();
});

test('addresses can be disabled and enabled, and one with memberships is deleted only with cascade', async () => {
  const base = 'u/joe@acme.test/addresses/';
  const [email] = (await get(base)).body;
  expect(email).toMatchObject({ name: 'email', value: 'joe@acme.test', disabled_at: null, disabled_reason: null });
  const path = `/api/o/acme/${base}${email.id}/`;
  const off = await ask({ method: 'PATCH', path, body: { enabled: false } });
  expect(off.body).toMatchObject({ disabled_at: expect.any(String), disabled_reason: 'switched off by acme all' });
  const on = await ask({ method: 'PATCH', path, body: { enabled: true } });
  expect(on.body).toEqual(email);
  expect((await get('u/joe@acme.test/memberships/')).body).toEqual([
    {
      id: tenants.acme.memberIds[1],
      project: 'shop',
      list: { id: tenants.acme.listId, name: 'Customers' },
      address: 'joe@acme.test',
      active: true,
    },
  ]);
  const refused = await ask({ method: 'DELETE', path });
  expect([refused.status, refused.body.code, refused.body.uses]).toEqual([409, 'resource.in_use', { members: 1 }]);
  const deleted = await ask({ method: 'DELETE', path: `${path}?cascade=true` });
  expect(deleted.body).toEqual({ deleted: { addresses: 1, members: 1 } });
  expectProblem(await ask({ method: 'DELETE', path }), 404, 'address.not_found');
});

test('deleting a user deletes addresses, memberships and inbox, and keeps the deliveries', async () => {
  const path = '/api/o/acme/u/jane@acme.test/';
  const dryRun = await ask({ method: 'DELETE', path: `${path}?dry_run=true` });
  expect(dryRun.body).toEqual({
    deleted: { users: 1, addresses: 2, members: 2, registrations: 0, inbox: 1 },
    dry_run: true,
  });
  expect((await ask({ path })).status).toBe(200);
  const deleted = await ask({ method: 'DELETE', path });
  expect(deleted.body).toEqual({ deleted: { users: 1, addresses: 2, members: 2, registrations: 0, inbox: 1 } });
  expectProblem(await ask({ path }), 404, 'user.not_found');
  const { body } = await get(`occurrence/${tenants.acme.occurrences[0]!.id}/deliveries/`);
  expect(body).toEqual([expect.objectContaining({ user: null, address: 'jane@acme.test', status: 'sent' })]);
  const rival = asker(service.address, tenants.rival.keys.all);
  expect((await rival({ path: '/api/o/rival/u/jane@rival.test/' })).status).toBe(200);
});

test('users are sorted by name in natural order, without a name by username, and can be filtered by lock', async () => {
  const org = '/api/o/rival/u/';
  const rival = asker(service.address, tenants.rival.keys.all);
  const people: [email: string, first: string, last: string, locked?: boolean][] = [
    ['n1@rival.test', 'Zed', '10'],
    ['n2@rival.test', 'Zed', '9', true],
    ['n3@rival.test', 'Zed', '100000'],
    ['n4@rival.test', 'zed', '2', true],
    ['zea7@rival.test', '', ''],
    ['zea12@rival.test', '', ''],
  ];
  for (const [email, first_name, last_name, locked] of people) {
    await rival({ method: 'POST', path: org, body: { email, first_name, last_name } });
    if (locked) await rival({ method: 'PATCH', path: `${org}${email}/`, body: { locked } });
  }
  const all = async (query: string) => {
    const found: string[] = [];
    let next: string | undefined = `${org}?limit=2&${query}`;
    while (next) {
      const answer = await rival({ path: next });
      expect(answer.status, answer.text).toBe(200);
      found.push(...answer.body.map((user: { username: string }) => user.username));
      next = /<https?:\/\/[^/]+([^>]+)>; rel="next"/.exec(answer.headers.link ?? '')?.[1];
    }
    return found.filter(name => /^(n\d|zea)/.test(name));
  };
  expect(await all('order=name')).toEqual([
    'zea7@rival.test',
    'zea12@rival.test',
    'n4@rival.test',
    'n2@rival.test',
    'n1@rival.test',
    'n3@rival.test',
  ]);
  expect(await all('locked=true')).toEqual(['n4@rival.test', 'n2@rival.test']);
  expect(await all('locked=false')).toHaveLength(4);
  expect(await all('search=zed&locked=true')).toHaveLength(2);
  expectProblem(await rival({ path: `${org}?order=name&limit=2&cursor=${btoa('after [1]')}` }), 400);
});
