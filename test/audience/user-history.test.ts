/** Deliveries across occurrences: failures, a user's history, the sandbox; and searching for occurrences. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../support/api.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

type Row = Record<string, unknown>;

async function get(tenant: Tenant, path: string): Promise<Row[]> {
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/${path}` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

/** Reads all pages by following the Link headers. */
async function pages(tenant: Tenant, path: string, limit: number): Promise<Row[][]> {
  const found: Row[][] = [];
  let next: string | undefined = `/api/o/${tenant.slug}/${path}?limit=${limit}`;
  while (next) {
    const answer = await tenant.ask({ path: next });
    expect(answer.status, answer.text).toBe(200);
    found.push(answer.body);
    next = /<https?:\/\/[^/]+([^>]+)>; rel="next"/.exec(answer.headers.link ?? '')?.[1];
  }
  return found;
}

test("failures are listed newest first with the provider's message, and can be retried", async () => {
  const tenant = await world.tenant({ users: ['a@x.test', 'b@x.test'] });
  tenant.answer({ status: 400, body: 'no such hook' });
  const occurrences: string[] = [];
  for (let i = 0; i < 3; i++) {
    occurrences.push(await tenant.trigger());
    await tenant.outcomes(occurrences.at(-1)!);
  }
  const failures = await get(tenant, 'failures/');
  expect(failures).toHaveLength(6);
  expect(failures.map(one => one.occurrence)).toEqual(occurrences.toReversed().flatMap(id => [id, id]));
  expect(failures[0]).toMatchObject({ status: 'failed', event: 'shop/web/go', detail: expect.stringContaining('400') });
  expect((await pages(tenant, 'failures/', 4)).map(page => page.length)).toEqual([4, 2]);
  expect((await pages(tenant, 'failures/', 4)).flat()).toEqual(failures);

  tenant.answer({});
  const [one] = failures as { occurrence: string; id: number }[];
  const retry = `/api/o/${tenant.slug}/occurrence/${one!.occurrence}/deliveries/${one!.id}/retry/`;
  const answer = await tenant.ask({ method: 'POST', path: retry });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toMatchObject({ id: one!.id, reason: null });
  await tenant.outcomes(one!.occurrence);
  expect(await get(tenant, 'failures/')).toHaveLength(5);
  expectProblem(await tenant.ask({ method: 'POST', path: retry }), 400, 'delivery.not_failed');
});

test("a user's history lists ended and waiting deliveries, newest first", async () => {
  const tenant = await world.tenant({ users: ['a@x.test', 'b@x.test'] });
  const first = await tenant.trigger();
  await tenant.outcomes(first);
  tenant.answer({ status: 503 });
  const second = await tenant.trigger();
  await tenant.until(second, 'retrying');
  const history = await get(tenant, 'u/a@x.test/deliveries/');
  expect(history.map(({ occurrence, status, user, event }) => ({ occurrence, status, user, event }))).toEqual([
    { occurrence: second, status: 'retrying', user: 'a@x.test', event: 'shop/web/go' },
    { occurrence: first, status: 'sent', user: 'a@x.test', event: 'shop/web/go' },
  ]);
  expect((await pages(tenant, 'u/a@x.test/deliveries/', 1)).flat()).toEqual(history);
});

test('the sandbox lists the messages it accepted, and each can be viewed at its delivery', async () => {
  const tenant = await world.tenant({
    users: ['a@x.test'],
    channels: [{ slug: 'hooks' }, sandbox],
    notifications: [{ channels: ['hooks', 'sandbox'] }],
  });
  const occurrence = await tenant.trigger();
  await tenant.outcomes(occurrence);
  const [taken, ...others] = await get(tenant, 'sandbox/');
  expect(others).toEqual([]);
  expect(taken).toEqual({
    occurrence,
    delivery: expect.any(Number),
    user: 'a@x.test',
    address: 'a@x.test',
    channel: 'sandbox',
    type: 'email',
    event: 'shop/web/go',
    notification: 'n1',
    sent_at: expect.any(String),
  });
  const message = await tenant.ask({
    path: `/api/o/${tenant.slug}/occurrence/${occurrence}/deliveries/${taken!.delivery}/message/`,
  });
  expect(message.body.title).toBe('a@x.test');
});

test('an invalid cursor is refused', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  for (const text of ['after 5', 'after x.1', 'nonsense', 'after 00000000-0000-7000-8000-000000000000.1.2']) {
    const cursor = Buffer.from(text).toString('base64url');
    const path = `/api/o/${tenant.slug}/failures/?limit=1&cursor=${cursor}`;
    expectProblem(await tenant.ask({ path }), 400, 'request.invalid', ['cursor']);
  }
});

test('an occurrence is found by a prefix of its identifier or by its correlation id', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  const id = await tenant.trigger();
  const path = `${tenant.event}trigger/?cid=order%207`;
  const { occurrence: other } = (await tenant.ask({ method: 'POST', path, body: {} })).body;
  const search = async (text: string) =>
    (await get(tenant, `occurrence/?search=${encodeURIComponent(text)}`)).map(row => row.identifier);
  expect(await search(id)).toEqual([id]);
  expect(await search(id.slice(0, 30).toUpperCase())).toEqual([id]);
  expect((await search(id.slice(0, 3))).sort()).toEqual([id, other].sort());
  expect(await search('order 7')).toEqual([other]);
  expect(await search('order')).toEqual([]);
  expect(await search(`${id}0`)).toEqual([]);
  expect(await search("'; drop table users; --")).toEqual([]);
});

test('a number in a query must be written in decimal digits', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  for (const limit of ['1e2', '0x10', '1.0', ' 5', '+5', '', 'Infinity', '1_0']) {
    const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/u/?limit=${encodeURIComponent(limit)}` });
    expectProblem(answer, 400, 'request.invalid', ['limit']);
  }
  expect((await tenant.ask({ path: `/api/o/${tenant.slug}/u/?limit=010` })).status).toBe(200);
});
