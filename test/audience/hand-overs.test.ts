/** Announcements of who is on call: hand-overs, and changes of the next days. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimNoticesAcrossTenants } from '../../src/db/audience/on-call/watches.ts';
import { lookAtSchedules } from '../../src/services/audience/on-call/looks.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

const layer = { name: 'always', every: '1w', from: '2026-01-05T00:00', users: ['ann@x.test'] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer], on_change: 'web/go' };

/** Ann is always on call. Everyone is notified who leaves or takes over. */
async function tenantOf(schedule: object = primary): Promise<Tenant> {
  const users = [{ email: 'ann@x.test', first_name: 'Ann', last_name: 'A' }, 'bob@x.test', 'eve@x.test'];
  return world.tenant({
    users,
    schedules: [schedule],
    notifications: [{ recipients: { trigger: true }, message: { subject: '{{ user.email }}', body: '{{ title }}' } }],
  });
}

const pathOf = (tenant: Tenant) => `/api/o/${tenant.slug}/p/shop/schedules/primary/`;
const override = async (tenant: Tenant, more: object): Promise<string> => {
  const made = await tenant.post(`${pathOf(tenant)}overrides/`, { user: 'bob@x.test', ...more });
  expect(made.status, made.text).toBe(201);
  return `${pathOf(tenant)}overrides/${made.body.id}/`;
};

interface Announced extends Record<string, unknown> {
  id: string;
  context: Record<string, unknown>;
  options: { recipients: string[] };
}

/** Waits for so many announcements, and that nothing else is to be announced. */
function announced(tenant: Tenant, count: number, withinMs = 10_000): Promise<Announced[]> {
  return eventually(async () => {
    const rows = await tenant.sql<Announced>(
      'select id, context, options from occurrences where organization_id = $1 order by id',
      tenant.id,
    );
    expect(rows.map(({ context }) => context.title)).toHaveLength(count);
    const waiting = 'select from schedule_notices where organization_id = $1';
    expect(await tenant.sql(waiting, tenant.id)).toEqual([]);
    return rows;
  }, withinMs);
}

/** As if no process had looked at the schedule since a time at which Bob was on call, and Eve was to follow. */
async function missed(tenant: Tenant, at: { eve: number; ann: number }): Promise<void> {
  const now = Date.now();
  const shifts = [
    { from: now - 9 * dayMs, until: now + at.eve, users: ['bob@x.test'] },
    { from: now + at.eve, until: now + at.ann, users: ['eve@x.test'] },
    { from: now + at.ann, until: now + dayMs, users: ['ann@x.test'] },
  ];
  await tenant.sql(
    'update schedule_watches set shifts = $1::jsonb, due_at = now() where organization_id = $2',
    JSON.stringify(shifts),
    tenant.id,
  );
}

describe('a hand-over', () => {
  test('is announced to who leaves and who takes over, with what is open', async () => {
    const tenant = await tenantOf();
    await tenant.apply({
      users: ['ann@x.test', 'bob@x.test', 'eve@x.test'],
      notifications: [
        { recipients: { trigger: true }, message: { subject: '{{ user.email }}', body: '{{ title }}' } },
        { recipients: { schedule: 'primary' }, filter: 'alert', steps: [{ channels: ['hooks'] }] },
      ],
    });
    const alert = { alert: true, title: 'Disk full', severity: 'critical' };
    await tenant.trigger({ dedup_key: 'disk' }, alert);
    const acknowledged = await tenant.trigger({ dedup_key: 'cpu' }, { ...alert, title: 'CPU' });
    await tenant.outcomes(acknowledged);
    expect((await tenant.post(`/api/o/${tenant.slug}/occurrence/${acknowledged}/acknowledge/`, {})).status).toBe(200);

    const path = await override(tenant, { duration: '3h' });
    const [, , one] = await announced(tenant, 3);
    expect(one!.options.recipients).toEqual(['ann@x.test', 'bob@x.test']);
    expect(one!.context).toEqual({
      project: 'shop',
      schedule: 'primary',
      name: 'Primary',
      timezone: 'UTC',
      title: 'Primary: bob@x.test takes over from Ann A',
      reason: 'hand_over',
      at: expect.any(String),
      until: expect.any(String),
      leaves: [{ username: 'ann@x.test', name: 'Ann A' }],
      takes_over: [{ username: 'bob@x.test', name: 'bob@x.test' }],
      changes: [],
      more_changes: 0,
      open: {
        count: 2,
        incidents: [
          expect.objectContaining({ title: 'Disk full', severity: 'critical', acknowledged: false }),
          expect.objectContaining({ id: acknowledged, title: 'CPU', acknowledged: true }),
        ],
      },
    });
    await eventually(async () =>
      expect(tenant.received().filter(({ text }) => text.includes('takes over'))).toHaveLength(2),
    );

    await tenant.ask({ method: 'DELETE', path });
    const [, , , back] = await announced(tenant, 4);
    expect(back!.context).toMatchObject({ reason: 'hand_over', title: 'Primary: Ann A takes over from bob@x.test' });
  });

  test('that another process causes is announced at once, also if it ends a moment later', async () => {
    const tenant = await tenantOf();
    await override(tenant, { duration: '3h' });
    await announced(tenant, 1);
    // The service has just looked, and would look again after five seconds.
    await tenant.sql(`update schedule_overrides set ends_at = now() where organization_id = $1`, tenant.id);
    await announced(tenant, 2, 2_000);
    await tenant.sql(
      `update schedule_overrides set ends_at = now() + interval '1 hour' where organization_id = $1`,
      tenant.id,
    );
    await announced(tenant, 3, 2_000);
  });

  test('that was planned is announced when it is made and, once, when its time comes, exact to a second', {
    tags: ['sweep'],
  }, async () => {
    const tenant = await tenantOf();
    const starts_at = inMs(4_000);
    await override(tenant, { starts_at, duration: '3h' });
    const [planned, begun] = await announced(tenant, 2);
    expect(planned!.context).toMatchObject({ reason: 'changed', at: starts_at });
    expect(begun!.context).toMatchObject({ reason: 'hand_over', at: starts_at });
    const lateMs = Number.parseInt(begun!.id.replace('-', '').slice(0, 12), 16) - Date.parse(starts_at);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(1_000);
  });

  test('is announced once by several processes, also after crashes', async () => {
    const tenant = await tenantOf();
    const { deps } = world.service.runtime;
    await missed(tenant, { eve: -2 * hourMs, ann: -hourMs });
    await Promise.all(Array.from({ length: 8 }, () => lookAtSchedules(deps)));
    // Processes that died: one before it triggered, one right after.
    await claimNoticesAcrossTenants(deps.db, 10);
    await tenant.sql('update schedule_notices set due_at = now() where organization_id = $1', tenant.id);
    const [one] = await announced(tenant, 1);
    await tenant.sql(
      `insert into schedule_notices (organization_id, id, schedule_id, context, recipients)
       select organization_id, $2, schedule_id, $3::jsonb, '{ann@x.test}' from schedule_watches where organization_id = $1`,
      tenant.id,
      one!.id,
      JSON.stringify(one!.context),
    );
    expect(await announced(tenant, 1)).toEqual([one]);
  });

  test('of several that were missed in an outage, the last one is announced, with the time at which it was due', async () => {
    const tenant = await tenantOf();
    await missed(tenant, { eve: -2 * dayMs, ann: -3 * hourMs });
    const [one] = await announced(tenant, 1);
    expect(one!.context).toMatchObject({
      reason: 'hand_over',
      leaves: [{ username: 'bob@x.test' }],
      takes_over: [{ username: 'ann@x.test' }],
      changes: [],
    });
    const at = Date.parse(one!.context.at as string);
    expect(Math.abs(Date.now() - 3 * hourMs - at)).toBeLessThan(60_000);
  });

  test('costs nothing for a schedule that announces nothing', async () => {
    const { on_change: _, ...silent } = primary;
    const tenant = await tenantOf(silent);
    await override(tenant, { duration: '3h' });
    const rows = () => tenant.sql('select from schedule_watches where organization_id = $1', tenant.id);
    expect(await rows()).toEqual([]);
    await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { on_change: 'web/go' } });
    expect(await rows()).toHaveLength(1);
    await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { on_change: null } });
    expect(await rows()).toEqual([]);
    await announced(tenant, 0);
  });
});

