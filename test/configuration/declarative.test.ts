import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Document, OrganizationDocument } from '../../src/core/configuration/document.ts';
import { addRecipients } from '../../src/services/audience/distribution-lists.ts';
import { createUser, updateUser } from '../../src/services/audience/users.ts';
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
} from '../../src/services/configuration/declarative/declarative.ts';
import { testDatabase } from '../support/database.ts';
import { everything, exampleOrganization, hooksOf } from '../support/declarative.ts';
import { fairNow } from '../support/fair-clock.ts';
import { runSql } from '../support/sql.ts';

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const apply = (organization: OrganizationDocument, prune = false) =>
  applyConfiguration(runtime.deps, { organizations: [organization] }, { prune });
const plan = (organization: OrganizationDocument, prune = false) =>
  planConfiguration(runtime.deps, { organizations: [organization] }, { prune });
const exported = async (slug: string) => (await exportConfiguration(runtime.deps, [slug])).organizations[0]!;
const rows = <Row extends object>(text: string, values: unknown[] = []) => runSql<Row>(runtime.url, text, values);
const told = (changes: { action: string; noun: string; path: string }[]) =>
  changes.map(({ action, noun, path }) => `${action} ${noun} ${path}`);

test('a file with 150,000 users can be planned', { tags: ['sweep'] }, async () => {
  const users = Array.from({ length: 150_000 }, (_, i) => ({ email: `u${i}@crowd.test` }));
  const document = { organizations: [{ slug: 'crowd', name: 'Crowd', users }] };
  expect(await planConfiguration(runtime.deps, document, { prune: false })).toHaveLength(150_001);
});

