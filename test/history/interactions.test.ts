/** Buttons in chats and replies to text messages: who may act, and what happens. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { acknowledgeTextsIn } from '../../src/core/message/acknowledge-texts.ts';
import {
  type ChatServices,
  chatChannels,
  openChatServices,
  type Posted,
  press,
  secrets,
} from '../support/chat-services.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

const origin = 'https://belfry.test';
let world: EngineWorld;
let chats: ChatServices;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: origin });
  chats = await openChatServices();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await chats.close();
});
beforeEach(() => {
  chats.messages.length = 0;
  chats.changed.length = 0;
  chats.slackNotes.length = 0;
});

const ann = {
  email: 'ann@x.test',
  addresses: [
    { name: 'slack', value: 'U0ANN' },
    { name: 'telegram', value: '4711' },
    { name: 'discord', value: '80351110224678912' },
    { name: 'chat', value: 'a'.repeat(26) },
    { name: 'sms', value: '+15555550123' },
    { name: 'voice', value: '+15555550123' },
  ],
};
/** Not to be recognized in Slack: one address is of another type, and a locked user may not act. */
const others = [
  { email: 'eve@x.test', addresses: [{ name: 'teams', value: 'U0EVE' }] },
  { email: 'max@x.test', locked: true, addresses: [{ name: 'slack', value: 'U0MAX' }] },
];
type ChannelName = keyof ReturnType<typeof chatChannels>;

/** A tenant whose first step goes through these channels; the second one comes after an hour. */
async function tenantWith(names: ChannelName[], { settings = {}, ...more }: { settings?: object } & TenantInput = {}) {
  const all = chatChannels(chats.peer.url);
  const channels = names.map(name => ({
    ...all[name],
    providers: all[name].providers.map(one => ({ ...one, ...settings })),
  }));
  const steps = [{ channels: names }, { after: '1h', unless: 'acknowledged', channels: names }];
  const message = { subject: 'Fire', body: 'In the cellar' };
  const people = { users: [ann, ...others], members: [ann.email] };
  return world.tenant({ ...people, channels, notifications: [{ steps, message }], ...more });
}

async function start(tenant: Tenant, count: number): Promise<string> {
  const id = await tenant.trigger();
  await eventually(async () => expect(chats.messages).toHaveLength(count), 8_000);
  await tenant.until(id, 'sent');
  return id;
}

const urlOf = async (tenant: Tenant, channel: string): Promise<string> => {
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/c/${channel}/` });
  return body.interactions[0].url;
};

/** Posts to an address of `origin`, which a proxy would forward. */
async function post(url: string, { body, headers }: Posted) {
  const { pathname } = new URL(url);
  const response = await fetch(`${world.service.address}${pathname}`, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text() };
}

const tokenOf = (service: string, label: string) =>
  chats.messages.find(one => one.service === service)!.buttons.find(one => one.label === label)!.token!;

const stepsOf = async (tenant: Tenant, id: string) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/steps/` })).body;

async function makeStepsDue(tenant: Tenant): Promise<void> {
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
}

