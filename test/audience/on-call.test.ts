/** Who is on call, and overrides: by API and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { overrideLimits } from '../../src/core/oncall/overrides.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { ask } from '../support/api.ts';
import { command } from '../support/command.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

/** Ann and Bob take turns of a day, and no one is on call on the last day. */
const layer = {
  name: 'days',
  every: '1d',
  from: '2027-01-04T00:00',
  until: '2027-01-10T00:00',
  users: ['ann@x.test', 'bob@x.test'],
};
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer] };
/** Ann has been on call ever since. */
const { until: _, ...endless } = layer;
const always = {
  ...primary,
  slug: 'always',
  layers: [{ ...endless, from: '2026-01-01T00:00', users: ['ann@x.test'] }],
};

const tenantOf = () =>
  world.tenant({
    users: [{ email: 'ann@x.test', first_name: 'Ann', last_name: 'A' }, 'bob@x.test', 'eve@x.test'],
    schedules: [primary, always],
  });

const pathOf = (tenant: Tenant, slug = 'primary') => `/api/o/${tenant.slug}/p/shop/schedules/${slug}/`;
const userOf = (username: string) => expect.objectContaining({ username });

describe('who is on call', () => {
  test('is listed for all schedules at a time, with who is next', async () => {
    const tenant = await tenantOf();
    const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/on-call/?at=2027-01-04T12:00:00Z` });
    expect(body).toEqual([
      {
        id: expect.any(Number),
        project: 'shop',
        schedule: 'primary',
        name: 'Primary',
        timezone: 'UTC',
        fallback: null,
        users: [{ username: 'ann@x.test', first_name: 'Ann', last_name: 'A', state: 'active' }],
        layers: ['days'],
        overrides: [],
        until: '2027-01-05T00:00:00.000Z',
        next: { from: '2027-01-05T00:00:00.000Z', users: [userOf('bob@x.test')] },
        absences: [],
        announcement_error: null,
      },
      expect.objectContaining({ schedule: 'always', users: [userOf('ann@x.test')], until: null, next: null }),
    ]);
    const page = await tenant.ask({ path: `/api/o/${tenant.slug}/on-call/?limit=1` });
    expect(page.body).toHaveLength(1);
    expect(page.headers.link).toContain('rel="next"');
  });

  test('is listed in shifts without gaps, where no one is on call too', async () => {
    const tenant = await tenantOf();
    const span = 'since=2027-01-08T12:00:00Z&until=2027-01-11T00:00:00Z';
    const { body } = await tenant.ask({ path: `${pathOf(tenant)}shifts/?${span}` });
    expect(body).toMatchObject([
      { from: '2027-01-08T12:00:00.000Z', until: '2027-01-09T00:00:00.000Z', users: [{ username: 'ann@x.test' }] },
      { from: '2027-01-09T00:00:00.000Z', until: '2027-01-10T00:00:00.000Z', users: [{ username: 'bob@x.test' }] },
      { from: '2027-01-10T00:00:00.000Z', until: '2027-01-11T00:00:00.000Z', users: [], layers: [] },
    ]);
    const long = await tenant.ask({
      path: `${pathOf(tenant)}shifts/?since=2027-01-01T00:00:00Z&until=2027-12-31T00:00:00Z`,
    });
    expect(long.body.errors).toEqual({ until: ['must be at most 92 days after since'] });
  });

  test('says which users are locked or deleted', async () => {
    const tenant = await tenantOf();
    await tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/u/ann@x.test/`, body: { locked: true } });
    await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/bob@x.test/` });
    const { body } = await tenant.ask({ path: `${pathOf(tenant)}on-call/?at=2027-01-04T12:00:00Z` });
    expect(body).toMatchObject({ users: [{ state: 'locked' }], next: { users: [{ state: 'missing' }] } });
  });

  test('has no names for a key that may not read users', async () => {
    const tenant = await tenantOf();
    const { key } = await createKey(world.service.runtime.deps, tenant.slug, {
      name: 'x',
      permissions: ['schedule:read'],
    });
    const { body } = await ask(world.service.address, { key, path: `${pathOf(tenant, 'always')}on-call/` });
    expect(body.users).toEqual([{ username: 'ann@x.test', first_name: '', last_name: '', state: 'active' }]);
  });

  test('is listed for the schedules that name a user in a layer or an override', async () => {
    const tenant = await tenantOf();
    const of = async (user: string) => {
      const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/on-call/?user=${user}` });
      return body.map(({ schedule }: { schedule: string }) => schedule);
    };
    expect([await of('Ann@x.test'), await of('bob@x.test'), await of('eve@x.test')]).toEqual([
      ['primary', 'always'],
      ['primary'],
      [],
    ]);
    await tenant.post(`${pathOf(tenant, 'always')}overrides/`, { user: 'eve@x.test', duration: '1h' });
    expect(await of('eve@x.test')).toEqual(['always']);
    await tenant.ask({
      method: 'PATCH',
      path: pathOf(tenant),
      body: { layers: [{ ...layer, users: [['eve@x.test'], []] }] },
    });
    expect(await of('eve@x.test')).toEqual(['primary', 'always']);
  });

  test('is previewed for a draft, with the overrides of the stored schedule', async () => {
    const tenant = await tenantOf();
    const times = { starts_at: '2027-01-05T06:00:00Z', ends_at: '2027-01-05T12:00:00Z' };
    await tenant.post(`${pathOf(tenant)}overrides/`, { user: 'eve@x.test', ...times });
    const draft = { ...primary, layers: [{ ...layer, users: ['bob@x.test'] }] };
    const span = { since: '2027-01-05T00:00:00Z', until: '2027-01-06T00:00:00Z' };
    const preview = (schedule: object) =>
      tenant.post(`/api/o/${tenant.slug}/p/shop/shifts/preview/`, { ...span, schedule });
    expect((await preview(draft)).body.map((one: { users: { username: string }[] }) => one.users[0]!.username)).toEqual(
      ['bob@x.test', 'eve@x.test', 'bob@x.test'],
    );
    const wrong = await preview({ ...draft, timezone: 'Mars/Olympus' });
    expect(wrong.body.errors).toHaveProperty('timezone');
  });
});

