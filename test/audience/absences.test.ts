/** Absences of users: by API and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { absenceLimits } from '../../src/core/oncall/absences.ts';
import { listAbsences } from '../../src/db/audience/on-call/absences.ts';
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

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

/** Ann is always on call. */
const layer = { name: 'always', every: '1w', from: '2026-01-05T00:00', users: ['ann@x.test'] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer] };
const tenantOf = () => world.tenant({ users: ['ann@x.test', 'bob@x.test'], schedules: [primary] });

const pathOf = (tenant: Tenant, user = 'ann@x.test') => `/api/o/${tenant.slug}/u/${user}/absences/`;
const schedule = (tenant: Tenant) => `/api/o/${tenant.slug}/p/shop/schedules/primary/`;
const holiday = () => ({ starts_at: inDays(3), ends_at: inDays(10), reason: 'Holiday' });

describe('an absence', () => {
  test('is listed, read and deleted, which is in the audit log', async () => {
    const tenant = await tenantOf();
    const input = holiday();
    const made = await tenant.post(pathOf(tenant), input);
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject({ user: 'ann@x.test', ...input });
    await tenant.post(pathOf(tenant), { starts_at: inDays(-1), ends_at: inDays(1) });
    const { body } = await tenant.ask({ path: pathOf(tenant) });
    expect(body).toMatchObject([{ reason: null }, { id: made.body.id }]);
    expect((await tenant.ask({ path: pathOf(tenant, 'bob@x.test') })).body).toEqual([]);
    const at = new URL(made.headers.location as string).pathname;
    const read = await tenant.ask({ path: at });
    expect([read.body, read.headers.etag]).toEqual([made.body, made.headers.etag]);
    const remove = async (query: string, tag: string) => {
      const { status, body } = await tenant.ask({ method: 'DELETE', path: at + query, headers: { 'if-match': tag } });
      return [status, status === 200 ? body : body.code];
    };
    const tag = String(read.headers.etag);
    expect(await remove('', '"another"')).toEqual([412, 'request.stale']);
    expect(await remove('?dry_run=true', tag)).toEqual([200, { deleted: { absences: 1 }, dry_run: true }]);
    expect(await remove('', tag)).toEqual([200, { deleted: { absences: 1 } }]);
    expect((await tenant.ask({ path: at })).body.code).toBe('absence.not_found');
    const log = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=absence` });
    expect(log.body).toMatchObject([
      { action: 'delete', before: { reason: 'Holiday' } },
      { action: 'create' },
      { action: 'create', path: `ann@x.test/${made.body.id}` },
    ]);
  });

  test.each([
    ['that is over', { starts_at: inDays(-2), ends_at: inDays(-1) }, 'ends_at', /later than now/],
    ['that ends before it begins', { starts_at: inDays(2), ends_at: inDays(1) }, 'ends_at', /after its start/],
    ['that is too long', { starts_at: inDays(1), ends_at: inDays(369) }, 'ends_at', /366 days/],
    ['that is too far ahead', { starts_at: inDays(740), ends_at: inDays(741) }, 'starts_at', /within 731 days/],
    ['without an end', { starts_at: inDays(1) }, 'ends_at', /required/],
    ['with a reason of two lines', { ...holiday(), reason: 'a\nb' }, 'reason', /single line/],
  ])('%s is refused with the field', async (_, body, field, message) => {
    const tenant = await tenantOf();
    const { status, body: answer } = await tenant.post(pathOf(tenant), body);
    expect([status, Object.keys(answer.errors)]).toEqual([400, [field]]);
    expect(answer.errors[field].join()).toMatch(message);
  });

  test('is refused when the user has as many as there may be', { tags: ['sweep'] }, async () => {
    const tenant = await tenantOf();
    const id = "(select id from users where organization_id = $1 and username = 'ann@x.test')";
    const add = (count: number, end: string) =>
      tenant.sql(
        `insert into absences (organization_id, user_id, starts_at, ends_at, created_by)
         select $1, ${id}, now() - interval '500 days', now() + $2::interval, 'x' from generate_series(1, ${count})`,
        tenant.id,
        end,
      );
    await add(absenceLimits.open, '1 day');
    expect((await tenant.post(pathOf(tenant), holiday())).body).toMatchObject({ status: 409, code: 'absence.limit' });
    // What is over does not count, and is deleted after some time.
    await tenant.sql(
      `update absences set ends_at = now() - interval '${absenceLimits.keptDays} days' where organization_id = $1`,
      tenant.id,
    );
    expect((await tenant.post(pathOf(tenant), holiday())).status).toBe(201);
    await runMaintenance(world.service.runtime.deps, Date.now());
    expect((await tenant.ask({ path: pathOf(tenant) })).body).toHaveLength(1);
  });
});

describe('a shift of a user who is away', () => {
  test('is marked, and the user stays on call', async () => {
    const tenant = await tenantOf();
    await tenant.post(pathOf(tenant), holiday());
    const absences = [
      { username: 'ann@x.test', from: expect.any(String), until: expect.any(String), reason: 'Holiday' },
    ];
    const ann = { users: [expect.objectContaining({ username: 'ann@x.test' })] };
    expect((await tenant.ask({ path: `${schedule(tenant)}on-call/` })).body).toMatchObject({ ...ann, absences });
    const shifts = (since: number, until: number) =>
      tenant.ask({ path: `${schedule(tenant)}shifts/?since=${inDays(since)}&until=${inDays(until)}` });
    expect((await shifts(9, 20)).body).toMatchObject([{ ...ann, absences }]);
    expect((await shifts(11, 20)).body).toMatchObject([{ ...ann, absences: [] }]);
    await tenant.post(`${schedule(tenant)}overrides/`, {
      user: 'bob@x.test',
      starts_at: inDays(2),
      ends_at: inDays(11),
    });
    expect((await shifts(2.5, 10.5)).body).toMatchObject([{ absences: [] }]);
  });

  test('is not marked for a key that may not read users', async () => {
    const tenant = await tenantOf();
    await tenant.post(pathOf(tenant), holiday());
    const { key } = await createKey(world.service.runtime.deps, tenant.slug, {
      name: 'x',
      permissions: ['schedule:read'],
    });
    const { body } = await ask(world.service.address, { key, path: `${schedule(tenant)}on-call/` });
    expect(body.absences).toEqual([]);
  });

  test('is found by username and time', async () => {
    const tenant = await tenantOf();
    await tenant.post(pathOf(tenant), holiday());
    const find = (user: string, from: number, until: number) =>
      listAbsences(world.service.runtime.deps.db, tenant.id, [user], new Date(inDays(from)), new Date(inDays(until)));
    expect(await find('ann@x.test', 0, 4)).toMatchObject([{ user: 'ann@x.test', reason: 'Holiday' }]);
    expect(await find('ann@x.test', 0, 2)).toEqual([]);
    expect(await find('bob@x.test', 0, 4)).toEqual([]);
  });
});

test.each([
  ['a server', true],
  ['the database', false],
])('the command adds, lists and deletes absences, with %s', async (_, remote) => {
  const tenant = await tenantOf();
  const { deps, url } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, {
    name: 'x',
    permissions: ['schedule:read', 'user:read', 'user:write'],
  });
  const local = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const env: Record<string, string> = remote ? { BELFRY_URL: world.service.address, BELFRY_KEY: key } : local;
  const run = async (...args: string[]) => {
    const done = await command(args, env);
    expect(done.code, done.stderr).toBe(0);
    return done.stdout;
  };
  const times = ['--from', inDays(1), '--until', inDays(5), '--reason', 'Holiday'];
  const added = await run('absence', tenant.slug, 'Ann@x.test', ...times);
  expect(added).toMatch(/^ann@x\.test is away from .* until .*\.\nTo delete it: belfry absence .* --delete \d+/);
  expect(await run('on-call', tenant.slug)).toContain('ann@x.test (away)');
  expect(await run('absence', tenant.slug, 'ann@x.test', '--list')).toMatch(/ID .*REASON[\s\S]*Holiday/);
  const id = /--delete (\d+)/.exec(added)![1]!;
  expect(await run('absence', tenant.slug, 'ann@x.test', '--delete', id)).toBe('Deleted.\n');
  expect(await run('absence', tenant.slug, 'ann@x.test', '--list')).toBe('There are no absences.\n');
});
