/** Groups in Slack and Mattermost that follow a schedule. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { failGroup } from '../../src/db/audience/on-call/groups.ts';
import { updateGroups } from '../../src/services/audience/on-call/groups.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { checkUserGroups } from '../../src/services/operations/doctor/on-call.ts';
import { type GroupChats, id26, openGroupChats, tokens } from '../support/chat-groups.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let chats: GroupChats;
beforeAll(async () => {
  [world, chats] = await Promise.all([openWorld(), openGroupChats()]);
});
afterAll(async () => {
  await world.close();
  await chats.close();
});

const [ann, bob, eve] = ['ann@x.test', 'bob@x.test', 'eve@x.test'];
const [slackGroup, otherSlackGroup, matterGroup] = ['S0123ABCD', 'S0999ZZZZ', id26('oncall')];

beforeEach(() => {
  chats.slack.users = [
    { id: 'U00ANN', email: ann },
    { id: 'U00BOB', email: bob },
    { id: 'U00OLD', email: 'old@x.test' },
  ];
  chats.slack.groups = new Map([
    [slackGroup, ['U00OLD']],
    [otherSlackGroup, ['U00OLD']],
  ]);
  chats.mattermost.users = [
    { id: id26('ann'), email: ann },
    { id: id26('bob'), email: bob },
    { id: id26('old'), email: 'old@x.test' },
  ];
  chats.mattermost.groups = new Map([[matterGroup, [id26('old')]]]);
  chats.calls.length = 0;
  chats.intercept = () => undefined;
});

const always = (users: string[]) => ({ name: 'always', every: '1w', from: '2026-01-05T00:00', users });
const inSlack = { channel: 'team', group: slackGroup };
const inMattermost = { channel: 'matter', group: matterGroup };
const primary = (more: object = {}) => ({
  ...{ slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [always([ann])], groups: [inSlack] },
  ...more,
});

/** Ann is always on call. */
async function tenantOf(schedule: object = primary(), users: (string | object)[] = [ann, bob, eve]): Promise<Tenant> {
  return world.tenant({
    users: users as never,
    channels: [{ slug: 'hooks' }, ...chats.channels()] as never,
    schedules: [schedule],
  });
}

const pathOf = (tenant: Tenant) => `/api/o/${tenant.slug}/p/shop/schedules/primary/`;
const channelOf = (tenant: Tenant) => `/api/o/${tenant.slug}/c/team/`;
async function override(tenant: Tenant, user: string, more: object = { duration: '3h' }): Promise<string> {
  const made = await tenant.post(`${pathOf(tenant)}overrides/`, { user, ...more });
  expect(made.status, made.text).toBe(201);
  return `${pathOf(tenant)}overrides/${made.body.id}/`;
}

interface Shown extends Record<string, unknown> {
  state: string;
  left_out: { user: string; reason: string }[];
}
async function groupsOf(tenant: Tenant): Promise<Shown[]> {
  const { status, body } = await tenant.ask({ path: `${pathOf(tenant)}groups/` });
  expect(status).toBe(200);
  return body;
}

/** Waits until the first group of the tenant is shown like this. */
const shown = (tenant: Tenant, expected: object) =>
  eventually(async () => {
    const [group] = await groupsOf(tenant);
    expect(group).toMatchObject(expected);
    return group!;
  }, 15_000);

const isIn = (members: string[]) => ({ state: 'current', members, left_out: [], error: null });
const slackMembers = () => chats.slack.groups.get(slackGroup);
/** As if the wait for the next attempt were over. */
async function hurry(tenant: Tenant): Promise<void> {
  for (const table of ['schedule_groups', 'schedule_watches'])
    await tenant.sql(`update ${table} set due_at = now() where organization_id = $1`, tenant.id);
}
const updates = () => chats.calls.filter(call => /^(usergroups|POST|DELETE)/.test(call));