test('an escalation to Slack, Telegram and voice ends with a button, and forged presses change nothing', async () => {
  const tenant = await tenantWith(['slack', 'telegram', 'voice']);
  const id = await start(tenant, 3);
  expect(chats.messages.find(one => one.service === 'slack')).toMatchObject({
    to: 'U0ANN',
    text: '*Fire*\n\nIn the cellar',
    buttons: [{ label: 'Acknowledge' }, { label: 'Resolve' }, { label: 'Snooze 1 h' }],
  });
  expect(chats.messages.find(one => one.service === 'voice')!.text).toContain('Press 1 to acknowledge.');
  const [slack, telegram] = [await urlOf(tenant, 'slack'), await urlOf(tenant, 'telegram')];
  expect(slack).toMatch(/^https:\/\/belfry\.test\/interactions\/[0-9a-f]{64}\/slack\/$/);
  const token = tokenOf('slack', 'Acknowledge');
  const { url } = chats.peer;

  const forged = [
    post(slack, press.slack(token, 'U0ANN', { url, secret: 'guessed' })),
    post(slack, press.slack(token, 'U0ANN', { url, at: Date.now() - 301_000 })),
    post(telegram, press.telegram(tokenOf('telegram', 'Acknowledge'), 4711, 'guessed')),
  ];
  expect((await Promise.all(forged)).map(({ status }) => status)).toEqual([401, 401, 401]);
  // A button with a key that is no longer valid, and one of another channel.
  for (const stale of [`${token.slice(0, -1)}!`, tokenOf('telegram', 'Acknowledge')]) {
    expect(await post(slack, press.slack(stale, 'U0ANN', { url }))).toEqual({ status: 200, text: '' });
    expect(chats.slackNotes.pop()).toBe('This button no longer works. Nothing was changed.');
  }
  expect(JSON.parse((await post(telegram, press.telegram(token, 4711))).text)).toMatchObject({
    method: 'answerCallbackQuery',
    text: 'This button no longer works. Nothing was changed.',
    show_alert: true,
  });
  for (const member of ['U0EVE', 'U0MAX', 'U0']) {
    expect(await post(slack, press.slack(token, member, { url }))).toEqual({ status: 200, text: '' });
    expect(chats.slackNotes.pop()).toMatch(new RegExp(`does not recognize you.*slack ${member}$`));
  }
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null, outcome: 'escalating' });

  expect(await post(slack, press.slack(token, 'U0ANN', { url }))).toEqual({ status: 200, text: '' });
  expect(chats.slackNotes.pop()).toMatch(/^Acknowledged by ann@x\.test in Slack on .* No one else is alerted\.$/);
  expect(await tenant.occurrence(id)).toMatchObject({
    acknowledged_by: 'ann@x.test in Slack',
    outcome: 'acknowledged',
  });
  await makeStepsDue(tenant);
  expect((await stepsOf(tenant, id))[1]).toMatchObject({ number: 2, status: 'ended', reason: 'acknowledged' });
  expect(chats.messages).toHaveLength(3);
  const note = expect.stringMatching(/\n\nAcknowledged by ann@x\.test in Slack, /);
  const changed = [
    { service: 'slack', text: note },
    { service: 'telegram', text: note },
  ];
  await eventually(async () =>
    expect(chats.changed.toSorted((a, b) => a.service.localeCompare(b.service))).toEqual(changed),
  );
  const { body: audit } = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=occurrence` });
  expect(audit).toMatchObject([{ action: 'acknowledge', after: { by: 'ann@x.test in Slack' } }]);

  // Later presses are answered with who was first.
  const later = JSON.parse((await post(telegram, press.telegram(tokenOf('telegram', 'Acknowledge'), 4711))).text);
  expect(later).toMatchObject({ method: 'answerCallbackQuery', callback_query_id: '4382bfdwdsb323b2d9' });
  expect(later.text).toMatch(/^Acknowledged by ann@x\.test in Slack/);
});

test('a button snoozes for an hour, and one that acknowledges ends the snooze', async () => {
  const tenant = await tenantWith(['slack']);
  const id = await start(tenant, 1);
  const slack = await urlOf(tenant, 'slack');
  const { url } = chats.peer;
  await post(slack, press.slack(tokenOf('slack', 'Snooze 1 h'), 'U0ANN', { url }));
  expect(chats.slackNotes.pop()).toMatch(
    /^Snoozed by ann@x\.test in Slack until .* No one else is alerted until then\.$/,
  );
  expect(await tenant.occurrence(id)).toMatchObject({ state: 'snoozed', snoozed_by: 'ann@x.test in Slack' });
  await eventually(async () =>
    expect(chats.changed).toMatchObject([
      { text: expect.stringMatching(/\n\nSnoozed until .* by ann@x\.test in Slack, /) },
    ]),
  );
  await post(slack, press.slack(tokenOf('slack', 'Acknowledge'), 'U0ANN', { url }));
  expect(chats.slackNotes.pop()).toMatch(/^Acknowledged by ann@x\.test in Slack/);
  expect(await tenant.occurrence(id)).toMatchObject({ state: 'acknowledged', snoozed_by: null });
  // Taken back: what was sent says that it is open again, and the next message has buttons.
  await eventually(async () => expect(chats.changed).toHaveLength(2));
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/unacknowledge/`);
  await eventually(async () => expect(chats.messages).toHaveLength(2), 8_000);
  await eventually(async () =>
    expect(chats.changed.slice(2)).toMatchObject([
      { text: expect.stringMatching(/\n\nTaken back by API key test, .*: this is open again$/) },
    ]),
  );
});

