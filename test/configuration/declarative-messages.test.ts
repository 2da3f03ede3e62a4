/** Languages, layouts and limits in the declarative file: how they are applied, exported and rendered. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NotificationEntry, OrganizationDocument } from '../../src/core/configuration/document.ts';
import { renderMessage } from '../../src/core/render/render.ts';
import type { ResolvedPath } from '../../src/db/configuration/organizations.ts';
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
} from '../../src/services/configuration/declarative/declarative.ts';
import { simulate } from '../../src/services/configuration/try-out/simulation.ts';
import type { Deps } from '../../src/services/deps.ts';
import { testDatabase, testService } from '../support/database.ts';
import { everything, run } from '../support/declarative.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const apply = (organization: OrganizationDocument, prune = false, deps = runtime.deps) =>
  applyConfiguration(deps, { organizations: [organization] }, { prune });
const exported = async (slug: string) => (await exportConfiguration(runtime.deps, [slug])).organizations[0]!;
const fieldsOf = (changes: Awaited<ReturnType<typeof apply>>) =>
  changes.flatMap(({ noun, fields }) => fields.map(({ field, from, to }) => [noun, field, from, to]));

test('the example is exported without additional fields', async () => {
  await run(runtime.deps, ['apply', 'test/support/acme.yaml']);
  const expected = await readFile(new URL('../support/acme-exported.yaml', import.meta.url), 'utf8');
  expect((await run(runtime.deps, ['export', 'acme'])).out).toBe(expected);
});

test('fields are exported in the order of the documentation', async () => {
  await apply(everything('order'));
  const text = JSON.stringify(await exported('order'));
  expect(text).toContain(JSON.stringify(everything('order').projects![0]!.layouts));
  const [written] = everything('order').projects![0]!.applications![0]!.events![0]!.notifications!;
  expect(text).toContain(JSON.stringify(written!.message));
  expect(text).toMatch(
    /"slug":"order","name":"Everything","retention_days":365,.*"quiet_hours":{"from":.*"to":.*"channels":.*"layouts":.*"users":/,
  );
  expect(text).toContain(
    '"enabled":false,"on_unknown":"hold","rate_per_second":14,"concurrency":3,"retry":{"for":"4h"},"providers"',
  );
});

describe('a field that is removed from the file', () => {
  test('gets its default in a channel or message, and is unchanged in an organization or user', async () => {
    await apply(everything('fewer'));
    const fewer = everything('fewer');
    delete fewer.retention_days;
    delete fewer.users![0]!.locale;
    const { on_unknown: _, rate_per_second: __, concurrency: ___, retry: ____, ...channel } = fewer.channels![0]!;
    fewer.channels = [channel];
    const [notification] = fewer.projects![0]!.applications![0]!.events![0]!.notifications!;
    notification!.message = { subject: 'S', body: 'B\nC', strict: false, locales: {} };
    expect(fieldsOf(await apply(fewer))).toEqual([
      ['channel', 'on_unknown', 'hold', 'resend'],
      ['channel', 'rate_per_second', 14, null],
      ['channel', 'concurrency', 3, null],
      ['channel', 'retry', { for: '4h' }, null],
      ['notification', 'message.avatar', expect.any(String), null],
      ['notification', 'message.layout', 'Plain / bare', null],
      ['notification', 'message.strict', true, null],
      ['notification', 'message.actions', expect.anything(), null],
      ['notification', 'message.locales', expect.anything(), null],
      ['notification', 'message.attachments', expect.anything(), null],
    ]);
    const after = await exported('fewer');
    expect(after).toMatchObject({ retention_days: 365, users: [{ locale: 'pt-BR' }] });
    expect(after.channels![0]).not.toHaveProperty('rate_per_second');
    const message = after.projects![0]!.applications![0]!.events![0]!.notifications![0]!.message;
    expect(message).toEqual({ subject: 'S', body: 'B\nC' });
  });

  test('and set to an empty locale removes the locale of a user', async () => {
    await apply({ slug: 'speechless', name: 'S', users: [{ email: 'a@b.test', locale: 'pt-br' }] });
    const stored = () => runSql(runtime.url, `select locale from users where username = 'a@b.test'`);
    expect(await stored()).toEqual([{ locale: 'pt-BR' }]);
    expect(await apply({ slug: 'speechless', name: 'S', users: [{ email: 'a@b.test', locale: 'PT-BR' }] })).toEqual([]);
    const changes = await apply({ slug: 'speechless', name: 'S', users: [{ email: 'a@b.test', locale: '' }] });
    expect(fieldsOf(changes)).toEqual([['user', 'locale', 'pt-BR', '']]);
    expect(await stored()).toEqual([{ locale: null }]);
  });

  test('and added again is reported as a change', async () => {
    await apply({ slug: 'kept', name: 'K' });
    expect(await exported('kept')).not.toHaveProperty('retention_days');
    expect(fieldsOf(await apply({ slug: 'kept', name: 'K', retention_days: 30 }))).toEqual([
      ['organization', 'retention_days', 90, 30],
    ]);
    expect((await exported('kept')).retention_days).toBe(30);
    expect(await apply({ slug: 'kept', name: 'K' })).toEqual([]);
  });

  test('is deleted only by pruning, and not while it is used, if it is a layout', async () => {
    await apply(everything('bare'));
    const bare = { ...everything('bare'), layouts: [] };
    expect(await apply(bare)).toEqual([]);
    expect((await apply(bare, true)).map(({ action, noun, path }) => `${action} ${noun} ${path}`)).toEqual([
      'delete layout bare/Default',
    ]);
    const project = { slug: 'shop', name: 'Shop', layouts: [] };
    await expect(apply({ slug: 'bare', name: 'Everything', projects: [project] }, true)).rejects.toMatchObject({
      details: {
        fields: {
          'organizations/0/projects/0/layouts': [
            'removes layout Plain / bare, which bare/shop/web/paid/everyone still uses',
          ],
        },
      },
    });
  });
});

test('a layout that is not in the file must be a stored one', async () => {
  await apply(everything('borrowed'));
  const { layouts: _, ...rest } = everything('borrowed');
  delete rest.projects![0]!.layouts;
  expect(await apply(rest, true)).toEqual([]);
  const [notification] = rest.projects![0]!.applications![0]!.events![0]!.notifications!;
  notification!.message.layout = 'Fancy';
  await expect(apply(rest)).rejects.toMatchObject({
    details: {
      fields: {
        'organizations/0/projects/0/applications/0/events/0/notifications/0/message/layout': [
          'there is no layout "Fancy" (use one of Default, Plain / bare)',
        ],
      },
    },
  });
});

test('a layout is updated in place, even the letter case of its name', async () => {
  const layout = (name: string, body: string): OrganizationDocument => ({
    slug: 'inplace',
    name: 'I',
    layouts: [{ name, body }],
  });
  await apply(layout('news', '1{{ content }}'));
  const ids = () => runSql(runtime.url, `select id from layouts where name_key = 'news'`);
  const before = await ids();
  expect(fieldsOf(await apply(layout('News', '2{{ content }}'), true))).toEqual([
    ['layout', 'name', 'news', 'News'],
    ['layout', 'body', '1{{ content }}', '2{{ content }}'],
  ]);
  expect(await ids()).toEqual(before);
  const plan = { organizations: [layout('NEWS', '2{{ content }}')] };
  expect(fieldsOf(await planConfiguration(runtime.deps, plan, { prune: true }))).toEqual([
    ['layout', 'name', 'News', 'NEWS'],
  ]);
});

/** Returns an organization with one event that sends mail to all users. */
function mailing(slug: string, message: NotificationEntry['message'], more: Partial<NotificationEntry> = {}) {
  const organization: OrganizationDocument = {
    slug,
    name: 'M',
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] }],
    users: [
      { email: 'a-joao@m.test', locale: 'pt-BR' },
      { email: 'b-jane@m.test' },
      { email: 'c-ana@m.test', locale: 'pt' },
    ],
    projects: [
      {
        slug: 'p',
        name: 'P',
        applications: [
          {
            slug: 'a',
            name: 'A',
            events: [
              {
                slug: 'e',
                name: 'E',
                notifications: [{ name: 'n', recipients: { users: '`true`' }, channels: ['mail'], message, ...more }],
              },
            ],
          },
        ],
      },
    ],
  };
  return organization;
}