describe.each([
  { of: 'Slack', tags: [], group: inSlack, ids: { ann: 'U00ANN', bob: 'U00BOB' }, members: slackMembers },
  {
    of: 'Mattermost',
    tags: ['sweep'],
    group: inMattermost,
    ids: { ann: id26('ann'), bob: id26('bob') },
    members: () => chats.mattermost.groups.get(matterGroup),
  },
])('a group in $of', ({ tags, group, ids, members }) => {
  test('has exactly the users on call, also during an override, and costs no calls while they stay', {
    tags,
  }, async () => {
    const tenant = await tenantOf(primary({ groups: [group] }));
    await shown(tenant, { ...isIn([ann]), wanted: [ann] });
    expect(members()).toEqual([ids.ann]);

    const path = await override(tenant, bob);
    await shown(tenant, isIn([bob]));
    expect(members()).toEqual([ids.bob]);

    expect((await tenant.ask({ method: 'DELETE', path })).status).toBe(200);
    await shown(tenant, isIn([ann]));
    expect(members()).toEqual([ids.ann]);

    // Later shifts and other fields of the schedule change nothing.
    const before = chats.calls.length;
    const starts_at = new Date(Date.now() + 86_400_000).toISOString();
    await override(tenant, bob, { starts_at, duration: '3h' });
    await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { name: 'First' } });
    await eventually(async () => {
      const due = 'select from schedule_watches where organization_id = $1 and due_at <= now()';
      expect(await tenant.sql(due, tenant.id)).toEqual([]);
    }, 15_000);
    expect(await groupsOf(tenant)).toMatchObject([isIn([ann])]);
    expect(chats.calls).toHaveLength(before);
  });

  test('moves at a hand-over when its time comes', { tags: ['sweep'] }, async () => {
    const tenant = await tenantOf(primary({ groups: [group] }));
    await shown(tenant, isIn([ann]));
    const starts_at = new Date(Date.now() + 2_000).toISOString();
    await override(tenant, bob, { starts_at, duration: '3h' });
    expect(members()).toEqual([ids.ann]);
    await shown(tenant, isIn([bob]));
    expect(members()).toEqual([ids.bob]);
  });

  test('has everyone who is on call together', { tags: ['sweep'] }, async () => {
    const tenant = await tenantOf(primary({ groups: [group], layers: [always([[ann, bob] as never])] }));
    await shown(tenant, isIn([ann, bob]));
    expect(members()!.toSorted()).toEqual([ids.ann, ids.bob].toSorted());
  });
});

describe('who has no account', () => {
  test('is left out and named, and gets into the group once there is an account', async () => {
    const tenant = await tenantOf(primary({ layers: [always([[ann, eve] as never])] }));
    const reason = 'has no account in this Slack workspace';
    await shown(tenant, { state: 'current', members: [ann], left_out: [{ user: eve, reason }], error: null });
    expect(slackMembers()).toEqual(['U00ANN']);

    chats.slack.users.push({ id: 'U00EVE', email: eve });
    await hurry(tenant);
    await shown(tenant, isIn([ann, eve]));
    expect(slackMembers()).toEqual(['U00ANN', 'U00EVE']);
  });

  test('is looked up without an update, as long as nothing has changed', { tags: ['sweep'] }, async () => {
    const tenant = await tenantOf(primary({ layers: [always([[ann, eve] as never])] }));
    await shown(tenant, { left_out: [{ user: eve }] });
    const before = updates();
    const lookUps = chats.calls.filter(call => call.endsWith(eve)).length;
    await hurry(tenant);
    await eventually(
      () => expect(chats.calls.filter(call => call.endsWith(eve)).length).toBeGreaterThan(lookUps),
      15_000,
    );
    await shown(tenant, { state: 'current', members: [ann] });
    expect(updates()).toEqual(before);
  });

  test.each([
    ['a guest', { is_restricted: true as const }, 'is a guest in Slack, which user groups refuse'],
    ['a bot', { is_bot: true as const }, 'the Slack account is a bot'],
  ])('is left out like %s', { tags: ['sweep'] }, async (_, flag, reason) => {
    chats.slack.users.push({ id: 'U00EVE', email: eve, ...flag });
    const tenant = await tenantOf(primary({ layers: [always([[ann, eve] as never])] }));
    await shown(tenant, { state: 'current', members: [ann], left_out: [{ user: eve, reason }] });
  });

  test('is left out in Mattermost like a deactivated account, and like a locked user', async () => {
    chats.mattermost.users.push({ id: id26('eve'), email: eve, delete_at: 1_700_000_000_000 });
    const users = [ann, { email: bob, locked: true }, eve];
    const layers = [always([[ann, bob, eve] as never])];
    const tenant = await tenantOf(primary({ layers, groups: [inMattermost] }), users);
    const { left_out } = await shown(tenant, { state: 'current', members: [ann] });
    expect(left_out).toEqual([
      { user: bob, reason: 'is locked' },
      { user: eve, reason: 'the Mattermost account is deactivated' },
    ]);
  });
});

