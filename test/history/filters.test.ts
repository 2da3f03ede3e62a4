/** Filters of the history: deliveries by status, user and channel; occurrences by project, application, event and status. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveryStatuses } from '../../src/core/history/statuses.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

type Row = Record<string, unknown>;

/** Reads all pages, two rows at a time, by following the Link header. */
async function read(tenant: Tenant, path: string): Promise<Row[]> {
  const found: Row[] = [];
  let next: string | undefined = `/api/o/${tenant.slug}/${path}${path.includes('?') ? '&' : '?'}limit=2`;
  while (next) {
    const answer = await tenant.ask({ path: next });
    expect(answer.status, answer.text).toBe(200);
    found.push(...answer.body);
    next = /<https?:\/\/[^/]+([^>]+)>; rel="next"/.exec(answer.headers.link ?? '')?.[1];
  }
  return found;
}

test('deliveries are found by status, user and channel while some are still open', { tags: ['sweep'] }, async () => {
  const users = ['a@x.test', 'b@x.test', 'c@x.test', { email: 'locked@x.test', locked: true }];
  const unused = { ...sandbox, slug: 'unused' };
  const tenant = await world.tenant({
    users,
    channels: [{ slug: 'hooks' }, sandbox, unused],
    projectChannels: [{ ...sandbox, slug: 'hooks', name: 'Of the project' }],
    notifications: [{ channels: ['hooks'] }, { channels: ['sandbox'] }, { channels: ['webhook'] }],
  });
  // They stay in this state until the end of the test.
  tenant.answer({ status: 503, headers: { 'retry-after': '3600' } });
  const id = await tenant.trigger();
  await tenant.until(id, 'retrying', 'sent', 'suppressed');
  const all = (await tenant.deliveries(id)) as unknown as Row[];
  expect(new Set(all.map(row => row.status))).toEqual(new Set(['sent', 'retrying', 'suppressed']));
  const path = `occurrence/${id}/deliveries/`;
  const names = ['a@x.test', 'c@x.test', 'locked@x.test', 'nobody@x.test'];
  for (const status of [undefined, ...deliveryStatuses]) {
    for (const user of [undefined, ...names]) {
      for (const channel of [undefined, 'hooks', 'sandbox', 'unused', 'nowhere']) {
        const query = new URLSearchParams(JSON.parse(JSON.stringify({ status, user, channel })));
        const expected = all.filter(
          row =>
            (!status || row.status === status) && (!user || row.user === user) && (!channel || row.channel === channel),
        );
        const ids = (rows: Row[]) => rows.map(row => row.id);
        expect(ids(await read(tenant, `${path}?${query}`)), String(query)).toEqual(ids(expected));
      }
    }
  }
  expect(await read(tenant, `${path}?status=sent`)).not.toEqual([]);
  expect(await read(tenant, `${path}?user=A@X.test&status=retrying`)).not.toEqual([]);
});

test('occurrences are found by project, application, event and status, newest first', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  const other = await world.tenant({ users: ['a@x.test'] });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift(await tenant.trigger());
  await other.trigger();
  for (const id of ids) await tenant.outcomes(id);
  const find = async (query: string) => (await read(tenant, `occurrence/?${query}`)).map(row => row.identifier);
  const matching = ['project=shop', 'application=web', 'event=go', 'project=shop&application=web&event=go'];
  for (const query of [...matching, 'event=go&status=completed', 'project=shop&search=0']) {
    expect(await find(query), query).toEqual(ids);
  }
  const others = ['project=web', 'application=shop', 'event=stop', 'project=nowhere&event=go', 'status=accepted'];
  for (const query of [...others, 'project=shop&application=nowhere', 'event=go&search=order']) {
    expect(await find(query), query).toEqual([]);
  }
  const [row] = await read(tenant, 'occurrence/?event=go');
  expect(row).toMatchObject({ event: 'shop/web/go', counts: { sent: 1, pending: 0 } });
});
