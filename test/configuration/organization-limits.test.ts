/** Limits of an organization on a shared installation. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { allowedDeliveries } from '../../src/core/configuration/limits.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { changeLimits, type OrganizationLimits } from '../../src/services/configuration/limits/limits.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Browser, signInNewAccount } from '../support/accounts.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { command } from '../support/command.ts';
import { testService } from '../support/database.ts';
import { waitFor } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

let service: Service;
const asks: Record<string, Ask> = {};
const defaults = {
  triggers_per_second: 20_000,
  deliveries_per_trigger: 5_000_000,
  users: 5_000_000,
  stored_messages: 200_000_000,
  attachment_bytes: 20 * 1024 ** 3,
};

beforeAll(async () => {
  service = await testService();
});
afterAll(() => service.stop());

/** Creates an organization with a list of so many users, and an event that notifies all of them through a sandbox. */
async function organization(slug: string, people: number, limits: Partial<OrganizationLimits> = {}): Promise<Ask> {
  const { deps } = service.runtime;
  const emails = Array.from({ length: people }, (_, n) => `p${n}@${slug}.test`);
  const notification = {
    name: 'all',
    recipients: { list: 'Everybody' },
    channels: ['mail'],
    message: { subject: 'Hello', body: 'Hello' },
  };
  const document = {
    slug,
    name: slug,
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] }],
    users: emails.map(email => ({ email })),
    projects: [
      {
        slug: 'shop',
        name: 'Shop',
        distribution_lists: [{ name: 'Everybody', members: emails }],
        applications: [
          { slug: 'web', name: 'Web', events: [{ slug: 'news', name: 'News', notifications: [notification] }] },
        ],
      },
    ],
  };
  await applyConfiguration(deps, { organizations: [document] }, { prune: false });
  const { key } = await createKey(deps, slug, { name: 'all', permissions: ['*'] });
  const place = await deps.tenantCache.resolvePath({ org: slug });
  if (Object.keys(limits).length > 0) await changeLimits(deps, place!.organization, limits);
  asks[slug] = asker(service.address, key);
  return asks[slug];
}

const trigger = (ask: Ask, org: string, options: object = {}) =>
  ask({ method: 'POST', path: `/api/o/${org}/p/shop/a/web/e/news/trigger/`, body: { options } });
const shown = async (ask: Ask, org: string) => (await ask({ path: `/api/o/${org}/limits/` })).body;

test('a new organization has the default limits, and its usage is counted', async () => {
  const ask = await organization('usual', 3);
  expect(await shown(ask, 'usual')).toEqual({
    ...defaults,
    used: { users: 3, stored_messages: 0, attachment_bytes: 0 },
  });
  await trigger(ask, 'usual');
  await waitFor('the messages to be counted', async () => (await shown(ask, 'usual')).used.stored_messages === 3);
});

describe('setting limits', () => {
  let ask: Ask;
  let owner: Browser;
  let admin: Browser;
  const path = '/api/o/set/limits/';
  beforeAll(async () => {
    ask = await organization('set', 1);
    const { deps } = service.runtime;
    owner = await signInNewAccount(service.address, deps, { membership: { organization: 'set', role: 'owner' } });
    admin = await signInNewAccount(service.address, deps, { admin: true });
  });

  test('is for admins of the instance, not for owners or API keys', async () => {
    const body = { users: 10 };
    expectProblem(await ask({ method: 'PATCH', path, body }), 403, 'key.permission');
    expectProblem(await owner.ask({ method: 'PATCH', path, body }), 403, 'role.permission');
    expect((await owner.ask({ path })).body).toMatchObject(defaults);
    const changed = await admin.ask({ method: 'PATCH', path, body: { users: 10, stored_messages: null } });
    expect(changed.body, changed.text).toEqual({
      ...defaults,
      users: 10,
      stored_messages: null,
      used: { users: 1, stored_messages: 0, attachment_bytes: 0 },
    });
    expect((await owner.ask({ path })).body).toEqual(changed.body);
  });

  test('is recorded with the previous values', async () => {
    await admin.ask({ method: 'PATCH', path, body: { triggers_per_second: 77 } });
    const [entry] = (await owner.ask({ path: '/api/o/set/audit/?limit=1' })).body;
    expect(entry).toMatchObject({ action: 'update', noun: 'limits', path: 'set', after: { triggers_per_second: 77 } });
  });

  test.each([
    { users: 0 },
    { users: -1 },
    { users: 1.5 },
    { triggers_per_second: 1_000_001 },
    { stored_messages: '5' },
    { messages: 5 },
  ])('is refused with %j', async body => {
    expectProblem(await admin.ask({ method: 'PATCH', path, body }), 400, 'request.invalid', Object.keys(body));
  });

  test('does not overwrite a concurrent change', async () => {
    const headers = { 'if-match': (await admin.ask({ path })).headers.etag! };
    const set = (users: number) => admin.ask({ method: 'PATCH', path, headers, body: { users } });
    expect((await set(20)).status).toBe(200);
    expectProblem(await set(30), 412, 'request.stale');
  });
});