test('a user is found by a member ID or another email, too', async () => {
  chats.slack.users.push({ id: 'U00EVE' }, { id: 'W0BOB2', email: 'robert@x.test' });
  chats.slack.users = chats.slack.users.filter(({ email }) => email !== bob);
  const users = [
    ann,
    { email: bob, addresses: [{ name: 'slack', value: 'robert@x.test' }] },
    {
      email: eve,
      addresses: [
        { name: 'slack', value: 'U00EVE' },
        { name: 'slack', value: 'C00ROOM' },
      ],
    },
  ];
  const tenant = await tenantOf(primary({ layers: [always([[bob, eve] as never])] }), users);
  await shown(tenant, isIn([bob, eve]));
  expect(slackMembers()).toEqual(['W0BOB2', 'U00EVE']);
  expect(chats.calls).toEqual([
    'users.lookupByEmail robert@x.test',
    'users.info U00EVE',
    `usergroups.users.update ${slackGroup} W0BOB2,U00EVE`,
  ]);
});

describe('while no one is on call,', () => {
  const now = new Date();
  const past = { name: 'past', every: '1w', from: '2025-01-06T00:00', until: '2025-02-03T00:00', users: [ann] };

  test('a group in Slack keeps its last members, without an error', async () => {
    const tenant = await tenantOf();
    const { updated_at } = await shown(tenant, isIn([ann]));
    const body = { layers: [past] };
    expect((await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body })).status).toBe(200);
    await shown(tenant, { state: 'kept', wanted: [], members: [ann], error: null, updated_at });
    expect(slackMembers()).toEqual(['U00ANN']);

    // Ann is in the group already.
    const before = updates();
    await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { layers: [always([ann])] } });
    await shown(tenant, isIn([ann]));
    expect(updates()).toEqual(before);
  });

  test('a group in Mattermost is empty', async () => {
    const tenant = await tenantOf(primary({ groups: [inMattermost], layers: [past] }));
    await shown(tenant, { state: 'current', wanted: [], members: [] });
    expect(chats.mattermost.groups.get(matterGroup)).toEqual([]);
    expect(Date.parse(String((await groupsOf(tenant))[0]!.updated_at))).toBeGreaterThanOrEqual(now.getTime() - 60_000);
  });
});

