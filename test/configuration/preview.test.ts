/** Previews of drafts: rendered as recipients would see them, with mistakes; nothing is stored. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Service } from '../../src/app.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';

let service: Service;
let ask: Ask;

const sandbox = { providers: [{ use: 'sandbox' }] };
const organization = {
  slug: 'acme',
  name: 'Acme',
  channels: [
    { slug: 'mail', name: 'Mail', type: 'email', ...sandbox },
    { slug: 'texts', name: 'Texts', type: 'sms', ...sandbox },
    { slug: 'more-texts', name: 'More texts', type: 'sms', ...sandbox },
    { slug: 'team', name: 'Team', type: 'slack', ...sandbox },
  ],
  layouts: [{ name: 'Fancy', body: '<h1>Fancy</h1>{{ content }}' }],
  users: [
    { email: 'jane@acme.test', first_name: 'Jane', locale: 'de', custom_fields: { tier: 'gold' } },
    { email: 'joe@acme.test', first_name: 'Joe', custom_fields: { tier: 'lead' } },
    { email: 'locked@acme.test', locked: true, custom_fields: { tier: 'lead' } },
  ],
  projects: [
    {
      slug: 'shop',
      name: 'Shop',
      distribution_lists: [{ name: 'On call', members: ['locked@acme.test', 'joe@acme.test'] }],
      applications: [
        {
          slug: 'web',
          name: 'Web',
          events: [
            {
              slug: 'paid',
              name: 'Paid',
              notifications: [
                { name: 'n', recipients: { trigger: true }, channels: ['texts'], message: { body: 'x' } },
              ],
            },
          ],
        },
      ],
    },
    { slug: 'empty', name: 'Empty' },
  ],
};
const path = '/api/o/acme/p/shop/a/web/e/paid/preview/';

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  const { deps } = service.runtime;
  await applyConfiguration(deps, { organizations: [organization] }, { prune: false });
  ask = asker(service.address, (await createKey(deps, 'acme', { name: 'all', permissions: ['*'] })).key);
});
afterAll(() => service.stop());

const preview = async (body: object) => {
  const answer = await ask({ method: 'POST', path, body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

test('warns that an acknowledge link is empty without BASE_URL', async () => {
  const message = { body: '[Acknowledge]({{ acknowledge_url }})' };
  expect((await preview({ message })).warnings).toEqual([
    '{{ acknowledge_url }} is empty, because the service does not know its public address: ask the operator to set BASE_URL',
  ]);
  expect((await preview({ message: { body: 'No link' } })).warnings).toEqual([]);
  expect((await preview({ message, context: { acknowledge_url: 'https://x.test' } })).warnings).toEqual([]);
});

test('warns that an acknowledge link leads to this machine only without BASE_URL', async () => {
  const { plans } = service.runtime.deps;
  const link = vi.spyOn(plans, 'acknowledgeUrlFor');
  const warningsAt = async (url: string) => {
    link.mockReturnValue(`${url}/acknowledge/x`);
    return (await preview({ message: { body: '[Acknowledge]({{ acknowledge_url }})' } })).warnings;
  };
  const local =
    '{{ acknowledge_url }} leads to this machine only, because BASE_URL is not set: ask the operator to set it';
  for (const url of ['http://127.0.0.1:8000', 'http://localhost:8000', 'http://[::1]:8000'])
    expect(await warningsAt(url)).toEqual([local]);
  expect(await warningsAt('http://127.example.com')).toEqual([]);
  link.mockRestore();
});

describe('the channels', () => {
  test('are those of the event, and one of each other type', async () => {
    const { previews, errors } = await preview({ message: { body: 'Hello' } });
    expect(errors).toEqual([]);
    expect(previews.map((one: { channel: string }) => one.channel)).toEqual(['texts', 'mail', 'team']);
  });

  test('are the requested ones by slug or type, even if there is no such channel', async () => {
    const { previews, errors } = await preview({ message: { body: 'Hello' }, channels: ['sms', 'teams', 'pigeon'] });
    expect(previews.map((one: { channel: string; type: string }) => [one.channel, one.type])).toEqual([
      ['texts', 'sms'],
      ['more-texts', 'sms'],
      ['teams', 'teams'],
    ]);
    expect(errors).toEqual([{ field: 'channels/2', line: null, column: null, message: expect.any(String) }]);
  });
});

describe('the content', () => {
  const message = { subject: 'Order {{ order }}', body: 'Dear {{ user.first_name }}: {{ total }}{{ colour }}' };

  test('is rendered for each medium, with the missing variables', async () => {
    const { previews, user } = await preview({
      message,
      overrides: { sms: { body: 'Short: {{ order }}' } },
      context: { order: 'A-1' },
      extra_context: { colour: 'red' },
      channels: ['mail', 'texts'],
    });
    expect(user).toBe('jane@acme.test');
    const [mail, texts] = previews;
    expect(mail).toMatchObject({ missing: ['total'], problem: null, content: { title: 'Order A-1' } });
    expect(mail.content.text).toBe('Dear Jane: red');
    expect(mail.content.html).toContain('Dear Jane');
    expect(texts.content).toMatchObject({ text: 'Short: A-1', segments: 1 });
  });

  test('is rendered for the named user, in their language', async () => {
    const german = { ...message, locales: { de: { body: 'Hallo {{ user.first_name }}' } } };
    const text = async (user?: string) =>
      (await preview({ message: german, user, channels: ['texts'] })).previews[0].content.text;
    expect(await text()).toBe('Hallo Jane');
    expect(await text('JOE@acme.test')).toBe('Dear Joe:');
    // A requested locale overrides the user's own.
    const spoken = await preview({ message: german, user: 'joe@acme.test', locale: 'de-AT', channels: ['texts'] });
    expect(spoken.previews[0].content.text).toBe('Hallo Joe');
    expectProblem(await ask({ method: 'POST', path, body: { message, user: 'nobody@acme.test' } }), 400, undefined, [
      'user',
    ]);
  });

  test('is rendered for a recipient of the draft by default, if possible one who is notified', async () => {
    const userOf = async (draft: object) => (await preview({ message, ...draft })).user;
    expect(await userOf({ list: 'On call' })).toBe('joe@acme.test');
    expect(await userOf({ list: 'no such list' })).toBe('jane@acme.test');
    expect(await userOf({ users: "custom_fields.tier == 'lead'" })).toBe('joe@acme.test');
    const steps = [{ channels: ['mail'] }, { channels: ['texts'], recipients: { list: 'On call' } }];
    expect(await userOf({ steps })).toBe('joe@acme.test');
    const { timeline } = await preview({ message, list: 'On call', steps });
    expect(timeline).toMatchObject([{ skip_reason: null }, { skip_reason: null }]);
  });

  test('uses the named layout, or a draft layout', async () => {
    const html = async (body: object) => (await preview({ channels: ['mail'], ...body })).previews[0].content.html;
    expect(await html({ message: { ...message, layout: 'fancy' } })).toContain('<h1>Fancy</h1>');
    expect(await html({ message, layout: '<h2>Draft</h2>{{ content }}' })).toContain('<h2>Draft</h2>');
    const { errors } = await preview({ message: { ...message, layout: 'Plain' } });
    expect(errors).toEqual([expect.objectContaining({ field: 'message/layout', line: null })]);
  });

  test('is null with a problem if rendering fails', async () => {
    const { previews } = await preview({ message: { ...message, strict: true }, channels: ['mail'] });
    expect(previews).toEqual([
      expect.objectContaining({ content: null, problem: expect.stringContaining('the context lacks') }),
    ]);
  });
});

test('mistakes are reported by field, line and column, and block only the preview of their own channels', async () => {
  const { errors, previews } = await preview({
    message: { body: 'Fine' },
    overrides: { sms: { body: 'One\n {{ two' }, slack: { subject: '{% nope %}' }, fax: { body: 'x' } },
    layout: 'no place for it',
  });
  expect(errors).toEqual([
    { field: 'overrides/sms/body', line: 2, column: 2, message: expect.any(String) },
    { field: 'overrides/slack/subject', line: 1, column: 1, message: 'there is no tag "nope"' },
    { field: 'layout', line: 1, column: 1, message: expect.stringContaining('{{ content }}') },
    { field: 'overrides/fax', line: null, column: null, message: expect.any(String) },
  ]);
  const problems = Object.fromEntries(previews.map((one: { channel: string; problem: string }) => [one.channel, one]));
  expect(problems.texts.problem).toContain('overrides/sms/body, line 2');
  expect(problems.team.problem).toContain('overrides/slack/subject');
  expect(problems.mail.problem).toContain('layout, line 1');
  const { previews: others } = await preview({
    message: { body: 'Fine' },
    overrides: { sms: { body: '{{' } },
    channels: ['mail'],
  });
  expect(others[0].content.text).toBe('Fine');
});

describe('expressions', () => {
  const message = { body: 'x' };

  test('a filter shows its value on the context, and whether it matches', async () => {
    const filter = async (text: string) => (await preview({ message, filter: text, context: { n: 5 } })).filter;
    expect(await filter('n > `3`')).toEqual({ value: true, matches: true });
    expect(await filter('n')).toEqual({ value: 5, matches: false });
    expect(await filter('m')).toEqual({ value: null, matches: false });
    expect(await filter('length(n)')).toEqual({ error: expect.any(String) });
    expect(await filter('n >')).toEqual({ error: expect.stringContaining('yntax') });
    expect(await filter('')).toBeNull();
  });

  test('an expression over users shows how many match', async () => {
    const users = async (text: string) => (await preview({ message, users: text })).users;
    expect(await users("custom_fields.tier == 'gold'")).toEqual({ matches: 1, of: 3 });
    expect(await users('length(custom_fields.nothing) > `1`')).toEqual({ matches: 0, of: 3 });
    expect(await users('a[')).toEqual({ error: expect.any(String) });
  });
});

test('a caller without user:read sees no real users', async () => {
  const { deps } = service.runtime;
  const { key } = await createKey(deps, 'acme', { name: 'words', permissions: ['template:read'] });
  const body = {
    message: { body: '{{ user.first_name }} {{ user.email }}' },
    users: 'length(email) > `0`',
    channels: ['mail'],
  };
  const answer = await ask({ method: 'POST', path, body, key });
  expect(answer.body).toMatchObject({ user: 'ada@example.test', users: null });
  expect(answer.text).not.toContain('acme.test');
  expectProblem(await ask({ method: 'POST', path, body: { ...body, user: 'jane@acme.test' }, key }), 403);
});
