/** Notifications and steps that go to the users on call. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RenderSnapshots, renderContextOf } from '../../src/pipeline/rendering/render-snapshots.ts';
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

/** Local times in UTC, so that the first turn is that of `ann` today and the next that of `bob` tomorrow. */
const today = new Date().toISOString().slice(0, 10);
const layer = (more: object = {}) => ({
  name: 'days',
  every: '1d',
  from: `${today}T00:00`,
  users: ['ann@x.test', 'bob@x.test'],
  ...more,
});
const primary = (more: object = {}) => ({
  slug: 'primary',
  name: 'Primary',
  timezone: 'UTC',
  layers: [layer()],
  ...more,
});
/** No one is on call: it was over long ago. */
const over = { layers: [layer({ from: '2020-01-01T00:00', until: '2020-01-02T00:00' })] };
const people = {
  users: ['ann@x.test', 'bob@x.test', 'eve@x.test'],
  members: ['ann@x.test'],
  lists: { Managers: ['eve@x.test'] },
};
const schedule = { schedule: 'primary' };

const tenantOf = (schedules: object[], notification: object) =>
  world.tenant({ ...people, schedules, notifications: [{ recipients: schedule, ...notification }] });

const overridesOf = (tenant: Tenant) => `/api/o/${tenant.slug}/p/shop/schedules/primary/overrides/`;

const steps = async (tenant: Tenant, id: string) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/steps/` })).body as Record<string, unknown>[];

const runs = async (tenant: Tenant, id: string) =>
  (await steps(tenant, id)).map(one => `${one.number} ${one.status}${one.reason ? `: ${one.reason}` : ''}`);

async function makeStepsDue(tenant: Tenant): Promise<void> {
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
}

describe('a notification to a schedule', () => {
  test('goes to the users on call, and to no others', async () => {
    const tenant = await tenantOf([primary({ layers: [layer({ users: [['ann@x.test', 'bob@x.test']] })] })], {});
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test sent', 'bob@x.test sent']);
  });

  test('goes to the next user with an offset', async () => {
    const tenant = await tenantOf([primary()], { recipients: { schedule: 'primary', offset: 1 } });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['bob@x.test sent']);
  });

  test('goes to the user of an override from the moment that it is created', async () => {
    const tenant = await tenantOf([primary()], {});
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test sent']);
    const made = await tenant.post(overridesOf(tenant), { user: 'eve@x.test', replaces: 'ann@x.test', duration: '1h' });
    expect(made.status, made.text).toBe(201);
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['eve@x.test sent']);
    const path = `${overridesOf(tenant)}${made.body.id}/`;
    expect((await tenant.ask({ method: 'DELETE', path })).status).toBe(200);
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test sent']);
  });

  test('has no recipients while no one is on call, and says so', async () => {
    const tenant = await tenantOf([primary(over)], {});
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual([]);
    expect(await tenant.occurrence(id)).toMatchObject({
      outcome: 'no_recipients',
      reason: 'schedule.no_one',
      summary: 'No messages: no one was on call.',
    });
  });

  test('goes to the fallback list while no one is on call, and says so', async () => {
    const tenant = await tenantOf([primary({ ...over, fallback: 'Managers' })], {});
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual(['eve@x.test sent']);
    expect(await tenant.occurrence(id)).toMatchObject({
      outcome: 'sent',
      reason: 'schedule.fallback',
      summary: expect.stringContaining('it went to the fallback list'),
    });
  });

  test('goes to the fallback list while all who are on call are locked or deleted', async () => {
    const both = primary({ layers: [layer({ users: [['ann@x.test', 'bob@x.test']] })], fallback: 'Managers' });
    const tenant = await tenantOf([both], {});
    await tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/u/ann@x.test/`, body: { locked: true } });
    await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/bob@x.test/` });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual([
      'ann@x.test suppressed: user.locked',
      'eve@x.test sent',
    ]);
  });

  test('is explained to a user who was not on call', async () => {
    const tenant = await tenantOf([primary()], {});
    const id = await tenant.trigger();
    await tenant.outcomes(id);
    const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=bob@x.test` });
    expect(body.answers).toMatchObject([
      {
        outcome: 'none',
        reason: 'schedule.not_on_call',
        explanation: 'It was not sent: the user was not on call (schedule primary: it was ann@x.test).',
      },
    ]);
  });
});

