/** Schedules as configuration: the file, the API, and what refers to them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
} from '../../src/services/configuration/declarative/declarative.ts';
import { resolveEventPath } from '../../src/services/configuration/events.ts';
import { simulate } from '../../src/services/configuration/try-out/simulation.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let tenant: Tenant;
beforeAll(async () => {
  world = await joinWorld();
  tenant = await world.tenant({
    users: ['ann@x.test', 'bob@x.test', 'eve@x.test'],
    members: ['ann@x.test'],
    lists: { Managers: ['eve@x.test'] },
    schedules: [primary()],
    notifications: [{ recipients: { schedule: 'primary' } }],
  });
});
afterAll(() => world.close());

const layer = (more: object = {}) => ({
  name: 'days',
  every: '1d',
  from: '2027-01-04T00:00',
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
const schedules = () => `/api/o/${tenant.slug}/p/shop/schedules/`;

describe('a schedule is refused with the field', () => {
  const two = [layer(), layer()];
  const windows = (window: object) => [layer({ only: [{ from: '09:00', until: '17:00', ...window }] })];
  test.each<[string, object, string, RegExp]>([
    ['for an unknown zone', { timezone: 'Mars/Olympus' }, 'timezone', /time zone/],
    ['without layers', { layers: [] }, 'layers', /empty/],
    [
      'with too many layers',
      { layers: Array.from({ length: 51 }, (_, i) => layer({ name: `l${i}` })) },
      'layers',
      /50/,
    ],
    ['for two layers of the same name', { layers: two }, 'layers/1/name', /name of another layer/],
    ['for a turn without a length', { layers: [layer({ every: '0d' })] }, 'layers/0/every', /1w/],
    ['for a date that does not exist', { layers: [layer({ from: '2027-02-30T09:00' })] }, 'layers/0/from', /exists/],
    ['for an end before its start', { layers: [layer({ until: '2027-01-04T00:00' })] }, 'layers/0/until', /after from/],
    ['without users', { layers: [layer({ users: [] })] }, 'layers/0/users', /empty/],
    ['for an unknown user', { layers: [layer({ users: ['who@x.test'] })] }, 'layers/0/users/0', /no user "who@x.test"/],
    [
      'for an unknown user among several',
      { layers: [layer({ users: [['ann@x.test', 'who@x.test']] })] },
      'layers/0/users/0/1',
      /no user "who@x.test"/,
    ],
    [
      'for a user twice in a turn',
      { layers: [layer({ users: [['ann@x.test', 'Ann@x.test']] })] },
      'layers/0/users/0/1',
      /twice/,
    ],
    ['for an unknown day', { layers: windows({ days: ['someday'] }) }, 'layers/0/only/0/days/0', /mon/],
    ['for an impossible time', { layers: windows({ from: '25:00' }) }, 'layers/0/only/0/from', /18:00/],
    ['for a start at the end of the day', { layers: windows({ from: '24:00' }) }, 'layers/0/only/0/from', /00:00/],
    [
      'for too many restrictions',
      { layers: [layer({ only: Array(21).fill({ from: '09:00', until: '17:00' }) })] },
      'layers/0/only',
      /20/,
    ],
    [
      'for too many users',
      { layers: Array.from({ length: 11 }, (_, i) => layer({ name: `l${i}`, users: Array(200).fill('ann@x.test') })) },
      'layers',
      /2200 users: the maximum is 2000/,
    ],
    ['for an unknown fallback', { fallback: 'Nowhere' }, 'fallback', /no distribution list "Nowhere"/],
  ])('%s', async (_, more, field, message) => {
    const { status, body } = await tenant.post(schedules(), primary({ slug: 'wrong', ...more }));
    expect(status).toBe(400);
    expect(body.errors[field]?.join()).toMatch(message);
  });
});

test('a notification to a schedule that does not exist is refused, as is an offset without one', async () => {
  const notification = { name: 'x', channels: ['hooks'], message: { body: 'x' } };
  const post = (recipients: object) => tenant.post(`${tenant.event}n/`, { ...notification, recipients });
  expect((await post({ schedule: 'other' })).body.errors).toEqual({
    'recipients/schedule': ['there is no schedule "other" in this project (use one of primary)'],
  });
  expect((await post({ list: 'All', offset: 1 })).body.errors).toEqual({
    'recipients/offset': ['is only allowed with schedule'],
  });
  expect((await post({ schedule: 'primary', offset: 99 })).body.errors).toEqual({
    'recipients/offset': [expect.stringContaining('10')],
  });
});

test('a schedule is exported as it was applied, and applying the export changes nothing', async () => {
  const full = {
    ...primary({ slug: 'full', combine: 'all', fallback: 'Managers', on_change: 'web/go', page: 'web/go' }),
    test: { event: 'web/go', every: '30d', at: '10:00', priority: 'urgent' },
    layers: [layer({ users: ['ann@x.test', ['bob@x.test', 'eve@x.test']], only: [{ from: '18:00', until: '09:00' }] })],
  };
  expect(
    (
      await tenant.post(schedules(), {
        ...full,
        layers: [{ ...full.layers[0], users: ['ANN@x.test', ['bob@x.test', 'eve@x.test']] }],
      })
    ).status,
  ).toBe(201);
  const { deps } = world.service.runtime;
  const exported = await exportConfiguration(deps, [tenant.slug]);
  expect(exported.organizations[0]!.projects![0]!.schedules).toEqual([primary(), full]);
  expect(await planConfiguration(deps, exported, { prune: true })).toEqual([]);
  expect((await tenant.ask({ path: `${schedules()}full/` })).body).toEqual({ ...full, groups: null });
  expect((await tenant.ask({ method: 'DELETE', path: `${schedules()}full/` })).status).toBe(200);
});

test('a schedule in use cannot be deleted, neither alone nor by a file', async () => {
  const deleted = await tenant.ask({ method: 'DELETE', path: `${schedules()}primary/` });
  expect([deleted.status, deleted.body.code]).toEqual([409, 'resource.in_use']);
  expect(deleted.body.detail).toContain('shop/web/go/n1');
  const document = {
    organizations: [
      { slug: tenant.slug, name: tenant.slug, projects: [{ slug: 'shop', name: 'Shop', schedules: [] }] },
    ],
  };
  const applied = applyConfiguration(world.service.runtime.deps, document, { prune: true });
  await expect(applied).rejects.toMatchObject({
    details: {
      fields: { 'organizations/0/projects/0/schedules': [expect.stringContaining('removes schedule primary')] },
    },
  });
});

test('a list that is a fallback keeps its schedules when it is renamed, and cannot be deleted', async () => {
  const lists = `/api/o/${tenant.slug}/p/shop/d/`;
  const list = await tenant.post(lists, { name: 'Spare' });
  const path = `${lists}${list.body.id}/`;
  await tenant.post(schedules(), primary({ slug: 'second', fallback: 'Spare' }));
  expect((await tenant.ask({ method: 'PATCH', path, body: { name: 'Reserve' } })).status).toBe(200);
  expect((await tenant.ask({ path: `${schedules()}second/` })).body).toMatchObject({ fallback: 'Reserve' });
  const deleted = await tenant.ask({ method: 'DELETE', path });
  expect([deleted.status, deleted.body.detail]).toEqual([409, expect.stringContaining('shop/second')]);
});

test('a simulation shows who would be notified at a time, and at the time of each step', async () => {
  const { deps } = world.service.runtime;
  const pages = [{ channels: ['hooks'] }, { after: '20h', channels: ['hooks'] }];
  const other = await world.tenant({
    users: ['ann@x.test', 'bob@x.test'],
    schedules: [primary({ layers: [layer({ from: '2026-01-01T00:00' })] })],
    notifications: [{ recipients: { schedule: 'primary' } }, { recipients: { schedule: 'primary' }, steps: pages }],
  });
  const path = await resolveEventPath(deps, { org: other.slug, prj: 'shop', app: 'web', evt: 'go' });
  const day = Math.floor(Date.now() / 86_400_000) + 3;
  const at = new Date(day * 86_400_000 + 12 * 3_600_000);
  const [first, second] = (day - 20_454) % 2 === 0 ? ['ann@x.test', 'bob@x.test'] : ['bob@x.test', 'ann@x.test'];
  const { deliveries, notifications } = await simulate(deps, path, { at }, 'all');
  expect(deliveries.map(({ user, step }) => `${step} ${user}`).sort()).toEqual([
    `1 ${first}`,
    `2 ${second}`,
    `null ${first}`,
  ]);
  expect(notifications[1]!.steps!.map(run => run.at)).toEqual([
    at.toISOString(),
    new Date(at.getTime() + 20 * 3_600_000).toISOString(),
  ]);
  await expect(simulate(deps, path, { at: new Date(0) }, 'all')).rejects.toMatchObject({
    details: { fields: { at: [expect.stringContaining('past')] } },
  });
});

test('a simulation follows the personal rules and the silences of its time', async () => {
  const { deps } = world.service.runtime;
  const sandbox = (type: string) => ({ slug: type, name: type, type, providers: [{ use: 'sandbox' }] });
  const reach = { normal: [{ by: 'email' }, { by: 'sms', after: '5m' }] };
  const personal = { channels: ['personal'] };
  const other = await world.tenant({
    users: [{ email: 'ann@x.test', reach }],
    channels: [sandbox('email'), sandbox('sms')],
    schedules: [primary({ layers: [layer({ from: '2026-01-01T00:00', users: ['ann@x.test'] })] })],
    notifications: [{ recipients: { schedule: 'primary' }, steps: [personal, { ...personal, after: '10m' }] }],
  });
  const hourMs = 3_600_000;
  const starts = Date.now() + 24 * hourMs;
  const times = { starts_at: new Date(starts).toISOString(), ends_at: new Date(starts + hourMs).toISOString() };
  const context = { title: 'Disk full' };
  const matchers = [{ field: 'title', op: '=', value: 'Disk full' }];
  const silence = { matchers, reason: 'upgrade', ...times };
  expect((await other.post(`/api/o/${other.slug}/silences/`, silence)).status).toBe(201);
  const path = await resolveEventPath(deps, { org: other.slug, prj: 'shop', app: 'web', evt: 'go' });
  const at = starts + 60_000;
  const found = await simulate(deps, path, { context, at: new Date(at) }, 'all');
  expect(found).toMatchObject({ at: new Date(at).toISOString(), silence: { reason: 'upgrade' } });
  const minutes = found.deliveries.map(({ channel, due_at }) => {
    return `${channel} ${due_at === null ? 0 : (Date.parse(due_at) - at) / 60_000}`;
  });
  expect(minutes.sort()).toEqual(['email 0', 'email 10', 'sms 15', 'sms 5']);
  const before = await simulate(deps, path, { context, at: new Date(starts - 60_000) }, 'all');
  expect(before.silence).toBeNull();
});

test('a simulation of a step without anyone on call says so, and shows the next one at once', async () => {
  const { deps } = world.service.runtime;
  const gone = layer({ from: '2020-01-01T00:00', until: '2020-01-02T00:00', users: ['ann@x.test'] });
  const other = await world.tenant({
    users: ['ann@x.test'],
    schedules: [primary({ layers: [gone] }), primary({ slug: 'second', layers: [gone], fallback: 'All' })],
    notifications: [
      {
        recipients: { schedule: 'primary' },
        steps: [
          { channels: ['hooks'] },
          { after: '1h', channels: ['hooks'], recipients: { schedule: 'second' } },
          { after: '1h', channels: ['hooks'], recipients: { list: 'All' } },
        ],
      },
    ],
  });
  const path = await resolveEventPath(deps, { org: other.slug, prj: 'shop', app: 'web', evt: 'go' });
  const { notifications } = await simulate(deps, path, {}, 'all');
  const runs = notifications[0]!.steps!;
  expect(runs.map(({ reason, recipients, deliveries }) => [reason, recipients, deliveries])).toEqual([
    ['schedule.no_one', null, 0],
    ['schedule.fallback', 'on call: second', 1],
    [null, 'All', 1],
  ]);
  const [a, b, c] = runs.map(({ at }) => Date.parse(at)) as [number, number, number];
  expect([b - a, c - b]).toEqual([0, 3_600_000]);
});
