/** Gaps of schedules: by API, on the command line, in a plan and in the doctor's report. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../src/services/identity/keys.ts';
import { checkOnCall } from '../../src/services/operations/doctor/on-call.ts';
import { command } from '../support/command.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
let folder: string;
beforeAll(async () => {
  world = await joinWorld();
  folder = await mkdtemp(join(tmpdir(), 'belfry-gaps-'));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const layer = { name: 'days', every: '1w', from: '2026-01-05T09:00', users: ['ann@x.test'] };
const always = { slug: 'always', name: 'Always', timezone: 'UTC', layers: [layer] };
const over = { ...always, slug: 'over', layers: [{ ...layer, until: '2026-02-01T00:00' }] };
const email = { slug: 'mail', name: 'Mail', type: 'email' };
const smtp = { use: 'smtp', host: '127.0.0.1', port: 1, from: 'x@x.test' };

const tenantOf = (input: TenantInput = {}) =>
  world.tenant({
    users: ['ann@x.test', 'bob@x.test'],
    channels: [{ ...email, providers: [smtp] }],
    notifications: [{ channels: ['mail'], recipients: { schedule: 'over' } }],
    schedules: [always, over],
    ...input,
  });

const pathOf = (tenant: Tenant, query = '') => `/api/o/${tenant.slug}/on-call/gaps/${query}`;

async function kindsOf(tenant: Tenant, query = '?schedule=always'): Promise<string[]> {
  const { status, body } = await tenant.ask({ path: pathOf(tenant, query) });
  expect(status).toBe(200);
  return body.gaps.map((gap: { kind: string; user: string | null }) => [gap.kind, gap.user].filter(Boolean).join(' '));
}

test('gaps are listed with what is wrong, what to do, and which notifications are affected', async () => {
  const tenant = await tenantOf();
  const { body } = await tenant.ask({ path: pathOf(tenant) });
  expect(body).toMatchObject({
    schedules: 2,
    complete: true,
    gaps: [
      { kind: 'unverified', schedule: 'always', user: 'ann@x.test', used_by: [] },
      {
        kind: 'no_one',
        project: 'shop',
        schedule: 'over',
        user: null,
        message: 'no one is on call, and there is no fallback list',
        advice: expect.stringContaining('fallback list'),
        used_by: ['shop/web/go/n1'],
      },
    ],
  });
  const [{ from, until }] = body.gaps.slice(1);
  expect(until).toBe(body.until);
  expect(Date.parse(until) - Date.parse(from)).toBe(7 * 86_400_000);
  expect(await kindsOf(tenant, '?project=other')).toEqual([]);
});

test('a fallback list is none while it has no active members', async () => {
  const fallback = { ...over, fallback: 'Managers' };
  const empty = await tenantOf({ lists: { Managers: [] }, schedules: [fallback] });
  expect(await kindsOf(empty, '')).toEqual(['no_one']);
  await empty.apply({ members: ['bob@x.test'], lists: { Managers: ['bob@x.test'] } });
  expect(await kindsOf(empty, '')).toEqual([]);
});

test('a person on call is examined as a message would be: address, suppression, rules, lock, absence', async () => {
  const tenant = await tenantOf();
  const change = (text: string) => tenant.sql(`${text} organization_id = ${tenant.id} and username = 'ann@x.test'`);
  const addresses = (text: string) => tenant.sql(`update addresses set ${text} where organization_id = ${tenant.id}`);
  await addresses(`verified_at = now()`);
  expect(await kindsOf(tenant)).toEqual(['unverified ann@x.test']);
  await tenant.sql(`
    insert into addresses (organization_id, user_id, name, value, verified_at)
    select organization_id, id, 'phone', '+15555550100', now() from users where organization_id = ${tenant.id} and username = 'ann@x.test'`);
  expect(await kindsOf(tenant)).toEqual([]);
  await change(`update users set reach = '{"important": [{"by": "sms"}]}' where`);
  expect(await kindsOf(tenant)).toEqual(['rules ann@x.test']);
  await addresses(`disabled_at = now()`);
  expect(await kindsOf(tenant)).toEqual(['unreachable ann@x.test']);
  await tenant.sql(`
    insert into absences (organization_id, user_id, starts_at, ends_at, created_by)
    select organization_id, id, now() + interval '1 day', now() + interval '2 days', 'test' from users
    where organization_id = ${tenant.id} and username = 'ann@x.test'`);
  expect(await kindsOf(tenant)).toEqual(['absent ann@x.test', 'unreachable ann@x.test']);
  await change(`update users set locked = true where`);
  expect(await kindsOf(tenant)).toEqual(['no_one', 'locked ann@x.test']);
});

test('a key that may not read users learns of times only', async () => {
  const tenant = await tenantOf();
  const { key } = await createKey(world.service.runtime.deps, tenant.slug, {
    name: 'k',
    permissions: ['schedule:read'],
  });
  const { body } = await tenant.ask({ path: pathOf(tenant), key });
  expect(body.gaps.map((gap: { kind: string }) => gap.kind)).toEqual(['no_one']);
});

test('a time that is too far ahead, or over, is refused', async () => {
  const tenant = await tenantOf();
  for (const days of [93, -1]) {
    const until = new Date(Date.now() + days * 86_400_000).toISOString();
    const { status, body } = await tenant.ask({ path: pathOf(tenant, `?until=${until}`) });
    expect(status).toBe(400);
    expect(body.errors.until).toEqual([expect.stringMatching(/^must be/)]);
  }
});

describe.each([true, false])('on the command line, with a server: %s', isRemote => {
  const env = async (tenant: Tenant): Promise<Record<string, string>> => {
    if (!isRemote)
      return { DATABASE_URL: world.service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
    const { key } = await createKey(world.service.runtime.deps, tenant.slug, { name: 'cli', permissions: ['*'] });
    return { BELFRY_URL: world.service.address, BELFRY_KEY: key };
  };

  test('`on-call --gaps` fails if there are any', async () => {
    const tenant = await tenantOf();
    const found = await command(['on-call', tenant.slug, '--gaps'], await env(tenant));
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/shop\/over .* no one is on call, and there is no fallback list \(no_one\)/);
    const none = await tenantOf({ schedules: [], notifications: [{ channels: ['mail'] }] });
    expect(await command(['on-call', none.slug, '--gaps'], await env(none))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('There are no gaps.'),
    });
  });

  test('`plan --no-gaps` fails if the result has times at which no one is on call', async () => {
    const tenant = await tenantOf();
    const path = join(folder, 'plan.json');
    const settings = await env(tenant);
    const plan = async (schedules: object[], lists: object[] = []) => {
      const project = { slug: 'shop', name: 'Shop', schedules, ...(lists.length > 0 && { distribution_lists: lists }) };
      const document = { organizations: [{ slug: tenant.slug, name: tenant.slug, projects: [project] }] };
      await writeFile(path, JSON.stringify(document));
      return command(['plan', path, '--no-gaps'], settings);
    };
    const gap = await plan([{ ...always, layers: [{ ...layer, from: '2100-01-01T00:00' }] }]);
    expect(gap.code).toBe(1);
    expect(gap.stdout).toContain(`${tenant.slug}/shop/always: no one is on call, and there is no fallback list`);
    expect(gap.stdout).toContain(`${tenant.slug}/shop/over: no one`);
    const [covered, list] = [
      { ...over, fallback: 'New' },
      { name: 'New', members: ['bob@x.test'] },
    ];
    expect(await plan([covered], [list])).toMatchObject({ code: 0, stdout: expect.stringContaining('at all times') });
    expect((await plan([covered], [{ name: 'New', members: [] }])).stdout).toContain('New has no active members');
  });
});

test('the doctor warns of gaps', async () => {
  await tenantOf();
  const { deps } = world.service.runtime;
  const checks = await checkOnCall(deps);
  expect(checks[0]).toMatchObject({
    name: 'on call',
    ok: true,
    detail: expect.stringMatching(/schedules? with \d+ gaps? within a week/),
  });
  expect(checks.length).toBeGreaterThan(1);
});
