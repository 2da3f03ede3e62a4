/** Which users a key sees at events: all, those on lists of its project, or none. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { Grant } from '../../src/core/identity/permissions.ts';
import { visibleUsers } from '../../src/core/identity/visible-users.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey, type KeyInput } from '../../src/services/identity/keys.ts';
import { type Answer, type Ask, asker, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';

let service: Service;
let names: Record<string, number>;
const asks = {} as Record<'all' | 'project' | 'application' | 'blind', Ask>;
const event = '/api/o/acme/p/shop/a/web/e/go/';
const message = { subject: 'For {{ user.first_name }}', body: 'You are {{ user.custom_fields.rank }}.' };

/** Locked, on a list of another project, with facts that must not be found out. */
const eve = {
  email: 'eve@x.test',
  first_name: 'Evelyn',
  last_name: 'Hidden',
  locked: true,
  custom_fields: { rank: 'general', pin: '4711' },
  addresses: [{ name: 'phone', value: '+15555550199' }],
};
const facts = /Evelyn|Hidden|general|4711|5555550199/;
const ann = { email: 'ann@x.test', first_name: 'Ann', custom_fields: { rank: 'private' } };

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  const { deps } = service.runtime;
  const notification = (name: string, recipients: object) => ({ name, recipients, channels: ['mail'], message });
  const notifications = [
    notification('listed', { list: 'All' }),
    notification('named', { trigger: true }),
    notification('selected', { users: "custom_fields.rank != 'none'" }),
  ];
  const applications = [{ slug: 'web', name: 'Web', events: [{ slug: 'go', name: 'Go', notifications }] }];
  const organization = {
    slug: 'acme',
    name: 'Acme',
    channels: [
      { slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] },
      {
        slug: 'post',
        name: 'Post',
        type: 'email',
        providers: [{ use: 'smtp', host: '127.0.0.1', from: 'acme@x.test' }],
      },
    ],
    users: [eve, ann],
    projects: [
      { slug: 'shop', name: 'Shop', distribution_lists: [{ name: 'All', members: [ann.email] }], applications },
      { slug: 'depot', name: 'Depot', distribution_lists: [{ name: 'All', members: [eve.email] }] },
    ],
  };
  await applyConfiguration(deps, { organizations: [organization] }, { prune: false });
  const key = async (fields: Partial<KeyInput>) => {
    const { key: text } = await createKey(deps, 'acme', {
      name: JSON.stringify(fields),
      permissions: ['*'],
      ...fields,
    });
    return asker(service.address, text);
  };
  asks.all = await key({});
  asks.project = await key({ project: 'shop' });
  asks.application = await key({ project: 'shop', application: 'web' });
  asks.blind = await key({
    permissions: ['event:trigger', 'template:read', 'notification:read', 'notification:write'],
  });
  const { body } = await asks.all({ path: `${event}n/` });
  names = Object.fromEntries(body.map(({ name, id }: { name: string; id: number }) => [name, id]));
});
afterAll(() => service.stop());

const post = (ask: Ask, path: string, body: object): Promise<Answer> =>
  ask({ method: 'POST', path: `${event}${path}`, body });
const simulate = (ask: Ask, options: object = {}) => post(ask, 'simulate/', { options });
const preview = (ask: Ask, draft: object = {}) => post(ask, 'preview/', { message, channels: ['mail'], ...draft });
const suppressed = ({ body }: Answer) => body.notifications.map((one: { suppressed: object }) => one.suppressed);

test.each(['project', 'application', 'blind'] as const)(
  'with the %s key, a user that it does not see is answered like one that does not exist',
  async kind => {
    const ask = asks[kind];
    const probes: ((username: string) => Promise<Answer>)[] = [
      username => simulate(ask, { recipients: [username] }),
      username => simulate(ask, { recipients: [username], limit_to: [username] }),
      username => simulate(ask, { limit_to: [username] }),
      () => simulate(ask, { limit_to: ['+15555550199'] }),
      () => simulate(ask),
      username => preview(ask, { user: username }),
      username => preview(ask, { users: `username == '${username}'` }),
      username => preview(ask, { users: `username == '${username}' && starts_with(custom_fields.pin, '47')` }),
      username => preview(ask, { list: 'All', users: `email == '${username}'` }),
      username => preview(ask, { users: `email == '${username}'`, steps: [{ channels: ['mail'] }] }),
      username => post(ask, `n/${names.listed}/test/`, { channel: 'mail', to: 'ops@x.test', user: username }),
    ];
    for (const [i, probe] of probes.entries()) {
      const [hidden, unknown] = [await probe(eve.email), await probe('nil@x.test')];
      const plain = ({ status, body }: Answer) => {
        const { request_id: _, timeline, ...rest } = body;
        const times = /"at":"[^"]*"|"ms":\d+/g;
        return JSON.stringify([status, rest, timeline]).replaceAll('eve@x', 'nil@x').replaceAll(times, '');
      };
      expect(plain(hidden), `probe ${i}`).toBe(plain(unknown));
      expect(hidden.text, `probe ${i}`).not.toMatch(facts);
    }
  },
);

