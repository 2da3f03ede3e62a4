/** States and actions of inbox messages, and access with a recipient token. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldInbox } from '../../src/db/operations/retention.ts';
import { type Answer, asker, expectProblem } from '../support/api.ts';
import { type EngineWorld, openWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld({ CORS_ORIGINS: 'https://app.example.com' });
});
afterAll(() => world.close());

const ann = { email: 'ann@x.test', first_name: 'Ann' };
const ben = { email: 'ben@x.test', first_name: 'Ben' };
const inApp = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };

const open = (message: object = {}, more: TenantInput = {}) =>
  world.tenant({
    users: [ann, ben],
    channels: [inApp, { slug: 'hooks' }],
    notifications: [
      { channels: ['inbox'], message: { subject: 'Order {{ n }}', body: 'Hello', ...message } },
      ...(more.notifications ?? []),
    ],
    ...(more.event && { event: more.event }),
    ...(more.organization && { organization: more.organization }),
  });

const inboxOf = (tenant: Tenant, user = ann) => `/api/o/${tenant.slug}/u/${user.email}/inbox/`;
const listed = async (tenant: Tenant, query = '') => (await tenant.ask({ path: `${inboxOf(tenant)}${query}` })).body;
const counts = async (tenant: Tenant) => (await tenant.ask({ path: `${inboxOf(tenant)}counts/` })).body;

/** Sends that many messages to ann. Returns their ids, oldest first. */
async function fill(tenant: Tenant, count: number, context: object = {}): Promise<number[]> {
  for (let n = 1; n <= count; n++) {
    await tenant.outcomes(await tenant.trigger({ limit_to: [ann.email] }, { n, ...context }));
  }
  return (await listed(tenant)).map((one: { id: number }) => one.id).reverse();
}

/** Recounts the messages to get the expected counts. */
async function counted(tenant: Tenant) {
  const [row] = await tenant.sql(
    `select count(*) filter (where read_at is null)::int as unread,
       count(*) filter (where read_at is null and seen_at is null)::int as unseen
     from inbox i join users u on u.organization_id = i.organization_id and u.id = i.user_id
     where i.organization_id = $1 and u.username = $2 and archived_at is null`,
    tenant.id,
    ann.email,
  );
  return row;
}

describe('states', () => {
  test('a seen message stays unread, and a read message is also seen', async () => {
    const tenant = await open();
    const [first, second] = await fill(tenant, 3);
    expect(await counts(tenant)).toEqual({ unread: 3, unseen: 3 });
    const seen = await tenant.post(`${inboxOf(tenant)}${first}/seen/`);
    expect(seen.body).toMatchObject({ id: first, seen_at: expect.stringMatching(/Z$/), read_at: null });
    expect(await counts(tenant)).toEqual({ unread: 3, unseen: 2 });
    const read = await tenant.post(`${inboxOf(tenant)}${second}/read/`);
    expect(read.body.seen_at).toBe(read.body.read_at);
    expect(await counts(tenant)).toEqual({ unread: 2, unseen: 1 });
    expect((await listed(tenant, '?unseen=true')).map((one: { title: string }) => one.title)).toEqual(['Order 3']);
    expect(await listed(tenant, '?unseen=false')).toHaveLength(2);
    expect((await tenant.post(`${inboxOf(tenant)}seen/`)).body).toEqual({ seen: 1 });
    expect((await tenant.post(`${inboxOf(tenant)}seen/`)).body).toEqual({ seen: 0 });
    expect(await counts(tenant)).toEqual({ unread: 2, unseen: 0 });
    // A message marked as unread stays seen.
    await tenant.post(`${inboxOf(tenant)}${second}/unread/`);
    expect(await counts(tenant)).toEqual({ unread: 3, unseen: 0 });
  });

  test('counts stay exact while messages arrive and change concurrently', { tags: ['sweep'] }, async () => {
    const tenant = await open();
    const ids = await fill(tenant, 4);
    const verbs = ['seen', 'read', 'unread', 'archive', 'unarchive'];
    const changes = Array.from({ length: 60 }, (_, i) => `${ids[i % 4]}/${verbs[i % 5]}/`);
    const triggers = Array.from({ length: 10 }, (_, n) => tenant.trigger({ limit_to: [ann.email] }, { n }));
    const answers = await Promise.all([
      ...[...changes, 'read/', 'seen/', 'read/'].map(path => tenant.post(`${inboxOf(tenant)}${path}`)),
    ]);
    for (const answer of answers) expect(answer.status, answer.text).toBe(200);
    for (const occurrence of await Promise.all(triggers)) await tenant.outcomes(occurrence);
    expect(await counts(tenant)).toEqual(await counted(tenant));
  });

  test('counts are updated when retention deletes messages', async () => {
    const tenant = await open();
    const ids = await fill(tenant, 3);
    await tenant.post(`${inboxOf(tenant)}${ids[2]}/read/`);
    await tenant.sql(
      "update inbox set created_at = now() - interval '100 days' where organization_id = $1 and id <> $2",
      tenant.id,
      ids[1],
    );
    await deleteOldInbox(world.service.runtime.deps.db, tenant.id, new Date(Date.now() - 90 * 86_400_000));
    expect(await listed(tenant)).toMatchObject([{ id: ids[1] }]);
    expect(await counts(tenant)).toEqual({ unread: 1, unseen: 1 });
  });

  test('messages have the category of the event and can be filtered by it', async () => {
    const organization = { categories: [{ slug: 'orders', name: 'Orders' }] };
    const tenant = await open({}, { organization, event: { category: 'orders' } });
    await fill(tenant, 1);
    expect(await listed(tenant, '?category=orders')).toMatchObject([{ category: 'orders' }]);
    expect(await listed(tenant, '?category=news')).toEqual([]);
  });
});

