/** Distribution lists and their members: counted, deactivated, removed, renamed, deleted. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { runSql } from '../support/sql.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let list: string;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
  list = `/api/o/acme/p/shop/d/${tenants.acme.listId}/`;
});
afterAll(() => service.stop());

/** Returns the lists whose stored counts differ from a recount. */
async function miscounted() {
  return runSql(
    service.runtime.url,
    `select l.id, l.members, l.active_members, count(m.id)::int as real,
       count(m.id) filter (where m.active)::int as really_active
     from distribution_lists l left join members m on m.organization_id = l.organization_id and m.list_id = l.id
     group by l.organization_id, l.id
     having l.members <> count(m.id) or l.active_members <> count(m.id) filter (where m.active)`,
  );
}

test('members can be listed with their names, searched, deactivated and removed', async () => {
  const all = await ask({ path: `${list}members/` });
  expect(all.body).toEqual([
    {
      id: tenants.acme.memberIds[0],
      user: 'jane@acme.test',
      first_name: 'jane',
      last_name: 'Doe',
      address: 'jane@acme.test',
      active: true,
    },
    expect.objectContaining({ user: 'joe@acme.test' }),
  ]);
  const added = await ask({ method: 'POST', path: `${list}add/`, body: ['kim@acme.test', 'karl@acme.test'] });
  expect(added.body.added).toBe(2);
  const found = await ask({ path: `${list}members/?search=k&limit=1` });
  expect(found.body).toEqual([expect.objectContaining({ user: 'karl@acme.test' })]);
  const next = /<https?:\/\/[^/]+([^>]+)>/.exec(found.headers.link!)![1]!;
  expect((await ask({ path: next })).body).toEqual([expect.objectContaining({ user: 'kim@acme.test' })]);
  expect((await ask({ path: `${list}members/?search=nobody` })).body).toEqual([]);

  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 4, active: 4 });
  const member = `${list}m/${found.body[0].id}/`;
  const off = await ask({ method: 'PATCH', path: member, body: { active: false } });
  expect(off.body).toMatchObject({ user: 'karl@acme.test', active: false });
  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 4, active: 3 });
  expect((await ask({ method: 'DELETE', path: member })).body).toEqual({ deleted: { members: 1 } });
  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 3, active: 3 });
  expectProblem(await ask({ method: 'DELETE', path: member }), 404, 'member.not_found');
  expect((await ask({ path: '/api/o/acme/u/karl@acme.test/' })).status).toBe(200);
  expect(await miscounted()).toEqual([]);
});

test('the stored counts match a recount after concurrent changes of members, users and addresses', async () => {
  const seed = 7;
  let state = seed;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  const make = async (name: string) =>
    (await ask({ method: 'POST', path: '/api/o/acme/p/shop/d/', body: { name } })).body.id as number;
  const lists = [await make('A'), await make('B'), await make('C')];
  const people = Array.from({ length: 12 }, (_, i) => `p${i}@count.test`);
  const pick = <T>(items: T[]) => items[random(items.length)]!;
  const some = () => people.filter(() => random(3) === 0).concat(pick(people));
  const { url } = service.runtime;
  const steps: (() => Promise<unknown>)[] = [
    () => ask({ method: 'POST', path: `/api/o/acme/p/shop/d/${pick(lists)}/add/`, body: some() }),
    () => ask({ method: 'DELETE', path: `/api/o/acme/u/${pick(people)}/` }),
    async () => {
      const { body } = await ask({ path: `/api/o/acme/u/${pick(people)}/addresses/` });
      const [address] = Array.isArray(body) ? body : [];
      if (address) await runSql(url, 'delete from addresses where id = $1', [address.id]);
    },
    async () => {
      const at = `/api/o/acme/p/shop/d/${pick(lists)}/`;
      const { body } = await ask({ path: `${at}m/` });
      if (body.length === 0) return;
      const active = random(2) === 0;
      await ask({ method: 'PATCH', path: `${at}m/${pick<{ id: number }>(body).id}/`, body: { active } });
    },
    async () => {
      const at = `/api/o/acme/p/shop/d/${pick(lists)}/`;
      const { body } = await ask({ path: `${at}m/` });
      if (body.length > 0) await ask({ method: 'DELETE', path: `${at}m/${pick<{ id: number }>(body).id}/` });
    },
    () => runSql(url, 'update members set active = not active where list_id = any($1)', [lists]),
  ];
  for (let round = 0; round < 25; round++) {
    await Promise.all(Array.from({ length: 4 }, () => pick(steps)()));
    expect(await miscounted()).toEqual([]);
  }
  await runSql(url, 'delete from users where organization_id = $1', [tenants.acme.id]);
  expect(await miscounted()).toEqual([]);
  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 0, active: 0 });
});

test('renaming a list honours If-Match and updates the notifications that use it', async () => {
  await runSql(service.runtime.url, 'delete from notifications');
  const notification = await runSql<{ id: number }>(
    service.runtime.url,
    `insert into notifications (organization_id, event_id, name, recipients, channels)
     values ($1, $2, 'reminder', '{"list": "CUSTOMERS"}', '{mail}') returning id::int`,
    [tenants.acme.id, tenants.acme.eventId],
  );
  const read = await ask({ path: list });
  const headers = { 'if-match': read.headers.etag! };
  const renamed = await ask({ method: 'PATCH', path: list, headers, body: { name: 'Buyers' } });
  expect(renamed.body).toEqual({ ...read.body, name: 'Buyers' });
  expect(renamed.headers.etag).toBe((await ask({ path: list })).headers.etag);
  expectProblem(await ask({ method: 'PATCH', path: list, headers, body: { name: 'Late' } }), 412, 'request.stale');
  const taken = await ask({ method: 'PATCH', path: list, body: { name: 'a' } });
  expect([taken.status, taken.body.code, Object.keys(taken.body.errors)]).toEqual([409, 'resource.exists', ['name']]);
  const [row] = await runSql<{ recipients: unknown }>(
    service.runtime.url,
    'select recipients from notifications where id = $1',
    [notification[0]!.id],
  );
  expect(row!.recipients).toEqual({ list: 'Buyers' });

  const refused = await ask({ method: 'DELETE', path: `${list}?cascade=true` });
  expect([refused.status, refused.body.uses]).toEqual([409, { notifications: ['shop/web/order-paid/reminder'] }]);
  await runSql(service.runtime.url, 'delete from notifications');
});

test('a list with members is deleted only with cascade', async () => {
  await ask({ method: 'POST', path: `${list}add/`, body: ['x@count.test', 'y@count.test'] });
  const refused = await ask({ method: 'DELETE', path: list });
  expect([refused.status, refused.body.code, refused.body.uses]).toEqual([409, 'resource.in_use', { members: 2 }]);
  const dryRun = await ask({ method: 'DELETE', path: `${list}?cascade=true&dry_run=true` });
  expect(dryRun.body).toEqual({ deleted: { lists: 1, members: 2 }, dry_run: true });
  expect((await ask({ method: 'DELETE', path: `${list}?cascade=true` })).body).toEqual({
    deleted: { lists: 1, members: 2 },
  });
  expectProblem(await ask({ path: list }), 404, 'list.not_found');
  expect((await ask({ path: '/api/o/acme/u/x@count.test/' })).status).toBe(200);
});

test('an organization with lists and members can be deleted', async () => {
  await runSql(service.runtime.url, 'delete from organizations where id = $1', [tenants.rival.id]);
  expect(await miscounted()).toEqual([]);
});