test('Telegram, Discord and Mattermost resolve by a button', async () => {
  const names = ['telegram', 'discord', 'mattermost'] as const;
  const tenant = await tenantWith([...names]);
  const presses = {
    telegram: (token: string) => press.telegram(token, 4711),
    discord: (token: string) =>
      press.discord({ type: 3, member: { user: { id: '80351110224678912' } }, data: { custom_id: token } }),
    // The address of a user is the direct channel with the bot.
    mattermost: (token: string) => press.mattermost(token, 'u'.repeat(26), { channel_id: 'a'.repeat(26), team_id: '' }),
  };
  for (const name of names) {
    chats.messages.length = 0;
    const id = await start(tenant, 3);
    const url = name === 'mattermost' ? await mattermostUrl() : await urlOf(tenant, name);
    const answer = await post(url, presses[name](tokenOf(name, 'Resolve')));
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).toMatch(new RegExp(`Resolved by ann@x\\.test in ${name}`, 'i'));
    expect(await tenant.occurrence(id)).toMatchObject({ resolved_by: expect.stringMatching(/^ann@x\.test in [A-Z]/) });
  }
});

/** Mattermost posts to the address in the message. */
async function mattermostUrl(): Promise<string> {
  const { body } = chats.peer.seen.findLast(one => one.path === '/mattermost/api/v4/posts')!;
  return JSON.parse(body).props.attachments[0].actions[0].integration.url;
}

test('Discord is answered to its ping, and everything without its signature is refused', async () => {
  const tenant = await tenantWith(['discord']);
  const url = await urlOf(tenant, 'discord');
  expect(await post(url, press.discord({ type: 1 }))).toEqual({ status: 200, text: '{"type":1}' });
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const refused = [press.discord({ type: 1 }, { key }), press.discord({ type: 1 }, { at: Date.now() - 301_000 })];
  for (const one of [...refused, { body: '{"type":1}', headers: {} }]) {
    expect((await post(url, one)).status).toBe(401);
  }
});

test('a button of Mattermost with a token that Belfry did not sign, or of another user, changes nothing', async () => {
  const tenant = await tenantWith(['mattermost']);
  const id = await start(tenant, 1);
  const url = await mattermostUrl();
  const token = tokenOf('mattermost', 'Acknowledge');
  expect((await post(url, press.mattermost(`x${token}`, 'a'.repeat(26)))).status).toBe(401);
  const unknown = await post(url, press.mattermost(token, 'u'.repeat(26)));
  expect(JSON.parse(unknown.text).ephemeral_text).toMatch(/does not recognize you/);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });
});

test('a Slack member is recognized by email, and with anyone_may_act by the name in Slack', async () => {
  const user = { email: 'bob@x.test', addresses: [{ name: 'slack', value: 'bob@acme.test' }] };
  chats.slackEmails.U0BOB = 'bob@acme.test';
  const room = { ...ann, addresses: [{ name: 'slack', value: 'C0ROOM' }] };
  const input = { users: [room, user], members: ['ann@x.test'] };
  const pressBy = async (member: string, settings: object) => {
    chats.messages.length = 0;
    const tenant = await tenantWith(['slack'], { ...input, settings });
    const id = await start(tenant, 1);
    const posted = press.slack(tokenOf('slack', 'Acknowledge'), member, { url: chats.peer.url });
    expect((await post(await urlOf(tenant, 'slack'), posted)).status).toBe(200);
    return (await tenant.occurrence(id)).acknowledged_by;
  };
  expect(await pressBy('U0BOB', {})).toBe('bob@x.test in Slack');
  expect(await pressBy('U0EVE', { anyone_may_act: true })).toBe('U0EVE of Slack in Slack');
});

