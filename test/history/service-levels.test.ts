/** Service levels: calls of senders that were taken in, and first pages that left in time. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callResultOf, levelOf } from '../../src/core/history/service-levels.ts';
import { CallCounter } from '../../src/services/history/levels/call-counts.ts';
import { findSilentChannels } from '../../src/services/history/levels/watch.ts';
import { alert, group, openSource } from '../support/alert-source.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

async function levelsOf(tenant: Tenant, days?: number) {
  await world.service.runtime.deps.calls.flush();
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/service-levels/${days ? `?days=${days}` : ''}` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const pagesOf = async (tenant: Tenant) => {
  const [row] = await tenant.sql<{ in_time: number; late: number }>(
    `select coalesce(sum(pages_in_time), 0)::int as in_time, coalesce(sum(pages_late), 0)::int as late
     from service_levels where organization_id = ${tenant.id}`,
  );
  return row!;
};

const page = { users: ['ann@acme.test'], notifications: [{ priority: 'urgent' }] };

describe('alerts taken in', () => {
  test('calls that were stored count once, and those that the sender has to correct do not count', async () => {
    const { tenant, path, post } = await openSource(world);
    await post(group(alert('a')));
    await post(group(alert('a'), alert('b')));
    expect((await post('no json', { 'content-type': 'application/json' })).status).toBe(400);
    expect((await post(group({ status: 'odd', labels: {} }))).status).toBe(400);
    // What only looks whether the address exists reports nothing.
    expect((await fetch(world.service.address + path)).status).toBe(200);
    const { taken_in } = await levelsOf(tenant);
    expect(taken_in).toEqual({
      ...{ target: '99.9%', total: 2, missed: 0, share: 1, is_met: true, budget_left: 1, refused: 2 },
    });
    expect((await levelsOf(tenant)).taken_in).toMatchObject({ total: 2, refused: 2 });
  });

  test('calls that fail for a limit or without the database count against the level, of the right organization', async () => {
    const { tenant, post } = await openSource(world, {}, { organization: { service_levels: { taken_in: '50%' } } });
    const other = await openSource(world);
    await post(group(alert('a')));
    const { deps } = world.service.runtime;
    const { tenantCache } = deps;
    const find = tenantCache.findSource;
    tenantCache.findSource = () => Promise.reject(new Error('the database is gone'));
    try {
      expect((await post(group(alert('b')))).status).toBe(500);
    } finally {
      tenantCache.findSource = find;
    }
    const { taken_in, days } = await levelsOf(tenant);
    expect(taken_in).toMatchObject({ target: '50%', total: 2, missed: 1, share: 0.5, is_met: true, budget_left: 0 });
    expect(days).toHaveLength(30);
    expect(days.at(-1)).toMatchObject({ day: new Date().toISOString().slice(0, 10), taken: 1, failed: 1, refused: 0 });
    expect((await levelsOf(other.tenant)).taken_in).toMatchObject({ total: 0, share: null, budget_left: null });
  });

  test('a batch of counts whose answer was lost is not counted again', async () => {
    const tenant = await world.tenant(page);
    const { db } = world.service.runtime.deps;
    let fails = true;
    const lossy = new Proxy(db, {
      get: (target, name) =>
        name === 'getExecutor'
          ? () =>
              new Proxy(target.getExecutor(), {
                get: (executor, own) => {
                  const value = Reflect.get(executor, own);
                  if (own !== 'executeQuery') return typeof value === 'function' ? value.bind(executor) : value;
                  return async (...given: never[]) => {
                    const result = await Reflect.apply(value, executor, given);
                    if (!fails) return result;
                    fails = false;
                    throw new Error('the connection ended after the commit');
                  };
                },
              })
          : Reflect.get(target, name),
    });
    const [first, second] = [new CallCounter(lossy), new CallCounter(db)];
    first.add(tenant.id, 'taken');
    await expect(first.flush()).rejects.toThrow('after the commit');
    first.add(tenant.id, 'taken');
    second.add(tenant.id, 'failed');
    // An organization that has been deleted.
    second.add(999_999, 'taken');
    await Promise.all([first.flush(), second.flush()]);
    await Promise.all([first.flush(), second.flush()]);
    expect((await levelsOf(tenant)).taken_in).toMatchObject({ total: 3, missed: 1 });
  });

  test('a status says whose fault it is', () => {
    const results = [200, 202, 400, 401, 404, 413, 429, 500, 503].map(status => `${status} ${callResultOf(status)}`);
    expect(results.join()).toBe(
      '200 taken,202 taken,400 refused,401 refused,404 refused,413 refused,429 failed,500 failed,503 failed',
    );
    // The sender gave up waiting.
    expect(callResultOf(200, false)).toBe('failed');
    expect(levelOf(1_000, 1, '99.9%')).toMatchObject({ share: 0.999, is_met: true, budget_left: 0 });
    expect(levelOf(1_000, 2, '99.9%')).toMatchObject({ is_met: false, budget_left: 0 });
  });
});

describe('first pages', () => {
  test('an urgent occurrence counts once, however many messages it has', async () => {
    const tenant = await world.tenant({ ...page, users: ['ann@acme.test', 'bob@acme.test'] });
    await tenant.outcomes(await tenant.trigger());
    const normal = await world.tenant({ users: ['ann@acme.test'] });
    await normal.outcomes(await normal.trigger());
    expect(await pagesOf(tenant)).toEqual({ in_time: 1, late: 0 });
    expect(await pagesOf(normal)).toEqual({ in_time: 0, late: 0 });
    const { first_page } = await levelsOf(tenant, 90);
    expect(first_page).toMatchObject({ target: '99%', within: '10s', total: 1, missed: 0, share: 1, is_met: true });
  });

  test('a page that is sent again, acknowledged or replayed is not counted again', async () => {
    const tenant = await world.tenant({
      ...page,
      notifications: [
        {
          priority: 'urgent',
          steps: [{ channels: ['hooks'] }, { after: '1m', unless: 'acknowledged', channels: ['hooks'] }],
        },
      ],
    });
    const id = await tenant.trigger();
    await tenant.until(id, 'sent');
    await tenant.sql(`update steps set due_at = now() where organization_id = ${tenant.id} and status = 'waiting'`);
    await tenant.sql('notify belfry_work');
    await tenant.outcomes(id);
    expect(tenant.received()).toHaveLength(2);
    expect(await pagesOf(tenant)).toEqual({ in_time: 1, late: 0 });
  });

  test('one whose first message is accepted late is late, and so is one that never leaves', async () => {
    const tenant = await world.tenant({
      ...page,
      organization: { service_levels: { first_page: { within: '1s', share: '50%' } } },
    });
    tenant.answer((_, nth) => (nth === 1 ? { status: 503 } : {}));
    const late = await tenant.trigger();
    await tenant.until(late, 'retrying');
    await tenant.sql(`update occurrences set due_at = due_at - interval '2 s' where organization_id = ${tenant.id}`);
    await tenant.hurry();
    await tenant.outcomes(late);
    expect(await pagesOf(tenant)).toEqual({ in_time: 0, late: 1 });
    tenant.answer({ status: 400 });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual([expect.stringContaining('failed')]);
    expect(await pagesOf(tenant)).toEqual({ in_time: 0, late: 2 });
    expect((await levelsOf(tenant)).first_page).toMatchObject({ total: 2, missed: 2, is_met: false, budget_left: 0 });
  });

  test('the time until it was due, or was released from a pause, does not count', async () => {
    const tenant = await world.tenant(page);
    const pass = (id: string, columns: string[]) =>
      tenant.sql(`update occurrences set ${columns.map(c => `${c} = ${c} - interval '1 h'`).join()} where id = $1`, id);
    const delayed = await tenant.trigger({ delay: '1h' });
    await pass(delayed, ['created_at', 'due_at']);
    await tenant.sql('notify belfry_work');
    await tenant.outcomes(delayed);
    expect(await pagesOf(tenant)).toEqual({ in_time: 1, late: 0 });
    const channel = `/api/o/${tenant.slug}/c/hooks/`;
    expect((await tenant.ask({ method: 'POST', path: `${channel}pause/` })).status).toBeLessThan(300);
    const held = await tenant.trigger();
    await tenant.until(held, 'pending');
    await pass(held, ['created_at', 'due_at']);
    expect((await tenant.ask({ method: 'POST', path: `${channel}resume/` })).status).toBeLessThan(300);
    await tenant.outcomes(held);
    expect(await pagesOf(tenant)).toEqual({ in_time: 2, late: 0 });
  });

  test('what notifies no one is no page', async () => {
    const tenant = await world.tenant(page);
    await tenant.outcomes(await tenant.trigger({ dry_run: true }));
    await tenant.outcomes(await tenant.trigger({ limit_to: ['no@acme.test'] }));
    expect(await pagesOf(tenant)).toEqual({ in_time: 0, late: 0 });
  });
});

test('targets that make no sense are refused with the field', async () => {
  const tenant = await world.tenant(page);
  const set = (service_levels: unknown) =>
    tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/`, body: { service_levels } });
  for (const [levels, field] of [
    [{ taken_in: '100%' }, 'service_levels/taken_in'],
    [{ taken_in: 99.9 }, 'service_levels/taken_in'],
    [{ first_page: { within: '0s' } }, 'service_levels/first_page/within'],
    [{ first_page: { within: '1h' } }, 'service_levels/first_page/within'],
    [{ first_page: { share: '12%' } }, 'service_levels/first_page/share'],
  ] as const) {
    const answer = await set(levels);
    expect([levels, answer.status]).toEqual([levels, 400]);
    expect(Object.keys(answer.body.errors)).toEqual([field]);
  }
  expect((await set({ first_page: { within: '30s' } })).status).toBe(200);
  expect((await levelsOf(tenant)).first_page).toMatchObject({ within: '30s', target: '99%' });
  expect((await set(null)).status).toBe(200);
});

test('only channels that send nothing are used for rehearsals', async () => {
  const tenant = await world.tenant({
    users: ['ann@acme.test'],
    channels: [
      sandbox,
      { slug: 'both', name: 'Both', type: 'webhook', providers: [{ use: 'sandbox' }, { use: 'sandbox' }] },
      { slug: 'hooks' },
      // The slug of a type that a channel of another kind has.
      { ...sandbox, slug: 'webhook', name: 'Hook' },
    ],
  });
  await eventually(async () => {
    const channels = await world.service.runtime.deps.plans.listChannels(tenant.id);
    expect(findSilentChannels(channels, 0)).toEqual(['sandbox', 'both']);
  });
});