describe('a service that fails', () => {
  test('and limits the rate is asked again after the time that it names, also for other groups of the channel', async () => {
    chats.intercept = call =>
      call.startsWith('usergroups')
        ? { status: 429, headers: { 'retry-after': '1800' }, body: '{"ok":false,"error":"ratelimited"}' }
        : undefined;
    const tenant = await tenantOf(primary({ groups: [inSlack, { ...inSlack, group: otherSlackGroup }] }));
    await eventually(async () => {
      const waits = await tenant.sql<{ seconds: number }>(
        `select extract(epoch from due_at - now())::float8 as seconds from schedule_groups
         where organization_id = $1 and claimed_until is null`,
        tenant.id,
      );
      expect(waits).toHaveLength(2);
      for (const { seconds } of waits) expect(seconds).toBeGreaterThan(1_700);
    }, 15_000);
    await shown(tenant, { state: 'failing', error: '429: ratelimited' });
    expect(slackMembers()).toEqual(['U00OLD']);

    // The people whom the first attempt has found are not looked up again.
    chats.intercept = () => undefined;
    chats.calls.length = 0;
    await hurry(tenant);
    await shown(tenant, isIn([ann]));
    await eventually(() => expect(chats.slack.groups.get(otherSlackGroup)).toEqual(['U00ANN']), 15_000);
    expect(chats.calls.filter(call => call.startsWith('users.')).length).toBeLessThanOrEqual(1);
  });

  test('is asked again, and doctor names it after a while', async () => {
    chats.intercept = () => ({ status: 503, body: 'down' });
    const tenant = await tenantOf();
    const failing = await shown(tenant, {
      state: 'failing',
      members: [],
      error: `looking up ${ann}: 503: down`,
    });
    expect(Date.parse(String(failing.next_attempt_at))).toBeGreaterThan(Date.now());
    const warnings = async () =>
      (await checkUserGroups(world.service.runtime.deps))
        .map(({ detail }) => detail)
        .filter(one => one.includes(tenant.slug));
    expect(await warnings()).toEqual([]);
    await tenant.sql(
      `update schedule_groups set failing_since = now() - interval '16 minutes' where organization_id = $1`,
      tenant.id,
    );
    expect(await warnings()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^warning: ${tenant.slug}/shop/primary: the group ${slackGroup} in team does not have the users on call since .*503`,
        ),
      ),
    ]);

    chats.intercept = () => undefined;
    await hurry(tenant);
    await shown(tenant, { ...isIn([ann]), failing_since: null });
    expect(await warnings()).toEqual([]);
  });

  test.each([
    ['no_such_subteam', /no such user group: check its ID/],
    ['permission_denied', /allow everyone to change user groups/],
    ['missing_scope', /the app needs usergroups:write/],
  ])(
    'and says %s names what to do, and saving the schedule tries again at once',
    { tags: ['sweep'] },
    async (error, advice) => {
      chats.intercept = call =>
        call.startsWith('usergroups')
          ? { body: JSON.stringify({ ok: false, error, needed: 'usergroups:write', provided: 'chat:write' }) }
          : undefined;
      const tenant = await tenantOf();
      const { next_attempt_at } = await shown(tenant, { state: 'failing', error: expect.stringMatching(advice) });
      expect(Date.parse(String(next_attempt_at))).toBeGreaterThan(Date.now() + 200_000);
      chats.intercept = () => undefined;
      await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { name: 'First' } });
      await shown(tenant, isIn([ann]));
    },
  );

  test('because of the token is tried again at once with another token, and no answer shows either', {
    tags: ['sweep'],
  }, async () => {
    chats.intercept = () => ({ body: JSON.stringify({ ok: false, error: 'invalid_auth' }) });
    const tenant = await tenantOf();
    await shown(tenant, { state: 'failing', error: expect.stringContaining('invalid_auth') });
    chats.intercept = () => undefined;
    const provider = { use: 'slack', token: tokens.slack, endpoint: `${chats.peer.url}/slack/api`, timeout_ms: 5_000 };
    const body = { providers: [provider] };
    expect((await tenant.ask({ method: 'PATCH', path: channelOf(tenant), body })).status).toBe(200);
    await shown(tenant, isIn([ann]));
    expect(JSON.stringify(await groupsOf(tenant))).not.toContain(tokens.slack);
  });

  test('does not lose a change that happens meanwhile, nor count its late answer', { tags: ['sweep'] }, async () => {
    chats.intercept = call => (call.startsWith('usergroups') && call.endsWith('U00ANN') ? 'hang' : undefined);
    const tenant = await tenantOf();
    await eventually(() => expect(updates()).toHaveLength(1), 15_000);
    await override(tenant, bob);
    await eventually(async () => expect(await groupsOf(tenant)).toMatchObject([{ wanted: [bob] }]), 15_000);
    expect(updates()).toHaveLength(1);
    // As if the process had died: the claim ends.
    await tenant.sql('update schedule_groups set claimed_until = now() where organization_id = $1', tenant.id);
    await shown(tenant, isIn([bob]));
    expect(slackMembers()).toEqual(['U00BOB']);
    const { deps } = world.service.runtime;
    const [row] = await tenant.sql(
      'select claims, failures from schedule_groups where organization_id = $1',
      tenant.id,
    );
    const late = { organization_id: tenant.id, claims: 1, wanted: [ann] } as never;
    const key = await tenant.sql(
      'select schedule_id, channel, group_id from schedule_groups where organization_id = $1',
      tenant.id,
    );
    const outcome = { error: 'late', seconds: 60, accounts: new Map() };
    await failGroup(deps.db, tenant.id, { ...key[0]!, ...(late as object) } as never, outcome);
    expect(row).toEqual({ claims: 2, failures: 0 });
    await shown(tenant, isIn([bob]));
  });
});

test('a crash between the call and its record repeats the call, and nothing else', async () => {
  const tenant = await tenantOf();
  await shown(tenant, isIn([ann]));
  await tenant.sql(`
    create function crash() returns trigger language plpgsql as $$ begin raise exception 'crashed'; end $$;
    create trigger crash before update on schedule_groups for each row when (old.claimed_until is not null) execute function crash()`);
  const path = await override(tenant, bob);
  await eventually(() => expect(slackMembers()).toEqual(['U00BOB']), 15_000);
  expect(await groupsOf(tenant)).toMatchObject([{ state: 'pending', wanted: [bob], members: [ann] }]);
  // Meanwhile Ann is on call again. That she was the last confirmed member does not mean that she is in the group.
  await tenant.ask({ method: 'DELETE', path });
  await tenant.sql('drop trigger crash on schedule_groups; drop function crash()');
  await tenant.sql('update schedule_watches set due_at = now() where organization_id = $1', tenant.id);
  await eventually(async () => expect(await groupsOf(tenant)).toMatchObject([{ wanted: [ann] }]), 15_000);
  await tenant.sql('update schedule_groups set claimed_until = now() where organization_id = $1', tenant.id);
  await shown(tenant, isIn([ann]));
  await eventually(() => expect(slackMembers()).toEqual(['U00ANN']), 15_000);
});

test('several processes send a change once', async () => {
  const { deps } = world.service.runtime;
  const log = { info() {}, warn() {}, error() {} } as never;
  const others = Array.from({ length: 3 }, () => updateGroups(deps, log, () => false));
  for (const one of others) one.start();
  const tenant = await tenantOf();
  for (const one of others) one.wake();
  await shown(tenant, isIn([ann]));
  expect(updates()).toEqual([`usergroups.users.update ${slackGroup} U00ANN`]);
  await Promise.all(others.map(one => one.stop()));
});

test('without the field the row is gone, and the group stays as it is', async () => {
  const tenant = await tenantOf();
  await shown(tenant, isIn([ann]));
  const before = chats.calls.length;
  expect((await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { groups: null } })).status).toBe(200);
  expect(await groupsOf(tenant)).toEqual([]);
  for (const table of ['schedule_watches', 'schedule_groups'])
    expect(await tenant.sql(`select from ${table} where organization_id = $1`, tenant.id)).toEqual([]);
  await override(tenant, bob);
  expect(slackMembers()).toEqual(['U00ANN']);
  expect(chats.calls).toHaveLength(before);
});

test('a schedule with groups announces nothing without an event for it', async () => {
  const tenant = await tenantOf();
  await override(tenant, bob);
  await shown(tenant, isIn([bob]));
  expect(await tenant.sql('select from schedule_notices where organization_id = $1', tenant.id)).toEqual([]);
});

describe('a schedule is refused', () => {
  test.each([
    [
      'an unknown channel',
      [{ channel: 'nowhere', group: slackGroup }],
      'groups/0/channel',
      /no channel "nowhere" .*use one of team, matter/,
    ],
    ['a channel type', [{ channel: 'slack', group: slackGroup }], 'groups/0/channel', /no channel "slack"/],
    [
      'a channel without groups',
      [{ channel: 'room', group: slackGroup }],
      'groups/0/channel',
      /uses slack or mattermost/,
    ],
    [
      'the name of a group',
      [{ channel: 'team', group: 'oncall' }],
      'groups/0/group',
      /Slack user group, such as S0123ABCD/,
    ],
    [
      'a group of another service',
      [{ channel: 'matter', group: slackGroup }],
      'groups/0/group',
      /custom group of Mattermost/,
    ],
    ['a group twice', [inSlack, inSlack], 'groups/1/group', /listed twice/],
    ['what is no id', [{ channel: 'team', group: 'S0123/ABC' }], 'groups/0/group', /must be the ID of a group/],
    ['too many', Array.from({ length: 11 }, (_, i) => ({ channel: 'team', group: `S0123ABC${i}` })), 'groups', /10/],
  ])('with %s', async (_, groups, field, message) => {
    const tenant = await tenantOf(primary({ groups: undefined }));
    const { status, body } = await tenant.ask({ method: 'PATCH', path: pathOf(tenant), body: { groups } });
    expect(status).toBe(400);
    expect(Object.keys(body.errors)).toEqual([field]);
    expect(body.errors[field].join()).toMatch(message);
  });

  test('with a group that follows another schedule of the project', async () => {
    const tenant = await tenantOf();
    const second = { ...primary(), slug: 'second', name: 'Second' };
    const { status, body } = await tenant.post(`/api/o/${tenant.slug}/p/shop/schedules/`, second);
    expect(status).toBe(400);
    expect(body.errors).toEqual({
      'groups/0/group': [expect.stringContaining('follows the schedule shop/primary already')],
    });
  });

  describe('with a group that follows a schedule of another project,', () => {
    const refused = expect.stringContaining('follows a schedule of another project already');
    const named = expect.stringContaining('follows the schedule shop/primary already');
    const field = (project: number) => `organizations/0/projects/${project}/schedules/0/groups/0/group`;
    const projectOf = (slug: string, groups: object[] | undefined, more: object = {}) => ({
      ...{ slug, name: slug, schedules: [primary({ groups })] },
      ...more,
    });
    const apply = ({ slug }: Tenant, projects: object[], prune = false) =>
      applyConfiguration(world.service.runtime.deps, { organizations: [{ slug, name: slug, projects }] }, { prune });

    test('by the API', async () => {
      const tenant = await tenantOf();
      await apply(tenant, [projectOf('ops', undefined)]);
      const path = `/api/o/${tenant.slug}/p/ops/schedules/`;
      const made = await tenant.post(path, { ...primary(), slug: 'second', name: 'Second' });
      expect([made.status, made.body.errors]).toEqual([400, { 'groups/0/group': [refused] }]);
      const patch = (at: string, groups: object[]) => tenant.ask({ method: 'PATCH', path: at, body: { groups } });
      const groups = [{ channel: 'team', group: otherSlackGroup }, inSlack];
      const changed = await patch(`${path}primary/`, groups);
      expect([changed.status, changed.body.errors]).toEqual([400, { 'groups/1/group': [refused] }]);
      // A schedule does not conflict with what is stored of itself, nor with other organizations.
      await tenantOf();
      expect((await patch(pathOf(tenant), [inMattermost, inSlack])).status).toBe(200);
      expect((await patch(pathOf(tenant), [])).status).toBe(200);
      expect((await patch(`${path}primary/`, groups)).status).toBe(200);
    });

    test('by a file, whether the file has the other schedule or not', async () => {
      const tenant = await tenantOf();
      const [shop, ops] = ['shop', 'ops'];
      await expect(apply(tenant, [projectOf(ops, [inSlack])])).rejects.toMatchObject({
        details: { fields: { [field(0)]: [refused] } },
      });
      const both = [projectOf(shop, [inSlack]), projectOf(ops, [inSlack])];
      await expect(apply(tenant, both)).rejects.toMatchObject({ details: { fields: { [field(1)]: [named] } } });
      await apply(tenant, [projectOf(shop, undefined), projectOf(ops, [inSlack])]);
      await apply(tenant, [projectOf(shop, [inSlack]), projectOf(ops, [inMattermost])]);
      // What the file deletes follows nothing anymore.
      await apply(tenant, [projectOf(ops, [inSlack])], true);
    });

    test('also by another channel to the same chat', async () => {
      const tenant = await tenantOf();
      const [team] = chats.channels();
      const own = projectOf('ops', [{ ...inSlack, channel: 'own' }], { channels: [{ ...team, slug: 'own' }] });
      await expect(apply(tenant, [own])).rejects.toMatchObject({ details: { fields: { [field(0)]: [refused] } } });
    });
  });
});

test('a channel that a group is in cannot be deleted, by the API or a file', async () => {
  const tenant = await tenantOf();
  const { status, body } = await tenant.ask({ method: 'DELETE', path: channelOf(tenant) });
  expect([status, body.uses]).toEqual([409, { schedules: ['shop/primary'] }]);
  const [, matter, room] = chats.channels();
  await expect(
    tenant.apply({ channels: [{ slug: 'hooks' }, matter, room] as never, schedules: [primary()] as never }, true),
  ).rejects.toMatchObject({ code: 'file.invalid' });
});

test('the file exports the groups as they were written', async () => {
  const tenant = await tenantOf(primary({ groups: [inSlack, inMattermost] }));
  const { body } = await tenant.ask({ path: pathOf(tenant) });
  expect(body.groups).toEqual([inSlack, inMattermost]);
});
