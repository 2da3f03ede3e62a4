/** Swaps of shifts: by API and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { swapLimits } from '../../src/core/oncall/swaps.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

/** Ann is on call; Bob and Eve are in a layer that begins later. */
const layers = [
  { name: 'now', every: '1w', from: '2026-01-05T00:00', users: ['ann@x.test'] },
  { name: 'later', every: '1w', from: '2099-01-05T00:00', users: ['bob@x.test', 'eve@x.test'] },
];
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers, on_change: 'web/go' };
const tenantOf = (more: object = {}) =>
  world.tenant({
    users: [{ email: 'ann@x.test', first_name: 'Ann' }, 'bob@x.test', 'eve@x.test', 'max@x.test'],
    schedules: [{ ...primary, ...more }],
    notifications: [{ recipients: { trigger: true } }],
  });

const pathOf = (tenant: Tenant, suffix: string) => `/api/o/${tenant.slug}/p/shop/schedules/primary/${suffix}`;
const shift = (days = 1) => ({ user: 'ann@x.test', starts_at: inDays(days), ends_at: inDays(days + 1) });

async function askFor(tenant: Tenant, input: object = shift()) {
  const made = await tenant.post(pathOf(tenant, 'swaps/'), input);
  expect(made.status, made.text).toBe(201);
  const path = pathOf(tenant, `swaps/${made.body.id}/`);
  return {
    body: made.body,
    path,
    accept: (user: string) => tenant.post(`${path}accept/`, { user }),
    withdraw: () => tenant.ask({ method: 'DELETE', path }),
    begin: () =>
      tenant.sql(
        'update schedule_swaps set starts_at = now() where organization_id = $1 and id = $2',
        tenant.id,
        made.body.id,
      ),
  };
}

const announced = (tenant: Tenant, count: number) =>
  eventually(async () => {
    const rows = await tenant.sql<{ context: Record<string, unknown>; options: { recipients: string[] } }>(
      'select context, options from occurrences where organization_id = $1 order by id',
      tenant.id,
    );
    expect(rows).toHaveLength(count);
    return rows;
  }, 8_000);