describe('an override', () => {
  const at = (tenant: Tenant, time: string) =>
    tenant
      .ask({ path: `${pathOf(tenant)}on-call/?at=${time}` })
      .then(({ body }) => body.users.map((one: { username: string }) => one.username));
  const add = (tenant: Tenant, more: object) =>
    tenant.post(`${pathOf(tenant)}overrides/`, {
      user: 'eve@x.test',
      starts_at: '2027-01-04T06:00:00Z',
      ends_at: '2027-01-05T06:00:00Z',
      ...more,
    });

  test('takes a shift from everyone, or covers one user only while that one is on call', async () => {
    const tenant = await tenantOf();
    const covered = await add(tenant, { replaces: 'ann@x.test', reason: 'dentist' });
    expect(covered.body).toMatchObject({
      state: 'planned',
      user: 'eve@x.test',
      replaces: 'ann@x.test',
      reason: 'dentist',
    });
    expect(await at(tenant, '2027-01-04T12:00:00Z')).toEqual(['eve@x.test']);
    expect(await at(tenant, '2027-01-05T03:00:00Z')).toEqual(['bob@x.test']);
    await add(tenant, { user: 'bob@x.test' });
    expect(await at(tenant, '2027-01-04T12:00:00Z')).toEqual(['bob@x.test']);
  });

  test('that was created later counts, and its end brings the earlier one back', async () => {
    const tenant = await tenantOf();
    await add(tenant, {});
    const later = await add(tenant, { user: 'bob@x.test' });
    const pages = `${pathOf(tenant)}overrides/?limit=1`;
    const first = await tenant.ask({ path: pages });
    expect(first.body).toMatchObject([{ user: 'bob@x.test' }]);
    const [, next] = /<[^>]*(\/api[^>]*)>; rel="next"/.exec(String(first.headers.link))!;
    expect((await tenant.ask({ path: next! })).body).toMatchObject([{ user: 'eve@x.test' }]);
    expect(await at(tenant, '2027-01-04T12:00:00Z')).toEqual(['bob@x.test']);
    const path = `${pathOf(tenant)}overrides/${later.body.id}/`;
    expect((await tenant.ask({ method: 'DELETE', path })).body).toEqual({ deleted: 1 });
    expect(await at(tenant, '2027-01-04T12:00:00Z')).toEqual(['eve@x.test']);
    expect((await tenant.ask({ path })).status).toBe(404);
  });

  test('that has begun is kept when it is ended, and cannot be ended twice', async () => {
    const tenant = await tenantOf();
    const { body } = await tenant.post(`${pathOf(tenant)}overrides/`, { user: 'eve@x.test', duration: '1h' });
    expect(body.state).toBe('active');
    const path = `${pathOf(tenant)}overrides/${body.id}/`;
    expect((await tenant.ask({ method: 'DELETE', path })).status).toBe(200);
    expect((await tenant.ask({ path })).body.state).toBe('ended');
    const again = await tenant.ask({ method: 'DELETE', path });
    expect([again.status, again.body.code]).toEqual([409, 'override.ended']);
    const listed = async (state: string) =>
      (await tenant.ask({ path: `${pathOf(tenant)}overrides/?state=${state}` })).body;
    expect([(await listed('ended')).length, (await listed('active')).length]).toEqual([1, 0]);
  });

  test('is in the audit log with who made it, and a file neither has nor changes it', async () => {
    const tenant = await tenantOf();
    await add(tenant, {});
    const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=override` });
    expect(audit.body).toMatchObject([{ action: 'create', after: { user: 'eve@x.test' }, actor: expect.anything() }]);
    const layers = [{ ...layer, users: ['bob@x.test'] }];
    await tenant.apply({ schedules: [{ ...primary, layers }], members: [] }, true);
    expect(await at(tenant, '2027-01-04T12:00:00Z')).toEqual(['eve@x.test']);
    expect(await at(tenant, '2027-01-05T12:00:00Z')).toEqual(['bob@x.test']);
  });

  test.each<[string, object, string]>([
    ['an unknown user', { user: 'who@x.test' }, 'user'],
    ['an unknown one to replace', { replaces: 'who@x.test' }, 'replaces'],
    ['one that replaces the same', { replaces: 'Eve@x.test' }, 'replaces'],
    ['an end before its start', { ends_at: '2027-01-04T05:00:00Z' }, 'ends_at'],
    ['no end', { ends_at: undefined }, 'ends_at'],
    ['two ends', { duration: '1h' }, 'ends_at'],
    ['a year', { ends_at: '2028-01-04T06:00:00Z' }, 'ends_at'],
    ['a start in years', { starts_at: '2031-01-04T06:00:00Z', ends_at: '2031-01-05T06:00:00Z' }, 'starts_at'],
    ['a start in an earlier year', { starts_at: '2025-11-04T06:00:00Z' }, 'starts_at'],
    ['a reason of two lines', { reason: 'a\nb' }, 'reason'],
  ])('is refused for %s', async (_, more, field) => {
    const { status, body } = await add(await tenantOf(), more);
    expect([status, Object.keys(body.errors)]).toEqual([400, [field]]);
  });

  test('needs its own permission', async () => {
    const tenant = await tenantOf();
    const body = { user: 'eve@x.test', duration: '1h' };
    const post = async (permission: string) => {
      const { key } = await createKey(world.service.runtime.deps, tenant.slug, {
        name: permission,
        permissions: [permission],
      });
      return (await ask(world.service.address, { key, method: 'POST', path: `${pathOf(tenant)}overrides/`, body }))
        .status;
    };
    expect(await post('schedule:write')).toBe(403);
    expect(await post('schedule:override')).toBe(201);
  });

  test('that covers a user stays after the user was deleted', async () => {
    const tenant = await tenantOf();
    await add(tenant, { replaces: 'Ann@x.test' });
    await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/ann@x.test/` });
    expect(await at(tenant, '2027-01-04T12:00:00Z')).toEqual(['eve@x.test']);
    const { body } = await tenant.ask({ path: `${pathOf(tenant)}overrides/` });
    expect(body).toMatchObject([{ user: 'eve@x.test', replaces: 'ann@x.test' }]);
  });

  test('is deleted after some time, as are those of a deleted user', { tags: ['sweep'] }, async () => {
    const tenant = await tenantOf();
    await add(tenant, { user: 'bob@x.test' });
    await tenant.post(`${pathOf(tenant)}overrides/`, { user: 'eve@x.test', duration: '1h' });
    await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/bob@x.test/` });
    const count = async () => (await tenant.ask({ path: `${pathOf(tenant)}overrides/` })).body.length;
    expect(await count()).toBe(1);
    const days = overrideLimits.keptDays + 1;
    await tenant.sql(
      `update schedule_overrides set starts_at = now() - interval '${days + 1} days', ends_at = now() - interval '${days} days'
       where organization_id = ${tenant.id}`,
    );
    await runMaintenance(world.service.runtime.deps, Date.now());
    expect(await count()).toBe(0);
  });
});

describe('on the command line', () => {
  const run = async (remote: boolean, tenant: Tenant, ...args: string[]) => {
    const { deps, url } = world.service.runtime;
    const { key } = await createKey(deps, tenant.slug, { name: args.join(' '), permissions: ['*'] });
    const local = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
    const done = await command(args, remote ? { BELFRY_URL: world.service.address, BELFRY_KEY: key } : local);
    expect(done.code, done.stderr).toBe(0);
    return done.stdout;
  };

  test.each([
    ['a server', true],
    ['the database', false],
  ])('a shift is covered, listed and given back, with %s', async (_, remote) => {
    const tenant = await tenantOf();
    const path = `${tenant.slug}/shop/primary`;
    const times = ['--from', '2027-01-04T06:00:00Z', '--for', '6h'];
    const made = await run(remote, tenant, 'cover', path, 'eve@x.test', '--instead-of', 'ann@x.test', ...times);
    expect(made).toContain('eve@x.test is on call instead of ann@x.test from 2027-01-04');
    expect(await run(remote, tenant, 'on-call', path, '--at', '2027-01-04T07:00:00Z')).toMatch(
      /shop\/primary +eve@x.test/,
    );
    const range = ['--at', '2027-01-04T00:00:00Z', '--until', '2027-01-05T00:00:00Z'];
    const shifts = await run(remote, tenant, 'on-call', path, ...range);
    expect(shifts.match(/(ann|eve)@x.test/g)).toEqual(['ann@x.test', 'eve@x.test', 'ann@x.test']);
    const [id] = /^\d+/m.exec(await run(remote, tenant, 'cover', path, '--list'))!;
    expect(await run(remote, tenant, 'cover', path, '--end', id)).toBe('Ended.\n');
    expect(await run(remote, tenant, 'on-call', tenant.slug, '--at', '2027-01-04T07:00:00Z')).toMatch(
      /shop\/primary +ann@x.test/,
    );
  });
});
