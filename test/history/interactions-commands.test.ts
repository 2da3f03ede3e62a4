/** The chat command /oncall: who may ask and page, and what is answered in the service's own form. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatServices, chatChannels, command, openChatServices, type Posted } from '../support/chat-services.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';
import {
  ann as annInTeams,
  bot,
  openTeams,
  post as postTeams,
  settingsFor,
  type TeamsService,
} from '../support/teams.ts';

let world: EngineWorld;
let chats: ChatServices;
let teams: TeamsService;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: 'https://belfry.test' });
  chats = await openChatServices();
  teams = await openTeams();
  teams.direct.set(annInTeams.aad, 'a:ann');
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await chats.close();
  await teams.close();
});

const ann = {
  email: 'ann@x.test',
  first_name: 'Ann',
  last_name: 'Lee',
  addresses: [
    { name: 'slack', value: 'U0ANN' },
    { name: 'telegram', value: '4711' },
    { name: 'discord', value: '80351110224678912' },
    { name: 'teams', value: annInTeams.aad },
  ],
};
const bob = { email: 'bob@x.test', addresses: [{ name: 'slack', value: 'U0BOB' }] };
const layer = { name: 'always', every: '1d', from: '2026-01-01T00:00', users: ['bob@x.test'] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer], page: 'web/go' };
const secondary = { ...primary, slug: 'secondary', name: 'Secondary', layers: [{ ...layer, users: ['ann@x.test'] }] };
const listed = 'Primary (shop/primary): bob@x.test\nSecondary (shop/secondary): Ann Lee';

type ChannelName = 'slack' | 'telegram' | 'discord' | 'teams';

async function tenantWith(name: ChannelName, { settings = {}, ...more }: { settings?: object } & TenantInput = {}) {
  const teamsChannel = {
    ...{ slug: 'teams', name: 'teams', type: 'teams' },
    providers: [{ use: 'teams', ...settingsFor(teams.peer.url) }],
  };
  const channel = name === 'teams' ? teamsChannel : chatChannels(chats.peer.url)[name];
  const providers = channel.providers.map(one => ({ ...one, ...settings }));
  const message = { subject: '{{ title }}', body: '{{ message }}' };
  return world.tenant({
    users: [ann, bob],
    schedules: [primary, secondary],
    channels: [{ ...channel, providers }, { slug: 'hooks' }],
    notifications: [{ recipients: { schedule: 'primary' }, channels: ['hooks'], message }],
    ...more,
  });
}

async function post(tenant: Tenant, channel: string, { body, headers }: Posted) {
  const shown = await tenant.ask({ path: `/api/o/${tenant.slug}/c/${channel}/` });
  const { pathname } = new URL(shown.body.interactions[0].url);
  const response = await fetch(`${world.service.address}${pathname}`, { method: 'POST', body, headers });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const occurrences = async (tenant: Tenant) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/` })).body as { identifier: string }[];

describe('in Slack', () => {
  const say = async (tenant: Tenant, text: string, user = 'U0ANN', more = {}) => {
    const answer = await post(tenant, 'slack', command.slack(text, user, more));
    expect(answer).toMatchObject({ status: 200, body: { response_type: 'ephemeral' } });
    return answer.body.text as string;
  };

  test('the command says who is on call, to people whom Belfry knows', async () => {
    const tenant = await tenantWith('slack');
    expect(await say(tenant, '')).toBe(listed);
    expect(await say(tenant, ' Secondary ')).toBe('Secondary (shop/secondary): Ann Lee');
    expect(await say(tenant, 'shop/none')).toMatch(/^There is no schedule shop\/none\. \/oncall says who is on call/);
    expect(await say(tenant, 'page')).toMatch(/^\/oncall says who is on call/);
    expect(await say(tenant, '', 'U0EVE')).toMatch(/does not recognize you.*slack U0EVE$/);
  });

  test('a page reaches the users on call once, however often Slack delivers it, and says who pages', async () => {
    const tenant = await tenantWith('slack');
    const text = 'page primary Disk full & <b>hot</b>';
    expect(await say(tenant, text, 'U0ANN', { id: '13345224609.738474920' })).toMatch(
      /^Paged\. Primary \(shop\/primary\): bob/,
    );
    expect(await say(tenant, text, 'U0ANN', { id: '13345224609.738474920' })).toMatch(/^Paged\./);
    const all = await occurrences(tenant);
    expect(all).toHaveLength(1);
    expect(await tenant.outcomes(all[0]!.identifier)).toEqual(['bob@x.test sent']);
    expect(await tenant.occurrence(all[0]!.identifier)).toMatchObject({
      context: { title: 'Disk full & <b>hot</b>', paged_by: 'ann@x.test in Slack', schedule: 'primary' },
      options: { priority: 'urgent' },
    });
    const { body: audit } = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?action=page` });
    expect(audit).toMatchObject([{ path: 'shop/primary', after: { by: 'ann@x.test in Slack' } }]);
  });

  test('a page of a person reaches only this person, by mention or by email', async () => {
    const tenant = await tenantWith('slack');
    for (const who of ['<@U0ANN|ann>', '@ann@x.test']) {
      expect(await say(tenant, `page ${who} Call me`, 'U0BOB')).toBe('ann@x.test is paged.');
      const { identifier } = (await occurrences(tenant))[0]!;
      expect(await tenant.outcomes(identifier)).toEqual(['ann@x.test sent']);
    }
    expect(await say(tenant, 'page @eve Call me')).toMatch(/^Belfry knows no one by @eve, so no one was paged/);
    expect(await occurrences(tenant)).toHaveLength(2);
  });

  test('someone whom Belfry does not know pages no one, even if anyone may act', async () => {
    const tenant = await tenantWith('slack', { settings: { anyone_may_act: true } });
    expect(await say(tenant, '', 'U0EVE')).toBe(listed);
    expect(await say(tenant, 'page primary Fire', 'U0EVE')).toMatch(/does not recognize you/);
    expect(await occurrences(tenant)).toEqual([]);
  });

  test('a schedule that cannot be paged, and a text that is too long, are answered and page no one', async () => {
    const tenant = await tenantWith('slack');
    expect(await say(tenant, 'page secondary Fire')).toMatch(
      /^This could not be done: no active notification of the event web\/go goes to the schedule secondary$/,
    );
    expect(await say(tenant, `page primary ${'x'.repeat(2_001)}`)).toMatch(/^The text is too long/);
    expect(await occurrences(tenant)).toEqual([]);
  });

  test('a page while no one is on call says so', async () => {
    const layers = [{ ...layer, until: '2026-01-02T00:00' }];
    const tenant = await tenantWith('slack', { schedules: [{ ...primary, layers }] });
    expect(await say(tenant, 'page primary Fire')).toMatch(/^No one is on call, and there is no fallback list/);
  });

  test('a forged or late command is refused', async () => {
    const tenant = await tenantWith('slack');
    for (const more of [{ secret: 'guessed' }, { at: Date.now() - 301_000 }]) {
      const { status } = await post(tenant, 'slack', command.slack('page primary Fire', 'U0ANN', more));
      expect(status).toBe(401);
    }
    expect(await occurrences(tenant)).toEqual([]);
  });

  test('a channel of a project answers about its schedules only', async () => {
    const tenant = await tenantWith('slack');
    const other = `/api/o/${tenant.slug}/p/`;
    await tenant.post(other, { slug: 'other', name: 'Other' });
    const { page: _, ...plain } = primary;
    const made = await tenant.post(`${other}other/schedules/`, plain);
    expect(made.status, made.text).toBe(201);
    expect(await say(tenant, 'page primary Fire')).toMatch(/write one of shop\/primary, other\/primary$/);
    const channel = await tenant.post(`${other}other/c/`, chatChannels(chats.peer.url).slack);
    expect(channel.status, channel.text).toBe(201);
    const shown = await tenant.ask({ path: `${other}other/c/slack/` });
    const { pathname } = new URL(shown.body.interactions[0].url);
    const answer = await fetch(world.service.address + pathname, { method: 'POST', ...command.slack('', 'U0ANN') });
    expect(await answer.json()).toMatchObject({ text: 'Primary (other/primary): bob@x.test' });
  });
});

describe('in Telegram', () => {
  test('a message that begins with the command is answered in its chat, and pages once', async () => {
    const tenant = await tenantWith('telegram');
    const answer = await post(tenant, 'telegram', command.telegram('/oncall@belfry_bot', 4711));
    expect(answer.body).toMatchObject({
      method: 'sendMessage',
      chat_id: '-100123',
      text: listed,
      reply_parameters: { message_id: 7 },
    });
    const page = command.telegram('/oncall page primary Disk full', 4711, { id: 99 });
    for (let i = 0; i < 2; i++) expect((await post(tenant, 'telegram', page)).body.text).toMatch(/^Paged\. Primary/);
    expect(await occurrences(tenant)).toHaveLength(1);
  });

  test('what was delivered late, was forwarded, or is no command pages no one', async () => {
    const tenant = await tenantWith('telegram');
    const text = '/oncall page primary Fire';
    const late = command.telegram(text, 4711, { at: Date.now() - 301_000 });
    expect((await post(tenant, 'telegram', late)).body.text).toMatch(/^This arrived more than five minutes late/);
    const ignored = [
      command.telegram(text, 4711, { more: { forward_origin: { type: 'user' } } }),
      command.telegram(text, 4711, { more: { sender_chat: { id: -100_123 } } }),
      command.telegram('/oncalls page primary Fire', 4711),
      command.telegram('hello', 4711),
    ];
    for (const one of ignored) expect(await post(tenant, 'telegram', one)).toEqual({ status: 200, body: undefined });
    const forged = await post(tenant, 'telegram', command.telegram(text, 4711, { secret: 'guessed' }));
    expect(forged.status).toBe(401);
    expect(await occurrences(tenant)).toEqual([]);
  });
});

test('Discord is answered so that only the person sees it, and a mention pages this person', async () => {
  const tenant = await tenantWith('discord');
  const me = '80351110224678912';
  const answer = await post(tenant, 'discord', command.discord(undefined, me));
  expect(answer.body).toEqual({
    type: 4,
    data: { content: listed, flags: 64, allowed_mentions: { parse: [] } },
  });
  const paged = await post(tenant, 'discord', command.discord(`page <@${me}> Call me`, me));
  expect(paged.body.data.content).toBe('ann@x.test is paged.');
  const unknown = await post(tenant, 'discord', command.discord('page primary Fire', '1'));
  expect(unknown.body.data.content).toMatch(/does not recognize you/);
  expect((await post(tenant, 'discord', command.discord('', me, { at: Date.now() - 301_000 }))).status).toBe(401);
  expect(await occurrences(tenant)).toHaveLength(1);
});

test('Teams is answered in the conversation, with and without a mention of the bot', async () => {
  const tenant = await tenantWith('teams');
  const recipient = { id: `28:${bot.app_id}`, name: 'Belfry' };
  const write = async (text: string, more: object = {}) => {
    teams.texts.length = 0;
    const activity = { type: 'message', text, recipient, ...more };
    const { status } = await post(tenant, 'teams', await postTeams(activity, { url: teams.peer.url }));
    expect(status).toBe(200);
    return teams.texts.map(one => one.text);
  };
  expect(await write('oncall')).toEqual([listed]);
  const mentions = [
    { type: 'mention', mentioned: { id: recipient.id, name: 'Belfry' }, text: '<at>Belfry</at>' },
    { type: 'mention', mentioned: { id: '29:bob', name: 'Bob' }, text: '<at>Bob</at>' },
  ];
  expect(await write('<at>Belfry</at> /oncall page <at>Bob</at> Call me', { entities: mentions })).toEqual([
    expect.stringMatching(/^Belfry knows no one by <@29:bob>/),
  ]);
  const timestamp = new Date(Date.now() - 301_000).toISOString();
  expect(await write('oncall page primary Fire', { timestamp })).toEqual([
    expect.stringMatching(/more than five minutes late/),
  ]);
  expect(await occurrences(tenant)).toEqual([]);
  const once = { id: 'f:17', timestamp: new Date().toISOString() };
  for (let i = 0; i < 2; i++) {
    expect(await write('oncall page primary Fire', once)).toEqual([expect.stringMatching(/^Paged\. Primary/)]);
  }
  expect(await occurrences(tenant)).toHaveLength(1);
});