test('an action triggers its event once, and a link opens a page', async () => {
  const message = {
    subject: 'Fire',
    body: 'In the cellar',
    actions: [
      { name: 'mine', label: 'I take it', acknowledge: true },
      { name: 'water', label: 'Send water to {{ floor }}', event: 'go' },
      { name: 'plan', label: 'Plan', url: 'https://acme.test/{{ floor }}' },
    ],
  };
  const tenant = await tenantWith(['slack'], { notifications: [{ channels: ['slack'], message }] });
  const id = await tenant.trigger({}, { floor: 'B1' });
  await tenant.until(id, 'sent');
  expect(chats.messages[0]!.buttons).toEqual([
    { label: 'I take it', token: expect.any(String), url: undefined },
    { label: 'Send water to B1', token: expect.any(String), url: undefined },
    { label: 'Plan', token: undefined, url: 'https://acme.test/B1' },
  ]);
  const url = await urlOf(tenant, 'slack');
  const act = () => post(url, press.slack(tokenOf('slack', 'Send water to B1'), 'U0ANN', { url: chats.peer.url }));
  await act();
  await act();
  expect(chats.slackNotes).toEqual(['Done: water', 'Done: water']);
  await eventually(() => expect(chats.messages).toHaveLength(2));
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/` });
  expect(body).toHaveLength(2);
  const [row] = await tenant.sql(
    'select context from occurrences where organization_id = $1 and id <> $2',
    tenant.id,
    id,
  );
  expect(row).toMatchObject({
    context: { floor: 'B1', action: { name: 'water', occurrence: id, username: 'ann@x.test' } },
  });
});

test('a press of a button is noted once for a message whose variants are compared, and for no other', {
  tags: ['sweep'],
}, async () => {
  const actions = [
    { name: 'mine', label: 'I take it', acknowledge: true },
    { name: 'water', label: 'Water', event: 'go' },
  ];
  const message = { subject: 'Fire', body: 'Now', actions };
  const tenant = await tenantWith(['slack'], { notifications: [{ channels: ['slack'], message }] });
  const url = await urlOf(tenant, 'slack');
  const noted = async (variant: string | null, label: string) => {
    chats.messages.length = 0;
    const id = await tenant.trigger();
    await tenant.until(id, 'sent');
    await tenant.sql('update deliveries set variant = $2 where organization_id = $1', tenant.id, variant);
    const act = () => post(url, press.slack(tokenOf('slack', label), 'U0ANN', { url: chats.peer.url }));
    const read = () =>
      tenant.sql<{ acted_at: Date | null }>('select acted_at from deliveries where occurrence_id = $1', id);
    await act();
    const [first] = await read();
    await act();
    expect(await read()).toEqual([first]);
    // What the press has triggered must not arrive among the messages of the next trigger.
    if (label === 'Water') await eventually(() => expect(chats.messages).toHaveLength(2));
    return first!.acted_at !== null;
  };
  expect(await noted('b', 'Water')).toBe(true);
  expect(await noted('a', 'I take it')).toBe(true);
  expect(await noted(null, 'Water')).toBe(false);
});

test('a recorded press of a button that triggers an event triggers nothing when it is sent again later', {
  tags: ['sweep'],
}, async () => {
  const message = { subject: 'Fire', body: 'Now', actions: [{ name: 'water', label: 'Water', event: 'go' }] };
  const tenant = await tenantWith(['slack'], { notifications: [{ channels: ['slack'], message }] });
  await start(tenant, 1);
  const url = await urlOf(tenant, 'slack');
  const posted = press.slack(tokenOf('slack', 'Water'), 'U0ANN', { url: chats.peer.url });
  await post(url, posted);
  await eventually(() => expect(chats.messages).toHaveLength(2));
  // Two days later: the key that makes repetitions harmless has been deleted.
  await tenant.sql('delete from idempotency_keys where organization_id = $1', tenant.id);
  const earlier = `update received_signatures set received_at = received_at - interval '2 d' where organization_id = $1`;
  await tenant.sql(earlier, tenant.id);
  await post(url, posted);
  expect(chats.slackNotes).toEqual(['Done: water', acknowledgeTextsIn(undefined).over]);
  expect((await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/` })).body).toHaveLength(2);
});

test('an action whose event refuses the context is answered why', async () => {
  const message = { subject: 'Fire', body: 'Now', actions: [{ name: 'water', label: 'Water', event: 'go' }] };
  const tenant = await tenantWith(['slack'], {
    event: { context_schema: { type: 'object', properties: {}, additionalProperties: false } },
    notifications: [{ channels: ['slack'], message }],
  });
  await start(tenant, 1);
  const posted = press.slack(tokenOf('slack', 'Water'), 'U0ANN', { url: chats.peer.url });
  expect(await post(await urlOf(tenant, 'slack'), posted)).toEqual({ status: 200, text: '' });
  expect(chats.slackNotes).toEqual([expect.stringMatching(/^This could not be done: .*action/)]);
});