async function written(deps: Deps, org: string) {
  const place = (await deps.tenantCache.resolvePath({ org, prj: 'p', app: 'a', evt: 'e' })) as Required<ResolvedPath>;
  return (await simulate(deps, place, { context: {} }, 'all')).deliveries;
}

const htmlOf = async (slug: string, deps = runtime.deps) => (await written(deps, slug))[0]!.message?.html;

describe('a recipient gets', () => {
  test('their own language, preferably from the override of the channel', async () => {
    const message = {
      subject: 'Hello',
      body: 'Bye',
      locales: { 'PT-br': { subject: 'Oi' }, pt: { subject: 'Olá', body: 'Adeus' } },
    };
    await apply(mailing('languages', message, { overrides: { mail: { locales: { pt: { body: 'Tchau' } } } } }));
    const read = (await written(runtime.deps, 'languages')).map(({ message }) => [message?.title, message?.text]);
    expect(read).toEqual([
      ['Oi', 'Tchau'],
      ['Hello', 'Bye'],
      ['Olá', 'Tchau'],
    ]);
  });

  test('Hebrew, whether the file and the user name it he or iw, its code before 1989', async () => {
    const organization = mailing(
      'renamed',
      { subject: 'Hi', body: 'Hello', locales: { iw: { body: 'Shalom' } } },
      { overrides: { mail: { locales: { iw: { subject: 'Hey' } } } } },
    );
    organization.users = [
      { email: 'a@m.test', locale: 'iw' },
      { email: 'b@m.test', locale: 'he-IL' },
    ];
    await apply(organization);
    const read = (await written(runtime.deps, 'renamed')).map(({ message }) => [message?.title, message?.text]);
    expect(read).toEqual([
      ['Hey', 'Shalom'],
      ['Hey', 'Shalom'],
    ]);
    expect((await exported('renamed')).users![0]!.locale).toBe('he');
    expect(await apply(organization, true)).toEqual([]);
  });

  test('nothing at all, if the message is strict and a variable is missing', async () => {
    await apply(mailing('lenient', { body: 'Order {{ order }}' }));
    expect((await written(runtime.deps, 'lenient'))[0]!.message?.missing).toEqual(['order']);
    await apply(mailing('lenient', { body: 'Order {{ order }}', strict: true }));
    expect((await written(runtime.deps, 'lenient'))[0]!.problem).toBe('the context lacks order');
  });

  test("the named layout, the project's before the organization's, otherwise the default or built-in one", async () => {
    const own = (tag: string) => `<${tag}>{{ content }}</${tag}>`;
    const organization = mailing('dressed', { body: 'Hi', layout: 'Festive' });
    const [project] = organization.projects!;
    organization.layouts = [
      { name: 'default', body: own('i') },
      { name: 'festive', body: own('b') },
    ];
    await apply(organization);
    expect(await htmlOf('dressed')).toMatch(/^<b><p.*Hi.*<\/b>$/s);

    project!.layouts = [{ name: 'FESTIVE', body: own('u') }];
    await apply(organization);
    expect(await htmlOf('dressed')).toMatch(/^<u>/);

    const [notification] = project!.applications![0]!.events![0]!.notifications!;
    notification!.message = { body: 'Hi' };
    await apply(organization);
    expect(await htmlOf('dressed')).toMatch(/^<i>/);

    project!.layouts = [{ name: 'Default', body: own('s') }];
    await apply(organization, true);
    expect(await htmlOf('dressed')).toMatch(/^<s>/);

    organization.layouts = [];
    project!.layouts = [];
    await apply(organization, true);
    expect(await htmlOf('dressed')).toMatch(/^<!doctype html>/i);
  });

  test('an older message version in the current layout, or in the default if its own was deleted', async () => {
    const organization = mailing('older', { body: 'Old', layout: 'gone' });
    organization.layouts = [
      { name: 'gone', body: '1{{ content }}' },
      { name: 'default', body: '2{{ content }}' },
    ];
    await apply(organization);
    organization.projects![0]!.applications![0]!.events![0]!.notifications![0]!.message = { body: 'New' };
    organization.layouts.shift();
    await apply(organization, true);
    const [row] = await runSql<{ organization_id: string; notification_id: string }>(
      runtime.url,
      `select m.organization_id, m.notification_id from messages m join organizations o on o.id = m.organization_id
       where o.slug = 'older' and version = 1`,
    );
    const find = (version: number) =>
      runtime.deps.plans.findMessage(Number(row!.organization_id), Number(row!.notification_id), version);
    const first = (await find(1))!;
    expect(first.layout).toBe('gone');
    const options = { medium: 'email', channel: 'mail', layout: first.compiledLayout, scope: {} };
    expect(renderMessage(first, options).html).toMatch(/^2.*Old/s);
  });
});

test('a process that has cached a layout is notified of its change', async () => {
  const service = await testService({ BELFRY_ROLE: 'api' });
  try {
    const { deps } = service.runtime;
    const organization = mailing('heard', { body: 'Hi' });
    organization.layouts = [{ name: 'default', body: '1{{ content }}' }];
    await apply(organization, false, deps);
    await eventually(async () => expect(await htmlOf('heard', deps)).toMatch(/^1/));
    organization.layouts = [{ name: 'default', body: '2{{ content }}' }];
    await apply(organization, false, deps);
    await eventually(async () => expect(await htmlOf('heard', deps)).toMatch(/^2/), 5_000);
    organization.layouts = [];
    await apply(organization, true, deps);
    await eventually(async () => expect(await htmlOf('heard', deps)).toMatch(/^<!doctype/i), 5_000);
  } finally {
    await service.stop();
  }
});