describe('applying', () => {
  test('the example creates all of it, and the export equals it except for the secret and defaults', async () => {
    const organization = await exampleOrganization();
    expect(await apply(organization)).toHaveLength(11);
    const expected = await exampleOrganization();
    delete hooksOf(expected).providers![0]!.secret;
    delete expected.channels![0]!.enabled;
    delete expected.projects![0]!.applications![0]!.events![0]!.active;
    expect(await exported('acme')).toEqual(expected);
  });

  test('a document with every field is exported with every field', async () => {
    await apply(everything('every'));
    const expected = everything('every');
    delete expected.channels![0]!.providers![0]!.password;
    expect(await exported('every')).toEqual(expected);
  });

  test('twice changes nothing the second time, and writes nothing', async () => {
    await apply(everything('twice'));
    const state = () => rows('select xmin::text, * from messages order by notification_id, version');
    const before = await state();
    expect(await apply(everything('twice'), true)).toEqual([]);
    expect(await state()).toEqual(before);
  });

  test('an export changes nothing, even with pruning', async () => {
    await apply(everything('again'));
    expect(await apply(await exported('again'), true)).toEqual([]);
  });

  test('makes the planned changes, and the plan itself makes none', async () => {
    const planned = await plan(everything('planned'));
    expect(await rows('select 1 from organizations where slug = $1', ['planned'])).toEqual([]);
    expect(await apply(everything('planned'))).toEqual(planned);
  });

  test('keeps every version of a message, and adds one only if the content differs', async () => {
    const organization = await exampleOrganization('versions');
    await apply(organization);
    const notification = organization.projects![0]!.applications![0]!.events![0]!.notifications![0]!;
    notification.filter = 'amount > `1`';
    await apply(organization);
    notification.message.body = 'Other words';
    await apply(organization);
    const versions = await rows<{ version: number; body: string }>(
      `select version, content -> 'message' ->> 'body' as body from messages m
       join organizations o on o.id = m.organization_id where o.slug = 'versions' order by version`,
    );
    expect(versions.map(row => row.version)).toEqual([1, 2]);
    expect(versions[1]!.body).toBe('Other words');
  });

  test('keeps a field of a user that is not in the file', async () => {
    await apply({ slug: 'partial', name: 'Partial', users: [{ email: 'a@b.test', custom_fields: { a: 1 } }] });
    const [{ id, organization_id }] = (await rows<{ id: number; organization_id: number }>(
      `select u.id, u.organization_id from users u join organizations o on o.id = u.organization_id where o.slug = 'partial'`,
    )) as [{ id: number; organization_id: number }];
    await updateUser(runtime.deps, Number(organization_id), Number(id), { locked: true, mode: 'IGNORE' });
    const changes = await apply({ slug: 'partial', name: 'Partial', users: [{ email: 'A@b.test', first_name: 'Al' }] });
    expect(changes.map(change => change.fields)).toEqual([[{ field: 'first_name', from: '', to: 'Al' }]]);
    expect((await exported('partial')).users).toEqual([
      { email: 'a@b.test', first_name: 'Al', last_name: '', locked: true, custom_fields: { a: 1 }, addresses: [] },
    ]);
  });

  test('recognizes the email of a user among the addresses, ignoring case', async () => {
    const user = (email: string, value: string) => ({ email, addresses: [{ name: 'email', value }] });
    await apply({ slug: 'letters', name: 'L', users: [user('a@b.test', 'a@b.test')] });
    const shouted = { slug: 'letters', name: 'L', users: [user('A@b.test', 'a@B.test')] };
    expect(await apply(shouted, true)).toEqual([]);
    expect((await exported('letters')).users![0]!.addresses).toEqual([]);
  });

  test('creates users for unknown members, if the file does not manage users', async () => {
    const members = ['New@acme.test'];
    const organization = {
      slug: 'newcomers',
      name: 'N',
      projects: [{ slug: 'p', name: 'P', distribution_lists: [{ name: 'L', members }] }],
    };
    expect(told(await apply(organization))).toContain('create user newcomers/new@acme.test');
    expect((await exported('newcomers')).users![0]!.email).toBe('New@acme.test');
    expect(await apply(organization)).toEqual([]);
  });

  test('accepts stored names of sections that the file does not manage, and refuses others', async () => {
    await apply(await exampleOrganization('stored'));
    const { channels: _, users: __, ...rest } = await exampleOrganization('stored');
    delete rest.projects![0]!.channels;
    delete rest.projects![0]!.distribution_lists;
    expect(await apply(rest, true)).toEqual([]);
    const [notification] = rest.projects![0]!.applications![0]!.events![0]!.notifications!;
    notification!.channels = ['mail', 'fax'];
    notification!.recipients = { list: 'Nobody' };
    await expect(apply(rest)).rejects.toMatchObject({
      code: 'file.invalid',
      details: {
        fields: {
          'organizations/0/projects/0/applications/0/events/0/notifications/0/channels/1': [
            expect.stringMatching(/fax/),
          ],
          'organizations/0/projects/0/applications/0/events/0/notifications/0/recipients/list': [
            expect.stringMatching(/Nobody.*Customers/),
          ],
        },
      },
    });
  });

  test('does not remove an object that a notification outside the file still uses', async () => {
    await apply(everything('needed'));
    const before = await exported('needed');
    const without = { slug: 'needed', name: 'Everything', channels: [] };
    await expect(apply(without, true)).rejects.toMatchObject({
      code: 'file.invalid',
      details: {
        fields: {
          'organizations/0/channels': expect.arrayContaining([
            'removes channel mail, which needed/shop/web/paid/everyone still uses',
          ]),
        },
      },
    });
    const lists = { slug: 'shop', name: 'Shop', distribution_lists: [], channels: [] };
    await expect(apply({ slug: 'needed', name: 'Everything', projects: [lists] }, true)).rejects.toMatchObject({
      details: {
        fields: {
          'organizations/0/projects/0/channels': expect.anything(),
          'organizations/0/projects/0/distribution_lists': [
            'removes list All of them / really, which schedule needed/shop/primary still uses',
            'removes list All of them / really, which needed/shop/web/paid/everyone still uses',
          ],
        },
      },
    });
    expect(await exported('needed')).toEqual(before);
    expect(told(await apply({ ...without, projects: [] }, true))).toEqual([
      'delete project needed/shop',
      'delete channel needed/mail',
    ]);
  });

  test('does not change the type of a channel to one that its stored providers do not support', async () => {
    await apply(await exampleOrganization('retyped'));
    const organization = await exampleOrganization('retyped');
    organization.channels![0] = { slug: 'mail', name: 'Mail', type: 'sms' };
    await expect(apply(organization)).rejects.toMatchObject({
      details: {
        fields: { 'organizations/0/channels/0/type': [expect.stringMatching(/smtp serves channels of type email/)] },
      },
    });
  });

  test('a document with a mistake in the last organization leaves the first unchanged', async () => {
    const document: Document = {
      organizations: [everything('half'), { ...(await exampleOrganization('other')), users: [{ email: 'no' }] }],
    };
    await expect(applyConfiguration(runtime.deps, document, { prune: false })).rejects.toMatchObject({
      code: 'file.invalid',
    });
    expect(await rows('select 1 from organizations where slug = $1', ['half'])).toEqual([]);
  });

  test('is rolled back if the database fails half way', async () => {
    await rows(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
    await rows('create trigger refuse before insert on messages for each row execute function refuse()');
    try {
      await expect(apply(everything('broken'))).rejects.toThrow('no');
    } finally {
      await rows('drop trigger refuse on messages');
    }
    expect(await rows('select 1 from organizations where slug = $1', ['broken'])).toEqual([]);
  });

  test('concurrently to one organization is serialized', async () => {
    const results = await Promise.all(Array.from({ length: 6 }, () => apply(everything('crowd'))));
    expect(results.filter(changes => changes.length > 0)).toHaveLength(1);
    expect((await exported('crowd')).projects).toHaveLength(1);
  });

  test('ten thousand users, their addresses and a list of them takes seconds', { tags: ['sweep'] }, async () => {
    const users = Array.from({ length: 10_000 }, (_, i) => ({
      email: `user${i}@big.test`,
      custom_fields: { i },
      addresses: [{ name: 'chat', value: `c${i}` }],
    }));
    const members = users.map(user => user.email);
    const organization = {
      slug: 'big',
      name: 'Big',
      users,
      projects: [{ slug: 'p', name: 'P', distribution_lists: [{ name: 'All', members }] }],
    };
    const begun = fairNow();
    expect(await apply(organization)).toHaveLength(30_003);
    expect(await apply(organization)).toEqual([]);
    expect(fairNow() - begun).toBeLessThan(15_000);
  });
});

describe('pruning', () => {
  test('deletes what is missing from a section; without it nothing is deleted', async () => {
    await apply(everything('prune'));
    const less = everything('prune');
    less.users![0]!.addresses!.pop();
    less.projects![0]!.distribution_lists![0]!.members = [];
    less.projects![0]!.distribution_lists!.pop();
    less.projects![0]!.applications![0]!.events!.pop();
    expect(await apply(less)).toEqual([]);
    expect(told(await apply(less, true))).toEqual([
      'delete event prune/shop/web/idle',
      'delete list prune/shop/None',
      'delete member prune/shop/All of them / really/zoë@acme.test',
      'delete address prune/zoë@acme.test/slack/U123',
    ]);
    const after = await exported('prune');
    expect(after.users![0]!.addresses).toHaveLength(2);
    expect(after.projects![0]!.distribution_lists).toEqual([{ name: 'All of them / really', members: [] }]);
    expect(await apply(less, true)).toEqual([]);
  });

  test('deletes everything below, and keeps the email address of a user', async () => {
    await apply(everything('cascade'));
    const empty = {
      slug: 'cascade',
      name: 'Everything',
      channels: [],
      users: [{ email: 'zoë@acme.test', addresses: [] }],
      projects: [],
    };
    expect(told(await apply(empty, true))).toContain('delete project cascade/shop');
    const addresses = await rows(
      `select a.name, a.value from addresses a join organizations o on o.id = a.organization_id where o.slug = 'cascade'`,
    );
    expect(addresses).toEqual([{ name: 'email', value: 'Zoë@acme.test' }]);
    expect(await exported('cascade')).toMatchObject({ channels: [], projects: [] });
  });

  test('does not touch absent sections and other organizations', async () => {
    await apply(everything('whole'));
    await apply(everything('bystander'));
    expect(await apply({ slug: 'whole', name: 'Everything' }, true)).toEqual([]);
    expect(await applyConfiguration(runtime.deps, { organizations: [] }, { prune: true })).toEqual([]);
    expect(await plan(await exported('bystander'), true)).toEqual([]);
  });

  test('deletes users together with their memberships', async () => {
    await apply(everything('leaving'));
    const [organization] = await rows<{ id: string }>(`select id from organizations where slug = 'leaving'`);
    const [list] = await rows<{ id: string }>(
      'select id from distribution_lists where organization_id = $1 and name = $2',
      [organization!.id, 'None'],
    );
    const [project, none] = [
      { id: 0, slug: 'shop' },
      { id: Number(list!.id), name: 'None' },
    ];
    await addRecipients(runtime.deps, Number(organization!.id), project, none, ['guest@acme.test']);
    const document = everything('leaving');
    delete document.projects;
    expect(told(await apply(document, true))).toEqual(['delete user leaving/guest@acme.test']);
  });
});

test('an export of an unknown organization fails with its name', async () => {
  await expect(exportConfiguration(runtime.deps, ['nobody'])).rejects.toMatchObject({ code: 'organization.not_found' });
});

test('a user who was created in the meantime is updated from the file', async () => {
  await apply({ slug: 'meanwhile', name: 'M' });
  const [organization] = await rows<{ id: string }>(`select id from organizations where slug = 'meanwhile'`);
  await createUser(runtime.deps, Number(organization!.id), { email: 'a@b.test', first_name: 'Old' });
  expect(
    told(await apply({ slug: 'meanwhile', name: 'M', users: [{ email: 'a@b.test', first_name: 'New' }] })),
  ).toEqual(['update user meanwhile/a@b.test']);
});