test('a press on an alert that was cancelled is answered that it is over', { tags: ['sweep'] }, async () => {
  const tenant = await tenantWith(['telegram']);
  const id = await start(tenant, 1);
  expect((await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`)).status).toBe(200);
  const answer = await post(await urlOf(tenant, 'telegram'), press.telegram(tokenOf('telegram', 'Resolve'), 4711));
  expect(JSON.parse(answer.text).text).toBe('This alert is over. There is nothing left to do.');
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null, resolved_at: null });
});

test('a reply by Twilio acknowledges the newest open escalation of that number, once', async () => {
  const tenant = await tenantWith(['twilio']);
  const older = await start(tenant, 1);
  const newer = await start(tenant, 2);
  const url = await urlOf(tenant, 'twilio');
  const reply = (Body: string, From = '+15555550123', secret = secrets.twilio) =>
    post(url, press.twilio(url, { MessageSid: `SM${Body}`, From, To: '+15555550100', Body }, secret));
  const silent = { status: 200, text: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>' };
  expect((await reply('1', '+15555550123', 'guessed')).status).toBe(401);
  expect(await reply('What?')).toEqual(silent);
  expect(await reply('1', '+15555550999')).toEqual(silent);
  expect(await tenant.occurrence(newer)).toMatchObject({ acknowledged_at: null });

  expect((await reply(' Ack! ')).text).toMatch(/<Message>Acknowledged by ann@x\.test by SMS on .*<\/Message>/);
  expect(await tenant.occurrence(newer)).toMatchObject({ acknowledged_by: 'ann@x.test by SMS' });
  expect(await tenant.occurrence(older)).toMatchObject({ acknowledged_at: null });
  await reply('Übernehmen');
  expect(await tenant.occurrence(older)).toMatchObject({ acknowledged_by: 'ann@x.test by SMS' });
  expect((await reply('1')).text).toContain('<Message>There is nothing to acknowledge.</Message>');
});

test('a reply that is repeated acknowledges nothing that was sent after it, nor another one', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith(['twilio']);
  const url = await urlOf(tenant, 'twilio');
  const reply = (MessageSid: string) =>
    post(url, press.twilio(url, { MessageSid, From: '+15555550123', To: '+15555550100', Body: 'ACK' }));
  // Nothing is open yet.
  expect((await reply('SM1')).text).toContain('There is nothing to acknowledge.');
  const older = await start(tenant, 1);
  const newer = await start(tenant, 2);
  await reply('SM1');
  expect(await tenant.occurrence(newer)).toMatchObject({ acknowledged_at: null });
  expect((await reply('SM2')).text).toContain('Acknowledged by ann@x.test by SMS');
  expect((await reply('SM2')).text).not.toContain('Message');
  expect(await tenant.occurrence(older)).toMatchObject({ acknowledged_at: null });
  const latest = await start(tenant, 3);
  await Promise.all(['SM1', 'SM2', 'SM2'].map(reply));
  expect(await tenant.occurrence(latest)).toMatchObject({ acknowledged_at: null });
  await reply('SM3');
  expect(await tenant.occurrence(latest)).toMatchObject({ acknowledged_by: 'ann@x.test by SMS' });
});

test('each account of a channel with several ones signs its own requests', { tags: ['sweep'] }, async () => {
  const { twilio } = chatChannels(chats.peer.url);
  const [first] = twilio.providers;
  const second = { ...first, auth_token: 'token-of-the-second' };
  const tenant = await tenantWith(['twilio'], { channels: [{ ...twilio, providers: [first, second] }] });
  const id = await start(tenant, 1);
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/c/twilio/` });
  expect(body.interactions).toMatchObject([{ provider: 'twilio', ready: true }]);
  const [{ url }] = body.interactions;
  const reply = { From: '+15555550123', Body: '1' };
  expect((await post(url, press.twilio(url, reply, 'token-of-a-third'))).status).toBe(401);
  expect((await post(url, press.twilio(url, reply, 'token-of-the-second'))).status).toBe(200);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test by SMS' });
});

test('a reply by Vonage acknowledges what was sent before it, and is answered by another message', async () => {
  const tenant = await tenantWith(['vonage']);
  const id = await start(tenant, 1);
  const url = await urlOf(tenant, 'vonage');
  const reply = { from: '15555550123', to: '15555550100', text: '1' };
  expect((await post(url, press.vonage(reply, { secret: 'guessed' }))).status).toBe(401);
  // A reply to something older, which Vonage delivers late.
  expect((await post(url, press.vonage(reply, { at: Date.now() - 3_600_000 }))).status).toBe(200);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });
  expect(chats.messages.pop()).toMatchObject({ to: '15555550123', text: 'There is nothing to acknowledge.' });
  expect(await post(url, press.vonage(reply))).toEqual({ status: 200, text: '' });
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test by SMS' });
  expect(chats.messages.pop()).toMatchObject({ to: '15555550123', text: expect.stringMatching(/^Acknowledged by/) });
});