describe('a step to a schedule', () => {
  const twoSteps = [
    { channels: ['hooks'] },
    { after: '1h', channels: ['hooks'], recipients: { schedule: 'primary', offset: 1 } },
  ];

  test('goes to the users on call when it is due, not when it was planned', async () => {
    const tenant = await tenantOf([primary()], {
      recipients: { list: 'Managers' },
      steps: [{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'], recipients: schedule }],
    });
    const id = await tenant.trigger();
    await eventually(async () => expect(await runs(tenant, id)).toEqual(['1 done', '2 planned']));
    await tenant.post(overridesOf(tenant), { user: 'bob@x.test', duration: '1h' });
    await makeStepsDue(tenant);
    expect(await tenant.outcomes(id)).toEqual(['bob@x.test sent', 'eve@x.test sent']);
  });

  test('names its schedule in the list of steps', async () => {
    const tenant = await tenantOf([primary()], { steps: twoSteps });
    const id = await tenant.trigger();
    await tenant.until(id, 'sent');
    expect((await steps(tenant, id)).map(one => one.recipients)).toEqual([null, 'on call: primary +1']);
    await makeStepsDue(tenant);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent', 'bob@x.test sent']);
  });

  test('without anyone on call is skipped, and the next one runs at once', async () => {
    const tenant = await tenantOf([primary(over)], {
      steps: [
        { channels: ['hooks'] },
        { after: '1h', channels: ['hooks'], repeat: 2 },
        { after: '1h', channels: ['hooks'], recipients: { list: 'Managers' } },
      ],
    });
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual(['eve@x.test sent']);
    const noOne = 'skipped: schedule.no_one';
    expect(await runs(tenant, id)).toEqual([`1 ${noOne}`, `2 ${noOne}`, `3 ${noOne}`, '4 done']);
  });

  test('goes to the fallback list while no one is on call, and says so', async () => {
    const tenant = await tenantOf([primary({ ...over, fallback: 'Managers' })], { steps: twoSteps });
    const id = await tenant.trigger();
    await tenant.until(id, 'sent');
    await eventually(async () => expect(await runs(tenant, id)).toEqual(['1 done: schedule.fallback', '2 planned']));
  });
});

test('of thousands of users, only the users on call are read', { tags: ['sweep'] }, async () => {
  const others = Array.from({ length: 3_000 }, (_, i) => `u${i}@x.test`);
  const tenant = await world.tenant({
    users: [...people.users, ...others],
    members: ['ann@x.test'],
    schedules: Array.from({ length: 20 }, (_, i) =>
      primary({ slug: `s${i}`, layers: [layer({ users: [others[i]!] })] }),
    ),
    notifications: Array.from({ length: 20 }, (_, i) => ({ recipients: { schedule: `s${i}` } })),
  });
  const before = performance.now();
  const sent = await tenant.outcomes(await tenant.trigger());
  expect(sent).toEqual(
    others
      .slice(0, 20)
      .map(user => `${user} sent`)
      .sort(),
  );
  expect(performance.now() - before).toBeLessThan(5_000);
});

describe('a message that names a schedule', () => {
  const message = {
    body: '{{ oncall.primary }} until {{ oncall["primary"].until }}, then {{ oncall.primary.next }}. {{ oncall.none }}',
  };
  const ann = { email: 'ann@x.test', first_name: 'Ann', last_name: 'Lee' };
  const named = (more: object = {}) =>
    world.tenant({
      ...people,
      users: [ann, 'bob@x.test', 'eve@x.test'],
      schedules: [primary()],
      notifications: [{ recipients: { list: 'Managers' }, message }],
      ...more,
    });
  const tomorrow = new Date(Date.parse(today) + 86_400_000).toISOString();
  const textOf = (names: string) => `${names} until ${tomorrow}, then bob@x.test. `;

  test('says who is on call when it is sent, and shows that later, too', async () => {
    const tenant = await named();
    const shown = async (id: string) => {
      const delivery = (await tenant.deliveries(id))[0]!.id;
      const path = `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery}/message/`;
      return (await tenant.ask({ path })).body;
    };
    const first = await tenant.trigger();
    await tenant.outcomes(first);
    expect(await shown(first)).toMatchObject({ text: textOf('Ann Lee').trim(), missing: ['oncall.none'] });
    await tenant.post(overridesOf(tenant), { user: 'eve@x.test', duration: '5m' });
    const second = await tenant.trigger();
    await tenant.outcomes(second);
    expect((await shown(second)).text).toMatch(/^eve@x\.test until .*, then Ann Lee\./);
    await tenant.sql('update users set first_name = $1 where organization_id = $2', 'Anna', tenant.id);
    expect((await shown(first)).text).toBe(textOf('Ann Lee').trim());
  });

  test('has another render snapshot after a hand-over, although nothing else has changed', async () => {
    const tenant = await named();
    const { db, plans } = world.service.runtime.deps;
    const [event] = await tenant.sql<{ id: number }>(
      'select id::int from events where organization_id = $1',
      tenant.id,
    );
    const plan = (await plans.findEvent(tenant.id, event!.id))!;
    const { id, version } = plan.notifications[0]!;
    const message = (await plans.findMessage(tenant.id, id, version))!;
    const channel = (await plans.listChannels(tenant.id))[0]!;
    const snapshots = new RenderSnapshots(db);
    const storedAt = async (instant: number) => {
      const oncall = (await plans.describeOnCall(plan, message.schedules, instant))!;
      return snapshots.store(message, plan, channel, { ...renderContextOf(plan, channel, id), oncall });
    };
    const [now, next] = [await storedAt(Date.parse(today)), await storedAt(Date.parse(tomorrow))];
    expect(next).not.toBe(now);
    expect(await storedAt(Date.parse(today))).toBe(now);
  });

  test('shows in a preview and in a simulation who it would be', async () => {
    const tenant = await named();
    const preview = await tenant.post(`${tenant.event}preview/`, { message });
    expect(preview.body.previews[0].content.text).toBe(textOf('Ann Lee').trim());
    const at = new Date(Date.parse(tomorrow) + 3_600_000).toISOString();
    const { body } = await tenant.post(`${tenant.event}simulate/`, { at });
    expect(body.deliveries[0].message.text).toMatch(/^bob@x\.test until /);
  });
});