describe.each(['project', 'application'] as const)('the %s key', kind => {
  test('sees the users on lists of the project', async () => {
    const shown = await simulate(asks[kind], { recipients: [eve.email] });
    const users = shown.body.deliveries.map((one: { notification: string; user: string }) => [
      one.notification,
      one.user,
    ]);
    expect(users.sort()).toEqual([
      ['listed', ann.email],
      ['named', eve.email],
      ['selected', ann.email],
    ]);
    // The expression may select others.
    expect(shown.body.complete).toBe(false);
    expect(suppressed(shown)).toEqual([{}, {}, {}]);
    expect((await preview(asks[kind])).body.user).toBe(ann.email);
    expect((await preview(asks[kind], { user: ann.email })).body.user).toBe(ann.email);
    expect((await preview(asks[kind], { users: '`true`' })).body.users).toEqual({ matches: 1, of: 1 });
  });

  test('gets only what it has sent when it registers another user', async () => {
    const answer = await asks[kind]({
      method: 'POST',
      path: '/api/o/acme/p/shop/a/web/register/',
      body: { username: eve.email, first_name: 'X' },
    });
    expect(answer.body.user).toMatchObject({ username: eve.email, first_name: 'X', last_name: '', locked: false });
    expect(answer.text).not.toMatch(facts);
  });
});

test('a key without user:read gets counts, but none of people that it names', async () => {
  const answer = await simulate(asks.blind, { recipients: [eve.email] });
  expect(answer.body).toMatchObject({ recipients_shown: false, deliveries: [] });
  expect(suppressed(answer)).toEqual([{}, {}, { 'user.locked': 1 }]);
  expectProblem(await simulate(asks.blind, { limit_to: [ann.email] }), 403, 'key.permission');
  expect((await preview(asks.blind, { users: '`true`' })).body).toMatchObject({
    users: null,
    user: 'ada@example.test',
  });
});

test.each(['project', 'application', 'blind'] as const)(
  'the %s key cannot write an expression over users',
  async kind => {
    const users = "starts_with(custom_fields.pin, '4')";
    const created = { name: 'probe', recipients: { users }, channels: ['mail'], message };
    expectProblem(await post(asks[kind], 'n/', created), 403, 'key.permission');
    const change = (name: string, body: object) =>
      asks[kind]({ method: 'PATCH', path: `${event}n/${names[name]}/`, body });
    expectProblem(await change('listed', { recipients: { users } }), 403, 'key.permission');
    expectProblem(await change('selected', { recipients: { users } }), 403, 'key.permission');
    // What it does not change stays as it is.
    expect((await change('selected', { priority: 'bulk' })).status).toBe(200);
    const unchanged = { recipients: { users: "custom_fields.rank != 'none'" }, priority: 'normal' };
    expect((await change('selected', unchanged)).status).toBe(200);
  },
);

test('a key with user:read for the organization sees everyone', async () => {
  const answer = await simulate(asks.all, { recipients: [eve.email] });
  expect(answer.body.complete).toBe(true);
  expect(suppressed(answer)).toEqual([{}, { 'user.locked': 1 }, { 'user.locked': 1 }]);
  expect((await preview(asks.all, { user: eve.email })).text).toMatch(facts);
  expect((await preview(asks.all, { users: '`true`' })).body.users).toEqual({ matches: 2, of: 2 });
});

test('a test send by a channel of the organization requires channel:write there', async () => {
  const body = { channel: 'post', to: 'stranger@x.test' };
  expectProblem(await post(asks.project, `n/${names.listed}/test/`, body), 403, 'test.address');
  expect((await post(asks.all, `n/${names.listed}/test/`, body)).status).toBe(200);
});

test('a permission holds only within the scope', () => {
  const [organization, project, application] = [{ id: 1 }, { id: 2 }, { id: 3 }];
  const path = { organization, project, application };
  const grant = (project_id: number | null, application_id: number | null, permissions = ['*']) =>
    new Grant(permissions, { organization_id: 1, project_id, application_id });
  expect(visibleUsers(grant(null, null), path)).toBe('all');
  expect(visibleUsers(grant(2, null), path)).toBe('project');
  expect(visibleUsers(grant(2, 3), path)).toBe('project');
  expect(visibleUsers(grant(2, 4), path)).toBe('none');
  expect(visibleUsers(grant(9, null), path)).toBe('none');
  expect(visibleUsers(grant(null, null, ['event:trigger']), path)).toBe('none');
  expect(grant(null, null).allows('user:read', { organization: { id: 7 } })).toBe(false);
  expect(new Grant(['*'], null).allows('user:read', { organization })).toBe(false);
});