describe('a change of a later shift', () => {
  test('is announced within seven days: an override, its end, and an edit of the schedule', async () => {
    const tenant = await tenantOf();
    await override(tenant, { starts_at: inMs(7 * dayMs + hourMs), duration: '1h' });
    const path = await override(tenant, { starts_at: inMs(dayMs), duration: '1h' });
    const [made] = await announced(tenant, 1);
    expect(made!.options.recipients).toEqual(['ann@x.test', 'bob@x.test']);
    expect(made!.context.title).toMatch(/^Primary: bob@x\.test will be on call from .* \(UTC\) instead of Ann A$/);
    await tenant.ask({ method: 'DELETE', path });
    const [, ended] = await announced(tenant, 2);
    expect(ended!.context).toMatchObject({ reason: 'changed', takes_over: [{ username: 'ann@x.test' }] });
    const later = { ...layer, name: 'later', from: inMs(2 * dayMs).slice(0, 16), users: ['eve@x.test'] };
    await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { layers: [layer, later] } });
    const [, , edited] = await announced(tenant, 3);
    expect(edited!.context).toMatchObject({ reason: 'changed', takes_over: [{ username: 'eve@x.test' }] });
  });

  test('is announced when an override ends because its user is deleted, to users who still exist', async () => {
    const tenant = await tenantOf();
    await override(tenant, { starts_at: inMs(dayMs), duration: '1h' });
    // As long as its recipients are not resolved, it names a user, who would be created again.
    await tenant.outcomes((await announced(tenant, 1))[0]!.id);
    await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/bob@x.test/` });
    const [, one] = await announced(tenant, 2);
    expect(one!.options.recipients).toEqual(['ann@x.test']);
  });
});

describe('the event', () => {
  test('has to exist, in the file and in the database', async () => {
    const tenant = await tenantOf();
    const patch = (on_change: string) => tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { on_change } });
    expect((await patch('web/gone')).body.errors).toEqual({ on_change: [expect.stringContaining('no event "gone"')] });
    expect((await patch('web')).body.errors).toEqual({ on_change: [expect.stringContaining('application/event')] });
    const change = { schedules: [{ ...primary, on_change: 'shop/go' }] };
    await expect(tenant.apply(change)).rejects.toThrow(/no application "shop" in this project \(use one of web\)/);
  });

  test('that cannot be triggered is shown, and triggered once it can', async () => {
    const tenant = await tenantOf();
    const status = async () => (await tenant.ask({ path: `${pathOf(tenant)}on-call/` })).body.announcement_error;
    const rename = (from: string, to: string) =>
      tenant.sql('update events set slug = $1 where organization_id = $2 and slug = $3', to, tenant.id, from);
    await rename('go', 'gone');
    await override(tenant, { duration: '3h' });
    await eventually(async () => expect(await status()).toMatch(/^there is no event web\/go/), 8_000);
    await rename('gone', 'go');
    await tenant.sql('update schedule_notices set due_at = now() where organization_id = $1', tenant.id);
    await announced(tenant, 1);
    expect(await status()).toBeNull();
  });
});