test('without a secret there are no callbacks, and requests are refused', async () => {
  const tenant = await tenantWith(['telegram'], { settings: { secret_token: undefined } });
  await start(tenant, 1);
  expect(chats.messages[0]!.buttons).toEqual([
    { label: 'Acknowledge', url: expect.stringMatching(/^https:\/\/belfry\.test\/acknowledge\//), token: undefined },
  ]);
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/c/telegram/` });
  const [{ url, ...address }] = body.interactions;
  const setup = `Register it: curl ${chats.peer.url}/telegram/bot<token>/setWebhook -d url=${url} -d secret_token=`;
  expect(address).toEqual({ provider: 'telegram-bot', ready: false, setup: expect.stringContaining(setup) });
  expect((await post(url, press.telegram('x', 4711, ''))).status).toBe(401);
  expect((await post(url.replace(/telegram-bot/, 'slack'), press.telegram('x', 4711))).status).toBe(404);
  expect((await post(url, { body: 'x'.repeat(1_048_577), headers: {} })).status).toBe(413);
});

describe('a bundle of alerts', () => {
  /** Triggers an alert, which is sent at once, and three more that become one message. */
  async function bundleIn(channel: ChannelName) {
    const tenant = await tenantWith([channel]);
    const fire = (name: string) => tenant.trigger({ dedup_key: name }, { title: name });
    await tenant.until(await fire('first'), 'sent');
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push(await fire(name));
    for (const id of ids) await tenant.until(id, 'pending');
    await tenant.sql(
      `update deliveries set due_at = now() where organization_id = ${tenant.id} and status = 'pending'
         and due_at <> '9999-12-31Z'`,
    );
    await tenant.sql('notify belfry_work');
    for (const id of ids) await tenant.until(id, 'sent');
    const { buttons, text } = chats.messages.at(-1)!;
    const openOf = async () => {
      const all = await Promise.all(ids.map(id => tenant.occurrence(id)));
      return all.map(one => one.acknowledged_by);
    };
    return { tenant, buttons, text, openOf };
  }

  test('has a button for each alert and one for all, which say what they did', async () => {
    const { buttons, openOf } = await bundleIn('mattermost');
    const labels = ['Acknowledge all', 'Acknowledge: a', 'Acknowledge: b', 'Acknowledge: c'];
    expect(buttons.map(one => one.label)).toEqual(labels);
    const url = await mattermostUrl();
    const choose = async (label: string) => {
      const { token } = buttons.find(one => one.label === label)!;
      return (await post(url, press.mattermost(token!, 'a'.repeat(26)))).text;
    };
    const by = 'ann@x.test in Mattermost';
    await choose('Acknowledge: b');
    expect(await openOf()).toEqual([null, by, null]);
    expect(await choose('Acknowledge all')).toContain('2 of 3 alerts were open');
    expect(await openOf()).toEqual([by, by, by]);
    expect(await choose('Acknowledge all')).toContain('0 of 3 alerts were open');
  });

  test('is acknowledged as a whole by a reply', async () => {
    const { tenant, text, openOf } = await bundleIn('twilio');
    expect(text).toMatch(/^3 alerts: a; b; c https:/);
    const url = await urlOf(tenant, 'twilio');
    const reply = { MessageSid: 'SM9', From: '+15555550123', To: '+15555550100', Body: 'ACK' };
    expect((await post(url, press.twilio(url, reply))).text).toContain('3 of 3 alerts were open');
    expect(await openOf()).toEqual(Array(3).fill('ann@x.test by SMS'));
  });

  test('is read aloud with the first alert, and acknowledged as a whole by a key', async () => {
    const { text, openOf } = await bundleIn('voice');
    expect(text).toContain('3 alerts. a');
    const [, called] = /(https:[^"]+\/call)/.exec(text)!;
    const body = 'Digits=1';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post(called!, { body, headers })).text).toContain('3 of 3 alerts were open');
    expect(await openOf()).toEqual(Array(3).fill('ann@x.test'));
  });
});