test('the command line shows and sets them', { tags: ['sweep'] }, async () => {
  await organization('terminal', 2);
  const env = { DATABASE_URL: service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const set = await command(['limits', 'set', '--org', 'terminal', '--users', '5', '--stored-messages', 'none'], env);
  expect(set).toMatchObject({ code: 0, stderr: '' });
  expect(set.stdout).toMatch(/users +5 +2\n.*stored-messages +none +0/);
  const { key } = await createKey(service.runtime.deps, 'terminal', {
    name: 'reads',
    permissions: ['organization:read'],
  });
  const remote = { BELFRY_URL: service.address, BELFRY_KEY: key };
  const read = await command(['limits', 'show', '--org', 'terminal', '--json'], remote);
  expect(JSON.parse(read.stdout)).toEqual({
    ...defaults,
    users: 5,
    stored_messages: null,
    used: { users: 2, stored_messages: 0, attachment_bytes: 0 },
  });
  const refused = await command(['limits', 'set', '--org', 'terminal', '--users', '0'], env);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--users must be a whole number')]);
});

describe('triggers per second', () => {
  test('beyond the rate are refused with 429 and Retry-After, whatever key is used', async () => {
    const ask = await organization('fast', 1, { triggers_per_second: 5 });
    const answers = await Promise.all(Array.from({ length: 30 }, () => trigger(ask, 'fast')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(5);
    expect(refused.length).toBeGreaterThan(0);
    expectProblem(refused[0]!, 429, 'limit.triggers');
    expect(refused[0]!.headers['retry-after']).toBe('1');
    const { deps } = service.runtime;
    const { key } = await createKey(deps, 'fast', { name: 'another', permissions: ['event:trigger'] });
    const more = await Promise.all(Array.from({ length: 10 }, () => trigger(asker(service.address, key), 'fast')));
    expect(more.some(({ status }) => status === 429)).toBe(true);
    // Other organizations are not affected.
    expect((await trigger(asks.usual!, 'usual')).status).toBe(201);
  });

  test('follow a new rate at once', async () => {
    const ask = await organization('faster', 1, { triggers_per_second: 1 });
    const place = await service.runtime.deps.tenantCache.resolvePath({ org: 'faster' });
    await changeLimits(service.runtime.deps, place!.organization, { triggers_per_second: null });
    const answers = await Promise.all(Array.from({ length: 20 }, () => trigger(ask, 'faster')));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  });
});

describe('stored messages', () => {
  test('at the limit refuse triggers with advice, and accept them again when space is freed', async () => {
    const ask = await organization('full', 3, { stored_messages: 3 });
    expect((await trigger(ask, 'full')).status).toBe(201);
    await waitFor('the messages to be counted', async () => (await shown(ask, 'full')).used.stored_messages === 3);
    const refused = await trigger(ask, 'full');
    expectProblem(refused, 429, 'limit.stored_messages');
    expect(refused.headers['retry-after']).toBe('60');
    expect(refused.body.detail).toMatch(/stores 3 messages and its limit is 3: .*retention_days/);
    await runSql(
      service.runtime.url,
      `delete from delivery_stats where organization_id =
      (select id from organizations where slug = 'full')`,
    );
    expect((await shown(ask, 'full')).used.stored_messages).toBe(0);
    expect((await trigger(ask, 'full')).status).toBe(201);
  });

  test('of summarized days are counted once', async () => {
    const ask = await organization('summed', 1);
    await runSql(
      service.runtime.url,
      `with o as (select id from organizations where slug = 'summed'),
        a as (insert into summed_stats select id, date_trunc('day', now()) from o),
        b as (insert into hour_stats select id, date_trunc('day', now()) - interval '1 day', 9, 4, 3, 0, 0, 0, 0 from o)
       insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
       select id, date_trunc('day', now()) - interval '1 day', 1, 1, 'sent', 7 from o
       union all select id, date_trunc('day', now()), 1, 1, 'sent', 10 from o`,
    );
    expect((await shown(ask, 'summed')).used.stored_messages).toBe(17);
  });
});

describe('users', () => {
  const create = (ask: Ask, org: string, email: string) =>
    ask({ method: 'POST', path: `/api/o/${org}/u/`, body: { email, first_name: 'A', last_name: 'B' } });

  test('beyond the limit are not created in any way, and existing ones are unchanged', async () => {
    const ask = await organization('people', 2, { users: 4 });
    expect((await create(ask, 'people', 'three@people.test')).status).toBe(201);
    expect((await create(ask, 'people', 'four@people.test')).status).toBe(201);
    const refused = await create(ask, 'people', 'five@people.test');
    expectProblem(refused, 429, 'limit.users');
    expect(refused.body.detail).toMatch(/can have 4 users, 0 more can be created/);
    expectProblem(await create(ask, 'people', 'four@people.test'), 400, 'user.exists');

    const [list] = (await ask({ path: '/api/o/people/p/shop/d/' })).body;
    const add = (emails: string[]) =>
      ask({ method: 'POST', path: `/api/o/people/p/shop/d/${list.id}/add/`, body: emails });
    expectProblem(await add(['three@people.test', 'five@people.test']), 429, 'limit.users');
    expect((await add(['three@people.test'])).status).toBe(200);

    const load = (text: string) =>
      ask({
        method: 'POST',
        path: `/api/o/people/p/shop/d/${list.id}/import/`,
        body: text,
        headers: { 'content-type': 'text/csv' },
      });
    expectProblem(await load('email\nfive@people.test\n'), 429, 'limit.users');
    expect((await load('email,first_name\nfour@people.test,Four\n')).status).toBe(200);

    const document = { slug: 'people', name: 'people', users: [{ email: 'five@people.test' }] };
    const applied = applyConfiguration(service.runtime.deps, { organizations: [document] }, { prune: false });
    await expect(applied).rejects.toMatchObject({ code: 'limit.users' });
    expect((await shown(ask, 'people')).used.users).toBe(4);
  });

  test('can be created again after some were deleted', async () => {
    const ask = await organization('leaving', 2, { users: 2 });
    expectProblem(await create(ask, 'leaving', 'new@leaving.test'), 429, 'limit.users');
    expect((await ask({ method: 'DELETE', path: '/api/o/leaving/u/p0@leaving.test/?cascade=true' })).status).toBe(200);
    expect((await create(ask, 'leaving', 'new@leaving.test')).status).toBe(201);
  });
});

describe('deliveries of one trigger', () => {
  const outcome = async (ask: Ask, org: string, id: string) =>
    waitFor('the occurrence to end', async () => {
      const { body } = await ask({ path: `/api/o/${org}/occurrence/${id}/` });
      return body.status === 'completed' ? body : undefined;
    });

  test('up to the limit are sent, without a reason', async () => {
    const ask = await organization('exact', 5, { deliveries_per_trigger: 5 });
    const ended = await outcome(ask, 'exact', (await trigger(ask, 'exact')).body.occurrence);
    expect(ended).toMatchObject({ reason: null, counts: { sent: 5 } });
  });

  test.each([
    ['in the middle of a page', 'middle', 12, 5],
    ['pages later', 'pages', 700, 600],
  ])('beyond the limit %s are not sent, and the occurrence records it', async (_where, slug, people, max) => {
    const ask = await organization(slug, people, { deliveries_per_trigger: max });
    const { occurrence } = (await trigger(ask, slug)).body;
    const ended = await outcome(ask, slug, occurrence);
    expect(ended).toMatchObject({ reason: 'limit.fan_out', counts: { sent: max } });
    const deliveries = (await ask({ path: `/api/o/${slug}/occurrence/${occurrence}/deliveries/` })).body;
    const reached = new Set(deliveries.map(({ user }: { user: string }) => user));
    const missed = Array.from({ length: people }, (_, n) => `p${n}@${slug}.test`).find(name => !reached.has(name));
    const path = `/api/o/${slug}/occurrence/${occurrence}/why/?user=${missed}`;
    const why = (await ask({ path })).body;
    expect(why.answers, JSON.stringify(why)).toMatchObject([{ reason: 'limit.fan_out' }]);
  });

  test('to recipients named by the trigger are refused before it is accepted', async () => {
    const ask = await organization('named', 1, { deliveries_per_trigger: 2 });
    const recipients = ['a@named.test', 'b@named.test', 'c@named.test'];
    expectProblem(await trigger(ask, 'named', { recipients }), 400, 'limit.fan_out', ['options/recipients']);
  });

  test('to unknown recipients beyond the user limit are not sent, and the occurrence and “why not?” show it', async () => {
    const ask = await organization('strangers', 1, { users: 2 });
    const recipients = ['p0@strangers.test', 'one@strangers.test', 'two@strangers.test'];
    const { occurrence } = (await trigger(ask, 'strangers', { recipients })).body;
    const ended = await outcome(ask, 'strangers', occurrence);
    expect(ended).toMatchObject({ reason: 'limit.users', counts: { sent: 2 } });
    expect((await shown(ask, 'strangers')).used.users).toBe(2);
    const asked = { path: `/api/o/strangers/occurrence/${occurrence}/why/?user=two@strangers.test` };
    expect((await ask(asked)).body.answers).toMatchObject([{ reason: 'limit.users' }]);
  });

  test('are limited to the remaining number', () => {
    expect(allowedDeliveries(null, 5, 7)).toBe(7);
    expect(allowedDeliveries(10, 0, 7)).toBe(7);
    expect(allowedDeliveries(10, 5, 7)).toBe(5);
    expect(allowedDeliveries(10, 10, 7)).toBe(0);
    // The limit was lowered in the meantime.
    expect(allowedDeliveries(10, 12, 7)).toBe(0);
  });
});