describe('actions', () => {
  const actions = [
    { name: 'approve', label: 'Approve {{ n }}', event: 'go' },
    { name: 'open', label: 'Open', url: 'https://shop.test/orders/{{ n }}' },
  ];
  const act = (tenant: Tenant, id: number, action: unknown): Promise<Answer> =>
    tenant.post(`${inboxOf(tenant)}${id}/act/`, { action });
  const occurrencesOf = (tenant: Tenant) =>
    tenant.sql('select context from occurrences where organization_id = $1 order by id', tenant.id);

  test('are rendered for the recipient, with the avatar', async () => {
    const tenant = await open({ actions, avatar: 'https://img.test/{{ user.first_name }}.png' });
    await fill(tenant, 1);
    expect(await listed(tenant)).toMatchObject([
      {
        avatar: 'https://img.test/Ann.png',
        actions: [
          { name: 'approve', label: 'Approve 1', url: null },
          { name: 'open', label: 'Open', url: 'https://shop.test/orders/1' },
        ],
      },
    ]);
  });

  test('an action with an event triggers it once, with the context of the original trigger', async () => {
    const tenant = await open({ actions });
    const [id] = (await fill(tenant, 1)) as [number];
    const acted = await act(tenant, id, 'approve');
    expect(acted.body).toMatchObject({ action: 'approve', acted_at: expect.any(String), read_at: expect.any(String) });
    expect((await act(tenant, id, 'approve')).body).toEqual(acted.body);
    expectProblem(await act(tenant, id, 'open'), 409, 'message.acted');
    const [first, second, ...more] = await occurrencesOf(tenant);
    expect(more).toEqual([]);
    expect(first).toEqual({ context: { n: 1 } });
    const inbox = { message: id, occurrence: acted.body.occurrence, action: 'approve', username: ann.email };
    expect(second).toEqual({ context: { n: 1, inbox } });
  });

  test('only one of several concurrent actions is taken', async () => {
    const tenant = await open({ actions });
    const [id] = (await fill(tenant, 1)) as [number];
    const answers = await Promise.all(['approve', 'open', 'approve', 'open'].map(name => act(tenant, id, name)));
    expect(answers.map(one => one.status).sort()).toEqual([200, 200, 409, 409]);
    const { action } = (await listed(tenant)).find((one: { id: number }) => one.id === id);
    expect(await occurrencesOf(tenant)).toHaveLength(action === 'approve' ? 2 : 1);
  });

  test('an action whose event cannot be triggered is not taken', async () => {
    const tenant = await open({ actions: [{ name: 'approve', label: 'Approve', event: 'gone' }] });
    const [id] = (await fill(tenant, 1)) as [number];
    expectProblem(await act(tenant, id, 'approve'), 404, 'event.not_found');
    expect(await listed(tenant)).toMatchObject([{ acted_at: null, read_at: null }]);
  });

  test.each([
    ['nonsense', 'request.invalid'],
    ['Not A Name', 'request.invalid'],
    [undefined, 'request.invalid'],
  ])('refuses %s', async (name, code) => {
    const tenant = await open({ actions });
    const [id] = (await fill(tenant, 1)) as [number];
    expectProblem(await act(tenant, id, name), 400, code, ['action']);
  });

  test('an action link that is not a web URL fails the message', async () => {
    const tenant = await open({ actions: [{ name: 'open', label: 'Open', url: '{{ url }}' }] });
    const outcomes = await tenant.outcomes(
      await tenant.trigger({ limit_to: [ann.email] }, { url: 'javascript:alert(1)' }),
    );
    expect(outcomes.find(one => one.startsWith(ann.email))).toMatch(/failed: template.failed/);
    const fine = await tenant.outcomes(await tenant.trigger({ limit_to: [ann.email] }, { url: '/orders/1' }));
    expect(fine.find(one => one.startsWith(ann.email))).toMatch(/sent/);
  });

  test.each([
    'https://{{ host }}/x',
    'http{{ s }}://example.com',
    '/{{ path }}',
    '{% if a %}/a{% else %}/b{% endif %}',
  ])('an action link that some context makes a web URL is saved: %s', async url =>
    expect(await open({ actions: [{ name: 'a', label: 'A', url }] })).toBeDefined(),
  );

  test.each([
    [[{ name: 'a', label: 'A' }], 'must have exactly one of url, event and acknowledge'],
    [[{ name: 'a', label: 'A', url: '/x', event: 'go' }], 'must have exactly one of url, event and acknowledge'],
    [Array.from({ length: 4 }, (_, i) => ({ name: `a${i}`, label: 'A', url: '/x' })), '3'],
    [['a', 'a'].map(name => ({ name, label: 'A', url: '/x' })), 'is duplicated'],
    [[{ name: 'a', label: '{{ n', url: '/x' }], 'line 1'],
    ...['javascript:alert(1)', 'example.com/orders', '//evil.test', 'mailto:{{ email }}', 'www.{{ domain }}'].map(
      (url): [object[], string] => [[{ name: 'a', label: 'A', url }], 'must be an http or https address'],
    ),
  ])('invalid actions are refused when the notification is saved: %j', async (invalid, message) => {
    await expect(open({ actions: invalid })).rejects.toThrow(message);
  });
});

