/** The report about being on call: by API, as CSV and on the command line. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/services/identity/keys.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const day = 86_400_000;
const today = new Date().toISOString().slice(0, 10);
const span = `since=${today}&until=${new Date(Date.parse(today) + 2 * day).toISOString().slice(0, 10)}`.replace(
  /(\d{4}-\d\d-\d\d)/g,
  '$1T00:00:00Z',
);
/** Ann is on call today, Bob tomorrow. */
const layer = { name: 'days', every: '1d', from: `${today}T00:00`, users: ['ann@x.test', 'bob@x.test'] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer] };
const managers = { ...primary, slug: 'managers', name: 'Managers', layers: [{ ...layer, users: ['eve@x.test'] }] };

const tenantOf = () =>
  world.tenant({
    users: [{ email: 'ann@x.test', first_name: 'Ann', last_name: 'A' }, 'bob@x.test', 'eve@x.test'],
    schedules: [primary, managers],
    notifications: [
      {
        recipients: { schedule: 'primary' },
        steps: [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }],
      },
    ],
  });
const pathOf = (tenant: Tenant) => `/api/o/${tenant.slug}/on-call/report/`;

/** Lets Ann be paged, acknowledge after so many seconds, and resolve after twice as many. */
async function respond(tenant: Tenant, seconds: number): Promise<void> {
  const id = await tenant.trigger();
  await eventually(async () => {
    const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/` });
    expect(body.counts.sent).toBe(1);
  });
  const path = `/api/o/${tenant.slug}/occurrence/${id}/`;
  for (const action of ['acknowledge', 'resolve'])
    await tenant.ask({ method: 'POST', path: `${path}${action}/`, body: {} });
  await tenant.sql(`
    update responses r set by = 'ann@x.test in Slack', at = o.created_at + make_interval(secs => case r.kind when 'resolved' then 2 else 1 end * ${seconds})
    from occurrences o where o.organization_id = r.organization_id and o.id = r.occurrence_id and o.id = '${id}' and r.organization_id = ${tenant.id}`);
}

test('has the hours, pages and responses of each user who was on call, those with the most hours first', async () => {
  const tenant = await tenantOf();
  await respond(tenant, 30);
  await respond(tenant, 90);
  const { body, status } = await tenant.ask({ path: `${pathOf(tenant)}?${span}&project=shop` });
  expect(status).toBe(200);
  expect(body.people.map((one: { username: string }) => one.username)).toEqual([
    'eve@x.test',
    'ann@x.test',
    'bob@x.test',
  ]);
  const none = { pages: 0, acknowledged: 0, time_to_acknowledge: null, resolved: 0, time_to_resolve: null };
  expect(body.people[0]).toMatchObject({ shifts: 1, hours: 48, against_mean: 1.5, ...none });
  expect(body.people[1]).toEqual({
    ...{ username: 'ann@x.test', first_name: 'Ann', last_name: 'A', timezone: 'UTC', shifts: 1, hours: 24 },
    ...{ night_hours: 8, weekend_hours: expect.any(Number), against_mean: 0.75, pages: 2 },
    ...{ acknowledged: 2, time_to_acknowledge: { median: 60, p90: 90 } },
    ...{ resolved: 2, time_to_resolve: { median: 120, p90: 180 } },
  });
  // Ann was paged, not Bob, who is on call later.
  expect(body.people[2]).toMatchObject({ username: 'bob@x.test', hours: 24, ...none });

  const csv = await tenant.ask({ path: `${pathOf(tenant)}export/?${span}&project=shop&schedule=primary` });
  expect(csv.text.split('\r\n').slice(0, 2)).toEqual([
    'username,first_name,last_name,timezone,shifts,hours,night_hours,weekend_hours,against_mean,pages,acknowledged,' +
      'time_to_acknowledge_median,time_to_acknowledge_p90,resolved,time_to_resolve_median,time_to_resolve_p90',
    expect.stringMatching(/^ann@x\.test,Ann,A,UTC,1,24,8,\d+,1,2,2,60,90,2,120,180$/),
  ]);
  const [since, until] = span.split('&').map(part => part.split('=')[1]!);
  const { deps, url } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, { name: 'report', permissions: ['schedule:read'] });
  // The key may not read users.
  for (const [name, env] of [
    [',', { BELFRY_URL: world.service.address, BELFRY_KEY: key }],
    ['Ann,A', { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' }],
  ] as const) {
    const args = ['report', tenant.slug, '--since', since!, '--until', until!];
    expect((await command([...args, '--csv'], env)).stdout).toContain(`ann@x.test,${name},UTC,1,24,8,`);
    expect((await command(args, env)).stdout).toMatch(/ann@x\.test +1 +24 +8 +\d+ +75 % +2 +2 +60 s +2 +120 s/);
  }
});

test('follows the layers of the time, not those that replaced them since', async () => {
  const tenant = await tenantOf();
  const path = `/api/o/${tenant.slug}/p/shop/schedules/primary/`;
  const change = async (users: string[]) => {
    const { status, text } = await tenant.ask({ method: 'PATCH', path, body: { layers: [{ ...layer, users }] } });
    expect(status, text).toBe(200);
  };
  // Rules that held for less than a minute are not kept.
  await change(['bob@x.test']);
  await tenant.sql(`update schedules set created_at = now() - interval '2 days' where organization_id = ${tenant.id}`);
  // Another change does not make them new.
  expect((await tenant.ask({ method: 'PATCH', path, body: { name: 'First' } })).status).toBe(200);
  await change(['eve@x.test']);
  await tenant.sql(
    `update schedule_history set replaced_at = '${today}T06:00:00Z' where organization_id = ${tenant.id}`,
  );
  const { body } = await tenant.ask({ path: `${pathOf(tenant)}?${span}&project=shop&schedule=primary` });
  expect(body.people).toMatchObject([
    { username: 'eve@x.test', hours: 42 },
    { username: 'bob@x.test', hours: 6 },
  ]);
  const shifts = await tenant.ask({ path: `${path}shifts/?${span}` });
  expect(shifts.body.map((one: { users: { username: string }[] }) => one.users[0]!.username)).toEqual([
    'bob@x.test',
    'eve@x.test',
  ]);
});

test('names the field of a time, project or schedule that it cannot have', async () => {
  const tenant = await tenantOf();
  const refused = async (query: string) => (await tenant.ask({ path: `${pathOf(tenant)}?${query}` })).body;
  const long = 'since=2026-01-01T00:00:00Z&until=2026-12-31T00:00:00Z';
  expect((await refused(long)).errors).toEqual({ until: ['must be at most 92 days after since'] });
  expect((await refused(`${span}&schedule=primary`)).errors).toEqual({ project: ['is required with a schedule'] });
  expect((await refused(`${span}&project=nowhere`)).code).toBe('project.not_found');
  expect((await refused(`${span}&project=shop&schedule=nowhere`)).code).toBe('schedule.not_found');
});

test('a user who is no longer in the layers keeps past shifts in the calendar', async () => {
  const tenant = await tenantOf();
  const begin = `${new Date(Date.parse(today) - 4 * day).toISOString().slice(0, 10)}T00:00`;
  const first = JSON.stringify([{ ...layer, from: begin }]);
  await tenant.sql(
    `update schedules set created_at = now() - interval '9 days', layers = '${first}'
     where organization_id = ${tenant.id} and slug = 'primary'`,
  );
  const layers = [{ ...layer, users: ['eve@x.test'] }];
  const path = `/api/o/${tenant.slug}/p/shop/schedules/primary/`;
  expect((await tenant.ask({ method: 'PATCH', path, body: { layers } })).status).toBe(200);
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/u/ann@x.test/calendar/` });
  const calendar = await tenant.ask({ path: new URL(body.url).pathname });
  expect(calendar.text).toContain('On call: Primary');
});

test('keeps the latest 64 KiB of layers that were replaced', async () => {
  const tenant = await tenantOf();
  const users = Array.from({ length: 1_000 }, (_, i) => `someone-${i}@x.test`);
  const lengths = async () =>
    (await tenant.sql(
      `select octet_length(layers::text) as bytes from schedule_history where organization_id = ${tenant.id}`,
    )) as { bytes: number }[];
  for (let i = 0; i < 8; i++) {
    await tenant.sql(
      `update schedules set created_at = now() - interval '9 days' where organization_id = ${tenant.id}`,
    );
    await tenant.sql(
      `update schedule_history set replaced_at = replaced_at - interval '1 hour' where organization_id = ${tenant.id}`,
    );
    const layers = JSON.stringify([{ ...layer, users: users.slice(i) }]);
    await tenant.sql(
      `update schedules set layers = '${layers}' where organization_id = ${tenant.id} and slug = 'primary'`,
    );
  }
  const kept = await lengths();
  const sum = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(kept.length).toBeLessThan(8);
  expect(sum).toBeGreaterThan(65_536);
  expect(sum).toBeLessThan(65_536 + 25_000);
});