describe('a swap', () => {
  test('is announced to the others of the schedule, and gives the shift to the first who accepts', async () => {
    const tenant = await tenantOf();
    const swap = await askFor(tenant, { ...shift(), message: 'Wedding' });
    expect(swap.body).toMatchObject({ state: 'open', user: 'ann@x.test', accepted_by: null, message: 'Wedding' });
    const [asked] = await announced(tenant, 1);
    expect(asked!.options.recipients).toEqual(['bob@x.test', 'eve@x.test']);
    expect(asked!.context).toMatchObject({
      reason: 'swap_requested',
      swap: swap.body.id,
      message: 'Wedding',
      leaves: [{ username: 'ann@x.test', name: 'Ann' }],
      takes_over: [],
      open: { count: 0 },
    });
    expect(asked!.context.title).toMatch(/^Primary: Ann asks who can take over from .* \(UTC\)$/);

    const answers = await Promise.all(['bob@x.test', 'eve@x.test', 'max@x.test'].map(user => swap.accept(user)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const taken = answers.find(({ status }) => status === 200)!.body.accepted_by;
    for (const { body } of answers.filter(({ status }) => status === 409)) {
      expect(body).toMatchObject({ code: 'swap.taken', detail: `${taken} has taken the shift already` });
    }
    expect((await swap.withdraw()).body.code).toBe('swap.taken');
    const overrides = (await tenant.ask({ path: pathOf(tenant, 'overrides/') })).body;
    const { starts_at, ends_at } = swap.body;
    expect(overrides).toMatchObject([{ user: taken, replaces: 'ann@x.test', starts_at, ends_at, reason: 'Wedding' }]);
    expect((await tenant.ask({ path: swap.path })).body).toMatchObject({ state: 'accepted', accepted_by: taken });
    const [, change] = await announced(tenant, 2);
    expect(change!.context).toMatchObject({ reason: 'changed', takes_over: [{ username: taken }] });
    const log = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=swap` });
    expect(log.body.map(({ action }: { action: string }) => action)).toEqual(['accept', 'create']);
  });

  test('of a shift that is far ahead is announced when someone has taken it, too', async () => {
    const tenant = await tenantOf();
    const swap = await askFor(tenant, shift(20));
    await announced(tenant, 1);
    expect((await swap.accept('Max@x.test')).status).toBe(200);
    const [, accepted] = await announced(tenant, 2);
    expect(accepted).toMatchObject({
      options: { recipients: ['ann@x.test', 'max@x.test'] },
      context: { reason: 'swap_accepted', takes_over: [{ username: 'max@x.test' }] },
    });
  });

  test('cannot be accepted once it is withdrawn, or once its shift has begun', async () => {
    const tenant = await tenantOf();
    const withdrawn = await askFor(tenant);
    expect((await withdrawn.withdraw()).body).toEqual({ withdrawn: 1 });
    expect((await withdrawn.accept('bob@x.test')).body).toMatchObject({ status: 409, code: 'swap.ended' });
    const begun = await askFor(tenant);
    await begun.begin();
    expect((await begun.accept('bob@x.test')).body).toMatchObject({ status: 409, code: 'swap.ended' });
    const list = await tenant.ask({ path: pathOf(tenant, 'swaps/') });
    expect(list.body.map(({ state }: { state: string }) => state)).toEqual(['expired', 'withdrawn']);
    expect((await tenant.ask({ path: pathOf(tenant, 'overrides/') })).body).toEqual([]);
  });

  test('is not announced by a schedule that announces nothing', async () => {
    const tenant = await tenantOf({ on_change: undefined });
    const swap = await askFor(tenant);
    expect(await tenant.sql('select from schedule_notices where organization_id = $1', tenant.id)).toEqual([]);
    expect((await swap.accept('bob@x.test')).status).toBe(200);
  });

  test.each([
    ['by someone who is not on call then', { user: 'bob@x.test' }, 'user', /not on call/],
    ['by an unknown user', { user: 'who@x.test' }, 'user', /no user/],
    ['of a shift that has begun', { starts_at: inDays(-1) }, 'starts_at', /later than now/],
    ['of a shift that is too far ahead', { starts_at: inDays(400), ends_at: inDays(401) }, 'starts_at', /366 days/],
    ['that ends before it begins', { ends_at: inDays(0.5) }, 'ends_at', /after its start/],
    ['that is too long', { ends_at: inDays(100) }, 'ends_at', /92 days/],
  ])('%s is refused with the field', async (_, more, field, message) => {
    const tenant = await tenantOf();
    const { status, body } = await tenant.post(pathOf(tenant, 'swaps/'), { ...shift(), ...more });
    expect([status, Object.keys(body.errors)]).toEqual([400, [field]]);
    expect(body.errors[field].join()).toMatch(message);
  });

  test('is refused when there are as many open ones as there may be, and deleted some time after its shift', {
    tags: ['sweep'],
  }, async () => {
    const tenant = await tenantOf();
    const swap = await askFor(tenant);
    expect((await swap.accept('ann@x.test')).body.errors).toHaveProperty('user');
    await tenant.sql(
      `insert into schedule_swaps (organization_id, schedule_id, user_id, starts_at, ends_at, created_by)
       select organization_id, schedule_id, user_id, starts_at, ends_at, 'x' from schedule_swaps, generate_series(2, ${swapLimits.open})
       where organization_id = $1`,
      tenant.id,
    );
    const { body } = await tenant.post(pathOf(tenant, 'swaps/'), shift());
    expect(body).toMatchObject({ status: 409, code: 'swap.limit' });
    const days = swapLimits.keptDays + 1;
    await tenant.sql(
      `update schedule_swaps set starts_at = now() - interval '${days} days', ends_at = now() - interval '${days} days' where organization_id = $1`,
      tenant.id,
    );
    await runMaintenance(world.service.runtime.deps, Date.now());
    expect((await tenant.ask({ path: pathOf(tenant, 'swaps/') })).body).toEqual([]);
  });
});

test.each([
  ['a server', true],
  ['the database', false],
])('the command asks for swaps, lists, accepts and withdraws them, with %s', async (_, remote) => {
  const tenant = await tenantOf();
  const { deps, url } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, {
    name: 'x',
    permissions: ['schedule:read', 'schedule:override'],
  });
  const local = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const env: Record<string, string> = remote ? { BELFRY_URL: world.service.address, BELFRY_KEY: key } : local;
  const run = async (...args: string[]) => {
    const done = await command(['swap', `${tenant.slug}/shop/primary`, ...args], env);
    expect(done.code, done.stderr).toBe(0);
    return done.stdout;
  };
  const times = ['--from', inDays(1), '--until', inDays(2)];
  const asked = await run('ann@x.test', ...times, '--message', 'Wedding');
  expect(asked).toMatch(
    /^ann@x\.test asks who can take over from .* until .*\.\nTo accept it: belfry swap .* --accept \d+/,
  );
  const id = /--accept (\d+)/.exec(asked)![1]!;
  expect(await run('--list')).toMatch(/open +ann@x\.test[\s\S]*Wedding/);
  expect(await run('bob@x.test', '--accept', id)).toMatch(/^bob@x\.test is on call instead of ann@x\.test from/);
  const [, other] = /--accept (\d+)/.exec(await run('ann@x.test', '--from', inDays(5), '--until', inDays(6)))!;
  expect(await run('--withdraw', other!)).toBe('Withdrawn.\n');
  expect(await run('--list')).toMatch(/withdrawn[\s\S]*accepted/);
});