describe("a recipient's token", () => {
  test("gives access to the user's own inbox from another origin, and to no other inbox", async () => {
    const tenant = await open();
    const [id] = await fill(tenant, 1);
    const { token } = (await tenant.post(`/api/o/${tenant.slug}/u/${ann.email}/token/`)).body;
    const headers = { authorization: `Bearer ${token}`, origin: 'https://app.example.com' };
    const ask = asker(world.service.address);
    const path = inboxOf(tenant);
    const own = await ask({ path, headers });
    expect(own.body).toMatchObject([{ id }]);
    expect(own.headers['access-control-allow-origin']).toBe('https://app.example.com');
    for (const verb of ['seen/', `${id}/seen/`, `${id}/read/`, `${id}/archive/`, `${id}/unarchive/`, 'read/']) {
      expect((await ask({ method: 'POST', path: `${path}${verb}`, headers })).status).toBe(200);
    }
    expect((await ask({ path: `${path}counts/`, headers })).body).toEqual({ unread: 0, unseen: 0 });
    expectProblem(await ask({ path: inboxOf(tenant, ben), headers }), 404, 'user.not_found');
    expectProblem(await ask({ path: `/api/o/${tenant.slug}/u/${ann.email}/`, headers }), 403, 'key.permission');
    // Only a stream accepts the token in the query.
    expectProblem(await ask({ path: `${path}?token=${token}` }), 401, 'key.missing');
    const preflight = await ask({
      method: 'OPTIONS',
      path: `${path}stream/`,
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,last-event-id',
      },
    });
    expect(preflight.headers['access-control-allow-headers']).toMatch(/authorization.*last-event-id/i);
  });
});
