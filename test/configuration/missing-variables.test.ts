/** Missing variables are counted for operators without delaying messages. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listMissingVariables } from '../../src/db/configuration/missing-variables.ts';
import { MissingVariables } from '../../src/pipeline/missing-variables.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';

import { silent } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const people = ['ann@x.test', 'ben@x.test'];
const tenantWith = (message: object) =>
  world.tenant({ users: people, channels: [{ slug: 'hooks' }], notifications: [{ message }] });

/** Waits until the counts are stored. */
async function known(tenant: Tenant) {
  const { deps } = world.service.runtime;
  const later = await tenantWith({ body: '{{ later }}' });
  await later.outcomes(await later.trigger());
  await eventually(async () => expect(await listMissingVariables(deps.db, later.id)).toHaveLength(1));
  const rows = await listMissingVariables(deps.db, tenant.id);
  return rows.map(({ name, count, version }) => `${name} ${count} v${version}`).sort();
}

async function counted(): Promise<number> {
  const metrics = await (await fetch(`${world.service.address}/metrics`)).text();
  return Number(/^belfry_missing_variables_total (\d+)$/m.exec(metrics)![1]);
}

test('each delivery counts once per missing variable, and in the metric', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith({ subject: '{{ user.email }}', body: '{{ order.total }} {{ n }} {{ n }}' });
  const before = await counted();
  await tenant.outcomes(await tenant.trigger({}, { n: 1 }));
  await tenant.outcomes(await tenant.trigger({}, {}));
  await tenant.outcomes(await tenant.trigger({}, { n: 1, order: { total: 2 } }));
  await eventually(async () => expect(await counted()).toBe(before + 4));
  expect(await known(tenant)).toEqual(['n 2 v1', 'order.total 4 v1']);
  const [row] = await listMissingVariables(world.service.runtime.deps.db, tenant.id);
  expect(row!.last_at.getTime()).toBeGreaterThanOrEqual(row!.first_at.getTime());
  expect(Math.abs(Date.now() - row!.last_at.getTime())).toBeLessThan(60_000);
});

test.concurrent('a delivery that takes several attempts counts once', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith({ subject: '{{ user.email }}', body: '{{ order }}' });
  tenant.answer({ status: 503 });
  const id = await tenant.trigger();
  await tenant.until(id, 'retrying');
  tenant.answer({});
  await tenant.hurry();
  await tenant.outcomes(id);
  expect(await known(tenant)).toEqual(['order 2 v1']);
});

test.concurrent('optional variables, and messages that fail because of them, do not count', {
  tags: ['sweep'],
}, async () => {
  const quiet = await tenantWith({ body: '{{ order | default: "none" }}{% if order %}{{ order }}{% endif %}' });
  await quiet.outcomes(await quiet.trigger());
  expect(await known(quiet)).toEqual([]);
  const strict = await tenantWith({ body: '{{ order }}', strict: true });
  await strict.outcomes(await strict.trigger());
  expect(await known(strict)).toEqual([]);
});

test.concurrent('simulating or viewing a message counts nothing', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({
    users: people.slice(0, 1),
    channels: [sandbox],
    notifications: [{ channels: ['sandbox'], message: { body: '{{ order }}' } }],
  });
  await tenant.post(`${tenant.event}simulate/`, { context: {} });
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const [delivery] = await tenant.deliveries(id);
  const path = `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery!.id}/message/`;
  expect((await tenant.ask({ path })).body).toMatchObject({ missing: ['order'] });
  expect(await known(tenant)).toEqual(['order 1 v1']);
});

test.concurrent('counts are stored periodically', async () => {
  const tenant = await tenantWith({ body: '{{ order }}' });
  await tenant.outcomes(await tenant.trigger());
  await eventually(async () => {
    const rows = await listMissingVariables(world.service.runtime.deps.db, tenant.id);
    expect(rows.map(row => row.count)).toEqual([2]);
  }, 15_000);
});

describe('on its own', () => {
  async function notificationOf(tenant: Tenant) {
    const [row] = await tenant.sql<{ id: number }>(
      'select id::int from notifications where organization_id = $1',
      tenant.id,
    );
    const where = { organization: tenant.slug, event: 'shop/web/go', notification: 'n1' };
    return { organizationId: tenant.id, notificationId: row!.id, version: 1, where };
  }
  function collect() {
    const lines: object[] = [];
    return { lines, log: { warn: (...given: unknown[]) => void lines.push(given[0] as object) } as never };
  }

  test('the log names event, notification and variables once an hour for each version', async () => {
    const { db } = world.service.runtime.deps;
    const missing = await notificationOf(await tenantWith({ body: 'x' }));
    const variables = new MissingVariables();
    const { lines, log } = collect();
    const hour = 3_600_000;
    for (const [version, now] of [
      [1, 0],
      [1, hour - 1],
      [2, hour - 1],
      [1, hour],
    ] as const) {
      variables.record({ ...missing, version }, ['order.total', 'n'], now);
      await variables.flush(db, log, now);
      await variables.flush(db, log, now);
    }
    const line = { ...missing.where, variables: ['order.total', 'n'] };
    expect(lines).toEqual([line, line, line]);
  });

  test('an unlimited number of names does not fill the table or stop the counting', async () => {
    const { db } = world.service.runtime.deps;
    const tenant = await tenantWith({ body: 'x' });
    const missing = await notificationOf(tenant);
    const variables = new MissingVariables();
    for (let i = 0; i < 300; i++) {
      variables.record(missing, ['order', `a${i}`, '\ud800\0'], i);
      if (i % 10 === 9) await variables.flush(db, silent, i);
    }
    const rows = await listMissingVariables(db, tenant.id);
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.length).toBeLessThanOrEqual(120);
    expect(rows.find(row => row.name === 'order')!.count).toBe(300);
    expect(rows.find(row => row.name === '\ufffd')!.count).toBe(300);
  });

  test('counts that cannot be stored are kept for the next time, except for a deleted notification', async () => {
    const { db } = world.service.runtime.deps;
    const tenant = await tenantWith({ body: 'x' });
    const missing = await notificationOf(tenant);
    const variables = new MissingVariables();
    variables.record(missing, ['order'], 0);
    await tenant.sql('alter table missing_variables rename to away');
    await expect(variables.flush(db, silent, 0)).rejects.toThrow();
    await tenant.sql('alter table away rename to missing_variables');
    variables.record(missing, ['order'], 0);
    variables.record({ ...missing, notificationId: 999_999 }, ['order'], 0);
    await variables.flush(db, silent, 0);
    expect((await listMissingVariables(db, tenant.id)).map(row => row.count)).toEqual([2]);
  });

  test('a variable that has not been missing within the retention is deleted', async () => {
    const { deps } = world.service.runtime;
    const tenant = await tenantWith({ body: 'x' });
    const missing = await notificationOf(tenant);
    const variables = new MissingVariables();
    const now = Date.now();
    variables.record(missing, ['recent'], now);
    await variables.flush(deps.db, silent, now);
    variables.record(missing, ['old'], now - 91 * 86_400_000);
    await variables.flush(deps.db, silent, now);
    await runMaintenance(deps, now);
    expect((await listMissingVariables(deps.db, tenant.id)).map(row => row.name)).toEqual(['recent']);
  });
});
